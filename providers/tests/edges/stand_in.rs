//! What the stand-ins of the closed programs have in common: how they note how they were
//! started, and whether something they started still runs.

use crate::scene::Scene;
use std::fs;
use std::time::{Duration, Instant};

/// Notes arguments, environment and folder, and that it was started at all.
pub const NOTES: &str = r#"
printf '%s\037' "$@" >> "$H/argv"; echo run >> "$H/runs"
env > "$H/env"; pwd > "$H/pwd"
children() { echo $$ >> "$H/pids"; sleep 600 & echo $! >> "$H/pids"; }
linger() { trap '' TERM; while :; do sleep 1; done; }
hang() { children; linger; }
flood() { yes '{"type":"noise"}'; }
"#;

/// The arguments of its only run.
pub fn arguments(scene: &Scene) -> Vec<String> {
    assert_eq!(runs(scene), 1, "it ran once");
    let text = scene.read("argv");
    let mut out: Vec<String> = text.split('\u{1f}').map(str::to_owned).collect();
    assert_eq!(out.pop().as_deref(), Some(""));
    out
}

/// How often it was started.
pub fn runs(scene: &Scene) -> usize {
    scene.read("runs").lines().count()
}

/// Nothing that `hang` or `children` started is left.
#[track_caller]
pub fn is_gone(scene: &Scene) {
    let pids = scene.read("pids");
    assert_eq!(pids.lines().count(), 2, "it hung");
    let until = Instant::now() + Duration::from_secs(30);
    for pid in pids.lines() {
        while runs_still(pid) {
            assert!(Instant::now() < until, "process {pid} still runs");
            std::thread::yield_now();
        }
    }
}

/// A dead process that nobody reaped yet does not run.
fn runs_still(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// A process id that no process has.
pub fn dead_pid() -> u32 {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}
