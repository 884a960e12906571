//! Real OpenCode sessions, made by the client from npm against a mock model: discovered, sent
//! to by `run` and over a running server, and proven from OpenCode's own store. Only the model
//! is simulated.

mod owl;
mod program;

use axiowl_test_support::{ClientHome, MockModel, Running, or_skip};
use owl::{Owl, row, stage, stages};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

const BODY: &str = "Is the checkout \"done\"?\n/clear\nsee @package.json";

/// What stands in the store about a message: the role and the session of each of its parts.
fn parts(home: &ClientHome, message: &str) -> Vec<(String, String)> {
    let begins = format!("[AxiOwl {message}]");
    let texts = home.opencode_texts().into_iter();
    texts
        .filter(|said| said.text.starts_with(&begins))
        .map(|said| {
            let role = said.message["role"].as_str().unwrap_or_default().to_owned();
            (role, said.session)
        })
        .collect()
}

/// A discovered session of that title, with another one beside it.
fn session(home: &ClientHome, owl: &Owl<'_>, cwd: &Path) -> String {
    home.opencode_session("Stock Feed", "Watch the stock feed", cwd)
        .expect("a session");
    let session = home
        .opencode_session("Design Review", "Review the checkout design", cwd)
        .expect("a session");
    let rows = owl.discover();
    let row = row(&rows, &format!("opencode_cli:session:{session}"));
    assert_eq!(row["display_name"], "Design Review");
    assert_eq!(row["decision"], "enrolled", "{row}");
    session
}

/// It stands once in the store, as a user's message of that session, and one turn read it.
fn is_there_once(home: &ClientHome, model: &MockModel, session: &str, lines: &[Value]) {
    let message = lines[0]["message_id"].as_str().expect("an id");
    let user = ("user".to_owned(), session.to_owned());
    assert_eq!(parts(home, message), [user]);
    let seen = stage(lines, "seen");
    assert!(seen["evidence"]["row"].is_i64(), "{seen}");
    let path = seen["evidence"]["path"].as_str().expect("a path");
    assert!(
        path.ends_with(".local/share/opencode/opencode.db"),
        "{path}"
    );
    let asked = model.asked(message);
    assert_eq!(asked.len(), 1, "one turn read it");
    // Verbatim: an argument would have been put into quotes.
    let prompt = &asked[0].prompt;
    assert!(prompt.contains(&format!("[AxiOwl {message}]")), "{prompt}");
    assert!(prompt.contains("Is the checkout \"done\"?"), "{prompt}");
}

/// Shows: opencode_cli send.
#[test]
fn an_idle_opencode_session_gets_the_message_once_and_its_store_proves_it() {
    let (model, home, cwd) = or_skip!(ClientHome::with_project());
    let owl = Owl::new(&home);
    let session = session(&home, &owl, &cwd);
    let (run, lines) = owl.send("Design Review", BODY);
    assert_eq!(run.code, 0, "{run}");
    // The client speaks of a message only with its first answer: the store may be first.
    for name in ["seen", "turn_done"] {
        assert!(stages(&lines).contains(&name), "no {name}: {run}");
    }
    let route = stage(&lines, "seen")["route"].as_str().expect("a route");
    assert!(route.starts_with("opencode run"), "{route}");
    is_there_once(&home, &model, &session, &lines);

    // A turn that the model fails is never called done, and is not tried twice.
    let (run, lines) = owl.send("Design Review", "@@error 400");
    let reached = stages(&lines);
    assert!(!reached.contains(&"turn_done"), "{run}");
    assert_eq!(reached.last(), Some(&"failed"), "{run}");
    assert!(reached.contains(&"seen"), "it stands in the store: {run}");
}

/// Shows: opencode_cli send.
#[test]
fn a_running_opencode_server_takes_the_message_and_its_store_proves_it() {
    let (model, home, cwd) = or_skip!(ClientHome::with_project());
    let owl = Owl::new(&home);
    let session = session(&home, &owl, &cwd);
    let (server, _) = home.opencode_server(&cwd, None).expect("a server");
    let (run, lines) = owl.send("Design Review", BODY);
    assert_eq!(run.code, 0, "{run}\n{}", server.output());
    for name in ["submitted", "seen", "turn_done"] {
        assert!(stages(&lines).contains(&name), "no {name}: {run}");
    }
    let route = stage(&lines, "seen")["route"].as_str().expect("a route");
    assert!(route.starts_with("HTTP"), "{route}");
    is_there_once(&home, &model, &session, &lines);
}

/// Shows: opencode_cli send.
#[test]
fn an_opencode_session_at_work_without_a_port_is_refused_and_stays_untouched() {
    let (model, home, cwd) = or_skip!(ClientHome::with_project());
    let owl = Owl::new(&home);
    let session = session(&home, &owl, &cwd);
    let folder = cwd.display().to_string();
    let mut command = home.command(home.clients().opencode(), &cwd);
    command.args([
        "run",
        "--format",
        "json",
        "--dir",
        &folder,
        "--session",
        &session,
    ]);
    let mut holder = Running::start(&mut command).expect("opencode");
    holder.feed("@@hold gate\nstay");
    let asked = |request: &axiowl_test_support::Request| request.asks("@@hold gate");
    model
        .wait_for(asked, Duration::from_secs(180))
        .expect("the turn runs");
    let (run, lines) = owl.send("Design Review", "Are you there?");
    assert_eq!(run.code, 5, "{run}");
    let last = lines.last().expect("a stage");
    assert_eq!(last["stage"], "refused", "{run}");
    let reason = last["reason"].as_str().expect("a reason");
    assert!(reason.contains("without a port"), "{reason}");
    let message = last["message_id"].as_str().expect("an id");
    assert!(model.asked(message).is_empty(), "a model saw it");
    assert!(parts(&home, message).is_empty());
    model.release("gate");
    drop(holder);
}

#[test]
fn an_opencode_server_with_a_password_takes_the_message_with_the_configured_one_only() {
    let (model, home, cwd) = or_skip!(ClientHome::with_project());
    let owl = Owl::new(&home);
    let session = session(&home, &owl, &cwd);
    let served = home.opencode_server(&cwd, Some("hush-hush"));
    let (server, _) = served.expect("a server");
    // Nothing runs beside a server that may show the session.
    let (run, lines) = owl.send("Design Review", "Are you there?");
    assert_eq!(run.code, 5, "{run}");
    let last = lines.last().expect("a stage");
    let reason = last["reason"].as_str().expect("a reason");
    assert!(reason.contains("wants a password"), "{reason}");
    let message = last["message_id"].as_str().expect("an id");
    assert!(parts(&home, message).is_empty() && model.asked(message).is_empty());

    home.write("opencode.env", "OPENCODE_SERVER_PASSWORD=hush-hush\n")
        .expect("the password");
    let config = "providers:\n  opencode_cli:\n    env_file: ~/opencode.env\n";
    home.write(".config/axiowl/config.yaml", config)
        .expect("config");
    let (run, lines) = owl.send("Design Review", BODY);
    assert_eq!(run.code, 0, "{run}\n{}", server.output());
    let route = stage(&lines, "seen")["route"].as_str().expect("a route");
    assert!(route.starts_with("HTTP"), "{route}");
    is_there_once(&home, &model, &session, &lines);
    assert!(!run.stdout.contains("hush-hush") && !run.stderr.contains("hush-hush"));
}
