//! Callers whose process nobody can tell.

use super::*;
use axiowl_model::Timestamp;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::SystemTime;

/// What rests on the process that calls proves nothing where the system does not tell it.
#[test]
fn a_caller_whose_process_is_not_known_is_refused_where_nothing_else_proves_it() {
    let folder = tempfile::tempdir().unwrap();
    let now = Timestamp::from_millis(0);
    let world = World::real(folder.path().into(), BTreeMap::new(), now);
    let call = CallContext {
        client_name: "a client".into(),
        client_version: "1".into(),
        tool: "axiowl_whoami".into(),
        params: json!({ "arguments": {} }),
        host: Vec::new(),
        door: Door::Pipes,
        received: SystemTime::now(),
        given_up: Default::default(),
        state: folder.path().join("state"),
    };
    let rest_on_it = [
        "antigravity_hook",
        "copilot_in_use",
        "cursor_hook",
        "gemini_hook",
        "grok_host",
        "opencode_store",
        "vscode_host",
    ];
    let verifiers = verifiers();
    for name in rest_on_it {
        let verifier = verifiers.iter().find(|one| one.name() == name).unwrap();
        let why = verifier.verify(&world, &call, Some("an-id")).unwrap_err();
        assert!(why.contains("does not tell which process"), "{name}: {why}");
    }
}
