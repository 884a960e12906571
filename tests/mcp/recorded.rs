//! Providers whose stores are recorded: each test asks the server in the recorded world.

use crate::host::{Host, Who, below};
use crate::program::{Axiowl, ROOT, copy_tree};
use axiowl_lang::layers::{self, Sources};
use axiowl_lang::rule::IdentityClass;
use axiowl_lang::support::{Label, Support};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};

/// A recorded world, copied to where it may be written to.
pub struct Recorded {
    pub axiowl: Axiowl,
}

impl Recorded {
    /// The world of a provider's fixture, with further lines of its description.
    pub fn of(provider: &str, case: &str, more: &str) -> Self {
        let axiowl = Axiowl::new();
        let fixture = Path::new(ROOT).join(format!("rules/{provider}/fixtures/{case}"));
        copy_tree(&fixture, &axiowl.path("case"));
        let world = axiowl.path("case/world.yaml");
        let text = std::fs::read_to_string(&world).expect("world");
        std::fs::write(world, format!("{text}\n{more}\n")).expect("world");
        Self { axiowl }
    }

    pub fn options(&self) -> [String; 4] {
        let path = |below: &str| self.axiowl.path(below).display().to_string();
        [
            "--world".into(),
            path("case/world.yaml"),
            "--state".into(),
            path("state"),
        ]
    }

    pub fn command(&self, word: &[&str]) -> Command {
        let mut command = self.axiowl.command(&[]);
        command.args(self.options()).args(word);
        command
    }

    pub fn host(&self, client: &str) -> Host {
        Host::greeting(self.command(&["mcp"]), client)
    }

    /// A patch of the user's own adds an identity to a provider's rule.
    pub fn knows_host(&self, provider: &str, identity: &str) {
        let listed = self.axiowl.run(&["rules", "list", "--json"]).lines("rule");
        let line = listed.iter().find(|line| line["provider"] == provider);
        let base = line.expect("the rule")["digest"]
            .as_str()
            .expect("a digest");
        self.axiowl.write(
            &format!("home/.config/axiowl/rules/{provider}/rule.yaml"),
            format!(
                "axiowl: 1\nprovider: {provider}\nextends: builtin\nbase: {base}\noverride:\n  identity:\n    append:\n      - {{ {identity} }}\n"
            ),
        );
    }

