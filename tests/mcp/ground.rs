//! A server that is led to a store or to rules of somebody's making proves nothing about the
//! sessions of a registry that was begun with other ones.

use crate::claude::{CALL, ONE, Scene, TWO, meta};
use crate::host::{Host, Who, below};
use crate::program::{Axiowl, ROOT, copy_tree};
use crate::recorded::Recorded;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

const VARIABLE: &str = "CLAUDE_CONFIG_DIR";

fn under_claude(axiowl: &Axiowl, change: impl FnOnce(&mut Command)) -> Host {
    let mut command = below(axiowl, axiowl.command(&["mcp"]), "claude");
    change(&mut command);
    Host::greeting(command, "claude-code")
}

/// A copy of the store, in which a session makes a call.
fn made_up(scene: &Scene) -> PathBuf {
    let made_up = scene.0.path("made-up/.claude");
    copy_tree(&scene.0.home().join(".claude"), &made_up);
    scene.calls(ONE);
    let transcript = format!("projects/-p/{ONE}.jsonl");
    let from = scene.0.home().join(".claude").join(&transcript);
    std::fs::rename(from, made_up.join(&transcript)).expect("moved");
    made_up
}

fn begun() -> Scene {
    let scene = Scene::new();
    let found = scene.0.run(&["discover", "claude_code_cli"]);
    assert_eq!(found.code, 0, "{found}");
    scene
}

fn with(axiowl: &Axiowl, variable: &str, value: &Path, words: &[&str]) -> std::process::Output {
    let mut command = axiowl.command(words);
    command.env(variable, value).output().expect("axiowl runs")
}

fn proven() -> String {
    format!("claude_code_cli:session:{ONE}")
}

#[test]
fn a_variable_that_leads_to_another_store_proves_nothing_until_the_configuration_names_it() {
    let scene = begun();
    let made_up = made_up(&scene);
    let whoami = || -> Who {
        let mut host = under_claude(&scene.0, |command| {
            command.env(VARIABLE, &made_up);
        });
        host.whoami(meta(CALL))
    };
    // A discovery with the variable changes nothing of what it is.
    for discover in [false, true] {
        if discover {
            let words = ["discover", "claude_code_cli"];
            let run = with(&scene.0, VARIABLE, &made_up, &words);
            let said = String::from_utf8_lossy(&run.stderr).into_owned();
            assert!(run.status.success(), "{said}");
            assert!(
                said.contains("note: in this registry CLAUDE_CONFIG_DIR is not set"),
                "{said}"
            );
        }
        let why = whoami().refusal();
        for part in [
            "holds the pending call",
            VARIABLE,
            "made-up",
            "`homes` in config.yaml",
        ] {
            assert!(why.contains(part), "{part:?} is not in {why}");
        }
        assert!(!why.contains("update Claude Code"), "{why}");
    }
    let home = format!(
        "homes: {{ claude_code_cli: [{{ id: other, path: {} }}] }}\n",
        made_up.display()
    );
    scene.0.write("home/.config/axiowl/config.yaml", home);
    assert_eq!(whoami().session(), proven());
}

#[test]
fn what_the_registry_stands_on_is_shown_and_set_by_a_command_of_its_own() {
    let scene = begun();
    let made_up = made_up(&scene);
    let shown = scene.0.run(&["registry", "ground"]).stdout;
    assert!(
        shown.contains("CLAUDE_CONFIG_DIR") && !shown.contains("made-up"),
        "{shown}"
    );
    let set = with(
        &scene.0,
        VARIABLE,
        &made_up,
        &["registry", "ground", "--set"],
    );
    assert!(
        String::from_utf8_lossy(&set.stdout).contains("made-up"),
        "{set:?}"
    );
    // From now on it is so without the variable too.
    let who = under_claude(&scene.0, |_| {}).whoami(meta(CALL));
    assert_eq!(who.session(), proven());
    // Of no use is what cannot be read, until it is set again.
    scene.0.write("home/.axiowl/ground.json", "{");
    let mut host = under_claude(&scene.0, |_| {});
    host.whoami(meta(CALL)).refused_for("registry ground --set");
    assert_eq!(scene.0.run(&["discover", "claude_code_cli"]).code, 1);
    assert_eq!(scene.0.run(&["registry", "ground", "--set"]).code, 0);
    assert_eq!(scene.0.run(&["discover", "claude_code_cli"]).code, 0);
}

#[test]
fn before_anything_was_begun_no_variable_says_where_a_store_is() {
    let scene = Scene::new();
    let empty = scene.0.path("empty");
    std::fs::create_dir_all(&empty).expect("folder");
    scene.calls(TWO);
    let mut host = under_claude(&scene.0, |command| {
        command.env(VARIABLE, &empty);
    });
    assert_eq!(
        host.whoami(meta(CALL)).session(),
        format!("claude_code_cli:session:{TWO}")
    );
    let shown = scene.0.run(&["registry", "ground"]).stdout;
    assert!(shown.contains("CLAUDE_CONFIG_DIR not set"), "{shown}");
}

