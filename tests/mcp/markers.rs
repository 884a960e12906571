//! Gemini, Cursor and Antigravity: their hooks leave a marker of the call, and the server takes it.

use crate::clients::Client;
use crate::recorded::{Recorded, payload};
use serde_json::{Value, json};

struct Surface {
    provider: &'static str,
    case: &'static str,
    client: &'static str,
    /// The name of its program.
    program: &'static str,
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
        program: "language_server_linux_x64",
        hook: "antigravity",
        prefix: "antigravity:cascade:",
        bare: "a0000000-0000-4000-8000-000000000001",
        other: "a0000000-0000-4000-8000-000000000003",
    },
    Surface {
        provider: "antigravity_cli",
        case: "conversations",
        client: "antigravity-client",
        program: "agy",
        hook: "antigravity",
        prefix: "antigravity_cli:conversation:",
        bare: "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb",
        other: "e0000000-0000-4000-8000-000000000001",
    },
    Surface {
        provider: "cursor",
        case: "composers",
        client: "cursor-vscode",
        program: "cursor",
        hook: "cursor",
        prefix: "cursor:composer:",
        bare: "11111111-1111-4111-8111-111111111111",
        other: "55555555-5555-4555-8555-555555555505",
    },
    Surface {
        provider: "cursor_cli",
        case: "chats",
        client: "cursor-agent",
        program: "cursor-agent",
        hook: "cursor",
        prefix: "cursor_cli:session:",
        bare: "55555555-5555-4555-8555-555555555555",
        other: "77777777-7777-4777-8777-777777777777",
    },
    Surface {
        provider: "gemini_cli",
        case: "sessions",
        client: "gemini-cli-mcp-client",
        program: "gemini",
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

    /// A client of that surface.
    fn client(&self, world: &Recorded) -> Client {
        Client::start(world, self.program, self.client, self.hook)
    }

    fn payload(&self, session: &str, arguments: &Value) -> Vec<u8> {
        payload(self.hook, session, arguments)
            .to_string()
            .into_bytes()
    }

    fn announce(&self, client: &mut Client, session: &str, arguments: &Value) -> String {
        client.hook(&self.payload(session, arguments))
    }
}

fn proven(provider: &str) {
    let surface = SURFACES
        .iter()
        .find(|one| one.provider == provider)
        .expect("known");
    let world = surface.world();
    let mut client = surface.client(&world);
    let answer = surface.announce(&mut client, surface.bare, &json!({}));
    let expected = if surface.hook == "antigravity" {
        r#"{"decision":"allow"}"#
    } else {
        "{}"
    };
    assert_eq!(answer, expected, "a hook decides nothing");
    let who = client.host.whoami(json!({ "progressToken": 1 }));
    assert_eq!(who.session(), format!("{}{}", surface.prefix, surface.bare));
    assert_eq!(
        (who.field("provider"), who.field("class")),
        (json!(provider), json!("hook_marker"))
    );
    // Used once.
    let why = client.host.whoami(json!({})).refusal();
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
        let mut client = surface.client(&world);
        surface.announce(&mut client, surface.bare, &json!({}));
        surface.announce(&mut client, surface.other, &json!({}));
        let host = &mut client.host;
        host.whoami(json!({}))
            .refused_for("the very same call at once");
        host.whoami(json!({})).refused_for("no hook announced");
    }
}

#[test]
fn x25_a_marker_that_another_process_had_left_is_refused() {
    for surface in &SURFACES {
        let world = surface.world();
        // Two of the same client run, and it was the other one that ran the hook.
        let (mut one, mut other) = (surface.client(&world), surface.client(&world));
        surface.announce(&mut other, surface.bare, &json!({}));
        one.host
            .whoami(json!({}))
            .refused_for("was not run by the process that makes it");
        // For the process that ran it, it is still there.
        let who = other.host.whoami(json!({}));
        assert_eq!(who.session(), format!("{}{}", surface.prefix, surface.bare));
    }
}

#[test]
fn x25_who_runs_hook_and_server_itself_is_no_client() {
    for surface in &SURFACES {
        let world = surface.world();
        // This test is the one process that runs both.
        let mut host = world.host(surface.client);
        world.hook(surface.hook, &surface.payload(surface.bare, &json!({})));
        let why = host.whoami(json!({})).refusal();
        assert!(
            why.contains("is no program of") && why.contains("without a shell"),
            "{why}"
        );
        // So is a program with nearly that name, and one of another client.
        for program in [format!("not-{}", surface.program), "claude".into()] {
            let mut client = Client::start(&world, &program, surface.client, surface.hook);
            surface.announce(&mut client, surface.bare, &json!({}));
            client
                .host
                .whoami(json!({}))
                .refused_for("is no program of");
        }
    }
}

#[test]
fn x25_a_marker_stands_for_its_own_call_and_session_only() {
    for surface in &SURFACES {
        let world = surface.world();
        // Another call of the session, and a session that is in no store.
        let mut client = surface.client(&world);
        surface.announce(&mut client, surface.bare, &json!({ "since": "x" }));
        client
            .host
            .whoami(json!({}))
            .refused_for("no hook announced");
        let none = "99999999-9999-4999-8999-999999999999";
        surface.announce(&mut client, none, &json!({}));
        client
            .host
            .whoami(json!({}))
            .refused_for("stands in no provider's store");
        surface.announce(&mut client, "../../../etc", &json!({}));
        client.host.whoami(json!({})).refused_for("no session id");
        // A variable of the kind that a shell of the session has.
        let loud = Recorded::of(
            surface.provider,
            surface.case,
            &format!(
                "env: {{ CURSOR_CONVERSATION_ID: {0}, ANTIGRAVITY_CONVERSATION_ID: {0}, GEMINI_SESSION_ID: {0} }}",
                surface.bare
            ),
        );
        surface
            .client(&loud)
            .host
            .whoami(json!({}))
            .refused_for("no hook announced");
    }
}

#[test]
fn x24_cursors_payload_may_begin_with_a_byte_order_mark() {
    let surface = &SURFACES[2];
    let world = surface.world();
    let mut client = surface.client(&world);
    let mut payload_bytes = b"\xEF\xBB\xBF".to_vec();
    payload_bytes.extend(surface.payload(surface.bare, &json!({})));
    assert_eq!(client.hook(&payload_bytes), "{}");
    let who = client.host.whoami(json!({}));
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
    world.hook(
        surface.hook,
        &surface.payload(surface.bare, &json!({ "secret": "words" })),
    );
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
