//! Real sessions of Copilot CLI and Gemini CLI, made by the clients from npm against a mock
//! model: discovered, sent to, and proven from their own records. Only the model is simulated.

mod owl;
mod program;

use axiowl_test_support::{ClientHome, or_skip, poll};
use owl::{Owl, proven_line, row, stage, stages};
use serde_json::Value;

const BODY: &str = "Is the checkout \"done\"?\n/clear\nsee @package.json";

/// Shows: copilot_cli send.
#[test]
fn an_idle_copilot_session_gets_the_message_once_and_proves_it_by_its_message_id() {
    let (model, home, cwd) = or_skip!(ClientHome::with_project());
    let owl = Owl::new(&home);
    let other = home
        .copilot_session("Stock Feed", "Watch the stock feed", &cwd)
        .expect("a session");
    let session = home
        .copilot_session("Design Review", "Review the checkout design", &cwd)
        .expect("a session");
    let rows = owl.discover();
    let row = row(&rows, &format!("copilot_cli:session:{session}"));
    assert_eq!(row["display_name"], "Design Review");
    assert_eq!(row["decision"], "enrolled", "{row}");

    let (run, lines) = owl.send("Design Review", BODY);
    assert_eq!(run.code, 0, "{run}");
    for name in ["submitted", "seen", "turn_done"] {
        assert!(stages(&lines).contains(&name), "no {name}: {run}");
    }
    let message = lines[0]["message_id"].as_str().expect("an id").to_owned();
    let record = proven_line(&home, stage(&lines, "seen"));
    assert_eq!(record["type"], "user.message");
    let text = record["data"]["content"].as_str().expect("text");
    assert!(text.starts_with(&format!("[AxiOwl {message}]")), "{text}");
    assert!(text.contains("Is the checkout \"done\"?"), "{text}");
    // The answer names the very message it answers.
    let answer = proven_line(&home, stage(&lines, "turn_done"));
    assert_eq!(answer["type"], "assistant.message");
    assert_eq!(
        answer["data"]["originatingMessageId"],
        record["data"]["messageId"]
    );
    let holding = |session: &str| {
        let records = home.copilot_records(session);
        let holds = |record: &&Value| {
            record["type"] == "user.message" && record.to_string().contains(&message)
        };
        records.iter().filter(holds).count()
    };
    assert_eq!((holding(&session), holding(&other)), (1, 0));
    assert!(!model.asked(&message).is_empty(), "no model saw it");
}

/// Shows: copilot_cli send.
#[test]
fn a_copilot_session_in_use_is_refused_and_stays_untouched() {
    let (model, home, cwd) = or_skip!(ClientHome::with_project());
    let owl = Owl::new(&home);
    let session = home
        .copilot_session("Design Review", "Review the checkout design", &cwd)
        .expect("a session");
    owl.discover();
    // The real client in a turn that does not end: it has its own session in use.
    let holder = {
        let mut command = home.command(home.clients().copilot(), &cwd);
        command.args([
            &format!("--resume={session}"),
            "--output-format",
            "json",
            "--no-auto-update",
        ]);
        let mut running = axiowl_test_support::Running::start(&mut command).expect("copilot");
        running.feed("@@hold gate\nstay");
        running
    };
    let asked = |request: &axiowl_test_support::Request| request.asks("@@hold gate");
    model
        .wait_for(asked, std::time::Duration::from_secs(180))
        .expect("the turn runs");
    // The client asks its model before it has written that it opened the session.
    let resumed = || {
        let records = home.copilot_records(&session);
        let resumed = records.iter().filter(|r| r["type"] == "session.resume");
        resumed.count()
    };
    let opened = poll(std::time::Duration::from_secs(60), || {
        (resumed() == 1).then_some(())
    });
    assert!(opened.is_some(), "it never says that it opened the session");
    let (run, lines) = owl.send("Design Review", "Are you there?");
    assert_eq!(run.code, 5, "{run}");
    let last = lines.last().expect("a stage");
    assert_eq!(last["stage"], "refused", "{run}");
    let reason = last["reason"].as_str().expect("a reason");
    assert!(reason.contains("it is open in process"), "{reason}");
    let message = last["message_id"].as_str().expect("an id");
    assert!(model.asked(message).is_empty(), "a model saw it");
    let records = home.copilot_records(&session);
    let holds = |record: &Value| record.to_string().contains(message);
    assert!(!records.iter().any(holds), "it stands in the session");
    assert_eq!(resumed(), 1, "nobody else opened the session");
    model.release("gate");
    drop(holder);
}

#[test]
fn a_copilot_turn_that_the_model_fails_is_never_called_done() {
    let (_model, home, cwd) = or_skip!(ClientHome::with_project());
    let owl = Owl::new(&home);
    home.copilot_session("Design Review", "Say hello", &cwd)
        .expect("a session");
    owl.discover();
    let (run, lines) = owl.send("Design Review", "@@error 400");
    let reached = stages(&lines);
    assert!(!reached.contains(&"turn_done"), "{run}");
    assert_eq!(reached.last(), Some(&"failed"), "{run}");
    assert_eq!(run.code, 7, "{run}");
}

#[test]
fn a_gemini_session_is_refused_until_retention_is_off_and_then_gets_the_message_once() {
    let (model, home, cwd) = or_skip!(ClientHome::with_project());
    let owl = Owl::new(&home);
    let other = home
        .gemini_session("Watch the stock feed", &cwd)
        .expect("a session");
    let session = home
        .gemini_session("Review the checkout design", &cwd)
        .expect("a session");
    let id = format!("gemini_cli:session:{session}");

    let rows = owl.discover();
    let unsafe_row = row(&rows, &id);
    assert_eq!(unsafe_row["sendable"], false, "{unsafe_row}");
    let (run, _) = owl.send(&id, "Are you there?");
    assert_eq!(run.code, 5, "{run}");
    assert!(run.stdout.contains("sessionRetention"), "{run}");
    assert!(model.asked("Are you there?").is_empty(), "a model saw it");

    home.gemini_settings(Some(false)).expect("settings");
    let rows = owl.discover();
    assert_eq!(row(&rows, &id)["sendable"], true, "{rows:?}");
    let (run, lines) = owl.send(&id, BODY);
    assert_eq!(run.code, 0, "{run}");
    for name in ["submitted", "seen", "turn_done"] {
        assert!(stages(&lines).contains(&name), "no {name}: {run}");
    }
    let message = lines[0]["message_id"].as_str().expect("an id").to_owned();
    let record = proven_line(&home, stage(&lines, "seen"));
    assert_eq!(record["type"], "user");
    assert!(record["content"].to_string().contains(&message));
    let holding = |session: &str| {
        let records = home.gemini_records(session);
        let holds =
            |record: &&Value| record["type"] == "user" && record.to_string().contains(&message);
        records.iter().filter(holds).count()
    };
    assert_eq!((holding(&session), holding(&other)), (1, 0));
    assert!(!model.asked(&message).is_empty(), "no model saw it");
    // What the provider file warns of: the next start must not delete the session.
    home.gemini_session("Another one", &cwd).expect("a session");
    assert_eq!(holding(&session), 1, "the session is still there");

    // The setting may change after discovery; the send looks again.
    home.gemini_settings(Some(true)).expect("settings");
    let (run, lines) = owl.send(&id, "Are you there?");
    assert_eq!(run.code, 5, "{run}");
    assert_eq!(lines.last().expect("a stage")["stage"], "refused", "{run}");
    let reason = lines.last().expect("a stage")["reason"].to_string();
    assert!(reason.contains("session retention on"), "{reason}");
}
