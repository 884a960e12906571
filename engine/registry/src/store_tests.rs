//! The registry as files: what is written when, who may read it, and what is kept aside.

use super::*;
use crate::samples::{UUID_A, UUID_B, agent, at, evidence, ordinary, proven, registry};
use crate::{Lookup, Resolution};
use axiowl_model::SessionKey;

const HEADER_LINE: &str = "agent_id\tdisplay_name\tsendable";

fn put(registry: &Registry, bytes: &[u8]) {
    std::fs::create_dir_all(registry.path().parent().unwrap()).unwrap();
    std::fs::write(registry.path(), bytes).unwrap();
}

#[test]
fn c004_c006_c008_the_table_stands_where_it_is_documented_and_is_read_again() {
    let (dir, registry) = registry(vec![agent("some_cli", "s1", "Review", 0)]);
    assert_eq!(
        registry.path(),
        dir.path().join("registry").join("agents.tsv")
    );
    let again = Registry::at(dir.path()).load().unwrap();
    assert_eq!(again.agents(), registry.load().unwrap().agents());
    assert_eq!(
        again
            .get(&SessionKey::local("some_cli", "s1"))
            .unwrap()
            .display_name,
        "Review"
    );
}

#[test]
fn a_registry_that_is_not_there_is_empty_and_reading_makes_nothing() {
    let (dir, registry) = registry(Vec::new());
    assert!(registry.load().unwrap().agents().is_empty());
    assert!(registry.load_for(&["Review"]).unwrap().agents().is_empty());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    // A merge of nothing writes no table either.
    registry.merge(&[], &ordinary("some_cli")).unwrap();
    assert!(!registry.path().exists());
}

