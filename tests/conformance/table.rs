//! The registry as people and programs see it: where it lies, what is listed, what can be sent
//! to, and what an operator can find out (sections 1 to 4, 13 and 33).

use crate::program::{Axiowl, ROOT};
use crate::scene::{Scene, row};
use std::path::{Path, PathBuf};

const PINNED: &str = "01a22cbd-b4a8-7b40-a5cd-453e8dfba256";
const SEEN_ONLY: &str = "01a22cbd-be06-72e1-91d3-1dff76ca1bad";

/// C001: a table of tab-separated text; C002: one root moves every file of the state.
#[test]
fn c001_c002_the_state_root_moves_every_file_and_the_registry_is_a_table() {
    let scene = Scene::codex();
    let state = scene.axiowl.path("xdg");
    let world = scene.axiowl.path("world.yaml").display().to_string();
    let mut command = scene
        .axiowl
        .command(&["--world", &world, "discover", "codex"]);
    let output = command
        .env("XDG_STATE_HOME", &state)
        .output()
        .expect("axiowl runs");
    assert!(output.status.success());
    assert!(
        !scene.axiowl.home().join(".axiowl").exists(),
        "the default root is not used"
    );
    let homes = state.join("axiowl/homes");
    let found: Vec<PathBuf> = std::fs::read_dir(homes)
        .expect("state")
        .map(|e| e.expect("entry").path())
        .collect();
    let [root] = &found[..] else {
        panic!("{found:?}")
    };
    assert!(root.join("evidence.log").is_file());
    let table = std::fs::read_to_string(root.join("registry/agents.tsv")).expect("table");
    let cells: Vec<usize> = table.lines().map(|line| line.split('\t').count()).collect();
    assert!(
        cells.len() > 3 && cells.iter().all(|count| *count == cells[0]),
        "{table}"
    );
}

