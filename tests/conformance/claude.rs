//! Claude Code sessions: which files are sessions, their names, and what makes one sendable
//! (section 25, and what sections 34 and 35 say of Claude and of every reader).

use crate::scene::{FOLDERS, Scene, row};
use serde_json::{Value, json};

const A: &str = "70000000-0000-4000-8000-00000000000a";
const B: &str = "70000000-0000-4000-8000-00000000000b";
const SHOP: &str = "/home/dev/projects/webshop";
const SHOP_FOLDER: &str = "home/.claude/projects/-home-dev-projects-webshop";

fn user(session: &str, cwd: &str, text: &str) -> Value {
    json!({ "type": "user", "sessionId": session, "cwd": cwd, "uuid": "u1", "isSidechain": false,
        "version": "2.1.332", "entrypoint": "cli", "message": { "role": "user", "content": text } })
}

fn answer(session: &str, cwd: &str) -> Value {
    json!({ "type": "assistant", "sessionId": session, "cwd": cwd, "uuid": "u2", "isSidechain": false,
        "version": "2.1.332", "message": { "role": "assistant", "stop_reason": "end_turn",
        "content": [{ "type": "text", "text": "done" }] } })
}

fn empty() -> Scene {
    let scene = Scene::empty();
    scene.world(FOLDERS);
    scene
}

fn write(scene: &Scene, file: &str, records: &[Value]) {
    let text: String = records.iter().map(|record| format!("{record}\n")).collect();
    scene.axiowl.write(file, text);
}

/// One session in the folder of its project.
fn session(scene: &Scene, id: &str, records: &[Value]) {
    write(scene, &format!("{SHOP_FOLDER}/{id}.jsonl"), records);
}

fn only(scene: &Scene) -> Value {
    let rows = scene.discover("claude-code-cli");
    assert_eq!(rows.len(), 1, "{rows:#?}");
    rows[0].clone()
}

/// C308, C309: JSONL files named by a UUID, right below a project, and no others.
#[test]
fn c308_c309_only_files_named_by_a_uuid_are_sessions() {
    let scene = empty();
    for file in [
        format!("{SHOP_FOLDER}/{A}.jsonl"),
        format!("{SHOP_FOLDER}/agent-a4a39dc.jsonl"),
        format!("{SHOP_FOLDER}/notes.jsonl"),
        format!("{SHOP_FOLDER}/{B}.jsonl.orphaned-1"),
        format!("{SHOP_FOLDER}/{B}.json"),
        format!("{SHOP_FOLDER}/{A}/subagents/{B}.jsonl"),
        format!("home/.claude/projects/{B}.jsonl"),
        format!("home/.claude/{B}.jsonl"),
    ] {
        write(
            &scene,
            &file,
            &[user(A, SHOP, "Plan the cart"), answer(A, SHOP)],
        );
    }
    assert_eq!(
        only(&scene)["provider_session_id"],
        format!("claude_code_cli:session:{A}")
    );
}

/// C384: `$CLAUDE_CONFIG_DIR` or `~/.claude`, `projects/<project>/<id>.jsonl`, executable `claude`.
#[test]
fn c384_root_and_session_files_of_claude_code() {
    let scene = empty();
    session(&scene, A, &[user(A, SHOP, "At home")]);
    write(
        &scene,
        &format!("home/other/projects/-home-dev-projects-webshop/{B}.jsonl"),
        &[user(B, SHOP, "Elsewhere")],
    );
    assert_eq!(only(&scene)["display_name"], "At home");
    scene.world(&format!(
        "{FOLDERS}env: {{ CLAUDE_CONFIG_DIR: /home/dev/other }}\n"
    ));
    assert_eq!(only(&scene)["display_name"], "Elsewhere");
    let listed = scene.ok(&["rules", "list", "--json"]).stdout;
    assert!(listed.contains("claude"), "{listed}");
}

/// C310, C391, C392: custom title, agent name, generated title, first meaningful prompt. A later
/// rename counts. C393: none of these events makes the session partial.
#[test]
fn c310_c391_c392_c393_titles_in_their_order() {
    let custom =
        |title: &str| json!({ "type": "custom-title", "customTitle": title, "sessionId": A });
    let agent = json!({ "type": "agent-name", "agentName": "Agent name", "sessionId": A });
    let generated = json!({ "type": "ai-title", "aiTitle": "Generated", "sessionId": A });
    let harness = [
        user(A, SHOP, "<command-name>/clear</command-name>"),
        user(A, SHOP, "<local-command-stdout>ok</local-command-stdout>"),
        user(A, SHOP, "[Request interrupted by user]"),
        json!({ "type": "user", "isMeta": true, "sessionId": A, "cwd": SHOP, "message": { "content": "meta" } }),
    ];
    let talk = [
        user(A, SHOP, "First prompt\nwith a second line"),
        answer(A, SHOP),
    ];
    let events = [
        json!({ "type": "mode", "mode": "plan", "sessionId": A }),
        json!({ "type": "file-history-snapshot", "messageId": "m", "snapshot": {} }),
        json!({ "type": "queue-operation", "operation": "enqueue", "sessionId": A }),
    ];
    let all = [
        custom("First title"),
        agent.clone(),
        custom("Custom title"),
        generated.clone(),
    ];
    for (name, titles) in [
        ("Custom title", &all[..]),
        ("Agent name", &[generated.clone(), agent][..]),
        ("Generated", &[generated][..]),
        ("First prompt", &[][..]),
    ] {
        let scene = empty();
        session(&scene, A, &[&harness[..], &talk, titles, &events].concat());
        let row = only(&scene);
        assert_eq!(row["display_name"], name);
        assert_eq!(
            (&row["status"], &row["sendable"]),
            (&"active".into(), &true.into()),
            "{row}"
        );
    }
}

