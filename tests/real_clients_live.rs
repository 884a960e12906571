//! Real sessions that somebody has open: a message goes through their own door into exactly that
//! session, and what is reported is compared with the transcript and with what the model was
//! asked. Only the model is simulated.

mod owl;
mod program;

use axiowl_test_support::CodexTui;
use axiowl_test_support::{ClaudeTui, ClientHome, DriveError, MockModel, Running, Skip};
use axiowl_test_support::{or_skip, poll};
use owl::{Owl, proven_line, stage, stages};
use serde_json::Value;
use std::time::Duration;

/// How long a person looks at a dialog.
const READING: Duration = Duration::from_secs(2);
/// CI is slow and busy.
const PATIENT: Duration = Duration::from_secs(120);

/// A missing terminal program is a skip; anything else that goes wrong is a failure.
fn missing<T>(result: Result<T, DriveError>) -> Result<T, Skip> {
    match result {
        Ok(value) => Ok(value),
        Err(DriveError::Missing(skip)) => Err(skip),
        Err(error) => panic!("{error}"),
    }
}

/// Sends, and leaves the delivery to its worker; the message's id.
fn hand_in(owl: &Owl<'_>, to: &str, body: &str) -> String {
    let run = owl.run(&["send", "--to", to, "--body", body, "--json"]);
    assert_eq!(run.code, 0, "{run}");
    let lines = run.lines("stage");
    lines[0]["message_id"].as_str().expect("an id").to_owned()
}

/// The stages of a message once one of them is reached.
fn reached(owl: &Owl<'_>, message: &str, name: &str) -> Vec<Value> {
    let mut last = String::new();
    let found = poll(PATIENT, || {
        let run = owl.run(&["message", message, "--json"]);
        last = run.to_string();
        let lines = run.lines("stage");
        stages(&lines).contains(&name).then_some(lines)
    });
    found.unwrap_or_else(|| panic!("{message} never became {name}: {last}"))
}

/// The ids that the transcript's records carry for a message.
fn peer_records(home: &ClientHome, session: &str, message: &str) -> usize {
    let records = home.claude_records(session);
    let ids = ["/origin/msg_id", "/attachment/origin/msg_id"];
    let has = |record: &&Value| {
        ids.iter()
            .any(|place| record.pointer(place).is_some_and(|id| id == message))
    };
    records.iter().filter(has).count()
}

fn shows(tui: &ClaudeTui, text: &str) {
    let shown = poll(PATIENT, || tui.screen().contains(text).then_some(()));
    shown.unwrap_or_else(|| panic!("the terminal does not show {text}: {}", tui.screen()));
}

/// Shows: claude_code_cli send.
#[test]
fn an_open_claude_code_session_gets_the_message_once_idle_and_busy_and_again_when_it_was_killed() {
    let (model, home, cwd) = or_skip!(ClientHome::with_project());
    let owl = Owl::new(&home);
    let tui = or_skip!(missing(home.claude_tui("Open Session", &cwd)));
    let session = tui.session_id().to_owned();
    owl.discover();

    // Idle: a turn at once, in the terminal that the person looks at.
    let (run, lines) = owl.send(
        "Open Session",
        "Is the checkout done?\n/clear\nsee @notes.md",
    );
    assert_eq!(run.code, 0, "{run}");
    for name in ["submitted", "seen", "turn_done"] {
        assert!(stages(&lines).contains(&name), "no {name}: {run}");
    }
    assert!(
        stage(&lines, "seen")["route"]
            .as_str()
            .is_some_and(|route| route.contains("inbox")),
        "{run}"
    );
    let idle = lines[0]["message_id"].as_str().expect("an id").to_owned();
    let record = proven_line(&home, stage(&lines, "seen"));
    assert_eq!(record["origin"]["msg_id"], idle.as_str());
    assert_eq!(record["sessionId"], session.as_str());
    let answer = proven_line(&home, stage(&lines, "turn_done"));
    assert_eq!(answer["message"]["stop_reason"], "end_turn");
    assert_eq!(peer_records(&home, &session, &idle), 1);
    let asked = model.asked(&idle);
    assert_eq!(asked.len(), 1, "the model was asked once");
    assert!(asked[0].prompt.contains("> /clear"), "{}", asked[0].prompt);
    shows(&tui, "Is the checkout done?");
    assert_eq!(tui.record()["sessionId"], session.as_str());

    // Busy: it waits, is queued, and is read when the running turn lets it in.
    tui.type_line("@@hold gate").expect("typed");
    model
        .wait_for(|request| request.asks("@@hold gate"), PATIENT)
        .expect("the turn runs");
    let busy = hand_in(&owl, "Open Session", "And the basket?");
    let lines = reached(&owl, &busy, "queued");
    assert!(!stages(&lines).contains(&"seen"), "{lines:?}");
    assert!(model.asked(&busy).is_empty(), "no model saw it yet");
    let record = proven_line(&home, stage(&lines, "queued"));
    assert_eq!(record["operation"], "enqueue");
    model.release("gate");
    let lines = reached(&owl, &busy, "turn_done");
    let record = proven_line(&home, stage(&lines, "seen"));
    assert_eq!(record["sessionId"], session.as_str());
    assert_eq!(peer_records(&home, &session, &busy), 1);
    assert!(!model.asked(&busy).is_empty(), "a model saw it");

    // What a killed session had not come to is not there and is not claimed.
    tui.type_line("@@hold grave").expect("typed");
    model
        .wait_for(|request| request.asks("@@hold grave"), PATIENT)
        .expect("the turn runs");
    let lost = hand_in(&owl, "Open Session", "Too late");
    reached(&owl, &lost, "queued");
    tui.crash();
    let lines = reached(&owl, &lost, "failed");
    assert!(!stages(&lines).contains(&"seen"), "{lines:?}");
    assert!(model.asked(&lost).is_empty() && peer_records(&home, &session, &lost) == 0);

    // Its record is still there, its process is not: nobody has it open.
    model.release("grave");
    let (run, lines) = owl.send(&session, "Are you back?");
    assert_eq!(run.code, 0, "{run}");
    let route = stage(&lines, "turn_done")["route"].as_str();
    assert!(
        route.is_some_and(|route| route.contains("--resume")),
        "{run}"
    );
    let again = lines[0]["message_id"].as_str().expect("an id");
    assert_eq!(proven_line(&home, stage(&lines, "seen"))["uuid"], again);
}

