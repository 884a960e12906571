//! The real Claude Code against the mock model: sessions at rest and in a terminal.

use std::time::Duration;

use axiowl_test_support::{ClientHome, Clients, DriveError, MockModel, or_skip, poll};

const DEADLINE: Duration = Duration::from_secs(60);

#[test]
fn a_headless_session_leaves_a_named_transcript() {
    let clients = or_skip!(Clients::ensure());
    let model = MockModel::start();
    let home = ClientHome::new(&clients, &model).expect("a home");
    let shop = home.project("projects/web shop").expect("a project");

    let id = home
        .claude_session("Design Review", "hello claude", &shop)
        .expect("a session");

    let records = home.claude_records(&id);
    let kind = |kind: &'static str| records.iter().filter(move |record| record["type"] == kind);
    assert!(kind("custom-title").any(|record| record["customTitle"] == "Design Review"));
    assert!(kind("user").any(|record| record["message"]["content"] == "hello claude"));
    let answer = kind("assistant").next().expect("an answer");
    assert_eq!(
        answer["message"]["content"][0]["text"],
        "ECHO[1]: hello claude"
    );
    assert_eq!(answer["cwd"], shop.to_str().expect("UTF-8"));
    assert_eq!(model.asked("hello claude").len(), 1);
}

#[test]
fn a_failing_model_call_is_an_error_that_shows_the_output() {
    let clients = or_skip!(Clients::ensure());
    let model = MockModel::start();
    let home = ClientHome::new(&clients, &model).expect("a home");
    let shop = home.project("shop").expect("a project");
    let error = home
        .claude_session("Broken", "@@error 400", &shop)
        .expect_err("HTTP 400");
    assert!(error.to_string().contains("mock error 400"), "{error}");
}

#[test]
fn an_open_session_has_a_record_until_it_is_closed() {
    let clients = or_skip!(Clients::ensure());
    let model = MockModel::start();
    let home = ClientHome::new(&clients, &model).expect("a home");
    let shop = home.project("shop").expect("a project");
    let open = match home.claude_tui("Live One", &shop) {
        Err(DriveError::Missing(skip)) => return skip.report(),
        open => open.expect("an open session"),
    };

    let record = open.record();
    assert_eq!(record["name"], "Live One");
    assert_eq!(record["sessionId"], open.session_id());
    assert_eq!(record["pid"], open.pid());
    assert!(home.claude_transcript(open.session_id()).is_some());

    open.type_line("@@hold gate").expect("a typed line");
    model
        .wait_for(|request| request.asks("@@hold gate"), DEADLINE)
        .expect("the typed prompt");
    let busy = || (open.record()["status"] == "busy").then_some(());
    assert!(poll(DEADLINE, busy).is_some(), "{}", open.record());
    model.release("gate");
    let idle = || (open.record()["status"] == "idle").then_some(());
    assert!(
        poll(DEADLINE, idle).is_some(),
        "{}\n{}",
        open.record(),
        open.screen()
    );

    let record = open.record_file().to_owned();
    drop(open);
    assert!(!record.exists(), "a clean end removes the record");
}

#[test]
fn a_crashed_session_leaves_its_record() {
    let clients = or_skip!(Clients::ensure());
    let model = MockModel::start();
    let home = ClientHome::new(&clients, &model).expect("a home");
    let shop = home.project("shop").expect("a project");
    let open = match home.claude_tui("Crashed", &shop) {
        Err(DriveError::Missing(skip)) => return skip.report(),
        open => open.expect("an open session"),
    };
    let socket = open.record()["messagingSocketPath"]
        .as_str()
        .expect("a socket")
        .to_owned();
    open.crash();
    assert!(open.record_file().exists());
    // What it had started holds the socket until the system has ended that too.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while std::os::unix::net::UnixStream::connect(&socket).is_ok() {
        assert!(std::time::Instant::now() < until, "somebody listens");
        std::thread::yield_now();
    }
    assert!(home.claude_transcript(open.session_id()).is_some());
    drop(open);
    assert!(
        !std::path::Path::new(&socket).exists(),
        "the test tidies up"
    );
}
