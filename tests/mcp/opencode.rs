//! OpenCode: version 2 names its session, version 1's store holds the running call.

use crate::host::{Host, Who, below_after};
use crate::program::Axiowl;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::process::Command;

/// A store of version 1 as its program keeps it while it runs.
struct Scene {
    axiowl: Axiowl,
    store: Connection,
}

impl Scene {
    fn new() -> Self {
        let axiowl = Axiowl::new();
        let folder = axiowl.home().join(".local/share/opencode");
        std::fs::create_dir_all(&folder).expect("folder");
        let store = Connection::open(folder.join("opencode.db")).expect("store");
        store
            .execute_batch(
                "PRAGMA journal_mode=WAL;
                 CREATE TABLE session(id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT,
                     title TEXT, version TEXT, revert TEXT, time_created INTEGER, time_updated INTEGER, time_archived INTEGER);
                 CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
                 CREATE TABLE part(id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);",
            )
            .expect("schema");
        let scene = Self { axiowl, store };
        scene.session("ses_one", "Design Review", None);
        scene.session("ses_two", "Stock Feed", None);
        scene
    }

    fn session(&self, id: &str, title: &str, parent: Option<&str>) {
        let cwd = self.axiowl.home().display().to_string();
        self.store
            .execute(
                "INSERT INTO session VALUES (?1, 'p', ?2, ?1, ?3, ?4, '1.18.34', NULL, 1796046000000, 1796046000000, NULL)",
                (id, parent, cwd, title),
            )
            .expect("session");
    }

    /// The store as version 2 takes it over.
    fn becomes_version_2(&self) {
        self.store
            .execute_batch(
                "CREATE TABLE session_v2 AS SELECT * FROM session;
                 CREATE TABLE session_message(id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER, time_created INTEGER, data TEXT);
                 INSERT INTO session_message SELECT 'm-' || id, id, 'user', 1, time_created, '{}' FROM session;",
            )
            .expect("schema");
    }

    fn part(&self, id: &str, session: &str, status: &str, input: Value) {
        let data = json!({ "type": "tool", "tool": "axiowl_axiowl_whoami", "callID": id, "state": { "status": status, "input": input } });
        self.store
            .execute(
                "INSERT INTO part VALUES (?1, 'm', ?2, 1796046000000, 1796046000000, ?3)",
                (id, session, data.to_string()),
            )
            .expect("part");
    }

    /// A call of OpenCode's program, which has its store open.
    fn whoami(&self, meta: Value) -> Who {
        self.host_below("opencode", true).whoami(meta)
    }

    /// A server below a program of some name, which may have the store open.
    fn host_below(&self, program: &str, open: bool) -> Host {
        let store = self.axiowl.home().join(".local/share/opencode/opencode.db");
        let first = match open {
            true => format!("exec 3<'{}'", store.display()),
            false => ":".to_owned(),
        };
        let server = below_after(&self.axiowl, self.axiowl.command(&["mcp"]), program, &first);
        Host::greeting(server, "opencode")
    }
}

#[test]
fn c190_the_session_with_the_running_call_is_calling() {
    let scene = Scene::new();
    scene.part("c1", "ses_one", "completed", json!({}));
    scene.part("c2", "ses_two", "running", json!({}));
    let who = scene.whoami(json!({ "progressToken": 2 }));
    assert_eq!(who.session(), "opencode_cli:session:ses_two");
    assert_eq!(
        (who.field("display_name"), who.field("class")),
        (json!("Stock Feed"), json!("transcript_call"))
    );
    scene
        .store
        .execute("UPDATE part SET data = '' WHERE id = 'c2'", ())
        .expect("update");
    scene.session("ses_child", "explore the tests", Some("ses_one"));
    scene.part("c3", "ses_child", "running", json!({}));
    let who = scene.whoami(json!({}));
    assert_eq!(who.session(), "opencode_cli:session:ses_one");
    assert_eq!(who.field("subagent"), "explore the tests");
}

#[test]
fn two_equal_calls_at_once_none_and_others_are_refused() {
    let scene = Scene::new();
    scene.whoami(json!({})).refused_for("no running call");
    scene.part("c0", "ses_one", "pending", json!({}));
    scene.part("c1", "ses_one", "running", json!({ "since": "x" }));
    scene.whoami(json!({})).refused_for("no running call");
    scene.part("c2", "ses_one", "running", json!({}));
    scene.part("c3", "ses_two", "running", json!({}));
    scene.whoami(json!({})).refused_for("several running calls");
}

#[test]
fn c190_version_2_names_its_session_in_every_request() {
    let scene = Scene::new();
    scene.session("ses_child", "explore the tests", Some("ses_one"));
    scene
        .whoami(json!({ "sessionID": "ses_one" }))
        .refused_for("no session ses_one of OpenCode 2");
    scene.becomes_version_2();
    let who = scene.whoami(json!({ "sessionID": "ses_one" }));
    assert_eq!(who.session(), "opencode_cli:session:ses_one");
    assert_eq!(who.field("class"), "host_meta");
    let who = scene.whoami(json!({ "sessionID": "ses_child" }));
    assert_eq!(
        (who.session(), who.field("subagent")),
        (
            "opencode_cli:session:ses_one".into(),
            json!("explore the tests")
        )
    );
    scene
        .whoami(json!({ "sessionID": "ses_nobody" }))
        .refused_for("no session ses_nobody of OpenCode 2");
}

#[test]
fn a_client_that_has_no_store_open_is_not_opencode() {
    let scene = Scene::new();
    scene.part("c1", "ses_one", "running", json!({}));
    let mut host = scene.host_below("opencode", false);
    host.whoami(json!({})).refused_for("opencode.db open");
    host.whoami(json!({ "sessionID": "ses_one" }))
        .refused_for("opencode.db open");
    assert_eq!(
        scene.whoami(json!({})).session(),
        "opencode_cli:session:ses_one"
    );
}

#[test]
fn reading_its_store_makes_nobody_opencode() {
    let scene = Scene::new();
    scene.part("c1", "ses_one", "running", json!({}));
    scene.becomes_version_2();
    // This test has the store open, as anybody can, and so has a program with nearly that name.
    for mut host in [
        Host::of(&scene.axiowl, "opencode"),
        scene.host_below("opencoder", true),
    ] {
        let why = host.whoami(json!({})).refusal();
        assert!(
            why.contains("does not run OpenCode's program") && why.contains("without a shell"),
            "{why}"
        );
        host.whoami(json!({ "sessionID": "ses_one" }))
            .refused_for("does not run OpenCode's program");
    }
}

#[test]
fn what_a_shell_of_opencode_runs_speaks_for_no_session() {
    let scene = Scene::new();
    scene.part("c1", "ses_one", "running", json!({}));
    // The shell between OpenCode and the server has inherited the store, too.
    let store = scene
        .axiowl
        .home()
        .join(".local/share/opencode/opencode.db");
    let inner = scene.axiowl.command(&["mcp"]);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "\"$@\"; exit $?", "sh"]);
    shell.arg(inner.get_program()).args(inner.get_args());
    let envs = inner.get_envs();
    shell.envs(envs.filter_map(|(name, value)| Some((name, value?))));
    let first = format!("exec 3<'{}'", store.display());
    let server = below_after(&scene.axiowl, shell, "opencode", &first);
    let mut host = Host::greeting(server, "opencode");
    host.whoami(json!({}))
        .refused_for("does not run OpenCode's program");
    host.whoami(json!({ "sessionID": "ses_two" }))
        .refused_for("does not run OpenCode's program");
}