    /// Runs a hook to its end; what the host reads.
    pub fn hook(&self, name: &str, payload: &[u8]) -> String {
        use std::io::Write as _;
        let mut hook = self
            .command(&["hook", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("axiowl runs");
        let mut input = hook.stdin.take().expect("stdin");
        input.write_all(payload).expect("payload");
        drop(input);
        let output = hook.wait_with_output().expect("wait");
        assert!(output.status.success(), "a hook never fails");
        assert!(
            output.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout)
            .expect("text")
            .trim_end()
            .to_owned()
    }
}

#[test]
fn c185_a_conversation_of_vs_code_is_its_chat_session() {
    let chat = "32519002-f9e2-45c8-819b-3961b814705b";
    let world = Recorded::of("vscode_native", "code-server", "");
    for (program, client) in [
        ("code", "Visual Studio Code"),
        ("code-insiders", "Visual Studio Code - Insiders"),
        ("code-server", "code-server"),
    ] {
        let who = under(&world, program, client)
            .whoami(json!({ "vscode.conversationId": chat, "vscode.requestId": "r" }));
        assert_eq!(who.session(), format!("vscode_native:session:{chat}"));
        assert_eq!(who.field("display_name"), "Renamed While Closed");
        assert_eq!(who.field("proof"), "host_meta, confirmed by vscode_host");
    }
    let mut host = under(&world, "code", "Visual Studio Code");
    host.whoami(json!({})).refused_for("vscode.conversationId");
    let none = "32519002-0000-45c8-819b-3961b814705b";
    host.whoami(json!({ "vscode.conversationId": none }))
        .refused_for("stands in no provider's store");
    let meta = json!({ "vscode.conversationId": chat });
    under(&world, "code", "some-editor")
        .whoami(meta.clone())
        .refused_for("no rule knows");
    // Something that calls itself VS Code, and something that is called nearly so.
    for program in ["sh-wrapper", "codex", "decode"] {
        under(&world, program, "Visual Studio Code")
            .whoami(meta.clone())
            .refused_for("is not VS Code; let the client's configuration name axiowl itself");
    }
    let variable = Recorded::of(
        "vscode_native",
        "code-server",
        &format!(
            "env: {{ VSCODE_IPC_HOOK_CLI: /tmp/vscode-ipc.sock, VSCODE_CONVERSATION_ID: {chat} }}"
        ),
    );
    under(&variable, "code", "Visual Studio Code")
        .whoami(json!({}))
        .refused_for("vscode.conversationId");
}

#[test]
fn a_conversation_that_the_copilot_runtime_holds_for_vs_code_belongs_to_that_surface() {
    let id = "d0000001-0000-4000-8000-000000000002";
    let world = Recorded::of("vscode_copilot_backed", "sessions", "");
    let address = format!("agent-host-copilotcli:/{id}");
    let meta = json!({ "vscode.conversationId": address });
    let who = under(&world, "code", "Visual Studio Code").whoami(meta.clone());
    assert_eq!(who.session(), format!("copilot_cli:session:{id}"));
    assert_eq!(who.field("provider"), "vscode_copilot_backed");
    world
        .host("Visual Studio Code")
        .whoami(meta)
        .refused_for("is not VS Code");
}

#[test]
fn a_shell_in_a_terminal_of_vs_code_speaks_for_no_conversation() {
    let world = Recorded::of("vscode_native", "code-server", "");
    let meta = json!({ "vscode.conversationId": "32519002-f9e2-45c8-819b-3961b814705b" });
    // A shell that turns into the server leaves the process above it the nearest one.
    let of = |part: &str| {
        let mut server = below(&world.axiowl, world.command(&["mcp"]), "code");
        server.env("VSCODE_ESM_ENTRYPOINT", part);
        Host::greeting(server, "Visual Studio Code").whoami(meta.clone())
    };
    for part in [
        "vs/platform/terminal/node/ptyHostMain",
        "vs/code/electron-utility/sharedProcess/sharedProcessMain",
    ] {
        of(part).refused_for("not the one that runs its servers");
    }
    let who = of("vs/workbench/api/node/extensionHostProcess");
    assert!(who.session().starts_with("vscode_native:"), "{who:?}");
}

#[test]
fn a_conversation_of_vs_code_is_proven_by_the_copilot_runtime_s_own_hook_too() {
    let id = "d0000001-0000-4000-8000-000000000002";
    let world = Recorded::of("vscode_copilot_backed", "sessions", "");
    let meta = json!({ "axiowl/sessionId": id });
    let why = world.host("copilot-cli").whoami(meta.clone()).refusal();
    assert!(
        why.contains("has none of the sessions") && !why.contains("proves no session of"),
        "{why}"
    );
    let me = std::process::id();
    let lock = format!("case/home/.copilot/session-state/{id}/inuse.{me}.lock");
    world.axiowl.write(&lock, me.to_string());
    let who = world.host("copilot-cli").whoami(meta);
    assert_eq!(who.session(), format!("copilot_cli:session:{id}"));
    assert_eq!(who.field("provider"), "vscode_copilot_backed");
}

const GROK: &str = "0199aaaa-0000-7000-8000-000000000001";
const GROK_CHILD: &str = "0199aaaa-0000-7000-8000-000000000002";

fn under(world: &Recorded, program: &str, client: &str) -> Host {
    Host::greeting(
        below(&world.axiowl, world.command(&["mcp"]), program),
        client,
    )
}

fn under_grok(world: &Recorded) -> Who {
    under(world, "grok", "grok-shell-axiowl").whoami(json!({}))
}

fn grok(session: &str, more: &str) -> Recorded {
    Recorded::of(
        "grok",
        "sessions",
        &format!("env: {{ GROK_SESSION_ID: {session} }}\n{more}"),
    )
}

#[test]
fn a10_grok_s_own_variable_is_a_class_of_its_own() {
    let who = under_grok(&grok(GROK, ""));
    assert_eq!(who.session(), format!("grok:session:{GROK}"));
    assert_eq!(who.field("class"), "host_env_protected");
    let who = under_grok(&grok(GROK_CHILD, ""));
    assert_eq!(
        (
            who.field("provider_session_id") != json!(format!("grok:session:{GROK_CHILD}")),
            who.field("subagent")
        ),
        (true, json!("helper"))
    );
}

#[test]
fn a10_c179_the_variable_without_grok_above_it_is_a_leftover() {
    let world = grok(GROK, "");
    let mut host = world.host("grok-shell-axiowl");
    host.whoami(json!({}))
        .refused_for("Grok did not start this server; the variable is a leftover; let the client's configuration name axiowl itself");
    let unset = Recorded::of("grok", "sessions", "");
    unset
        .host("grok-shell-axiowl")
        .whoami(json!({}))
        .refused_for("no GROK_SESSION_ID");
    under_grok(&grok("0199aaaa-ffff-7000-8000-000000000001", ""))
        .refused_for("stands in no provider's store");
    under_grok(&grok("../x", "")).refused_for("UUID");
    // Grok itself says that another living process has the session.
    let elsewhere = grok(GROK, "pids: { 4242: 1 }");
    let list = json!([{ "session_id": GROK, "pid": 4242, "cwd": "/x", "opened_at": "2026-11-30T14:00:00Z" }]);
    elsewhere
        .axiowl
        .write("case/home/.grok/active_sessions.json", list.to_string());
    under_grok(&elsewhere).refused_for("runs in process 4242");
}

#[test]
fn a_process_of_grok_speaks_for_the_sessions_that_grok_notes_for_it() {
    for (session, open, proven) in [
        (GROK, GROK, true),
        // A shell of another session that sets the variable and turns into the server.
        (GROK, "0199aaaa-0000-7000-8000-000000000004", false),
        // A sub-agent runs in the process of the session it works for.
        (GROK_CHILD, GROK, true),
        (GROK_CHILD, "0199aaaa-0000-7000-8000-000000000004", false),
    ] {
        let world = grok(session, "");
        let mut host = under(&world, "grok", "grok-shell-axiowl");
        let list = json!([{ "session_id": open, "pid": host.pid(), "cwd": "/x", "opened_at": "2026-11-30T14:00:00Z" }]);
        world
            .axiowl
            .write("case/home/.grok/active_sessions.json", list.to_string());
        let who = host.whoami(json!({}));
        match proven {
            true => assert!(who.session().starts_with("grok:session:"), "{who:?}"),
            false => who.refused_for("and not session"),
        }
    }
}

#[test]
fn a11_a_user_adds_the_metadata_key_that_a_build_turns_out_to_send() {
    let chat = "11111111-1111-4111-8111-111111111111";
    let world = Recorded::of("cursor", "composers", "");
    let meta = json!({ "cursor/conversationId": chat });
    let mut host = world.host("cursor-vscode");
    host.whoami(meta.clone())
        .refused_for("is no program of Cursor");
    drop(host);
    world.knows_host("cursor", "client: cursor-vscode, from: [/_meta/conversationId, /_meta/cursor~1conversationId], class: host_meta");
    let who = world.host("cursor-vscode").whoami(meta);
    assert_eq!(who.session(), format!("cursor:composer:{chat}"));
    assert_eq!(who.field("class"), "host_meta");
}

#[test]
fn c180_a_surface_that_only_an_environment_proves_is_no_supported_sender() {
    let disk = Path::new(ROOT).join("rules");
    let sources = Sources {
        disk: Some(&disk),
        ..Sources::default()
    };
    let rules = layers::load_where(&sources, |_| true);
    let text = std::fs::read_to_string(disk.join("support.yaml")).expect("text");
    let support = Support::parse("support.yaml", &text).expect("the matrix");
    let verifiers = axiowl_providers::verifiers();
    let mut by_environment = Vec::new();
    for rule in rules.iter() {
        let provider = &rule.rule.provider.value;
        for identity in &rule.rule.identity {
            if let Some(name) = &identity.verify {
                assert!(
                    verifiers.iter().any(|one| one.name() == name.value),
                    "{provider}: {name:?}"
                );
            }
        }
        let classes: Vec<_> = rule.rule.identity.iter().map(|one| one.class).collect();
        if !classes.is_empty()
            && classes
                .iter()
                .all(|class| *class == IdentityClass::HostEnvProtected)
        {
            by_environment.push(provider.clone());
            let surface = support.get(provider).expect("a row");
            assert_eq!(surface.seed, Label::Target, "{provider}");
            for (operation, standing) in surface.operations() {
                let full = standing.proven.value == Label::Supported;
                assert!(operation != "reply" || !full, "{provider}");
            }
        }
    }
    assert_eq!(by_environment, ["grok"]);
}

/// The bare and the registry's id of the sessions of one kind of hook.
pub fn payload(hook: &str, session: &str, arguments: &Value) -> Value {
    let tool = "axiowl_whoami";
    match hook {
        "gemini" => json!({ "session_id": session, "hook_event_name": "BeforeTool",
            "tool_name": format!("mcp_axiowl_{tool}"), "tool_input": arguments,
            "mcp_context": { "server_name": "axiowl", "tool_name": tool } }),
        "cursor" => json!({ "conversation_id": session, "hook_event_name": "beforeMCPExecution",
            "tool_name": tool, "tool_input": arguments.to_string(), "user_email": "a@example.org" }),
        _ => {
            json!({ "conversationId": session, "stepIdx": 1, "toolCall": { "name": "call_mcp_tool",
            "args": { "ServerName": "axiowl", "ToolName": tool, "Arguments": arguments } } })
        }
    }
}
