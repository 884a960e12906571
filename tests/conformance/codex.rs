//! Codex threads: stores, desktop state, names, proof, and the two surfaces (sections 18 and 19,
//! and what sections 34 and 35 say of Codex).

use crate::codex_home::{A, B, C, Thread, desktop, index, scene, store, thread};
use crate::program::ROOT;
use crate::scene::{CODEX, FOLDERS, Scene, row};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn names(rows: &[Value]) -> Vec<&str> {
    rows.iter()
        .filter_map(|row| row["display_name"].as_str())
        .collect()
}

fn says(row: &Value, words: &str) -> bool {
    row["evidence"].as_array().is_some_and(|said| {
        said.iter()
            .any(|text| text.as_str().is_some_and(|text| text.contains(words)))
    })
}

/// C235, C238: the rows come from the newest state database, wherever under `.codex` it lies.
#[test]
fn c235_c238_threads_come_from_the_newest_state_database() {
    let old = Thread {
        title: "In the old one",
        ..thread(A)
    };
    let scene = scene(&[old]);
    assert_eq!(names(&scene.discover("codex")), ["In the old one"]);
    let new = Thread {
        title: "In the new one",
        ..thread(A)
    };
    store(&scene, "home/.codex", "sqlite/state_12.sqlite", &[new]);
    assert_eq!(names(&scene.discover("codex")), ["In the new one"]);
}

/// C385: `$CODEX_HOME` or `~/.codex`, `sessions/` and `archived_sessions/`, executable `codex`;
/// C395: archived ones are found too; C245: and are no targets.
#[test]
fn c245_c385_c395_home_variable_session_folders_and_archived_threads() {
    let scene = scene(&[thread(A)]);
    store(
        &scene,
        "home/elsewhere",
        "state_5.sqlite",
        &[
            thread(B),
            Thread {
                archived: true,
                ..thread(C)
            },
        ],
    );
    let archived = "01a22cbd-0000-7000-8000-00000000000d";
    let meta = json!({ "type": "session_meta", "payload": { "id": archived, "originator": "codex_vscode",
        "cwd": "/home/dev/projects/webshop", "model_provider": "mock", "source": "vscode" } });
    let prompt = json!({ "type": "event_msg", "payload": { "type": "user_message", "message": "Old work" } });
    scene.axiowl.write(
        &format!("home/elsewhere/archived_sessions/rollout-2026-11-30T10-00-00-{archived}.jsonl"),
        format!("{meta}\n{prompt}\n"),
    );
    let ids = |scene: &Scene| -> BTreeSet<String> {
        let rows = scene.discover("codex");
        rows.iter()
            .map(|row| row["provider_session_id"].as_str().expect("id").to_owned())
            .collect()
    };
    assert_eq!(ids(&scene), BTreeSet::from([A.to_owned()]));
    scene.world(&format!(
        "{FOLDERS}{CODEX}env: {{ CODEX_HOME: /home/dev/elsewhere }}\n"
    ));
    let rows = scene.discover("codex");
    assert_eq!(ids(&scene), [B, C, archived].map(str::to_owned).into());
    assert_eq!(row(&rows, B)["sendable"], true);
    for id in [C, archived] {
        assert_eq!(
            (&row(&rows, id)["status"], &row(&rows, id)["sendable"]),
            (&"archived".into(), &false.into())
        );
    }
    let text = std::fs::read_to_string(std::path::Path::new(ROOT).join("rules/codex/rule.yaml"));
    assert!(text.expect("rule").contains("tested: { program: codex,"));
}

/// C396: `history.jsonl` holds what was typed and is no list of sessions.
#[test]
fn c396_the_input_history_is_no_list_of_sessions() {
    let scene = scene(&[thread(A)]);
    let before = scene.discover("codex");
    let line = json!({ "session_id": B, "ts": 1, "text": "typed once" });
    scene
        .axiowl
        .write("home/.codex/history.jsonl", format!("{line}\n"));
    let after = scene.discover("codex");
    assert_eq!(names(&after), names(&before));
    assert_eq!(after.len(), 1);
}

