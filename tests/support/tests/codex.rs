//! The real Codex against the mock model: threads, their names and their writer lock.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use axiowl_test_support::{ClientHome, Clients, DriveError, MockModel, or_skip, poll};
use serde_json::json;

/// The process that holds a `flock` on a file, as the kernel lists it.
fn lock_owner(file: &Path) -> Option<u32> {
    let inode = fs::metadata(file).ok()?.ino();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let mut lines = locks
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let ending = format!(":{inode}");
    lines
        .find(|words| words.get(5).is_some_and(|id| id.ends_with(&ending)))?
        .get(4)?
        .parse()
        .ok()
}

#[test]
fn an_exec_thread_leaves_a_rollout_and_takes_a_name() {
    let clients = or_skip!(Clients::ensure());
    let model = MockModel::start();
    let home = ClientHome::new(&clients, &model).expect("a home");
    let shop = home.project("projects/web shop").expect("a project");

    let id = home
        .codex_exec_session("hello codex", &shop)
        .expect("a thread");
    home.codex_name_thread(&id, "Payments").expect("a name");

    let records = home.codex_records(&id);
    let head = &records[0]["payload"];
    assert_eq!(
        (&head["id"], &head["originator"]),
        (&json!(id), &json!("codex_exec"))
    );
    assert_eq!(head["cwd"], shop.to_str().expect("UTF-8"));
    let done = records
        .iter()
        .find(|record| record["payload"]["type"] == "task_complete");
    assert_eq!(
        done.expect("a finished turn")["payload"]["last_agent_message"],
        "ECHO[1]: hello codex"
    );
    assert!(home.path().join(".codex/state_5.sqlite").is_file());
    let index =
        fs::read_to_string(home.path().join(".codex/session_index.jsonl")).expect("an index");
    assert!(
        index.contains(&id) && index.contains("\"Payments\""),
        "{index}"
    );
    assert_eq!(model.asked("hello codex").len(), 1);
}

#[test]
fn a_failing_model_call_is_an_error_that_shows_the_output() {
    let clients = or_skip!(Clients::ensure());
    let model = MockModel::start();
    let home = ClientHome::new(&clients, &model).expect("a home");
    let shop = home.project("shop").expect("a project");
    let error = home
        .codex_exec_session("@@error 400", &shop)
        .expect_err("HTTP 400");
    assert!(error.to_string().contains("mock error 400"), "{error}");
}

#[test]
fn a_held_thread_has_one_writer_until_the_holder_ends() {
    let clients = or_skip!(Clients::ensure());
    let model = MockModel::start();
    let home = ClientHome::new(&clients, &model).expect("a home");
    let shop = home.project("shop").expect("a project");
    let id = home
        .codex_exec_session("hello codex", &shop)
        .expect("a thread");
    let lock = home.codex_writer_lock(&id);
    assert!(!lock.exists(), "an exec that ended holds nothing");

    let holder = home
        .codex_app_server_holding(&id)
        .expect("the first writer");
    let owner = lock_owner(&lock).expect("the lock is held");
    let command = fs::read_to_string(format!("/proc/{owner}/cmdline")).expect("the owner lives");
    assert!(command.contains("app-server"), "{command}");
    let second = home
        .codex_app_server_holding(&id)
        .expect_err("a second writer");
    let DriveError::Rpc { error, .. } = &second else {
        panic!("{second}")
    };
    assert_eq!(error["code"], -32600);
    assert!(
        error["message"]
            .as_str()
            .expect("text")
            .contains("already has an active writer")
    );

    drop(holder);
    assert!(!lock.exists(), "a clean end removes the lock file");
    home.codex_app_server_holding(&id)
        .expect("free again")
        .crash();
    // The kernel lets go of a lock when the last thread of a killed process is gone.
    let free = poll(Duration::from_secs(20), || {
        lock_owner(&lock).is_none().then_some(())
    });
    assert!(
        free.is_some() && lock.exists(),
        "a crash leaves a free lock file"
    );
}

#[test]
fn a_turn_over_the_app_server_answers_into_the_same_rollout() {
    let clients = or_skip!(Clients::ensure());
    let model = MockModel::start();
    let home = ClientHome::new(&clients, &model).expect("a home");
    let shop = home.project("shop").expect("a project");
    let id = home
        .codex_exec_session("hello codex", &shop)
        .expect("a thread");

    let mut server = home.codex_app_server_holding(&id).expect("the writer");
    let input = json!([{ "type": "text", "text": "[AxiOwl 1]\n| @@text noted" }]);
    let params = json!({ "threadId": id, "clientUserMessageId": "axiowl-1", "input": input });
    server.call("turn/start", params).expect("accepted");
    let completed = |message: &serde_json::Value| message["method"] == "turn/completed";
    let message = server
        .wait_for("the end of the turn", completed)
        .expect("the turn ends");
    assert_eq!(message["params"]["turn"]["status"], "completed");

    let records = home.codex_records(&id);
    let ours = |record: &&serde_json::Value| record["payload"]["item"]["client_id"] == "axiowl-1";
    assert_eq!(records.iter().filter(ours).count(), 1);
    let last = records.last().expect("records");
    assert_eq!(last["payload"]["last_agent_message"], "noted");
}
