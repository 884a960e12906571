//! `providers/opencode-gemini.md` A and C, OpenCode, case by case.

use crate::scene::{LONG, Ran, Scene};
use crate::stand_in::{NOTES, arguments, is_gone, runs};
use axiowl_model::SessionKey;
use axiowl_pipeline::edge::Liveness;
use rusqlite::Connection;
use serde_json::json;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub const ID: &str = "ses_dd33ec978ffePQ9AJ2MPBJ0WtF";
pub const ELSE: &str = "ses_dd33ec978ffe000000000000000";
pub const DATABASE: &str = ".local/share/opencode/opencode.db";

/// The message comes on standard input.
const OPENCODE: &str = r#"
cat > "$H/input"
id=$(sed -n '1s/^\[AxiOwl \([^]]*\)\].*/\1/p' "$H/input")
step() { printf '{"type":"step_start","sessionID":"%s"}\n' "${1:-$ID}"; }
record() { echo "{\"content\":\"[AxiOwl $id]\"}" >> "${1:-$T}"; }
end() { echo "{\"end\":$1}" >> "$T"; }
finish() { printf '{"type":"step_finish","sessionID":"%s","part":{"reason":"%s"}}\n' "$ID" "${1:-stop}"; }
error() { printf '{"type":"error","sessionID":"%s","error":{"name":"APIError","data":{"message":"%s"}}}\n' "$ID" "$1"; }
"#;
pub const GOOD: &str = "step; record; end true; finish";

pub fn scene(does: &str) -> Scene {
    let mut scene = Scene::new("opencode_cli", "record.jsonl");
    scene.key = SessionKey::local("opencode_cli", format!("opencode_cli:session:{ID}"));
    let names = format!("ID={ID}; ELSE={ELSE}");
    scene.program("opencode", &format!("{names}{NOTES}{OPENCODE}{does}"));
    version(&scene, "1.18.34");
    fs::create_dir_all(scene.file(DATABASE).parent().unwrap()).unwrap();
    let columns = "id TEXT, parent_id TEXT, directory TEXT, revert TEXT, time_archived INTEGER";
    sql(
        &scene,
        &format!(
            "CREATE TABLE session ({columns}); CREATE TABLE session_v2 ({columns});
             CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
             CREATE TABLE session_message (id TEXT, session_id TEXT, type TEXT, seq INTEGER, data TEXT);
             INSERT INTO session VALUES ('{ID}', NULL, '{}', NULL, NULL);",
            scene.cwd
        ),
    );
    scene
}

fn version(scene: &Scene, version: &str) {
    let text = json!({ "name": "opencode-linux-x64", "version": version }).to_string();
    fs::write(scene.file("bin/package.json"), text).unwrap();
}

pub fn sql(scene: &Scene, statements: &str) {
    let connection = Connection::open(scene.file(DATABASE)).unwrap();
    connection.execute_batch(statements).unwrap();
}

fn deliver(does: &str) -> Ran {
    scene(does).deliver(LONG)
}

#[test]
fn opencode_gets_the_message_on_standard_input_in_the_session_s_own_folder() {
    let scene = scene(GOOD);
    // The registry's folder is out of date; the session's own counts.
    let moved = scene.file("moved here");
    fs::create_dir_all(&moved).unwrap();
    sql(
        &scene,
        &format!("UPDATE session SET directory = '{}'", moved.display()),
    );
    let ran = scene.deliver(LONG);
    ran.is(&["starting", "submitted", "seen", "turn_done"], "ok");
    assert_eq!(ran.evidence[3].path.as_deref(), scene.transcript.to_str());
    let moved = moved.to_str().unwrap();
    let expected = ["run", "--format", "json", "--dir", moved, "--session", ID];
    assert_eq!(arguments(&scene), expected);
    assert_eq!(scene.read("input"), scene.body());
    assert_eq!(scene.read("pwd").trim(), moved);
    assert!(scene.read("env").contains(&format!("PWD={moved}\n")));
    assert!(!scene.read("env").contains("XDG_DATA_HOME"));
}

#[test]
fn what_may_get_no_message_is_told_from_the_store_before_anything_is_started() {
    let scene = scene(GOOD);
    let told = |change: &str, reason: &str| {
        sql(&scene, &format!("UPDATE session SET {change}"));
        let said = scene.unavailable();
        assert!(said.contains(reason), "{reason}: {said}");
        scene.deliver(LONG).is(&[], "not_submitted");
        let folder = &scene.cwd;
        sql(
            &scene,
            &format!(
                "UPDATE session SET parent_id = NULL, revert = NULL, time_archived = NULL, directory = '{folder}'"
            ),
        );
    };
    told("revert = '{\"messageID\":\"msg_1\"}'", "an undo is pending");
    told("parent_id = 'ses_parent0000'", "sub-agent");
    told("time_archived = 1", "archived");
    told("directory = '/gone/for/good'", "folder is gone");
    told("directory = ''", "names no folder");
    assert!(matches!(scene.probe(), Liveness::Idle { .. }));
    sql(&scene, "ALTER TABLE session DROP COLUMN revert");
    assert!(scene.unavailable().contains("does not say"));
    sql(&scene, "DELETE FROM session");
    assert!(scene.unavailable().contains("not in OpenCode's store"));
    fs::remove_file(scene.file(DATABASE)).unwrap();
    assert!(scene.unavailable().contains("cannot be read"));
    assert_eq!(runs(&scene), 0);
}