/// C236, C239, C246 to C250, A27: the order of names. Each step takes the best one away.
#[test]
fn c236_c239_c243_c246_to_c250_a27_the_order_of_names() {
    let named = Thread {
        name: Some("Thread name"),
        title: "First prompt",
        ..thread(A)
    };
    let all = json!({
        "electron-persisted-atom-state": { "prompt-history": { A: ["Prompt history"] } },
        "client-prompt-history": { A: ["Client history"] },
    });
    let client = json!({ "client-prompt-history": { A: ["Client history"] } });
    let none = json!({});
    let untitled = Thread {
        name: None,
        title: "",
        ..named.clone()
    };
    for (case, thread, indexed, state) in [
        ("Thread name", named.clone(), true, &all),
        (
            "Indexed name",
            Thread {
                name: None,
                ..named.clone()
            },
            true,
            &all,
        ),
        (
            "First prompt",
            Thread {
                name: None,
                ..named
            },
            false,
            &all,
        ),
        ("Prompt history", untitled.clone(), false, &all),
        ("Client history", untitled.clone(), false, &client),
        ("Codex webshop", untitled, false, &none),
    ] {
        let scene = scene(&[thread]);
        desktop(&scene, state);
        if indexed {
            // The last one that is not empty counts.
            index(&scene, &[(A, "Earlier name"), (A, "Indexed name"), (A, "")]);
        }
        assert_eq!(names(&scene.discover("codex")), [case]);
    }
}

/// C251 to C254: what is no name.
#[test]
fn c251_to_c254_what_is_no_name() {
    for name in [
        "",
        " \u{200b} ",
        "unknown",
        "Unknown",
        "untitled",
        "Untitled 3",
        "two\nlines",
    ] {
        let scene = scene(&[Thread {
            name: Some(name),
            title: "First prompt",
            ..thread(A)
        }]);
        assert_eq!(
            names(&scene.discover("codex")),
            ["First prompt"],
            "{name:?}"
        );
    }
}

/// C255: a session id is no name, except for the one that was asked for.
#[test]
fn c255_an_id_stands_for_a_name_only_when_it_was_asked_for() {
    // A folder without a name of its own, so that nothing is left to call it by.
    let nameless = Thread {
        name: Some(A),
        title: B,
        cwd: "/",
        ..thread(A)
    };
    let scene = scene(&[nameless]);
    scene.world(&format!("dirs: [/]\n{CODEX}"));
    let row = &scene.discover("codex")[0];
    assert_eq!(
        (&row["display_name"], &row["sendable"]),
        (&Value::Null, &false.into()),
        "{row}"
    );
    assert_eq!(row["decision"], "skipped");
    let run = scene.ok(&["discover", "codex", "--target", A, "--json"]);
    let row = &run.lines("discovered_agent")[0];
    assert_eq!(
        (&row["display_name"], &row["decision"]),
        (&A.into(), &"enrolled".into()),
        "{run}"
    );
}

/// C237, C240 to C242, C244, C133: each part of the desktop state, and what it proves.
#[test]
fn c133_c237_c240_to_c244_what_desktop_state_proves() {
    let proven = "codex_desktop_thread_state";
    let workspace = "codex_active_workspace_vscode_thread";
    let unknown = "codex_active_codex_sqlite_thread_without_desktop_state";
    let root = "/home/dev/projects/webshop";
    for (state, source, words) in [
        (
            json!({ "pinned-thread-ids": [A] }),
            proven,
            "pinned in desktop state",
        ),
        (
            json!({ "projectless-thread-ids": [A] }),
            proven,
            "projectless thread",
        ),
        (
            json!({ "thread-workspace-root-hints": { A: root } }),
            proven,
            "hints its workspace root",
        ),
        (
            json!({ "thread-project-assignments": { A: { "projectId": "p" } } }),
            proven,
            "assigned to a project",
        ),
        (
            json!({ "active-workspace-roots": [root] }),
            workspace,
            "cwd=/home/dev/projects/webshop",
        ),
        (
            json!({ "electron-saved-workspace-roots": [root] }),
            unknown,
            "saved workspace",
        ),
        (
            json!({ "thread-client-ids": { A: "client" } }),
            unknown,
            "client id",
        ),
        (
            json!({ "pinned-thread-ids": [B] }),
            unknown,
            "made by codex_vscode",
        ),
    ] {
        let scene = scene(&[thread(A)]);
        desktop(&scene, &state);
        let found = &scene.discover("codex")[0];
        assert_eq!(found["source"], source, "{state}");
        assert!(says(found, words), "{state}: {found}");
        assert_eq!(found["sendable"], source == proven, "{state}");
        assert_eq!(
            found["decision"],
            if source == proven {
                "enrolled"
            } else {
                "evidence"
            }
        );
    }
}

