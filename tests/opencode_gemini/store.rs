//! How the database of OpenCode is read: from a private copy, whole, and without a trace.

use super::{Axiowl, STORE, Scope, at_home, contents, database, sql};
use axiowl_lang::layers::{self, Sources};
use axiowl_lang::source::{Mirror, Source};
use std::path::Path;
use std::process::{Command, Stdio};

/// A home with the store of both generations, its owner still at work: the last change stands
/// only in the log.
fn live(axiowl: &Axiowl) -> rusqlite::Connection {
    let connection = database(&sql("two-generations"), &axiowl.home().join(STORE));
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
             UPDATE session_v2 SET title = 'Renamed just now' WHERE id = 'ses_full';
             UPDATE session SET title = 'Renamed too' WHERE id = 'ses_onlyv1';",
        )
        .expect("a log");
    connection
}

fn shape(connection: &rusqlite::Connection) -> Vec<String> {
    let mut statement = connection
        .prepare("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY 1")
        .expect("schema");
    let rows = statement.query_map([], |row| row.get(0)).expect("rows");
    rows.map(|row| row.expect("text")).collect()
}

#[test]
fn c437_every_reader_of_the_database_is_bound_to_a_private_copy() {
    let rules = Path::new(super::ROOT).join("rules");
    let set = layers::load_all(&Sources {
        disk: Some(&rules),
        ..Sources::default()
    });
    let rule = &set.get("opencode_cli").expect("the rule").rule;
    let mut readers = 0;
    for (name, source) in &rule.sources {
        if let Source::Sqlite(sqlite) = source {
            assert_eq!(sqlite.mirror, Mirror::Only, "{name}");
            readers += 1;
        }
    }
    assert!(readers > 0);
    let transcript = &rule.transcript.as_ref().expect("a transcript").value;
    let sqlite = transcript.sqlite.as_ref().expect("a database");
    assert_eq!(sqlite.mirror, Mirror::Only);
}

/// Where no copy can be made nothing is read: there is no way around it, not even at rest.
#[test]
fn c437_c438_without_a_place_for_the_copy_the_store_is_not_read() {
    let axiowl = Axiowl::new();
    drop(database(&sql("versions-1"), &axiowl.home().join(STORE)));
    assert_eq!(at_home(&axiowl, "opencode-cli").rows.len(), 10);
    let nowhere = axiowl.path("nowhere");
    let axiowl = axiowl.with_env("TMPDIR", nowhere.to_str().expect("text"));
    let scope = at_home(&axiowl, "opencode-cli");
    assert!(scope.rows.is_empty());
    assert!(!scope.issues().is_empty());
}

#[test]
fn c438_c439_c440_the_owner_sees_nothing_of_it() {
    // At work, and at rest.
    for at_work in [true, false] {
        let axiowl = Axiowl::new();
        let writer = live(&axiowl);
        let before = shape(&writer);
        let writer = at_work.then_some(writer);
        let folder = axiowl.home().join(".local");
        let files = contents(&folder);
        assert_eq!(files.len() > 1, at_work, "{:?}", files.keys());
        let scope = at_home(&axiowl, "opencode-cli");
        assert_eq!(scope.says("ses_full").0, Some("Renamed just now"));
        assert_eq!(scope.says("ses_onlyv1").0, Some("Renamed too"));
        let run = axiowl.run(&["explain", "opencode_cli:session:ses_full"]);
        assert_eq!(run.code, 0, "{run}");
        assert_eq!(contents(&folder), files, "a byte, or a file beside it");
        // Nothing was migrated.
        if let Some(writer) = writer {
            assert_eq!(shape(&writer), before);
        }
    }
}

