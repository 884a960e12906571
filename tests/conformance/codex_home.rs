//! A Codex home of a few threads, written for one test.

use crate::scene::{FOLDERS, Scene};
use serde_json::{Value, json};

pub const A: &str = "01a22cbd-0000-7000-8000-00000000000a";
pub const B: &str = "01a22cbd-0000-7000-8000-00000000000b";
pub const C: &str = "01a22cbd-0000-7000-8000-00000000000c";

/// A thread as the database has it.
#[derive(Clone)]
pub struct Thread {
    pub id: &'static str,
    pub name: Option<&'static str>,
    pub title: &'static str,
    pub cwd: &'static str,
    pub source: &'static str,
    pub originator: &'static str,
    pub archived: bool,
}

/// An editor thread with a first prompt.
pub fn thread(id: &'static str) -> Thread {
    Thread {
        id,
        name: None,
        title: "Review the checkout",
        cwd: "/home/dev/projects/webshop",
        source: "vscode",
        originator: "codex_vscode",
        archived: false,
    }
}

/// A scene whose `.codex` holds these threads.
pub fn scene(threads: &[Thread]) -> Scene {
    let scene = Scene::empty();
    scene.world(FOLDERS);
    store(&scene, "home/.codex", "state_5.sqlite", threads);
    scene
}

/// Writes a database with these threads, and their transcripts.
pub fn store(scene: &Scene, home: &str, file: &str, threads: &[Thread]) {
    scene.axiowl.write(&format!("{home}/.keep"), "");
    let path = scene.axiowl.path(&format!("{home}/{file}"));
    std::fs::create_dir_all(path.parent().expect("folder")).expect("folder");
    let database = rusqlite::Connection::open(path).expect("database");
    database
        .execute_batch(
            "CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT, cwd TEXT, source TEXT, \
             title TEXT, archived INTEGER, updated_at INTEGER, updated_at_ms INTEGER, name TEXT, \
             preview TEXT, originator TEXT, thread_source TEXT, cli_version TEXT, \
             model_provider TEXT)",
        )
        .expect("schema");
    for thread in threads {
        let folder = "sessions/2026/11/30";
        let rollout = format!("{folder}/rollout-2026-11-30T10-00-00-{}.jsonl", thread.id);
        scene.axiowl.write(
            &format!("{home}/{rollout}"),
            format!(
                "{}\n",
                json!({ "type": "session_meta", "payload": { "id": thread.id } })
            ),
        );
        let recorded = home.replacen("home", "/home/dev", 1);
        database
            .execute(
                "INSERT INTO threads VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1796046932, 1796046932000, \
                 ?7, 'said', ?8, 'user', '0.171.0', 'mock')",
                rusqlite::params![
                    thread.id,
                    format!("{recorded}/{rollout}"),
                    thread.cwd,
                    thread.source,
                    thread.title,
                    thread.archived,
                    thread.name,
                    thread.originator,
                ],
            )
            .expect("row");
    }
}

/// Writes the desktop app's state.
pub fn desktop(scene: &Scene, state: &Value) {
    scene
        .axiowl
        .write("home/.codex/.codex-global-state.json", state.to_string());
}

/// Writes the name index.
pub fn index(scene: &Scene, names: &[(&str, &str)]) {
    let line =
        |(id, name): &(&str, &str)| format!("{}\n", json!({ "id": id, "thread_name": name }));
    let text: String = names.iter().map(line).collect();
    scene.axiowl.write("home/.codex/session_index.jsonl", text);
}