/// C126, C127, C128, C130, C132, C258: the two evidence-only sources are counted and enrol nothing.
#[test]
fn c126_to_c132_c258_evidence_only_threads_are_counted_and_enrol_nothing() {
    let elsewhere = Thread {
        cwd: "/home/dev/projects/api",
        ..thread(B)
    };
    let scene = scene(&[thread(A), elsewhere]);
    desktop(
        &scene,
        &json!({ "active-workspace-roots": ["/home/dev/projects/webshop"] }),
    );
    let run = scene.ok(&["discover", "codex", "--json"]);
    let rows = run.lines("discovered_agent");
    assert_eq!(
        row(&rows, A)["source"],
        "codex_active_workspace_vscode_thread"
    );
    assert_eq!(
        row(&rows, B)["source"],
        "codex_active_codex_sqlite_thread_without_desktop_state"
    );
    let summary = &run.lines("discovery_summary")[0];
    assert_eq!(
        (&summary["enrolled"], &summary["evidence"]),
        (&0.into(), &2.into()),
        "{run}"
    );
    assert!(rows.iter().all(|row| row["status"] == "evidence_only"));
    assert_eq!(scene.ok(&["list", "agents", "--json"]).stdout, "");
    // C131: seen again, the evidence is refreshed and stays evidence.
    let again = scene.ok(&["discover", "codex", "--json"]);
    assert_eq!(
        again.lines("discovery_summary")[0]["evidence"],
        2,
        "{again}"
    );
    assert_eq!(scene.rows().len(), 2);
}

/// C129: a stronger path lifts them: an installed Codex that can resume and queue.
#[test]
fn c129_a_stronger_path_lifts_evidence() {
    let scene = scene(&[thread(A)]);
    scene.discover("codex");
    assert_eq!(scene.rows()[0]["sendable"], false);
    scene.world(&format!("{FOLDERS}{CODEX}"));
    let found = &scene.discover("codex")[0];
    assert_eq!(found["source"], "codex_app_server_resumable");
    assert_eq!(found["decision"], "enrolled");
    assert_eq!(scene.rows()[0]["sendable"], true);
}

/// C134, C135, C257, C258: a live desktop owner proves the thread that was asked for, and only
/// both together do.
#[test]
fn c134_c135_c257_c258_owner_and_target_prove_only_together() {
    let owner = format!("{FOLDERS}facts: {{ codex_ipc_owner: [{A}] }}\n");
    for (targeted, world, enrolled) in [
        (false, FOLDERS, false),
        (true, FOLDERS, false),
        (false, owner.as_str(), false),
        (true, owner.as_str(), true),
    ] {
        let scene = scene(&[thread(A), thread(B)]);
        scene.world(world);
        let mut command = vec!["discover", "codex", "--json"];
        if targeted {
            command.extend(["--target", A]);
        }
        let run = scene.ok(&command);
        let rows = run.lines("discovered_agent");
        let found = row(&rows, A);
        assert_eq!(found["sendable"], enrolled, "{targeted} {world}: {run}");
        if enrolled {
            assert_eq!(found["source"], "codex_desktop_ipc_owner");
            assert_eq!(
                scene.ok(&["list", "agents", "--json"]).lines("agent").len(),
                1
            );
        }
    }
    // The owner of another thread proves nothing for this one.
    let scene = scene(&[thread(A), thread(B)]);
    scene.world(&owner);
    let run = scene.ok(&["discover", "codex", "--target", B, "--json"]);
    assert_eq!(
        row(&run.lines("discovered_agent"), B)["sendable"],
        false,
        "{run}"
    );
}

/// C256: desktop state comes before every other path.
#[test]
fn c256_desktop_state_is_the_first_path() {
    let scene = scene(&[thread(A)]);
    desktop(
        &scene,
        &json!({ "pinned-thread-ids": [A], "active-workspace-roots": ["/home/dev"] }),
    );
    scene.world(&format!(
        "{FOLDERS}facts: {{ codex_writer_locks_and_queue: true, codex_ipc_owner: true }}\n"
    ));
    let run = scene.ok(&["discover", "codex", "--target", A, "--json"]);
    assert_eq!(
        run.lines("discovered_agent")[0]["source"],
        "codex_desktop_thread_state"
    );
}