#[test]
fn each_version_gets_only_the_sessions_of_its_own_table() {
    let scene = scene(GOOD);
    version(&scene, "2.2.3");
    assert!(scene.unavailable().contains("another version"));
    sql(&scene, "INSERT INTO session_v2 SELECT * FROM session");
    // Version 2 has no --dir; it takes its folder from where it runs.
    assert_eq!(scene.deliver(LONG).end(), "ok");
    assert_eq!(
        arguments(&scene),
        ["run", "--format", "json", "--session", ID]
    );
    assert_eq!(scene.read("pwd").trim(), scene.cwd);
    version(&scene, "1.18.34");
    assert!(scene.unavailable().contains("old copy"));
    sql(&scene, "DELETE FROM session");
    assert!(scene.unavailable().contains("another version"));
    version(&scene, "3.0.0");
    assert!(scene.unavailable().contains("not known"));
    fs::remove_file(scene.file("bin/package.json")).unwrap();
    assert!(scene.unavailable().contains("version of"));
}

/// A process that has the store open, in a folder.
pub fn holder(scene: &Scene, folder: &str) -> Child {
    let database = scene.file(DATABASE);
    let up = scene.file("up");
    let _ = fs::remove_file(&up);
    let script = format!(
        "exec 3<'{}'; touch '{}'; read never",
        database.display(),
        up.display()
    );
    let child = Command::new("/bin/sh")
        .args(["-c", &script])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    while !up.exists() {
        std::thread::yield_now();
    }
    child
}

pub fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_program_without_a_port_in_the_session_s_folder_means_refused() {
    let scene = scene(GOOD);
    let child = holder(&scene, &scene.cwd);
    let reason = scene.closed();
    let ran = scene.deliver(LONG);
    let pid = child.id().to_string();
    end(child);
    assert!(
        reason.contains(&pid) && reason.contains("without a port"),
        "{reason}"
    );
    ran.is(&[], "refused");
    assert_eq!(runs(&scene), 0);
}

/// The screen of a program lists the sessions of the whole project.
#[test]
fn a_program_without_a_port_in_the_session_s_project_means_refused() {
    let scene = scene(GOOD);
    let cwd = std::path::PathBuf::from(&scene.cwd);
    let inside = cwd.join("sub/deeper");
    let beside = scene.file("beside");
    for folder in [&inside, &beside] {
        fs::create_dir_all(folder).unwrap();
    }
    let closed = |folder: &std::path::Path| {
        let child = holder(&scene, folder.to_str().unwrap());
        let live = scene.probe();
        end(child);
        matches!(live, Liveness::Closed { .. })
    };
    // Outside of any repository: above and below.
    assert!(closed(&inside) && closed(cwd.parent().unwrap()) && !closed(&beside));
    // The session's repository: all of it, another work tree of it, and nothing else.
    let linked = cwd.join(".git/worktrees/other");
    fs::create_dir_all(&linked).unwrap();
    fs::write(linked.join("commondir"), "../..\n").unwrap();
    fs::write(
        beside.join(".git"),
        format!("gitdir: {}\n", linked.display()),
    )
    .unwrap();
    assert!(closed(&inside) && closed(&beside) && !closed(cwd.parent().unwrap()));
    fs::create_dir(inside.join(".git")).unwrap();
    assert!(!closed(&inside), "a repository of its own");
}

#[test]
fn an_answer_without_an_end_is_somebody_s_turn_while_anybody_has_the_store_open() {
    let scene = scene(GOOD);
    let answer = json!({ "role": "assistant", "time": { "created": 1 } });
    sql(
        &scene,
        &format!(
            "INSERT INTO message VALUES ('msg_2', '{ID}', 2, '{answer}'), ('msg_1', '{ID}', 1, '{{}}')"
        ),
    );
    let child = holder(&scene, "/proc");
    let reason = scene.closed();
    end(child);
    assert!(reason.contains("has no end yet"), "{reason}");
    // Nobody is there any more: the turn was broken off.
    assert!(matches!(scene.probe(), Liveness::Idle { .. }));
    // Elsewhere and without such a turn it is nobody's business.
    sql(&scene, "DELETE FROM message");
    let child = holder(&scene, "/proc");
    let live = scene.probe();
    end(child);
    assert!(matches!(live, Liveness::Idle { .. }), "{live:?}");
}

#[test]
fn what_run_says_never_makes_more_of_it_than_the_store_does() {
    deliver("step; finish").is(&["starting", "submitted"], "uncertain");
    deliver("step; record; finish").is(&["starting", "submitted", "seen"], "ok");
    let ran = deliver("step; record; error 'mock failure 401'; exit 1");
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    ran.tells("mock failure 401");
    // Exit 0 without an end: as when the store was locked.
    deliver("exit 0").is(&["starting"], "uncertain");
    let ran = deliver("echo 'Error: Session not found' >&2; exit 1");
    ran.is(&["starting"], "not_submitted");
    let ran = deliver("step $ELSE; record; finish");
    assert_eq!(ran.end(), "misdelivered");
    let unread = scene(GOOD);
    fs::remove_file(&unread.transcript).unwrap();
    let ran = unread.deliver(LONG);
    ran.is(&[], "not_submitted");
    ran.tells("nothing could be proven");
    let hangs = scene("step; record; hang");
    let ran = hangs.deliver(Duration::from_secs(3));
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    is_gone(&hangs);
}
