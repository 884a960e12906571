//! Gemini, Cursor and Antigravity: their hooks leave a marker of the call, and the server takes it.

use crate::host::{Host, below};
use crate::recorded::{Recorded, payload};
use serde_json::{Value, json};

struct Surface {
    provider: &'static str,
    case: &'static str,
    client: &'static str,
    hook: &'static str,
    prefix: &'static str,
    bare: &'static str,
    other: &'static str,
}

const SURFACES: [Surface; 5] = [
    Surface {
        provider: "antigravity",
        case: "annotations",
        client: "antigravity-client",
        hook: "antigravity",
        prefix: "antigravity:cascade:",
        bare: "a0000000-0000-4000-8000-000000000001",
        other: "a0000000-0000-4000-8000-000000000003",
    },
    Surface {
        provider: "antigravity_cli",
        case: "conversations",
        client: "antigravity-client",
        hook: "antigravity",
        prefix: "antigravity_cli:conversation:",
        bare: "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb",
        other: "e0000000-0000-4000-8000-000000000001",
    },
    Surface {
        provider: "cursor",
        case: "composers",
        client: "cursor-vscode",
        hook: "cursor",
        prefix: "cursor:composer:",
        bare: "11111111-1111-4111-8111-111111111111",
        other: "55555555-5555-4555-8555-555555555505",
    },
    Surface {
        provider: "cursor_cli",
        case: "chats",
        client: "cursor-agent",
        hook: "cursor",
        prefix: "cursor_cli:session:",
        bare: "55555555-5555-4555-8555-555555555555",
        other: "77777777-7777-4777-8777-777777777777",
    },
    Surface {
        provider: "gemini_cli",
        case: "sessions",
        client: "gemini-cli-mcp-client",
        hook: "gemini",
        prefix: "gemini_cli:session:",
        bare: "5a000001-0000-4000-8000-000000000001",
        other: "5a000002-0000-4000-8000-000000000002",
    },
];

impl Surface {
    fn world(&self) -> Recorded {
        Recorded::of(self.provider, self.case, "")
    }

    fn announce(&self, world: &Recorded, session: &str, arguments: &Value) -> String {
        let payload = payload(self.hook, session, arguments).to_string();
        world.hook(self.hook, payload.as_bytes())
    }
}

fn proven(provider: &str) {
    let surface = SURFACES
        .iter()
        .find(|one| one.provider == provider)
        .expect("known");
    let world = surface.world();
    let mut host = world.host(surface.client);
    let answer = surface.announce(&world, surface.bare, &json!({}));
    let expected = if surface.hook == "antigravity" {
        r#"{"decision":"allow"}"#
    } else {
        "{}"
    };
    assert_eq!(answer, expected, "a hook decides nothing");
    let who = host.whoami(json!({ "progressToken": 1 }));
    assert_eq!(who.session(), format!("{}{}", surface.prefix, surface.bare));
    assert_eq!(
        (who.field("provider"), who.field("class")),
        (json!(provider), json!("hook_marker"))
    );
    // Used once.
    let why = host.whoami(json!({})).refusal();
    assert!(
        why.contains("no hook announced") && why.contains("axiowl hook"),
        "{why}"
    );
}

#[test]
fn c181_an_antigravity_conversation_is_its_cascade() {
    proven("antigravity");
}

#[test]
fn c182_an_antigravity_cli_conversation_is_its_own_surface_s() {
    proven("antigravity_cli");
}

#[test]
fn c183_a_cursor_conversation_is_its_composer() {
    proven("cursor");
}

#[test]
fn c184_a_cursor_cli_chat_is_its_own_surface_s() {
    proven("cursor_cli");
}

#[test]
fn a_gemini_session_is_known_by_its_hook() {
    proven("gemini_cli");
}

#[test]
fn x25_two_equal_calls_of_two_sessions_at_once_are_refused() {
    for surface in &SURFACES {
        let world = surface.world();
        let mut host = world.host(surface.client);
        surface.announce(&world, surface.bare, &json!({}));
        surface.announce(&world, surface.other, &json!({}));
        host.whoami(json!({}))
            .refused_for("the very same call at once");
        host.whoami(json!({})).refused_for("no hook announced");
    }
}