/// C002: no other code than the registry's asks for a state folder or names the table.
#[test]
fn c002_c009_one_module_knows_where_the_registry_is() {
    let mut folders = vec![
        Path::new(ROOT).join("engine"),
        Path::new(ROOT).join("providers"),
    ];
    let mut checked = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("folder") {
            let path = entry.expect("entry").path();
            let name = path.display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") && !name.contains("test") {
                let text = std::fs::read_to_string(&path).expect("text");
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                let code: String = code
                    .lines()
                    .filter_map(|l| l.split("//").next())
                    .collect::<Vec<_>>()
                    .join("\n");
                let own = name.contains("engine/registry/");
                assert!(
                    own || !code.contains("agents.tsv"),
                    "{name} names the table"
                );
                assert!(
                    own || !code.contains("\".axiowl\""),
                    "{name} names the state root"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 100, "only {checked} files were looked at");
}

/// C008, C009: what one process adds, every other command sees. C010: with the three parts of
/// its identity, or not at all.
#[test]
fn c008_c009_c010_one_registry_serves_every_command() {
    let scene = Scene::codex();
    let add = [
        "registry",
        "add-agent",
        "--provider",
        "codex",
        "--session",
        PINNED,
    ];
    scene.ok(&[&add[..], &["--name", "My plans"]].concat());
    assert_eq!(
        scene.ok(&["list", "agents", "--json"]).lines("agent").len(),
        1
    );
    let found = scene.ok(&["discover", "codex", "--json"]);
    assert_eq!(
        row(&found.lines("discovered_agent"), PINNED)["decision"],
        "updated",
        "{found}"
    );
    let sent = scene.run(&[
        "send",
        "--to",
        "My plans",
        "--body",
        "x",
        "--dry-run",
        "--json",
    ]);
    assert_eq!(
        sent.lines("dry_run")[0]["agent_id"],
        format!("codex:local:{PINNED}"),
        "{sent}"
    );
    for (provider, session) in [("", PINNED), ("codex", " ")] {
        let add = [
            "registry",
            "add-agent",
            "--provider",
            provider,
            "--session",
            session,
        ];
        let run = scene.run(&[&add[..], &["--name", "Half"]].concat());
        assert_ne!(run.code, 0, "{provider:?} {session:?}");
    }
    assert!(!scene.table().contains("Half"));
    let parts = |row: &serde_json::Value| {
        ["provider", "node_id", "provider_session_id"]
            .iter()
            .all(|key| row[key].as_str().is_some_and(|text| !text.is_empty()))
    };
    assert!(scene.rows().iter().all(parts));
}

/// C042: the four rows of the truth table. C041, C030, C017. C045: what is not listed is
/// rejected by send.
#[test]
fn c030_c041_c042_c045_only_enabled_and_sendable_rows_are_listed_and_sent_to() {
    let axiowl = Axiowl::new();
    for (name, enabled, sendable) in [
        ("Both", true, true),
        ("Off", false, true),
        ("Known", true, false),
        ("None", false, false),
    ] {
        let session = format!("session-of-{name}");
        let mut add = vec![
            "registry",
            "add-agent",
            "--provider",
            "codex",
            "--session",
            &session,
            "--name",
            name,
        ];
        if !sendable {
            add.push("--not-sendable");
        }
        assert_eq!(axiowl.run(&add).code, 0);
        if !enabled {
            assert_eq!(axiowl.run(&["registry", "disable", name]).code, 0);
        }
    }
    let listed = axiowl.run(&["list", "agents", "--json"]).lines("agent");
    let names: Vec<&str> = listed
        .iter()
        .filter_map(|row| row["display_name"].as_str())
        .collect();
    assert_eq!(names, ["Both"]);
    let plain = axiowl.run(&["list", "agents"]);
    assert!(
        plain.stdout.contains("Both") && !plain.stdout.contains("Known"),
        "{plain}"
    );
    let all = axiowl
        .run(&["list", "agents", "--all", "--json"])
        .lines("agent");
    let known = row(&all, "session-of-Known");
    assert_eq!(
        (&known["enabled"], &known["sendable"]),
        (&true.into(), &false.into())
    );
    for name in ["Off", "Known", "None"] {
        let run = axiowl.run(&["send", "--to", name, "--body", "x"]);
        assert_eq!(run.code, 5, "{name}: {run}");
    }
    assert_eq!(
        axiowl.run(&["list", "messages", "--json"]).stdout,
        "",
        "nothing was accepted"
    );
}

/// C034, C043, C044, C074, C367, C370, C372: evidence is kept and shown, is not listed, and is
/// no way to send.
#[test]
fn c034_c043_c044_c074_evidence_is_kept_and_is_no_target() {
    let scene = Scene::codex();
    let found = scene.discover("codex");
    let seen = row(&found, SEEN_ONLY);
    assert_eq!(
        (&seen["status"], &seen["decision"]),
        (&"evidence_only".into(), &"evidence".into())
    );
    let rows = scene.rows();
    let stored = row(&rows, SEEN_ONLY);
    assert_eq!(stored["sendable"], false);
    let listed = scene.ok(&["list", "agents", "--json"]).stdout;
    assert!(
        !listed.contains(SEEN_ONLY) && listed.contains(PINNED),
        "{listed}"
    );
    let log = std::fs::read_to_string(scene.axiowl.path("state/evidence.log")).expect("log");
    assert!(log.contains(SEEN_ONLY));
    // C370: why, in the list, in explain and in the refusal.
    let why = stored["last_error"].as_str().expect("reason");
    assert!(why.contains("live desktop owner"), "{why}");
    assert!(
        scene
            .ok(&["list", "agents", "--all"])
            .stdout
            .contains("live desktop owner")
    );
    assert!(
        scene
            .ok(&["explain", SEEN_ONLY])
            .stdout
            .contains("live desktop owner")
    );
    let send = scene.run(&["send", "--to", SEEN_ONLY, "--body", "x"]);
    assert_eq!(send.code, 5, "{send}");
    assert!(send.stderr.contains("live desktop owner"), "{send}");
    // C074: nor does the discovery that a send makes for a name nobody knows open a way.
    let fresh = Scene::codex();
    let send = fresh.run(&["send", "--to", SEEN_ONLY, "--body", "x"]);
    assert_eq!(send.code, 5, "{send}");
    assert_eq!(fresh.ok(&["list", "messages", "--json"]).stdout, "");
}

/// C037, C040, C024, C027: a send to a friendly name goes to provider, node and session.
#[test]
fn c024_c027_c037_c040_a_name_leads_to_provider_node_and_session() {
    let scene = Scene::codex();
    scene.discover("codex");
    for target in ["Plan holidays", PINNED, &format!("codex-thread:{PINNED}")] {
        let run = scene.run(&["send", "--to", target, "--body", "x", "--dry-run", "--json"]);
        let line = &run.lines("dry_run")[0];
        assert_eq!(line["agent_id"], format!("codex:local:{PINNED}"), "{run}");
        assert_eq!(line["display_name"], "Plan holidays");
    }
}

/// C031, C033, C038, C110, C371: a rename and a lost proof change the row, not its identity.
#[test]
fn c031_c033_c038_c110_c371_a_row_keeps_its_identity_and_says_what_it_lost() {
    let scene = Scene::codex();
    scene.discover("codex");
    let database = rusqlite::Connection::open(scene.axiowl.home().join(".codex/state_5.sqlite"));
    let database = database.expect("database");
    let update = |sql: &str| database.execute_batch(sql).expect("SQL");
    update(&format!(
        "UPDATE threads SET name = 'Summer trip' WHERE id = '{PINNED}'"
    ));
    scene.discover("codex");
    let rows = scene.rows();
    let renamed = row(&rows, PINNED);
    assert_eq!(renamed["display_name"], "Summer trip");
    assert_eq!(renamed["agent_id"], format!("codex:local:{PINNED}"));
    let old = scene.run(&[
        "send",
        "--to",
        "Plan holidays",
        "--body",
        "x",
        "--dry-run",
        "--json",
    ]);
    assert_eq!(
        old.lines("dry_run")[0]["agent_id"],
        renamed["agent_id"],
        "{old}"
    );

    update(&format!(
        "UPDATE threads SET archived = 1 WHERE id = '{PINNED}'"
    ));
    scene.discover("codex");
    let rows = scene.rows();
    let archived = row(&rows, PINNED);
    assert_eq!(archived["sendable"], false);
    assert_eq!(archived["last_error"], "its status is archived");
    assert_eq!(archived["first_seen_at"], renamed["first_seen_at"]);
    update(&format!(
        "UPDATE threads SET archived = 0 WHERE id = '{PINNED}'"
    ));
    scene.discover("codex");
    let rows = scene.rows();
    assert_eq!(row(&rows, PINNED)["sendable"], true, "proof repairs it");
    assert_eq!(row(&rows, PINNED)["last_error"], "");
}

/// C035, C111, C373: no row is a target because a file, a database row or an entry of a history
/// merely exists.
#[test]
fn c035_c111_c373_being_there_makes_no_target() {
    let scene = Scene::both();
    scene.axiowl.write(
        "home/.codex/history.jsonl",
        "{\"session_id\":\"01a22cbd-0000-7000-8000-000000000001\",\"ts\":1,\"text\":\"hello\"}\n",
    );
    let run = scene.ok(&["discover", "all", "--json"]);
    let found = run.lines("discovered_agent");
    let rows = scene.rows();
    for (case, session) in [
        ("an empty file", "40000000-0000-4000-8000-000000000005"),
        (
            "a title without a conversation",
            "40000000-0000-4000-8000-000000000007",
        ),
        (
            "a file with another session's records",
            "40000000-0000-4000-8000-000000000003",
        ),
        (
            "a database row without a transcript",
            "01a22cbe-13a0-7dd1-8c7e-88703f16b00b",
        ),
    ] {
        assert_eq!(row(&found, session)["sendable"], false, "{case}");
        let stored = rows.iter().find(|row| {
            row["provider_session_id"]
                .as_str()
                .is_some_and(|id| id.ends_with(session))
        });
        assert!(stored.is_none_or(|row| row["sendable"] == false), "{case}");
    }
    for entry in [
        "01a22cbd-0000-7000-8000-000000000001",
        "01a22c9e-dead-7400-b4e3-dca4e68ed0d1",
    ] {
        assert!(
            !run.stdout
                .contains(&format!("\"provider_session_id\":\"{entry}\"")),
            "{entry}"
        );
    }
}

/// C366, C367, C368, C369: what can be named, what can be sent to, and what is only something
/// else, after one command.
#[test]
fn c366_to_c369_an_operator_sees_what_is_named_safe_and_only_seen() {
    let scene = Scene::both();
    let run = scene.ok(&["discover", "all", "--json"]);
    let found = run.lines("discovered_agent");
    let named = found
        .iter()
        .filter(|row| row["display_name"].is_string())
        .count();
    assert!(named > 30, "{named}");
    let listed = scene.ok(&["list", "agents", "--json"]).lines("agent");
    let sendable = found
        .iter()
        .filter(|row| row["decision"] == "enrolled")
        .count();
    assert_eq!(
        listed.len(),
        sendable,
        "every enrolled row is listed and no other is"
    );
    let statuses = |word: &str| found.iter().filter(|row| row["status"] == word).count();
    for word in ["active", "archived", "stale", "partial"] {
        assert!(statuses(word) > 0, "{word}");
    }
}

/// C032, C036, C152: two sessions of one name are two rows, each with its own route.
#[test]
fn c032_c036_c152_two_sessions_of_one_name_stay_two() {
    let scene = Scene::both();
    scene.ok(&["discover", "all"]);
    let rows = scene.rows();
    let reviews: Vec<&str> = rows
        .iter()
        .filter(|row| row["display_name"] == "Design Review" && row["sendable"] == true)
        .filter_map(|row| row["agent_id"].as_str())
        .collect();
    assert!(reviews.len() >= 4, "{reviews:?}");
    let providers: std::collections::BTreeSet<&str> = reviews
        .iter()
        .filter_map(|id| id.split(':').next())
        .collect();
    assert_eq!(
        providers.into_iter().collect::<Vec<_>>(),
        ["claude_code_cli", "codex", "codex_cli"]
    );
    for id in &reviews {
        let run = scene.run(&["send", "--to", id, "--body", "x", "--dry-run", "--json"]);
        assert_eq!(run.lines("dry_run")[0]["agent_id"], *id, "{run}");
    }
    let strict = scene.run(&["send", "--to", "Design Review", "--body", "x", "--strict"]);
    assert_eq!(strict.code, 4, "{strict}");
}