/// C311: a record of the session itself has to stand in the file.
#[test]
fn c311_a_record_with_the_files_own_id_is_required() {
    for (record, sendable) in [(A, true), (B, false)] {
        let scene = empty();
        session(
            &scene,
            A,
            &[user(record, SHOP, "Plan the cart"), answer(record, SHOP)],
        );
        let row = only(&scene);
        assert_eq!(row["sendable"], sendable, "{row}");
        if !sendable {
            assert_eq!(row["status"], "partial");
            assert!(
                row["last_error"].as_str().is_some_and(|e| e.contains(B)),
                "{row}"
            );
        }
    }
}

/// C312, C089: the recorded folder has to exist.
#[test]
fn c312_the_recorded_folder_has_to_exist() {
    let scene = empty();
    session(
        &scene,
        A,
        &[user(A, SHOP, "Plan the cart"), answer(A, SHOP)],
    );
    assert_eq!(only(&scene)["sendable"], true);
    scene.world("");
    let row = only(&scene);
    assert_eq!(
        (&row["status"], &row["sendable"]),
        (&"stale".into(), &false.into())
    );
    assert!(
        row["last_error"]
            .as_str()
            .is_some_and(|error| error.contains(SHOP)),
        "{row}"
    );
    assert_eq!(scene.ok(&["list", "agents", "--json"]).stdout, "");
}

/// C389: the project folder's name says nothing where the transcript names another folder.
#[test]
fn c389_the_recorded_folder_beats_the_name_of_the_project_folder() {
    let scene = empty();
    let api = "/home/dev/projects/api";
    // Two folders flatten to this name; the records say which one it is.
    session(&scene, A, &[user(A, api, "Plan the cart"), answer(A, api)]);
    assert_eq!(only(&scene)["cwd"], api);
    let dotted = "/home/dev/projects.webshop";
    let scene = empty();
    scene.world(&format!("dirs: [{dotted}]\n"));
    session(
        &scene,
        A,
        &[user(A, dotted, "Plan the cart"), answer(A, dotted)],
    );
    let row = only(&scene);
    assert_eq!(
        (&row["cwd"], &row["sendable"]),
        (&dotted.into(), &true.into()),
        "{row}"
    );
}

/// C377, C378, C379, C380: unknown events and missing fields are borne; a session that cannot be
/// understood is partial, and costs the others nothing.
#[test]
fn c377_to_c380_what_is_not_understood_costs_only_itself() {
    let scene = empty();
    session(
        &scene,
        A,
        &[
            json!({ "type": "from-the-future", "payload": { "deep": [1, { "x": null }] } }),
            json!([1, 2, 3]),
            json!("text"),
            json!({}),
            user(A, SHOP, "Plan the cart"),
            json!({ "type": "assistant" }),
            answer(A, SHOP),
        ],
    );
    let good = only(&scene);
    assert_eq!(
        (&good["status"], &good["sendable"]),
        (&"active".into(), &true.into()),
        "{good}"
    );
    // The format changed: no record names the folder, and none the session.
    session(
        &scene,
        B,
        &[json!({ "type": "user", "message": { "content": "Changed" } })],
    );
    let run = scene.ok(&["discover", "claude-code-cli", "--json"]);
    let rows = run.lines("discovered_agent");
    assert_eq!(row(&rows, A)["sendable"], true, "{run}");
    let changed = row(&rows, B);
    assert_eq!(
        (&changed["status"], &changed["sendable"]),
        (&"partial".into(), &false.into()),
        "{run}"
    );
    assert_eq!(run.lines("discovery_summary").len(), 1);
}

/// C390: a sub-agent's transcript belongs to its parent, and is no session of its own.
#[test]
fn c390_a_sub_agents_transcript_is_linked_to_its_parent() {
    let scene = empty();
    session(
        &scene,
        A,
        &[user(A, SHOP, "Plan the cart"), answer(A, SHOP)],
    );
    let mut side = user(A, SHOP, "Look at the tests");
    side["isSidechain"] = true.into();
    side["agentId"] = "a1".into();
    write(
        &scene,
        &format!("{SHOP_FOLDER}/{A}/subagents/agent-a1.jsonl"),
        std::slice::from_ref(&side),
    );
    // As older versions did it: a session file of side records, which names its parent.
    let titled = json!({ "type": "custom-title", "customTitle": "Tests", "sessionId": A });
    session(&scene, B, &[side, titled]);
    let rows = scene.discover("claude-code-cli");
    assert_eq!(rows.len(), 2, "{rows:#?}");
    let child = row(&rows, B);
    assert_eq!(
        (&child["kind"], &child["sendable"]),
        (&"subagent".into(), &false.into())
    );
    let parent = row(&rows, A);
    assert_eq!(
        (&parent["kind"], &parent["sendable"]),
        (&"main".into(), &true.into())
    );
    let said = child["evidence"].as_array().expect("evidence");
    assert!(
        said.contains(&format!("belongs to session {A}").into()),
        "{child}"
    );
}