#[cfg(unix)]
#[test]
fn folders_are_0700_and_files_0600_also_after_somebody_opened_them() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("state").join("axiowl");
    let registry = Registry::at(&root);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    registry
        .merge(&[proven("some_cli", "a", "A")], &ordinary("some_cli"))
        .unwrap();
    put(&registry, format!("{HEADER_LINE}\nbroken\n").as_bytes());
    let folder = registry.path().parent().unwrap().to_owned();
    for path in [&folder, registry.path()] {
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(path, open).unwrap();
    }
    registry
        .merge(&[proven("some_cli", "b", "B")], &ordinary("some_cli"))
        .unwrap();
    assert_eq!((mode(&root), mode(&folder)), (0o700, 0o700));
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let names: Vec<_> = files
        .iter()
        .map(|path| path.file_name().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["agents.lock", "agents.tsv", "damaged.tsv"]);
    for file in &files {
        assert_eq!(mode(file), 0o600, "{}", file.display());
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_written_when_nothing_changed() {
    use std::os::unix::fs::MetadataExt;
    let (_dir, registry) = registry(Vec::new());
    let inode = || std::fs::metadata(registry.path()).unwrap().ino();
    let report = [proven("some_cli", "a", "A"), evidence("some_cli", "b", "B")];
    registry.merge(&report, &ordinary("some_cli")).unwrap();
    let first = inode();
    registry.merge(&report, &ordinary("some_cli")).unwrap();
    assert_eq!(inode(), first);
    registry.set_enabled("A", None, true).unwrap();
    assert_eq!(inode(), first);
    let later = crate::MergeOptions {
        now: at(5000),
        ..ordinary("some_cli")
    };
    registry.merge(&report, &later).unwrap();
    assert_ne!(inode(), first, "a later proof is a change");
}

#[test]
fn a_damaged_line_is_reported_at_each_read_and_kept_aside_once_by_the_next_write() {
    let (_dir, registry) = registry(Vec::new());
    put(
        &registry,
        b"agent_id\tdisplay_name\tsendable\nsome_cli:local:a\tA\ttrue\nbro\tken \xff\nsome_cli:local:b\tB\ttrue\n",
    );
    for _ in 0..2 {
        let snapshot = registry.load().unwrap();
        assert_eq!(snapshot.agents().len(), 2);
        let [issue] = snapshot.issues() else {
            panic!("{:?}", snapshot.issues())
        };
        assert_eq!(
            (issue.code.as_str(), issue.line),
            ("registry_line", Some(3))
        );
        assert_eq!(issue.path.as_deref(), registry.path().to_str());
    }
    assert!(!registry.damaged_path().exists());

    let merged = registry
        .merge(&[], &crate::samples::targeted("some_cli"))
        .unwrap();
    assert_eq!(
        merged.issues.len(),
        1,
        "the write that sets it aside reports it too"
    );
    assert_eq!(merged.issues[0].line, Some(3));
    let kept = std::fs::read(registry.damaged_path()).unwrap();
    assert_eq!(
        kept,
        b"line\tproblem\tcontent\n3\tit is not UTF-8\tbro\tken \xff\n"
    );
    let snapshot = registry.load().unwrap();
    assert_eq!((snapshot.agents().len(), snapshot.issues().len()), (2, 0));

    // The same line again, as after a crash between the two files: kept once.
    let mut bytes = std::fs::read(registry.path()).unwrap();
    bytes.extend_from_slice(b"bro\tken \xff\nother\n");
    put(&registry, &bytes);
    registry
        .merge(&[], &crate::samples::targeted("some_cli"))
        .unwrap();
    let again = std::fs::read(registry.damaged_path()).unwrap();
    assert!(again.starts_with(&kept));
    assert_eq!(
        again.split(|b| *b == b'\n').count(),
        4,
        "{}",
        String::from_utf8_lossy(&again)
    );
}

#[test]
fn a_file_that_is_no_registry_is_neither_read_nor_overwritten() {
    let (_dir, registry) = registry(Vec::new());
    put(&registry, b"my\tnotes\nimportant\tdata\n");
    let errors = [
        registry.load().map(|_| ()).unwrap_err(),
        registry.load_for(&["data"]).map(|_| ()).unwrap_err(),
        registry
            .merge(&[proven("some_cli", "a", "A")], &ordinary("some_cli"))
            .map(|_| ())
            .unwrap_err(),
        registry.remove("data", None).map(|_| ()).unwrap_err(),
    ];
    for error in errors {
        assert!(
            matches!(error, RegistryError::ForeignHeader { .. }),
            "{error}"
        );
        assert_eq!(
            (error.path(), error.line()),
            (Some(registry.path()), Some(1))
        );
        assert!(error.hint().unwrap().contains("agent_id<tab>display_name"));
    }
    assert_eq!(
        std::fs::read(registry.path()).unwrap(),
        b"my\tnotes\nimportant\tdata\n"
    );
}

#[test]
fn a_failed_write_says_where_and_leaves_the_table_as_it_was() {
    let (_dir, registry) = registry(vec![agent("some_cli", "s1", "Review", 0)]);
    let before = std::fs::read(registry.path()).unwrap();
    // A folder in the place of the new file: works for root too.
    let temp = registry.path().with_file_name("agents.tsv.new");
    std::fs::create_dir(&temp).unwrap();
    let error = registry.rename("Review", None, "Other").unwrap_err();
    assert!(
        matches!(
            error,
            RegistryError::Io {
                action: "write",
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(error.path(), Some(&*temp));
    assert_eq!(std::fs::read(registry.path()).unwrap(), before);
    // What a killed writer left behind is in nobody's way.
    std::fs::remove_dir(&temp).unwrap();
    std::fs::write(&temp, b"agent_id\nhalf").unwrap();
    registry.rename("Review", None, "Other").unwrap();
    assert!(!temp.exists());
}

#[test]
fn another_writer_that_never_finishes_is_a_bounded_error() {
    let (_dir, registry) = registry(vec![agent("some_cli", "s1", "Review", 0)]);
    let registry = registry.with_lock_wait(Duration::from_millis(20));
    let path = registry.path().with_file_name("agents.lock");
    let held = crate::lock::acquire(&path, Duration::ZERO).unwrap();
    let error = registry.rename("Review", None, "Other").unwrap_err();
    assert!(matches!(error, RegistryError::Busy { .. }), "{error}");
    assert_eq!(
        registry.load().unwrap().agents()[0].display_name,
        "Review",
        "reads go on"
    );
    drop(held);
}

#[test]
fn the_file_does_not_depend_on_which_report_came_first() {
    let reports = [
        [proven("b_cli", "2", "B")],
        [proven("a_cli", "1", "A")],
        [proven("b_cli", "0", "C")],
    ];
    let written = |order: [usize; 3]| {
        let (_dir, registry) = registry(Vec::new());
        for at in order {
            let provider = reports[at][0].key.provider.clone();
            let options = crate::MergeOptions {
                targeted: true,
                ..ordinary(&provider)
            };
            registry.merge(&reports[at], &options).unwrap();
        }
        std::fs::read_to_string(registry.path()).unwrap()
    };
    assert_eq!(written([0, 1, 2]), written([2, 1, 0]));
}

#[test]
fn a_lookup_in_part_of_the_table_answers_as_in_the_whole() {
    let mut rows = vec![
        agent("codex", UUID_A, "Kasse \"结账\"\tback\\slash", 0),
        agent("codex_cli", UUID_B, "Review", 1),
        agent("cursor", &format!("cursor:composer:{UUID_A}"), "Review", 2),
        agent("opencode_cli", "opencode_cli:session:ses_1", "a:b", 3),
    ];
    for row in &mut rows {
        crate::alias::add_own(row);
    }
    rows[1].last_error = "lost".into();
    let (_dir, registry) = registry(rows);
    let whole = registry.load().unwrap();
    for text in [
        "Review",
        " Review agent ",
        UUID_A,
        UUID_B,
        "Kasse \"结账\"\tback\\slash",
        &format!("codex:local:{UUID_A}"),
        &format!("cursor:session:{UUID_A}"),
        "opencode_cli:session:ses_1",
        "ses_1",
        "a:b",
        "a:",
        "",
        "lost",
        "Reviw",
    ] {
        let part = registry.load_for(&[text]).unwrap();
        let lookup = Lookup::default();
        assert_eq!(
            part.resolve(text, lookup),
            whole.resolve(text, lookup),
            "{text:?}"
        );
        assert_eq!(
            part.resolve_sender(text, None),
            whole.resolve_sender(text, None),
            "{text:?}"
        );
    }
    assert_eq!(registry.load_for(&["ses_1"]).unwrap().agents().len(), 2);
    let both = registry.load_for(&["ses_1", UUID_B]).unwrap();
    assert!(matches!(
        both.resolve(UUID_B, Lookup::default()),
        Resolution::Found { .. }
    ));
}

#[test]
fn a_file_that_is_written_into_while_its_rows_are_changed_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::at(dir.path());
    for (provider, session) in [("a_cli", "a:1"), ("b_cli", "b:1"), ("c_cli", "c:1")] {
        let report = [crate::samples::proven(provider, session, "A name")];
        let options = crate::samples::ordinary(provider);
        registry.merge(&report, &options).unwrap();
    }
    let before = std::fs::read(registry.path()).unwrap();
    let file = std::fs::File::open(registry.path()).unwrap();
    let (block, digest) = crate::block::find(&file, "b_cli", None).unwrap();
    // Somebody who knows no lock, between the two looks.
    let mut harmed = before.clone();
    harmed.truncate(before.len() - 10);
    std::fs::write(registry.path(), &harmed).unwrap();
    let changed = registry.change_block(&file, block.unwrap(), &digest, |rows| rows.clear());
    let error = changed.unwrap_err().to_string();
    assert!(error.contains("left as it is"), "{error}");
    assert_eq!(std::fs::read(registry.path()).unwrap(), harmed);
    // Undisturbed, only the rows of that provider are gone.
    std::fs::write(registry.path(), &before).unwrap();
    let file = std::fs::File::open(registry.path()).unwrap();
    let (block, digest) = crate::block::find(&file, "b_cli", None).unwrap();
    let changed = registry.change_block(&file, block.unwrap(), &digest, |rows| rows.clear());
    changed.unwrap();
    let left = registry.load().unwrap();
    let left: Vec<_> = left
        .agents()
        .iter()
        .map(|row| row.key.provider.as_str())
        .collect();
    assert_eq!(left, ["a_cli", "c_cli"]);
}