/// Shows: claude_code_cli send.
#[test]
fn a_turn_that_its_user_breaks_off_in_an_open_claude_code_session_is_never_called_done() {
    let (model, home, cwd) = or_skip!(ClientHome::with_project());
    let owl = Owl::new(&home);
    let tui = or_skip!(missing(home.claude_tui("Open Session", &cwd)));
    let session = tui.session_id().to_owned();
    owl.discover();
    let message = hand_in(&owl, "Open Session", "Is it done?\n@@hold gate");
    model
        .wait_for(|request| request.asks(&message), PATIENT)
        .expect("the turn runs");
    reached(&owl, &message, "seen");
    tui.press_until("Escape", |screen| {
        screen.contains("Interrupted").then_some(())
    })
    .expect("taken");
    let lines = reached(&owl, &message, "failed");
    let record = proven_line(&home, stage(&lines, "failed"));
    let said = record["message"]["content"][0]["text"].as_str();
    assert_eq!(said, Some("[Request interrupted by user]"), "{record}");

    // What is answered afterwards answers its user.
    tui.type_line("@@text something-else").expect("typed");
    let answered = || {
        let records = home.claude_records(&session);
        let is = |record: &Value| record["message"]["stop_reason"] == "end_turn";
        let texts = records.iter().filter(|record| is(record));
        let mut texts = texts.filter(|record| record.to_string().contains("something-else"));
        texts.next().is_some().then_some(())
    };
    poll(PATIENT, answered).unwrap_or_else(|| panic!("no answer: {}", tui.screen()));
    let settled = owl.run(&["message", &message, "--settle", "--json"]);
    assert_eq!(settled.code, 7, "{settled}");
    let run = owl.run(&["message", &message, "--json"]);
    let lines = run.lines("stage");
    assert_eq!(stages(&lines).last(), Some(&"failed"), "{run}");
    assert!(!stages(&lines).contains(&"turn_done"), "{run}");
    model.release("gate");
}