/// The owner writes a session and its first message in one transaction, in the tables of both
/// generations, and drops the oldest; again and again. Whoever is found has said something.
#[test]
fn c441_a_store_that_is_written_meanwhile_is_seen_whole_in_both_generations() {
    const KEPT: u64 = 50;
    let axiowl = Axiowl::new();
    let connection = database(&sql("two-generations"), &axiowl.home().join(STORE));
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 20;",
        )
        .expect("a log");
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let (begin, begun) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn(move || {
        let mut n: u64 = 0;
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            n += 1;
            let old = n.saturating_sub(KEPT);
            let sql = format!(
                "BEGIN;
                 INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)
                 VALUES ('ses_one_{n}', 'global', 's', '/', 'One {n}', '1.18.33', {n}, {n});
                 INSERT INTO message (id, session_id, time_created, time_updated, data)
                 VALUES ('msg_one_{n}', 'ses_one_{n}', {n}, {n}, '{{\"role\":\"user\"}}');
                 INSERT INTO session_v2 (id, project_id, slug, directory, title, version, time_created, time_updated)
                 VALUES ('ses_two_{n}', 'global', 's', '/', 'Two {n}', '2.2.0', {n}, {n});
                 INSERT INTO session_message (id, session_id, type, seq, time_created, time_updated, data)
                 VALUES ('msg_two_{n}', 'ses_two_{n}', 'user', 0, {n}, {n}, '{{\"text\":\"hello\"}}');
                 DELETE FROM session WHERE id = 'ses_one_{old}';
                 DELETE FROM message WHERE session_id = 'ses_one_{old}';
                 DELETE FROM session_v2 WHERE id = 'ses_two_{old}';
                 DELETE FROM session_message WHERE session_id = 'ses_two_{old}';
                 COMMIT;"
            );
            connection.execute_batch(&sql).expect("written");
            if n == KEPT {
                begin.send(()).expect("somebody waits");
            }
        }
    });
    begun.recv().expect("the writer begins");
    let (mut rounds, mut seen, mut last) = (0, 0, 0);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while rounds < 3 && std::time::Instant::now() < until {
        let scope = at_home(&axiowl, "opencode-cli");
        // A writer that never rests may let no copy through; then the store is busy, and said so.
        if scope.rows.is_empty() {
            assert!(scope.issues().contains(&"busy"), "{:?}", scope.issues());
            continue;
        }
        // Otherwise it was read whole: no source may meet another moment than the rest.
        assert!(!scope.issues().contains(&"busy"), "{:?}", scope.issues());
        let numbers = |prefix: &str| -> Vec<u64> {
            let ids = scope.rows.keys().filter_map(|id| id.strip_prefix(prefix));
            ids.map(|number| number.parse().expect("a number"))
                .collect()
        };
        let (one, two) = (numbers("ses_one_"), numbers("ses_two_"));
        assert_eq!(one, two, "half a transaction");
        for number in &one {
            for id in [format!("ses_one_{number}"), format!("ses_two_{number}")] {
                assert_eq!(
                    scope.says(&id).1,
                    "main",
                    "{id} without what was said in it"
                );
            }
        }
        let newest = one.iter().max().copied().unwrap_or(0);
        assert!(newest >= last, "committed sessions were lost");
        (rounds, last, seen) = (rounds + 1, newest, seen + one.len());
    }
    drop(stop);
    writer.join().expect("the writer ends");
    assert!(seen > 0, "nothing was read");
}

/// Ends a run while it reads, by the signal that Ctrl-C sends: nothing is merged, and no copy is
/// left. Both generations stand in the store.
#[cfg(unix)]
#[test]
fn c442_a_run_that_is_ended_leaves_no_copy_and_changes_nothing() {
    let axiowl = Axiowl::new();
    let connection = database(&sql("two-generations"), &axiowl.home().join(STORE));
    // Enough work that a signal meets it: many sessions without a title, and messages to look
    // through for what the first of each was.
    connection
        .execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
             INSERT INTO session_message (id, session_id, type, seq, time_created, time_updated, data)
             SELECT 'much_' || i, 'ses_many_' || (i % 400), 'user', i, 0, 0, '{}' FROM n;
             INSERT INTO session_v2 (id, project_id, slug, directory, title, version, time_created, time_updated)
             SELECT DISTINCT session_id, 'global', 's', '/', 'New session - untitled', '2.2.0', 0, 0
             FROM session_message WHERE id LIKE 'much_%';",
        )
        .expect("much");
    drop(connection);
    let copies = axiowl.path("copies");
    std::fs::create_dir(&copies).expect("folder");
    let axiowl = axiowl.with_env("TMPDIR", copies.to_str().expect("text"));
    let mut command = axiowl.command(&["discover", "opencode-cli", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().expect("axiowl runs");
    // The copy is there: it reads, or is about to.
    let there = || std::fs::read_dir(&copies).expect("folder").next().is_some();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !there() {
        assert!(std::time::Instant::now() < until, "no copy was made");
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    let signal = Command::new("kill").args(["-INT", &pid]).status();
    assert!(signal.expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("nothing of it was changed"), "{said}");
    assert!(!there(), "a copy was left");
    assert!(!axiowl.registry().exists());
    // The same run over less, left alone, finds what is there.
    let connection = rusqlite::Connection::open(axiowl.home().join(STORE)).expect("database");
    connection
        .execute_batch("DELETE FROM session_v2 WHERE id LIKE 'ses_many_%'; DELETE FROM session_message WHERE id LIKE 'much_%';")
        .expect("less");
    drop(connection);
    let scope: Scope = at_home(&axiowl, "opencode-cli");
    assert!(scope.rows.contains_key("ses_full") && scope.rows.contains_key("ses_onlyv1"));
    assert!(!there(), "a copy was left");
}

/// A store above the limit is refused with its reason, and its rows of before stay as they are.
#[test]
fn a_store_too_large_for_a_copy_enrols_nothing_and_costs_nothing() {
    let axiowl = Axiowl::new();
    let connection = database(&sql("versions-1"), &axiowl.home().join(STORE));
    connection
        .execute_batch("UPDATE session SET directory = '/'")
        .expect("a folder that is there");
    assert_eq!(at_home(&axiowl, "opencode-cli").targets().len(), 4);
    connection
        .execute_batch("CREATE TABLE event (data); INSERT INTO event VALUES (zeroblob(2000000));")
        .expect("much");
    drop(connection);
    axiowl.write(
        "home/.config/axiowl/config.yaml",
        "limits: { live_store: 1 MiB }\n",
    );
    let scope = at_home(&axiowl, "opencode-cli");
    assert!(scope.rows.is_empty());
    assert!(scope.issues().contains(&"mirror_too_large"));
    let run = axiowl.run(&["list", "agents", "--json"]);
    assert_eq!(run.lines("agent").len(), 4, "{run}");
}
