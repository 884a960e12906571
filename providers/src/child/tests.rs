//! Small stand-in programs that behave well, badly and worse.

use super::*;
use std::path::Path;

const LONG: Duration = Duration::from_secs(30);

fn shell(script: &str) -> Program<'static> {
    Program {
        file: Path::new("/bin/sh"),
        arguments: vec!["-c".into(), script.into()],
        folder: Path::new("/"),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        output_cap: 8 * 1024,
    }
}

fn start(script: &str) -> Running {
    Running::start(&shell(script)).unwrap()
}

fn soon() -> Instant {
    Instant::now() + LONG
}

/// Everything it prints.
fn lines(running: &mut Running) -> (Vec<String>, Next) {
    let mut out = Vec::new();
    loop {
        match running.next(soon()) {
            Next::Line(line) => out.push(line),
            end => return (out, end),
        }
    }
}

/// A killed process of another parent is gone a moment later.
fn dies(pid: &str) -> bool {
    let until = soon();
    while is_alive(pid) {
        if Instant::now() >= until {
            return false;
        }
        thread::yield_now();
    }
    true
}

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn input_reaches_it_and_lines_come_as_they_are_printed() {
    let mut running =
        start("while read -r l; do echo \"got $l\"; done; echo oops >&2; printf end; exit 3");
    running.send(b"one\n".to_vec());
    assert_eq!(running.next(soon()), Next::Line("got one".into()));
    assert_eq!(running.next(Instant::now()), Next::Quiet);
    running.send(b"two\n".to_vec());
    running.close_input();
    let (rest, end) = lines(&mut running);
    assert_eq!(
        (rest, end),
        (vec!["got two".to_owned(), "end".to_owned()], Next::End)
    );
    let ending = running.finish(LONG);
    assert_eq!(ending.status.unwrap().code(), Some(3));
    assert!(!ending.is_success() && !ending.stopped);
    assert_eq!(ending.stderr, "oops\n");
    assert!(
        ending.told().contains("exit status: 3: oops"),
        "{}",
        ending.told()
    );
}

#[test]
fn it_gets_its_environment_and_folder_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let mut program = shell("env; pwd");
    program.folder = &folder;
    program.environment = vec![("ONLY".into(), "this one".into())];
    let mut running = Running::start(&program).unwrap();
    let (mut said, _) = lines(&mut running);
    assert!(running.finish(LONG).is_success());
    assert_eq!(said.pop().as_deref(), folder.to_str());
    // The shell adds its own; nothing of ours may be among them.
    said.retain(|line| {
        !["PWD=", "SHLVL=", "_=", "OLDPWD="]
            .iter()
            .any(|own| line.starts_with(own))
    });
    assert_eq!(said, ["ONLY=this one"]);
}

#[test]
fn what_cannot_be_started_says_what_and_where() {
    let mut program = shell("");
    program.file = Path::new("/no/such program");
    let error = Running::start(&program).err().unwrap().to_string();
    assert!(
        error.contains("/no/such program") && error.contains("in /"),
        "{error}"
    );
}

#[test]
fn a_large_input_to_a_program_that_reads_late_is_no_deadlock() {
    let mut running = start("head -c 100000 /dev/zero; echo; wc -c");
    running.send(vec![b'y'; 500_000]);
    running.close_input();
    let (said, end) = lines(&mut running);
    assert_eq!(
        (said.last().map(|line| line.trim()), end),
        (Some("500000"), Next::End)
    );
}

#[test]
fn a_line_too_long_is_thrown_away_and_the_next_one_is_not() {
    let mut running = start("head -c 100000 /dev/zero | tr '\\0' x; echo; echo after");
    let (said, end) = lines(&mut running);
    assert_eq!((said, end), (vec!["after".to_owned()], Next::End));
    let ending = running.finish(LONG);
    assert_eq!(ending.lost_lines, 1);
    assert!(ending.told().contains("too long"), "{}", ending.told());
}

#[test]
fn a_flood_is_noticed_and_stopped() {
    let mut running = start("yes a line of nothing much");
    let end = loop {
        match running.next(soon()) {
            Next::Line(_) => {}
            end => break end,
        }
    };
    assert_eq!(end, Next::Flooded);
    let ending = running.finish(Duration::ZERO);
    assert!(ending.stopped && ending.status.is_some());

    let mut complaining = start("yes complaint >&2");
    assert_eq!(complaining.next(soon()), Next::Flooded);
    assert!(complaining.finish(Duration::ZERO).stderr.len() <= 16 * 1024);
}

#[test]
fn a_program_waits_while_its_lines_wait_and_none_is_lost() {
    let mut running =
        start("i=0; while [ $i -lt 5000 ]; do echo 0123456789; i=$((i+1)); done; echo done >&2");
    // Nobody reads until as much waits as may wait; the program cannot have ended.
    let until = soon();
    while running.tally.waiting() < 16 * 1024 - 10 {
        assert!(Instant::now() < until);
        thread::yield_now();
    }
    assert!(running.tally.waiting() <= 16 * 1024);
    let (said, end) = lines(&mut running);
    assert_eq!((said.len(), end), (5000, Next::End));
    assert_eq!(
        (running.tally.waiting(), running.finish(LONG).lost_lines),
        (0, 0)
    );
}

#[test]
fn one_that_ignores_being_asked_is_killed_with_its_children() {
    let mut running = start("trap '' TERM; sleep 600 & echo $! $$; while :; do sleep 1; done");
    let Next::Line(pids) = running.next(soon()) else {
        panic!("no line")
    };
    let before = Instant::now();
    let ending = running.finish(Duration::from_millis(50));
    assert!(ending.stopped && ending.told().contains("had to be stopped"));
    assert!(before.elapsed() < LONG);
    assert!(pids.split_whitespace().all(dies), "{pids}");
}

#[test]
fn one_that_closes_its_output_and_stays_ends_too() {
    let mut running = start("echo bye; exec >&- 2>&-; sleep 600");
    let (said, end) = lines(&mut running);
    assert_eq!((said, end), (vec!["bye".to_owned()], Next::End));
    assert!(running.finish(Duration::from_millis(50)).stopped);
}

#[test]
fn a_child_left_behind_goes_with_it_and_holds_nobody_up() {
    let before = Instant::now();
    let mut running = start("sleep 600 & echo $!; exit 0");
    let (said, end) = lines(&mut running);
    assert_eq!(end, Next::End);
    assert!(running.finish(LONG).is_success());
    assert!(dies(&said[0]) && before.elapsed() < LONG);
}

#[test]
fn one_that_leaves_its_group_cannot_hold_us_up_either() {
    let before = Instant::now();
    let mut running = start("setsid sleep 20 & echo $!; exit 0");
    let (said, end) = lines(&mut running);
    assert_eq!((said.len(), end), (1, Next::End));
    assert!(running.finish(LONG).is_success());
    assert!(
        before.elapsed() < Duration::from_secs(15),
        "{:?}",
        before.elapsed()
    );
}

#[test]
fn a_program_killed_by_others_is_told_from_one_that_failed() {
    let mut running = start("kill -9 $$");
    assert_eq!(lines(&mut running).1, Next::End);
    let ending = running.finish(LONG);
    assert!(!ending.stopped && ending.status.unwrap().code().is_none());
    assert!(ending.told().contains("signal: 9"), "{}", ending.told());
}

#[test]
fn dropping_it_kills_it() {
    let mut running = start("echo $$; sleep 600");
    let Next::Line(pid) = running.next(soon()) else {
        panic!("no line")
    };
    drop(running);
    assert!(!is_alive(&pid));
}
