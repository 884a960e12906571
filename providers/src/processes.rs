//! What other processes of this machine are doing, read from `/proc`: who holds a lock, who has
//! a file open for writing, whether a process group still lives.
//!
//! Looking never locks, signals or stops anything. Where the system has no `/proc` the answers
//! are "not known", which callers count as the worse case. Knows no provider.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod sockets;

#[cfg(target_os = "linux")]
pub(crate) use linux::{
    command_line, group_alive, has_terminal, is_own, lock_owner, name_of, parent_of, pid_domain,
    program_of, running_in, runs, start_of, variable_of, writer_of, writers_of,
};
#[cfg(target_os = "linux")]
pub(crate) use sockets::{folder_of, has_open, holders_of, listening, with_open};

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{
    command_line, folder_of, group_alive, has_open, has_terminal, holders_of, is_own, listening,
    lock_owner, name_of, parent_of, pid_domain, program_of, running_in, runs, start_of,
    variable_of, with_open, writer_of, writers_of,
};

use std::path::{Path, PathBuf};

/// Programs that are given what they run as a script.
const INTERPRETERS: [&str; 3] = ["node", "bun", "deno"];

/// Whether a process runs a program, by the files it runs and not by what it calls itself:
/// `told` is asked about the executable and, where that runs scripts, about the script.
pub(crate) fn runs_program(pid: u32, told: impl Fn(&Path) -> bool) -> bool {
    let Some(executable) = program_of(pid) else {
        return false;
    };
    told(&executable) || script_of(pid, &executable).is_some_and(|script| told(&script))
}

/// `node --flag … script`: the first argument that is no flag. Anything else that is given a
/// file is no program of that file's.
fn script_of(pid: u32, executable: &Path) -> Option<PathBuf> {
    let name = executable.file_name()?.to_str()?;
    let runs_scripts = INTERPRETERS.iter().any(|one| name.starts_with(one));
    let arguments = runs_scripts.then(|| command_line(pid))?;
    let script = arguments.iter().skip(1).find(|one| !one.starts_with('-'))?;
    // Started by a path that is not absolute, it stands below the folder that is worked in.
    let script = folder_of(pid).unwrap_or_default().join(script);
    script.is_file().then_some(script)
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::path::Path;

    pub(crate) fn start_of(_pid: u32) -> Option<String> {
        None
    }

    /// Not known; counted as running, so that nothing is handed over twice.
    pub(crate) fn runs(_pid: u32, _start: Option<&str>) -> bool {
        true
    }

    pub(crate) fn program_of(_pid: u32) -> Option<std::path::PathBuf> {
        None
    }

    pub(crate) fn variable_of(_pid: u32, _name: &str) -> Option<String> {
        None
    }

    pub(crate) fn command_line(_pid: u32) -> Vec<String> {
        Vec::new()
    }

    pub(crate) fn name_of(_pid: u32) -> Option<String> {
        None
    }

    pub(crate) fn is_own(_pid: u32) -> bool {
        false
    }

    pub(crate) fn parent_of(_pid: u32) -> Option<u32> {
        None
    }

    pub(crate) fn lock_owner(_path: &Path) -> Option<u32> {
        None
    }

    pub(crate) fn writer_of(_path: &Path) -> Option<u32> {
        None
    }

    pub(crate) fn writers_of(_path: &Path) -> Vec<u32> {
        Vec::new()
    }

    pub(crate) fn running_in(_folder: &Path, _is_it: impl Fn(&[String]) -> bool) -> Option<u32> {
        None
    }

    pub(crate) fn with_open(_path: &Path) -> Vec<u32> {
        Vec::new()
    }

    /// Not known; counted as open.
    pub(crate) fn has_open(_pid: u32, _path: &Path) -> bool {
        true
    }

    pub(crate) fn has_terminal(_pid: u32) -> bool {
        false
    }

    pub(crate) fn folder_of(_pid: u32) -> Option<std::path::PathBuf> {
        None
    }

    pub(crate) fn listening(_pid: u32) -> Vec<std::net::SocketAddr> {
        Vec::new()
    }

    pub(crate) fn holders_of(_own: std::net::SocketAddr, _other: std::net::SocketAddr) -> Vec<u32> {
        Vec::new()
    }

    pub(crate) fn pid_domain() -> Option<String> {
        None
    }

    /// A group whose members cannot be looked at counts as alive while it takes signals.
    #[cfg(unix)]
    pub(crate) fn group_alive(leader: u32, _start: Option<&str>) -> bool {
        use rustix::process::{Pid, test_kill_process_group};
        let pid = i32::try_from(leader).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| test_kill_process_group(pid) != Err(rustix::io::Errno::SRCH))
    }

    /// Not known; counted as alive, so that nothing is handed over twice.
    #[cfg(not(unix))]
    pub(crate) fn group_alive(_leader: u32, _start: Option<&str>) -> bool {
        true
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_script_is_what_an_interpreter_of_it_runs_and_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let (node, script) = (folder.path().join("node"), folder.path().join("gemini"));
        // By a process of its own: what this one has open for writing cannot be run.
        let shell = std::fs::canonicalize("/bin/sh").unwrap();
        let copied = Command::new("cp").arg(&shell).arg(&node).status();
        assert!(copied.unwrap().success());
        std::fs::write(&script, "read never\n").unwrap();
        let is_gemini = |path: &Path| path.ends_with("gemini");
        let relative = Path::new("gemini");
        for (program, script, expected) in [
            (&node, script.as_path(), true),
            (&node, relative, true),
            (&shell, script.as_path(), false),
        ] {
            let mut child = Command::new(program)
                .arg(script)
                .current_dir(folder.path())
                .stdin(Stdio::piped())
                .spawn()
                .unwrap();
            // A process has its arguments a moment after it was started.
            while command_line(child.id()).len() < 2 {
                std::thread::yield_now();
            }
            let pid = child.id();
            assert!(runs_program(pid, |path| path == program));
            assert_eq!(runs_program(pid, is_gemini), expected, "{program:?}");
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
