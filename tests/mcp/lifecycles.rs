//! How hosts begin, what they may do in between, and how they end.

use crate::host::{Host, Who, greeting};
use crate::program::Axiowl;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// What every request of the lifecycle of 2026-07-28 carries.
fn modern(client: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": client, "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn tools(answer: &Value) -> BTreeSet<String> {
    let tools = answer["result"]["tools"].as_array().expect("tools");
    tools
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect()
}

fn ours() -> BTreeSet<String> {
    [
        "inbox",
        "list_agents",
        "message_status",
        "send_message",
        "whoami",
    ]
    .map(|name| format!("axiowl_{name}"))
    .into()
}

#[test]
fn a_host_may_begin_with_initialize_or_with_discover() {
    let axiowl = Axiowl::new();
    let mut old = Host::of(&axiowl, "some-host");
    assert_eq!(tools(&old.request("tools/list", json!({}))), ours());
    // Some hosts greet a server again that they believe to be lost.
    let again = old.request("initialize", greeting("some-host"));
    assert!(again.get("result").is_some(), "{again}");
    assert_eq!(tools(&old.request("tools/list", json!({}))), ours());
    assert!(old.close());

    let mut new = Host::silent(axiowl.command(&["mcp"]));
    let found = new.request("server/discover", json!({ "_meta": modern("some-host") }));
    let versions = found["result"]["supportedVersions"].to_string();
    assert!(versions.contains("2026-07-28"), "{found}");
    assert!(
        found["result"]["instructions"]
            .to_string()
            .contains("axiowl_"),
        "{found}"
    );
    let listed = new.request("tools/list", json!({ "_meta": modern("some-host") }));
    assert_eq!(tools(&listed), ours());
    // Without an initialize, each request says which host it is, and that name is what counts.
    for (client, part) in [("some-host", "some-host"), ("codex-mcp-client", "threadId")] {
        let params = json!({ "name": "axiowl_whoami", "arguments": {}, "_meta": modern(client) });
        let why = Who::of(&new.request("tools/call", params)).refusal();
        assert!(why.starts_with("refused: ") && why.contains(part), "{why}");
    }
    assert!(new.close());
}

#[test]
fn a_host_that_only_looks_and_leaves_ends_its_server_well() {
    let axiowl = Axiowl::new();
    assert!(Host::silent(axiowl.command(&["mcp"])).close(), "no word");
    let mut host = Host::silent(axiowl.command(&["mcp"]));
    let found = host.request("server/discover", json!({ "_meta": modern("some-host") }));
    assert!(found.get("result").is_some(), "{found}");
    assert!(host.close(), "discovered");
}

#[test]
fn each_tool_says_what_it_does_and_takes_nothing_but_its_arguments() {
    let axiowl = Axiowl::new();
    let mut host = Host::of(&axiowl, "some-host");
    let answer = host.request("tools/list", json!({}));
    for tool in answer["result"]["tools"].as_array().expect("tools") {
        let reads = tool["name"] != "axiowl_send_message";
        let said = &tool["annotations"];
        assert_eq!(said["readOnlyHint"], reads, "{tool}");
        assert_eq!(said["openWorldHint"], false, "{tool}");
        assert!(
            tool["description"].as_str().expect("text").len() > 40,
            "{tool}"
        );
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        // Some hosts translate schemas into a dialect without lists of types.
        let properties = tool["inputSchema"]["properties"].as_object();
        for property in properties.into_iter().flat_map(|all| all.values()) {
            assert!(property["type"].is_string(), "{tool}");
        }
    }
    let unknown = host.call("axiowl_whoami", json!({ "from": "me" }), json!({}));
    Who::of(&unknown).refused_for("unknown field `from`");
    let nothing = host.request("tools/call", json!({ "name": "axiowl_delete_everything" }));
    assert!(nothing.get("error").is_some(), "{nothing}");
    assert!(host.close());
}

#[test]
fn many_calls_at_once_are_each_answered() {
    let axiowl = Axiowl::new();
    let mut host = Host::of(&axiowl, "some-host");
    let open: BTreeSet<u64> = (0..40)
        .map(|number| {
            let tool = ["axiowl_list_agents", "axiowl_whoami"][number % 2];
            host.ask("tools/call", json!({ "name": tool, "arguments": {} }))
        })
        .collect();
    host.answers_each_once(open);
    assert!(host.close());
}

#[test]
fn what_is_no_mcp_ends_a_server_that_was_not_greeted_and_disturbs_no_other() {
    let axiowl = Axiowl::new();
    let mut host = Host::of(&axiowl, "some-host");
    let none = host.request("no/such/method", json!({}));
    assert_eq!(none["error"]["code"], -32601, "{none}");
    assert_eq!(tools(&host.request("tools/list", json!({}))), ours());
    let start = Instant::now();
    assert!(host.close());
    assert!(start.elapsed() < Duration::from_secs(10));
    let silent = Host::silent(axiowl.command(&["mcp"]));
    // A host that goes away without a word is no failure of anything else.
    silent.close();
}
