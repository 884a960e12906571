//! AxiOwl's own registry and evidence log, damaged or removed while it runs.

use crate::home::{Home, Provider, id};
use std::path::PathBuf;
use std::process::{Child, Stdio};

fn registry(home: &Home) -> PathBuf {
    home.axiowl.path("state/registry/agents.tsv")
}

fn log(home: &Home) -> PathBuf {
    home.axiowl.path("state/evidence.log")
}

fn start(home: &Home) -> Child {
    home.command(&["discover", "all", "--json"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("axiowl runs")
}

/// Whatever happens to its files while it runs, a discovery ends, and the next one makes whole
/// what was lost.
#[test]
fn files_that_vanish_or_are_damaged_during_a_run_are_made_whole_by_the_next() {
    type Harm = fn(&Home);
    let harms: [(&str, Harm); 6] = [
        ("registry removed", |home| {
            let _ = std::fs::remove_file(registry(home));
        }),
        ("registry emptied", |home| {
            if let Ok(file) = std::fs::File::options().write(true).open(registry(home)) {
                file.set_len(0).expect("length");
            }
        }),
        ("registry cut", |home| {
            if let Ok(file) = std::fs::File::options().write(true).open(registry(home)) {
                let length = file.metadata().expect("metadata").len();
                file.set_len(length / 2).expect("length");
            }
        }),
        ("log removed", |home| {
            let _ = std::fs::remove_file(log(home));
        }),
        ("log damaged", |home| {
            let _ = std::fs::write(log(home), [0xff; 1_000]);
        }),
        ("all of it removed", |home| {
            let _ = std::fs::remove_dir_all(home.axiowl.path("state"));
        }),
    ];
    for (what, harm) in harms {
        let home = Home::new();
        home.discover_sound();
        let mut child = start(&home);
        let mut times = 0;
        while child.try_wait().expect("wait").is_none() {
            harm(&home);
            times += 1;
        }
        assert!(times > 0, "{what}");
        assert!(
            child.wait().expect("wait").code().is_some(),
            "{what}: it was killed"
        );
        harm(&home);
        home.discover_sound();
        let listed = home.run(&["list", "agents", "--json"]);
        assert_eq!(listed.code, 0, "{what}: {listed}");
        assert_eq!(listed.lines("agent").len(), 15, "{what}: {listed}");
        let check = home.run(&["registry", "check"]);
        assert!(check.code == 0 || what == "registry cut", "{what}: {check}");
    }
}

/// Lines that are none are set aside, named, and the rows beside them stay.
#[test]
fn damaged_lines_of_the_registry_cost_themselves() {
    let home = Home::new();
    home.discover_sound();
    let path = registry(&home);
    let sound = std::fs::read(&path).expect("registry");
    let lines: Vec<&[u8]> = sound.split_inclusive(|b| *b == b'\n').collect();
    let mut bytes = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        bytes.extend_from_slice(line);
        match number {
            2 => bytes.extend_from_slice(&[0; 5_000]),
            3 => bytes.extend_from_slice(b"\none\ttwo\n"),
            4 => bytes.extend_from_slice(b"\xff\xfe\x80\t\t\t\n"),
            5 => {
                bytes.extend(std::iter::repeat_n(b'x', 1 << 20));
                bytes.push(b'\n');
            }
            _ => {}
        }
    }
    std::fs::write(&path, bytes).expect("write");
    // The zeros have made one line with the row after them.
    let listed = home.run(&["list", "agents", "--json"]);
    assert_eq!(listed.code, 0, "{listed}");
    assert!(listed.lines("agent").len() >= 14, "{listed}");
    let check = home.run(&["registry", "check"]);
    assert_eq!(check.code, 1, "{check}");
    home.discover_sound();
    let listed = home.run(&["list", "agents", "--json"]);
    assert_eq!(listed.lines("agent").len(), 15, "{listed}");
    assert_eq!(home.run(&["registry", "check"]).code, 0);
    let aside = std::fs::read(home.axiowl.path("state/registry/damaged.tsv")).expect("set aside");
    assert!(aside.windows(7).any(|bytes| bytes == b"one\ttwo"));
}

/// A log that cannot be written, of whatever kind, stops no discovery.
#[test]
fn a_log_that_is_no_file_stops_no_discovery() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    for shape in ["folder", "pipe", "link to nothing", "link to a circle"] {
        let home = Home::new();
        std::fs::create_dir_all(home.axiowl.path("state")).expect("folder");
        let at = log(&home);
        match shape {
            "folder" => std::fs::create_dir(&at).expect("folder"),
            "pipe" => {
                mknodat(CWD, &at, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("pipe");
            }
            "link to nothing" => crate::home::link("/nowhere/at/all", &at),
            _ => crate::home::link(&at, &at),
        }
        let found = home.discover_sound();
        assert!(found.sendable(Provider::Claude, &id(Provider::Claude, 1)));
    }
}

/// A registry that is a pipe, a folder or somebody else's file is refused, and left as it is.
#[test]
fn a_registry_that_is_no_registry_is_refused_and_left() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    for shape in ["folder", "pipe", "text", "link in a circle"] {
        let home = Home::new();
        let at = registry(&home);
        std::fs::create_dir_all(at.parent().expect("a folder")).expect("folder");
        match shape {
            "folder" => std::fs::create_dir(&at).expect("folder"),
            "pipe" => {
                mknodat(CWD, &at, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("pipe");
            }
            "text" => std::fs::write(&at, "somebody's notes\nsecond line\n").expect("file"),
            _ => crate::home::link(&at, &at),
        }
        for arguments in [
            &["discover", "all"][..],
            &["list", "agents"],
            &["explain", "x"],
        ] {
            let run = home.run(arguments);
            assert_eq!(run.code, 1, "{shape}: {run}");
            assert!(run.stderr.contains("agents.tsv"), "{shape}: {run}");
        }
        if shape == "text" {
            let text = std::fs::read_to_string(&at).expect("file");
            assert_eq!(text, "somebody's notes\nsecond line\n");
        }
    }
}
