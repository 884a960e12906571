//! Codex's queue as it lies on disk (`providers/codex.md` A and C2): a message that may come out
//! of it yet is never called absent, since whoever says so makes it be sent twice.

use crate::codex::scene_for;
use crate::scene::{LONG, OTHER, SESSION, Scene};
use axiowl_pipeline::edge::Finding;
use rusqlite::Connection;
use std::fs;
use std::path::Path;

const TABLE: &str = "CREATE TABLE queued_items (id TEXT PRIMARY KEY, thread_id TEXT NOT NULL,
    payload_json TEXT NOT NULL, queue_order INTEGER, created_at_ms INTEGER, updated_at_ms INTEGER)";

fn scene() -> Scene {
    scene_for("codex_cli", "")
}

/// A queue in a folder, as Codex makes it.
fn queue(folder: &Path) -> Connection {
    fs::create_dir_all(folder).unwrap();
    let queue = Connection::open(folder.join("queue_1.sqlite")).unwrap();
    queue.pragma_update(None, "journal_mode", "wal").unwrap();
    queue.execute(TABLE, []).unwrap();
    queue
}

fn put(queue: &Connection, id: &str, thread: &str, message: &str) {
    let payload = format!("{{\"clientUserMessageId\":\"{message}\",\"input\":[]}}");
    let sql = "INSERT INTO queued_items (id, thread_id, payload_json) VALUES (?1, ?2, ?3)";
    queue.execute(sql, [id, thread, &payload]).unwrap();
}

/// Why nobody can say that the message is not there.
#[track_caller]
fn unknown(scene: &Scene) -> String {
    match scene.find(LONG) {
        Finding::Unknown { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn waits(scene: &Scene) {
    let reason = unknown(scene);
    assert!(reason.contains("waits in Codex's queue"), "{reason}");
}

#[test]
fn a_message_that_waits_in_the_queue_is_not_absent() {
    let scene = scene();
    assert_eq!(scene.find(LONG), Finding::Absent, "there is no queue");
    let queue = queue(&scene.file(".codex"));
    let message = scene.message.to_string();
    put(&queue, "a", SESSION, OTHER);
    put(&queue, "b", OTHER, &message);
    assert_eq!(scene.find(LONG), Finding::Absent, "others' messages");
    put(&queue, "c", SESSION, &message);
    waits(&scene);
    // Stored as bytes.
    let sql = "UPDATE queued_items SET payload_json = CAST(payload_json AS BLOB) WHERE id = 'c'";
    queue.execute(sql, []).unwrap();
    waits(&scene);
    queue
        .execute("DELETE FROM queued_items WHERE id = 'c'", [])
        .unwrap();
    assert_eq!(scene.find(LONG), Finding::Absent);
}

#[test]
fn a_message_is_found_behind_any_number_of_others() {
    let scene = scene();
    let mut queue = queue(&scene.file(".codex"));
    let all = queue.transaction().unwrap();
    for number in 0..2500 {
        put(&all, &format!("q{number}"), SESSION, OTHER);
    }
    put(&all, "last", SESSION, &scene.message.to_string());
    all.commit().unwrap();
    waits(&scene);
}

#[test]
fn a_queue_that_cannot_be_understood_leaves_it_open() {
    let damaged = scene();
    let file = damaged.file(".codex/queue_1.sqlite");
    drop(queue(&damaged.file(".codex")));
    fs::write(&file, "no database, whatever its name says").unwrap();
    let reason = unknown(&damaged);
    assert!(reason.contains("cannot be read"), "{reason}");

    for (change, why) in [
        (
            "ALTER TABLE queued_items RENAME COLUMN payload_json TO payload",
            "payload_json",
        ),
        (
            "ALTER TABLE queued_items RENAME COLUMN thread_id TO thread",
            "thread_id",
        ),
        ("ALTER TABLE queued_items RENAME TO items", "no table"),
    ] {
        let renamed = scene();
        let queue = queue(&renamed.file(".codex"));
        put(&queue, "a", SESSION, &renamed.message.to_string());
        queue.execute(change, []).unwrap();
        let reason = unknown(&renamed);
        assert!(reason.contains(why), "{change}: {reason}");
    }
}

/// What somebody is about to change has not changed yet.
#[test]
fn a_queue_that_somebody_is_writing_is_read_as_it_was() {
    for journal in ["wal", "delete"] {
        let scene = scene();
        let queue = queue(&scene.file(".codex"));
        queue.pragma_update(None, "journal_mode", journal).unwrap();
        put(&queue, "a", SESSION, &scene.message.to_string());
        queue
            .execute_batch("BEGIN EXCLUSIVE; DELETE FROM queued_items")
            .unwrap();
        unknown(&scene);
        queue.execute_batch("ROLLBACK").unwrap();
        waits(&scene);
    }
}

#[test]
fn the_queue_lies_where_the_configuration_says() {
    for (named, folder) in [
        ("{home}/elsewhere", "elsewhere"),
        ("{home}/elsewhere/", "elsewhere"),
        ("~/below the home", "below the home"),
        ("beside", ".codex/beside"),
    ] {
        let scene = scene();
        let named = named.replace("{home}", &scene.home.display().to_string());
        fs::write(
            scene.file(".codex/config.toml"),
            format!("model = \"m\"\nsqlite_home = \"{named}\"\n[tui]\n"),
        )
        .unwrap();
        let queue = queue(&scene.file(folder));
        assert_eq!(scene.find(LONG), Finding::Absent);
        put(&queue, "a", SESSION, &scene.message.to_string());
        waits(&scene);
    }
}

#[test]
fn the_queue_lies_where_the_variable_says_and_a_wrong_word_leaves_it_open() {
    let mut scene = scene();
    let message = scene.message.to_string();
    put(&queue(&scene.file("elsewhere")), "a", SESSION, &message);
    assert_eq!(scene.find(LONG), Finding::Absent);
    let folder = scene.file("elsewhere").display().to_string();
    scene.env.insert("CODEX_SQLITE_HOME".into(), folder);
    waits(&scene);
    // From a folder that nobody knows.
    scene.env.insert("CODEX_SQLITE_HOME".into(), "else".into());
    let reason = unknown(&scene);
    assert!(reason.contains("CODEX_SQLITE_HOME"), "{reason}");
    scene.env.remove("CODEX_SQLITE_HOME");
    fs::write(scene.file(".codex/config.toml"), "sqlite_home = [").unwrap();
    let reason = unknown(&scene);
    assert!(reason.contains("config.toml"), "{reason}");
}
