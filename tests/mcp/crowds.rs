//! Many calls at once, and a server that is killed in the middle of one.

use crate::codex::{CLIENT, THREAD, meta};
use crate::host::Host;
use crate::program::Axiowl;
use crate::web::Web;
use serde_json::json;
use std::collections::BTreeSet;

#[test]
fn a_hundred_calls_at_once_are_each_answered_once_while_others_wait_for_their_caller() {
    let axiowl = Axiowl::new();
    let mut host = Host::of(&axiowl, CLIENT);
    let open: BTreeSet<u64> = (0..100)
        .map(|number| {
            let meta = meta(THREAD, "call_1");
            match number % 4 {
                0 => host.ask(
                    "tools/call",
                    json!({ "name": "axiowl_whoami", "_meta": meta }),
                ),
                _ => host.ask("tools/call", json!({ "name": "axiowl_list_agents" })),
            }
        })
        .collect();
    host.answers_each_once(open);
    assert!(host.close());
}

#[test]
fn a_server_killed_in_the_middle_of_calls_leaves_nothing_broken() {
    let axiowl = Axiowl::new();
    let manual = [
        "registry",
        "add-agent",
        "--provider",
        "cursor",
        "--session",
        "n1",
        "--name",
    ];
    assert_eq!(axiowl.run(&[&manual[..], &["Nobody"]].concat()).code, 0);
    for _ in 0..3 {
        let mut host = Host::of(&axiowl, CLIENT);
        for _ in 0..10 {
            host.ask("tools/call", json!({ "name": "axiowl_list_agents" }));
            let meta = meta(THREAD, "call_1");
            host.ask(
                "tools/call",
                json!({ "name": "axiowl_whoami", "_meta": meta }),
            );
        }
        host.read();
        // `Drop` kills it.
        drop(host);
    }
    let listed = axiowl.run(&["list", "agents", "--json"]);
    assert_eq!(listed.lines("agent").len(), 1, "{listed}");
    assert_eq!(axiowl.run(&["registry", "check"]).code, 0);
    let mut host = Host::of(&axiowl, "some-host");
    let answer = host.request("tools/call", json!({ "name": "axiowl_list_agents" }));
    assert_eq!(
        answer["result"]["structuredContent"]["agents"][0]["name"], "Nobody",
        "{answer}"
    );
    assert!(host.close());
}

#[test]
fn hosts_over_http_are_served_at_once() {
    let axiowl = Axiowl::new();
    let web = Web::of(&axiowl);
    std::thread::scope(|scope| {
        for number in 0..24 {
            let web = &web;
            scope.spawn(move || {
                let session = web.session(&format!("host-{number}"));
                for _ in 0..4 {
                    let tools = session.request("tools/list", json!({}));
                    let found = tools["result"]["tools"].as_array().map(Vec::len);
                    assert_eq!(found, Some(5), "{tools}");
                }
            });
        }
    });
}