#[test]
fn x25_a_marker_that_another_process_had_left_is_refused() {
    for surface in &SURFACES {
        let world = surface.world();
        // The host is a program of its own, and it was this test that ran the hook.
        let server = below(&world.axiowl, world.command(&["mcp"]), "host");
        let mut host = Host::greeting(server, surface.client);
        surface.announce(&world, surface.bare, &json!({}));
        host.whoami(json!({}))
            .refused_for("was not run by the process that makes it");
        // For the process that ran it, it is still there.
        let who = world.host(surface.client).whoami(json!({}));
        assert_eq!(who.session(), format!("{}{}", surface.prefix, surface.bare));
    }
}

#[test]
fn x25_a_marker_stands_for_its_own_call_and_session_only() {
    for surface in &SURFACES {
        let world = surface.world();
        // Another call of the session, and a session that is in no store.
        let mut host = world.host(surface.client);
        surface.announce(&world, surface.bare, &json!({ "since": "x" }));
        host.whoami(json!({})).refused_for("no hook announced");
        surface.announce(&world, "99999999-9999-4999-8999-999999999999", &json!({}));
        host.whoami(json!({}))
            .refused_for("stands in no provider's store");
        surface.announce(&world, "../../../etc", &json!({}));
        host.whoami(json!({})).refused_for("no session id");
        // A variable of the kind that a shell of the session has.
        let loud = Recorded::of(
            surface.provider,
            surface.case,
            &format!(
                "env: {{ CURSOR_CONVERSATION_ID: {0}, ANTIGRAVITY_CONVERSATION_ID: {0}, GEMINI_SESSION_ID: {0} }}",
                surface.bare
            ),
        );
        loud.host(surface.client)
            .whoami(json!({}))
            .refused_for("no hook announced");
    }
}

#[test]
fn x24_cursors_payload_may_begin_with_a_byte_order_mark() {
    let surface = &SURFACES[2];
    let world = surface.world();
    let mut host = world.host(surface.client);
    let mut payload_bytes = b"\xEF\xBB\xBF".to_vec();
    payload_bytes.extend(
        payload("cursor", surface.bare, &json!({}))
            .to_string()
            .bytes(),
    );
    assert_eq!(world.hook("cursor", &payload_bytes), "{}");
    let who = host.whoami(json!({}));
    assert_eq!(who.session(), format!("cursor:composer:{}", surface.bare));
}

#[test]
fn a_hook_never_fails_and_says_nothing_more_than_its_answer() {
    let world = SURFACES[2].world();
    for payload in [
        &b""[..],
        b"no json",
        b"\xff\xfe\x00",
        b"[1]",
        b"{\"conversation_id\":7}",
    ] {
        assert_eq!(world.hook("cursor", payload), "{}");
        assert_eq!(world.hook("gemini", payload), "{}");
        assert_eq!(world.hook("nobody", payload), "{}");
        assert_eq!(world.hook("antigravity", payload), r#"{"decision":"ask"}"#);
    }
    // A state folder that cannot be written is no reason to stop the host.
    world.axiowl.write("state", "a file");
    let payload = payload("cursor", SURFACES[2].bare, &json!({})).to_string();
    assert_eq!(world.hook("cursor", payload.as_bytes()), "{}");
    let odd = world.axiowl.run(&["hook"]);
    assert_eq!((odd.code, odd.stdout.as_str()), (0, "{}\n"), "{odd}");
    let odd = world
        .axiowl
        .run(&["hook", "cursor", "--event", "x", "more"]);
    assert_eq!((odd.code, odd.stdout.as_str()), (0, "{}\n"), "{odd}");
}

#[test]
fn a_marker_holds_nothing_of_what_was_said() {
    let surface = &SURFACES[2];
    let world = surface.world();
    surface.announce(&world, surface.bare, &json!({ "secret": "words" }));
    let folder = world.axiowl.path("state/hooks/cursor");
    let files: Vec<_> = std::fs::read_dir(folder)
        .expect("markers")
        .map(|e| e.expect("entry").path())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let text = std::fs::read_to_string(&files[0]).expect("marker");
    assert!(
        !text.contains("secret") && !text.contains("example.org"),
        "{text}"
    );
}