/// Shows: claude_code_cli send.
#[test]
fn what_an_open_claude_code_session_holds_is_its_users_to_decide() {
    let (model, home, cwd) = or_skip!(ClientHome::with_project());
    let owl = Owl::new(&home);
    home.write(
        ".claude/settings.json",
        "{\"skipDangerousModePermissionPrompt\":true}",
    )
    .expect("settings");
    // This mode holds what comes from outside.
    let mode = ["--dangerously-skip-permissions"];
    let tui = or_skip!(missing(home.claude_tui_with("Held", &cwd, &mode)));
    let session = tui.session_id().to_owned();
    owl.discover();

    // What the dialog offers second, chosen or not.
    let allow = "Deliver this message to Claude";
    for (allowed, end) in [(false, "refused"), (true, "turn_done")] {
        let message = hand_in(&owl, "Held", "May I?");
        let lines = reached(&owl, &message, "held");
        let held = stage(&lines, "held");
        let detail = held["evidence"]["detail"].as_str().expect("a detail");
        assert!(detail.contains("held"), "{held}");
        assert!(model.asked(&message).is_empty(), "no model saw it yet");
        assert_eq!(peer_records(&home, &session, &message), 0);
        shows(&tui, allow);
        // As long as a person takes to read it: of keys that come at once the client takes none,
        // or another than it shows, and nothing on the screen tells when that is over.
        assert_eq!(poll(READING, || None::<()>), None);
        if allowed {
            let chosen = format!("❯ {allow}");
            tui.press_until("Down", |screen| screen.contains(&chosen).then_some(()))
                .expect("taken");
        }
        tui.press_until("Enter", |screen| (!screen.contains(allow)).then_some(()))
            .expect("taken");
        let lines = reached(&owl, &message, end);
        let delivered = usize::from(end == "turn_done");
        assert_eq!(model.asked(&message).len(), delivered, "{lines:?}");
        assert_eq!(peer_records(&home, &session, &message), delivered);
    }
}

/// Shows: claude_code_cli send.
#[test]
fn an_open_claude_code_session_without_an_inbox_is_refused_and_stays_untouched() {
    let (model, home, cwd) = or_skip!(ClientHome::with_project());
    let owl = Owl::new(&home);
    let tui = or_skip!(missing(home.claude_tui("Open Session", &cwd)));
    let session = tui.session_id().to_owned();
    owl.discover();
    let record = tui.record();
    let socket = record["messagingSocketPath"].as_str().expect("an inbox");
    std::fs::remove_file(socket).expect("the inbox");
    let before = home.claude_records(&session).len();
    let (run, lines) = owl.send(&session, "Are you there?");
    assert_eq!(run.code, 5, "{run}");
    assert_eq!(stages(&lines), ["accepted_by_axiowl", "refused"], "{run}");
    let reason = lines[1]["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("terminal") && reason.contains("inbox"),
        "{reason}"
    );
    let message = lines[1]["message_id"].as_str().expect("an id");
    assert!(
        model.asked(message).is_empty(),
        "a model saw a refused message"
    );
    assert_eq!(home.claude_records(&session).len(), before);
}

/// Shows: codex_cli send.
#[test]
fn a_codex_thread_that_codex_exec_works_in_is_refused_and_stays_untouched() {
    let (model, home, cwd) = or_skip!(ClientHome::with_project());
    let owl = Owl::new(&home);
    let thread = home
        .codex_exec_session("Review the checkout design", &cwd)
        .expect("a thread");
    owl.discover();
    let mut command = home.command(home.clients().codex(), &cwd);
    command.args([
        "exec",
        "resume",
        "--json",
        "--skip-git-repo-check",
        &thread,
        "-",
    ]);
    let mut running = Running::start(&mut command).expect("codex");
    running.feed("@@hold gate");
    model
        .wait_for(|request| request.asks("@@hold gate"), PATIENT)
        .expect("the turn runs");
    let before = home.codex_records(&thread).len();
    let (run, lines) = owl.send(&thread, "Are you there?");
    assert_eq!(run.code, 5, "{run}");
    assert_eq!(stages(&lines), ["accepted_by_axiowl", "refused"], "{run}");
    let reason = lines[1]["reason"].as_str().expect("a reason");
    assert!(reason.contains("codex exec"), "{reason}");
    let message = lines[1]["message_id"].as_str().expect("an id");
    assert!(
        model.asked(message).is_empty(),
        "a model saw a refused message"
    );
    assert_eq!(home.codex_records(&thread).len(), before);
    // What was queued for such a run would be lost with it.
    model.release("gate");
    drop(running);
}

/// Records of a thread's rollout that carry a message's own id.
fn client_ids(home: &ClientHome, thread: &str, message: &str) -> usize {
    let records = home.codex_records(thread);
    let ours = |record: &&Value| record["payload"]["item"]["client_id"] == message;
    records.iter().filter(ours).count()
}