#[test]
fn a_home_and_a_configuration_may_be_written_in_other_ways_and_come_later() {
    let axiowl = Axiowl::new();
    let (real, link) = (axiowl.home(), axiowl.path("link"));
    std::os::unix::fs::symlink(&real, &link).expect("link");
    let slashed = PathBuf::from(format!("{}/", real.display()));
    let words = ["discover", "claude_code_cli"];
    assert!(with(&axiowl, "HOME", &link, &words).status.success());
    axiowl.write("home/dotfiles/axiowl/config.yaml", "");
    std::fs::create_dir_all(real.join(".config")).expect("folder");
    let linked =
        std::os::unix::fs::symlink(real.join("dotfiles/axiowl"), real.join(".config/axiowl"));
    linked.expect("link");
    for home in [&link, &real, &slashed] {
        let run = with(&axiowl, "HOME", home, &words);
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(run.status.success(), "{}: {said}", home.display());
    }
}

#[test]
fn of_two_that_begin_at_once_one_stands_on_the_others_ground() {
    for _ in 0..4 {
        let axiowl = Axiowl::new();
        let folders = ["one", "two"].map(|name| axiowl.path(name));
        let runs: Vec<_> = folders
            .iter()
            .map(|folder| {
                std::fs::create_dir_all(folder).expect("folder");
                let mut command = axiowl.command(&["discover", "claude_code_cli", "--no-cache"]);
                command
                    .env(VARIABLE, folder)
                    .stderr(std::process::Stdio::piped());
                command.stdout(std::process::Stdio::null());
                command.spawn().expect("axiowl runs")
            })
            .collect();
        let said: Vec<String> = runs
            .into_iter()
            .map(|run| run.wait_with_output().expect("it ends"))
            .map(|output| String::from_utf8_lossy(&output.stderr).into_owned())
            .collect();
        let noted = said
            .iter()
            .filter(|said| said.contains("in this registry CLAUDE_CONFIG_DIR"));
        assert_eq!(noted.count(), 1, "{said:?}");
    }
}

#[test]
fn a_variable_that_a_rule_has_come_to_name_since_was_not_set() {
    let scene = begun();
    let path = scene.0.path("home/.axiowl/ground.json");
    let text = std::fs::read_to_string(&path).expect("ground");
    let mut ground: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    ground["env"]
        .as_object_mut()
        .expect("variables")
        .remove(VARIABLE);
    std::fs::write(&path, ground.to_string()).expect("written");
    let made_up = made_up(&scene);
    let mut host = under_claude(&scene.0, |command| {
        command.env(VARIABLE, &made_up);
    });
    host.whoami(meta(CALL))
        .refused_for("CLAUDE_CONFIG_DIR is not set");
}

#[test]
fn another_home_with_the_state_of_this_one_proves_nothing() {
    let scene = begun();
    let made_up = made_up(&scene);
    let home = made_up.parent().expect("a home").to_path_buf();
    let state = scene.0.path("home/.axiowl");
    let mut host = under_claude(&scene.0, |command| {
        command.arg("--home").arg(&home).arg("--state").arg(&state);
    });
    host.whoami(meta(CALL))
        .refused_for("was begun with the home");
    let mut host = under_claude(&scene.0, |command| {
        command.env("HOME", &home).arg("--state").arg(&state);
    });
    host.whoami(meta(CALL))
        .refused_for("was begun with the home");
    // And nothing of it is merged, delivered or settled.
    let (home, state) = (home.display().to_string(), state.display().to_string());
    let on = |words: &[&str]| {
        let mut all = vec!["--home", &home, "--state", &state];
        all.extend(words);
        let run = scene.0.run(&all);
        assert!(
            run.code != 0 && run.stderr.contains("was begun with the home"),
            "{run}"
        );
    };
    on(&["discover", "claude_code_cli"]);
    on(&["send", "--to", ONE, "--body", "x"]);
    on(&["registry", "disable", ONE]);
}

#[test]
fn rules_that_stand_elsewhere_name_nobody() {
    let scene = begun();
    let axiowl = &scene.0;
    let built_in = Path::new(ROOT).join("rules/claude_code_cli/rule.yaml");
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
    let ways = [
        ("AXIOWL_RULES", "evil", "the rules folder none"),
        ("XDG_CONFIG_HOME", "config", "the configuration"),
    ];
    for (variable, folder, part) in ways {
        let folder = axiowl.path(folder);
        let whoami = || {
            let mut host = under_claude(axiowl, |command| {
                command.env(variable, &folder);
            });
            host.whoami(json!({ "claudecode/toolUseId": ONE }))
        };
        whoami().refused_for(part);
        for words in [
            &["discover", "claude_code_cli"][..],
            &["send", "--to", ONE, "--body", "x"],
        ] {
            let run = with(axiowl, variable, &folder, words);
            let said = String::from_utf8_lossy(&run.stderr).into_owned();
            assert!(!run.status.success() && said.contains(part), "{said}");
        }
        // The same where a person wants it so.
        assert!(
            with(axiowl, variable, &folder, &["registry", "ground", "--set"])
                .status
                .success()
        );
        assert_eq!(whoami().session(), proven());
        assert_eq!(axiowl.run(&["registry", "ground", "--set"]).code, 0);
    }
}

#[test]
fn a_rule_cannot_have_its_callers_confirmed_by_another_providers_verifier() {
    let world = Recorded::of("cursor", "composers", "");
    world.knows_host(
        "cursor",
        "client: some-editor, from: /_meta/chat, class: host_meta, verify: vscode_host",
    );
    let server = below(&world.axiowl, world.command(&["mcp"]), "code");
    let mut host = Host::greeting(server, "some-editor");
    let chat = json!({ "chat": "11111111-1111-4111-8111-111111111111" });
    host.whoami(chat).refused_for("proves no session of cursor");
}
