//! A server that is led to a store or to rules of somebody's making proves nothing about the
//! sessions of a registry that knows other ones.

use crate::claude::{CALL, ONE, Scene, meta};
use crate::host::{Host, below};
use crate::program::{Axiowl, copy_tree};
use crate::recorded::Recorded;
use serde_json::json;
use std::process::Command;

fn under_claude(axiowl: &Axiowl, change: impl FnOnce(&mut Command)) -> Host {
    let mut command = below(axiowl, axiowl.command(&["mcp"]), "claude");
    change(&mut command);
    Host::greeting(command, "claude-code")
}

/// A scene whose registry was made by a person, and a copy of the store in which a call was put.
fn scene() -> (Scene, std::path::PathBuf) {
    let scene = Scene::new();
    let found = scene.0.run(&["discover", "claude_code_cli"]);
    assert_eq!(found.code, 0, "{found}");
    let made_up = scene.0.path("made-up/.claude");
    copy_tree(&scene.0.home().join(".claude"), &made_up);
    scene.calls(ONE);
    let transcript = format!("projects/-p/{ONE}.jsonl");
    std::fs::rename(
        scene.0.home().join(".claude").join(&transcript),
        made_up.join(&transcript),
    )
    .expect("moved");
    (scene, made_up)
}

#[test]
fn a_variable_that_leads_to_another_store_proves_nothing_until_a_person_discovers_it() {
    let (scene, made_up) = scene();
    let whoami = || {
        let mut host = under_claude(&scene.0, |command| {
            command.env("CLAUDE_CONFIG_DIR", &made_up);
        });
        host.whoami(meta(CALL))
    };
    let why = whoami().refusal();
    for part in [
        "the store of claude_code_cli",
        "made-up",
        "axiowl discover claude_code_cli",
    ] {
        assert!(why.contains(part), "{part:?} is not in {why}");
    }
    let mut discover = scene.0.command(&["discover", "claude_code_cli"]);
    let discovered = discover.env("CLAUDE_CONFIG_DIR", &made_up).status();
    assert!(discovered.expect("axiowl runs").success());
    assert_eq!(whoami().session(), format!("claude_code_cli:session:{ONE}"));
}

#[test]
fn another_home_with_the_state_of_this_one_proves_nothing() {
    let (scene, made_up) = scene();
    let home = made_up.parent().expect("a home").to_path_buf();
    let state = scene.0.path("home/.axiowl");
    let mut host = under_claude(&scene.0, |command| {
        command.arg("--home").arg(&home).arg("--state").arg(&state);
    });
    host.whoami(meta(CALL))
        .refused_for("the store of claude_code_cli");
    let mut host = under_claude(&scene.0, |command| {
        command.env("HOME", &home).arg("--state").arg(&state);
    });
    host.whoami(meta(CALL))
        .refused_for("the store of claude_code_cli");
}

#[test]
fn rules_that_stand_elsewhere_name_nobody() {
    let scene = Scene::new();
    let axiowl = &scene.0;
    assert_eq!(axiowl.run(&["discover", "claude_code_cli"]).code, 0);
    let built_in =
        std::path::Path::new(crate::program::ROOT).join("rules/claude_code_cli/rule.yaml");
    let mut lying = std::fs::read_to_string(built_in).expect("the rule");
    for (honest, dishonest) in [
        ("policy: policy.rhai\n", ""),
        ("    verify: claude_transcript\n", ""),
        ("class: transcript_call", "class: host_meta"),
        ("matches: '^toolu_[A-Za-z0-9_-]+$'", "uuid: true"),
    ] {
        assert!(lying.contains(honest), "{honest}");
        lying = lying.replace(honest, dishonest);
    }
    axiowl.write("evil/claude_code_cli/rule.yaml", lying.clone());
    axiowl.write("config/axiowl/rules/claude_code_cli/rule.yaml", lying);
    let whoami = |variable: &str, folder: &str| {
        let mut host = under_claude(axiowl, |command| {
            command.env(variable, axiowl.path(folder));
        });
        host.whoami(json!({ "claudecode/toolUseId": ONE }))
    };
    let ways = [("AXIOWL_RULES", "evil"), ("XDG_CONFIG_HOME", "config")];
    for (variable, folder) in ways {
        whoami(variable, folder).refused_for("the rules of claude_code_cli");
    }
    // The same where a person has it so: the rules are theirs.
    for (variable, folder) in ways {
        let mut discover = axiowl.command(&["discover", "claude_code_cli"]);
        let done = discover.env(variable, axiowl.path(folder)).status();
        assert!(done.expect("axiowl runs").success());
        let who = whoami(variable, folder);
        assert_eq!(who.session(), format!("claude_code_cli:session:{ONE}"));
    }
}

#[test]
fn a_rule_cannot_have_its_callers_confirmed_by_another_providers_verifier() {
    let world = Recorded::of("cursor", "composers", "");
    let shown = world.axiowl.run(&["rules", "list", "--json"]);
    let lines = shown.lines("rule");
    let line = lines.iter().find(|line| line["provider"] == "cursor");
    let digest = line.expect("cursor")["digest"]
        .as_str()
        .expect("a digest")
        .to_owned();
    world.axiowl.write(
        "home/.config/axiowl/rules/cursor/rule.yaml",
        format!(
            "axiowl: 1\nprovider: cursor\nextends: builtin\nbase: {digest}\noverride:\n  identity:\n    append:\n      - {{ client: some-editor, from: /_meta/chat, class: host_meta, verify: vscode_host }}\n"
        ),
    );
    let server = below(&world.axiowl, world.command(&["mcp"]), "code");
    let mut host = Host::greeting(server, "some-editor");
    let chat = json!({ "chat": "11111111-1111-4111-8111-111111111111" });
    host.whoami(chat).refused_for("proves no session of cursor");
}