/// Sends to an open thread that is idle, and to the same thread at work; ends with the second
/// turn done.
fn idle_and_busy(owl: &Owl<'_>, home: &ClientHome, model: &MockModel, tui: &CodexTui<'_>) {
    let thread = tui.thread();
    let (run, lines) = owl.send(thread, "Is the checkout done?");
    assert_eq!(run.code, 0, "{run}");
    for name in ["submitted", "seen", "turn_done"] {
        assert!(stages(&lines).contains(&name), "no {name}: {run}");
    }
    let idle = lines[0]["message_id"].as_str().expect("an id").to_owned();
    let record = proven_line(home, stage(&lines, "seen"));
    assert_eq!(record["payload"]["item"]["client_id"], idle.as_str());
    let done = proven_line(home, stage(&lines, "turn_done"));
    assert_eq!(done["payload"]["type"], "task_complete");
    assert_eq!(done["payload"]["turn_id"], record["payload"]["turn_id"]);
    assert_eq!(client_ids(home, thread, &idle), 1);
    assert_eq!(model.asked(&idle).len(), 1, "the model was asked once");
    let shown = || tui.screen().contains("Is the checkout done?").then_some(());
    poll(PATIENT, shown).unwrap_or_else(|| panic!("not shown: {}", tui.screen()));

    // At work: it waits in the queue, and the running turn is not cut short.
    tui.type_line(".@@hold gate").expect("typed");
    model
        .wait_for(|request| request.asks("@@hold gate"), PATIENT)
        .expect("the turn runs");
    let busy = hand_in(owl, thread, "And the basket?");
    let lines = reached(owl, &busy, "queued");
    assert!(!stages(&lines).contains(&"seen"), "{lines:?}");
    assert!(model.asked(&busy).is_empty(), "no model saw it yet");
    assert_eq!(client_ids(home, thread, &busy), 0);
    model.release("gate");
    let lines = reached(owl, &busy, "turn_done");
    assert_eq!(client_ids(home, thread, &busy), 1);
    assert_eq!(model.asked(&busy).len(), 1, "{lines:?}");
    let aborted = |record: &Value| record["payload"]["type"] == "turn_aborted";
    assert!(!home.codex_records(thread).iter().any(aborted));
}

/// Shows: codex_cli send.
#[test]
fn an_open_codex_terminal_gets_the_message_once_idle_and_busy_and_gives_it_back_when_killed() {
    let (model, home, cwd) = or_skip!(ClientHome::with_project());
    let owl = Owl::new(&home);
    let tui = or_skip!(missing(home.codex_tui(
        "hello from a terminal",
        &cwd,
        false
    )));
    let thread = tui.thread().to_owned();
    owl.discover();
    idle_and_busy(&owl, &home, &model, &tui);

    // Killed before it came to the message: nobody else may read it by surprise.
    tui.type_line(".@@hold grave").expect("typed");
    model
        .wait_for(|request| request.asks("@@hold grave"), PATIENT)
        .expect("the turn runs");
    let lost = hand_in(&owl, &thread, "Too late");
    reached(&owl, &lost, "queued");
    tui.crash();
    let lines = reached(&owl, &lost, "refused");
    let reason = stage(&lines, "refused")["reason"].as_str();
    assert!(
        reason.is_some_and(|reason| reason.contains("taken back")),
        "{lines:?}"
    );
    model.release("grave");

    // The lock file is still there, its holder is not: nobody has it open.
    let (run, lines) = owl.send(&thread, "Are you back?");
    assert_eq!(run.code, 0, "{run}");
    let route = stage(&lines, "turn_done")["route"].as_str();
    assert!(
        route.is_some_and(|route| route.contains("thread/resume")),
        "{run}"
    );
    assert!(model.asked(&lost).is_empty() && client_ids(&home, &thread, &lost) == 0);
}

/// Shows: codex_cli send.
#[test]
fn a_codex_thread_in_the_shared_daemon_gets_the_message_once_idle_and_busy() {
    let (model, home, cwd) = or_skip!(ClientHome::with_project());
    let owl = Owl::new(&home);
    let tui = or_skip!(missing(home.codex_tui("hello from the daemon", &cwd, true)));
    owl.discover();
    let shown = owl.run(&[
        "send",
        "--to",
        tui.thread(),
        "--body",
        "x",
        "--dry-run",
        "--json",
    ]);
    assert!(shown.stdout.contains("daemon"), "{shown}");
    idle_and_busy(&owl, &home, &model, &tui);
}

/// Shows: codex_cli send.
#[test]
fn a_codex_thread_that_an_app_server_hosts_gets_the_message_once() {
    let (model, home, cwd) = or_skip!(ClientHome::with_project());
    let owl = Owl::new(&home);
    let thread = home
        .codex_exec_session("Review the checkout design", &cwd)
        .expect("a thread");
    owl.discover();
    let _host = home.codex_app_server_holding(&thread).expect("a host");
    let (run, lines) = owl.send(&thread, "Is the checkout done?");
    assert_eq!(run.code, 0, "{run}");
    for name in ["submitted", "queued", "seen", "turn_done"] {
        assert!(stages(&lines).contains(&name), "no {name}: {run}");
    }
    let message = lines[0]["message_id"].as_str().expect("an id");
    assert_eq!(client_ids(&home, &thread, message), 1);
    assert_eq!(model.asked(message).len(), 1);
}
