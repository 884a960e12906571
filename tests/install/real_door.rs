//! The door into a session that somebody has open, as an install brings it to the real Copilot
//! CLI and an uninstall takes it away. Only the model is simulated.

use crate::owl::{Owl, proven_line, stage, stages};
use axiowl_test_support::{ClientHome, Terminal, or_skip, poll, program};
use std::time::Duration;

const PROMPT: &str = "Review the checkout design";
/// CI is slow and busy.
const PATIENT: Duration = Duration::from_secs(180);
const EXTENSION: &str = ".copilot/extensions/axiowl/extension.mjs";

fn open(home: &ClientHome, session: &str, cwd: &std::path::Path) -> Terminal {
    let window = home.copilot_tui(session, cwd).expect("a terminal");
    window
        .shows(&[PROMPT], PATIENT)
        .expect("the session on the screen");
    window
}

#[test]
fn an_installed_extension_lets_messages_into_an_open_copilot_session_until_it_is_uninstalled() {
    let (model, home, cwd) = or_skip!(ClientHome::with_project());
    let _ = or_skip!(program("tmux"));
    let owl = Owl::new(&home);
    let made = home.copilot_session("Design Review", PROMPT, &cwd);
    let session = made.expect("a session");
    let installed = owl.run(&["install", "copilot_cli", "--yes"]);
    assert_eq!(installed.code, 0, "{installed}");
    assert!(home.path().join(EXTENSION).is_file());
    owl.discover();

    let window = open(&home, &session, &cwd);
    let socket = home
        .path()
        .join(format!(".axiowl/copilot-cli/{session}.sock"));
    poll(PATIENT, || socket.exists().then_some(())).expect("the extension listens");
    let (run, lines) = owl.send("Design Review", "Is the checkout done?");
    assert_eq!(run.code, 0, "{run}");
    for name in ["submitted", "seen", "turn_done"] {
        assert!(stages(&lines).contains(&name), "no {name}: {run}");
    }
    let route = stage(&lines, "turn_done")["route"].as_str();
    assert!(
        route.is_some_and(|route| route.contains("extension")),
        "{run}"
    );
    let record = proven_line(&home, stage(&lines, "seen"));
    assert_eq!(record["type"], "user.message", "{record}");
    let message = lines[0]["message_id"].as_str().expect("an id");
    assert_eq!(model.asked(message).len(), 1, "one turn read it");
    window
        .shows(&["Is the checkout done?"], PATIENT)
        .expect("its user sees it");
    window.close();

    let removed = owl.run(&["uninstall", "copilot_cli", "--yes"]);
    assert_eq!(removed.code, 0, "{removed}");
    assert!(!home.path().join(".copilot/extensions").exists());
    let _window = open(&home, &session, &cwd);
    let (run, lines) = owl.send("Design Review", "And now?");
    assert_eq!(run.code, 5, "{run}");
    assert_eq!(stages(&lines), ["accepted_by_axiowl", "refused"], "{run}");
    let message = lines[0]["message_id"].as_str().expect("an id");
    assert!(
        model.asked(message).is_empty(),
        "a refused message was read"
    );
}
