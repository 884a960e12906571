//! `axiowl doctor`: where programs are found and what they are asked, what is said of logins,
//! AxiOwl's own files and doors, and that looking changes nothing.

#![cfg(unix)]

mod program;

use program::{Axiowl, Run};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A program of a client, below the home.
fn stub(axiowl: &Axiowl, below_home: &str, script: &str) -> String {
    axiowl.write(
        &format!("home/{below_home}"),
        format!("#!/bin/sh\n{script}\n"),
    );
    let file = axiowl.home().join(below_home);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("mode");
    file.to_str().expect("text").to_owned()
}

fn machine() -> Axiowl {
    Axiowl::new().with_env("PATH", "/usr/bin:/bin")
}

fn doctor(axiowl: &Axiowl, provider: &str) -> Run {
    let run = axiowl.run(&["doctor", provider, "--json"]);
    assert_eq!(run.code, 0, "{run}");
    run
}

/// The finding about one subject.
fn finding(run: &Run, subject: &str) -> Value {
    let all = run.lines("doctor_finding");
    let found = all.iter().find(|line| line["subject"] == subject);
    found
        .unwrap_or_else(|| panic!("nothing about {subject}: {run}"))
        .clone()
}

#[test]
fn c417_a_program_that_hangs_is_given_up_and_named() {
    let axiowl = machine();
    let file = stub(&axiowl, ".local/bin/codex", "exec sleep 600");
    let found = finding(&doctor(&axiowl, "codex-cli"), "codex");
    assert_eq!(found["level"], "attention", "{found}");
    let text = found["finding"].as_str().expect("text");
    assert!(text.contains(&file) && text.contains("within"), "{text}");
    assert!(
        found["hint"]
            .as_str()
            .is_some_and(|hint| hint.contains("--version")),
        "{found}"
    );
}

#[test]
fn c418_each_program_is_asked_for_its_version_in_its_own_way() {
    let axiowl = machine();
    for (provider, client, name, words) in [
        ("grok", "grok", "grok", "version"),
        ("codex-cli", "codex", "codex", "--version"),
        ("claude-code-cli", "claude-code", "claude", "--version"),
    ] {
        let spy = axiowl.path(&format!("{name}.argv"));
        stub(
            &axiowl,
            &format!(".local/bin/{name}"),
            &format!("echo \"$@\" > '{}'\necho {name} 0.1.2", spy.display()),
        );
        let found = finding(&doctor(&axiowl, provider), client);
        assert_eq!(found["version"], "0.1.2", "{found}");
        let argv = std::fs::read_to_string(&spy).expect("the program ran");
        assert_eq!(argv.trim(), words);
    }
}

#[test]
fn c419_a_program_proves_no_login_and_no_secret_is_opened() {
    let axiowl = machine();
    stub(&axiowl, ".local/bin/codex", "echo codex-cli 0.171.0");
    let run = doctor(&axiowl, "codex-cli");
    assert_eq!(finding(&run, "codex")["auth"], "unknown");
    let login = finding(&run, "codex login");
    assert_eq!(
        (&login["auth"], &login["level"]),
        (&json!("absent"), &json!("attention"))
    );
    // A pipe: whoever opened it would wait for ever.
    std::fs::create_dir(axiowl.home().join(".codex")).expect("folder");
    let secret = axiowl.home().join(".codex/auth.json");
    assert!(
        Command::new("mkfifo")
            .arg(&secret)
            .status()
            .expect("mkfifo")
            .success()
    );
    let login = finding(&doctor(&axiowl, "codex-cli"), "codex login");
    assert_eq!(
        (&login["auth"], &login["level"]),
        (&json!("present"), &json!("ok"))
    );
    // A key in the environment is named, and never its value.
    let axiowl = machine().with_env("OPENAI_API_KEY", "sk-do-not-say-this");
    stub(&axiowl, ".local/bin/codex", "echo codex-cli 0.171.0");
    let run = doctor(&axiowl, "codex-cli");
    assert!(
        finding(&run, "codex login")["finding"]
            .as_str()
            .is_some_and(|text| text.contains("OPENAI_API_KEY"))
    );
    assert!(!run.stdout.contains("do-not-say"), "{run}");
    // Deliveries see it once the configuration names it, and then nothing is left to do.
    let login = finding(&run, "codex login");
    assert_eq!(login["deliveries_see_it"], false, "{login}");
    assert!(
        login["hint"]
            .as_str()
            .is_some_and(|hint| hint.contains("{ codex_cli: { env_file: ~/FILE } }")),
        "{login}"
    );
    axiowl.write("home/codex.env", "OPENAI_API_KEY=sk-do-not-say-this\n");
    // A file gives it whatever is set where doctor runs.
    let bare = machine();
    stub(&bare, ".local/bin/codex", "echo codex-cli 0.171.0");
    bare.write("home/codex.env", "OPENAI_API_KEY=sk-do-not-say-this\n");
    for (axiowl, given) in [
        (&axiowl, "env: [OPENAI_API_KEY]"),
        (&axiowl, "env_file: ~/codex.env"),
        (&bare, "env_file: ~/codex.env"),
    ] {
        let config = format!("providers: {{ codex_cli: {{ {given} }} }}\n");
        axiowl.write("home/.config/axiowl/config.yaml", config);
        let login = finding(&doctor(axiowl, "codex-cli"), "codex login");
        assert_eq!(
            (&login["level"], &login["hint"], &login["deliveries_see_it"]),
            (&json!("ok"), &json!(""), &json!(true)),
            "{given}: {login}"
        );
    }
}

#[test]
fn a_file_with_variables_that_gives_none_is_a_finding_and_its_text_is_not_told() {
    for (text, fault) in [
        (None, "cannot be read"),
        (
            Some("# keys\n\nexport A=1\nsk-do-not-say-this\n"),
            "a line of it is no `NAME=value`",
        ),
        (
            Some("sk-do-not-say-this\n: x\n"),
            "2 lines of it are no `NAME=value`",
        ),
        (Some("# keys\n\nexport A='1'\n"), ""),
    ] {
        let axiowl = machine();
        stub(&axiowl, ".local/bin/codex", "echo codex-cli 0.171.0");
        let config = "providers: { codex_cli: { env_file: ~/codex.env } }\n";
        axiowl.write("home/.config/axiowl/config.yaml", config);
        if let Some(text) = text {
            axiowl.write("home/codex.env", text);
        }
        let run = doctor(&axiowl, "codex-cli");
        let all = run.lines("doctor_finding");
        let mut about = all.iter().filter(|line| {
            let text = line["finding"].as_str().unwrap_or_default();
            text.contains("env_file") && text.contains("codex.env")
        });
        let found = about.next();
        assert_eq!(found.is_some(), !fault.is_empty(), "{text:?}: {run}");
        if let Some(found) = found {
            assert_eq!(found["level"], "attention", "{found}");
            let said = found["finding"].as_str().unwrap_or_default();
            assert!(said.contains(fault), "{found}");
            let hint = found["hint"].as_str().unwrap_or_default();
            assert!(hint.contains("codex_cli: { env_file:"), "{found}");
        }
        assert!(!run.to_string().contains("do-not-say"), "{run}");
    }
}

#[test]
fn c420_to_c427_programs_are_found_where_version_managers_put_them() {
    for folder in [
        "on-path",
        ".local/bin",
        ".nvm/versions/node/v22.1.0/bin",
        ".local/share/fnm/node-versions/v22.1.0/installation/bin",
        ".volta/bin",
        ".local/share/mise/shims",
        ".asdf/shims",
        ".bun/bin",
    ] {
        let mut axiowl = machine();
        if folder == "on-path" {
            let path = format!("{}:/usr/bin:/bin", axiowl.home().join(folder).display());
            axiowl = axiowl.with_env("PATH", &path);
        }
        let file = stub(
            &axiowl,
            &format!("{folder}/codex"),
            "echo codex-cli 0.171.0",
        );
        let found = finding(&doctor(&axiowl, "codex-cli"), "codex");
        assert_eq!(
            (&found["program"], &found["version"]),
            (&json!(file), &json!("0.171.0")),
            "{folder}"
        );
    }
}

#[test]
fn c428_c429_c430_looking_again_sees_what_changed_and_an_absolute_path_goes_first() {
    let axiowl = machine();
    let found = finding(&doctor(&axiowl, "codex-cli"), "codex");
    assert_eq!(
        (&found["program"], &found["level"]),
        (&Value::Null, &json!("attention"))
    );
    assert!(
        found["hint"]
            .as_str()
            .is_some_and(|hint| hint.contains("executables")),
        "{found}"
    );
    let file = stub(&axiowl, ".local/bin/codex", "echo codex-cli 0.171.0");
    assert_eq!(
        finding(&doctor(&axiowl, "codex-cli"), "codex")["program"],
        json!(file)
    );

    let other = stub(&axiowl, "elsewhere/codex-of-mine", "echo codex-cli 9.9.9");
    axiowl.write(
        "home/.config/axiowl/config.yaml",
        format!("executables:\n  codex: {other}\n"),
    );
    let found = finding(&doctor(&axiowl, "codex-cli"), "codex");
    assert_eq!(
        (&found["program"], &found["version"]),
        (&json!(other), &json!("9.9.9"))
    );
    assert!(
        found["finding"]
            .as_str()
            .is_some_and(|text| text.contains("tested with")),
        "{found}"
    );

    axiowl.write(
        "home/.config/axiowl/config.yaml",
        "executables:\n  codex: elsewhere/codex-of-mine\n",
    );
    let run = axiowl.run(&["doctor", "codex-cli"]);
    assert_eq!(run.code, 1, "{run}");
    assert!(run.stderr.contains("absolute"), "{run}");
}

#[test]
fn a_broken_program_and_one_without_a_version_are_told_apart_from_a_good_one() {
    let axiowl = machine();
    for (script, words) in [
        (
            "echo its loader is gone >&2; exit 127",
            "its loader is gone",
        ),
        ("echo hello", "it names none"),
        ("yes", "without end"),
    ] {
        stub(&axiowl, ".local/bin/codex", script);
        let found = finding(&doctor(&axiowl, "codex-cli"), "codex");
        assert_eq!(found["level"], "attention", "{found}");
        assert!(
            found["finding"]
                .as_str()
                .is_some_and(|text| text.contains(words)),
            "{found}"
        );
    }
}

/// A home with a session of Claude Code, discovered, and no program.
fn with_a_session() -> Axiowl {
    let axiowl = machine();
    let cwd = axiowl.home().join("shop");
    std::fs::create_dir_all(&cwd).expect("folder");
    let id = "01234567-89ab-4cde-8f01-23456789abcd";
    let record = |kind: &str, content: Value| {
        json!({ "type": kind, "uuid": kind, "sessionId": id, "cwd": cwd, "version": "2.1.332",
            "timestamp": "2026-01-02T03:04:05.000Z", "isSidechain": false, "message": { "role": kind, "content": content } })
    };
    let lines = [
        record("user", json!("tidy the cart")),
        record("assistant", json!([{ "type": "text", "text": "done" }])),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    axiowl.write(&format!("home/.claude/projects/-shop/{id}.jsonl"), lines);
    let run = axiowl.run(&["discover", "claude-code-cli"]);
    assert_eq!(run.code, 0, "{run}");
    axiowl
}

#[test]
fn each_door_names_the_stage_where_a_message_would_stop_and_the_echo_is_real() {
    let axiowl = with_a_session();
    let run = axiowl.run(&["doctor", "--json"]);
    assert_eq!(run.code, 0, "{run}");
    let echo = finding(&run, "echo");
    assert_eq!(
        (&echo["stage"], &echo["level"]),
        (&json!("replied"), &json!("ok")),
        "{echo}"
    );
    let stages = echo["stages"].as_array().expect("stages");
    for stage in ["accepted_by_axiowl", "seen", "replied"] {
        assert!(stages.contains(&json!(stage)), "{echo}");
    }
    let door = finding(&run, "claude_code_cli");
    assert_eq!(
        (&door["stage"], &door["level"]),
        (&json!("refused"), &json!("attention")),
        "{door}"
    );
    assert!(
        !door["hint"].as_str().unwrap_or_default().is_empty(),
        "{door}"
    );
    // The same send ends there.
    let target = door["agent_id"].as_str().expect("an id");
    let sent = axiowl.run(&["send", "--to", target, "--body", "x", "--dry-run"]);
    assert_eq!(sent.code, 5, "{sent}");
    // Every finding that needs somebody says what to do.
    for line in run.lines("doctor_finding") {
        if line["level"] == "attention" || line["level"] == "broken" {
            assert!(
                !line["hint"].as_str().unwrap_or_default().is_empty(),
                "{line}"
            );
        }
    }
}

#[test]
fn own_files_that_are_damaged_or_open_are_named() {
    let axiowl = with_a_session();
    let registry = axiowl.registry();
    let text = std::fs::read_to_string(&registry).expect("registry");
    std::fs::write(&registry, text + "half a line\n").expect("registry");
    let state = axiowl.home().join(".axiowl");
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o755)).expect("mode");
    let run = doctor(&axiowl, "claude-code-cli");
    assert_eq!(finding(&run, "registry")["hint"], "axiowl registry check");
    assert!(
        finding(&run, "state")["hint"]
            .as_str()
            .is_some_and(|hint| hint.starts_with("chmod go= ")),
        "{run}"
    );
    std::fs::write(state.join("messages.db"), "no database").expect("ledger");
    let run = axiowl.run(&["doctor", "claude-code-cli", "--json", "--strict"]);
    assert_eq!(
        (run.code, &finding(&run, "ledger")["level"]),
        (1, &json!("broken")),
        "{run}"
    );
}

#[test]
fn a_store_that_cannot_be_read_is_named_with_what_to_do() {
    let axiowl = with_a_session();
    let stores = |run: &Run| {
        let all = run.lines("doctor_finding").into_iter();
        all.filter(|line| line["area"] == "stores")
            .collect::<Vec<_>>()
    };
    let whole = stores(&doctor(&axiowl, "claude-code-cli"));
    assert_eq!(
        (&whole[0]["level"], &whole[0]["subject"]),
        (&json!("ok"), &json!("claude_code_cli store")),
        "{whole:?}"
    );
    let project = "home/.claude/projects/-shop";
    let damaged = format!("{project}/11234567-89ab-4cde-8f01-23456789abcd.jsonl");
    axiowl.write(
        &damaged,
        b"{\"type\":\"user\", nothing of the kind\n".as_slice(),
    );
    let found = stores(&doctor(&axiowl, "claude-code-cli"));
    let damage = found.iter().find(|line| line["code"] == "damaged");
    let damage = damage.unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!(
        (&damage["level"], &damage["count"]),
        (&json!("attention"), &json!(1))
    );
    let path = damage["path"].as_str().expect("a path");
    assert!(
        path.ends_with("11234567-89ab-4cde-8f01-23456789abcd.jsonl"),
        "{damage}"
    );
    assert!(
        damage["hint"]
            .as_str()
            .is_some_and(|hint| hint.contains("axiowl discover")),
        "{damage}"
    );
}

#[test]
fn looking_changes_nothing() {
    let axiowl = with_a_session();
    stub(&axiowl, ".local/bin/claude", "echo 2.1.332");
    let listing = || {
        let output = Command::new("find")
            .arg(axiowl.home())
            .args([
                "-not",
                "-path",
                "*/.axiowl*",
                "-printf",
                "%p %m %s %T@ %l\\n",
            ])
            .output()
            .expect("find");
        assert!(output.status.success());
        output.stdout
    };
    let before = listing();
    let run = axiowl.run(&["doctor"]);
    assert_eq!(run.code, 0, "{run}");
    assert!(
        run.stdout.contains("2.1.332") && run.stdout.contains("axiowl install claude-code"),
        "{run}"
    );
    assert_eq!(listing(), before);
}

#[test]
fn one_provider_is_looked_at_alone_and_an_unused_client_lacks_nothing() {
    let axiowl = machine();
    stub(&axiowl, ".local/bin/codex", "echo codex-cli 0.171.0");
    stub(&axiowl, ".local/bin/copilot", "echo 1.0.102");
    let run = doctor(&axiowl, "codex-cli");
    assert!(!run.stdout.contains("copilot"), "{run}");
    let all = axiowl.run(&["doctor", "--json"]);
    assert_eq!(finding(&all, "copilot tools")["level"], "note", "{all}");
    axiowl.write("home/.copilot/config.json", "{}\n");
    let all = axiowl.run(&["doctor", "--json"]);
    assert_eq!(
        finding(&all, "copilot tools")["level"],
        "attention",
        "{all}"
    );
}

#[test]
fn settings_for_a_provider_that_no_rule_knows_are_a_finding() {
    let axiowl = machine();
    axiowl.write(
        "home/.config/axiowl/config.yaml",
        "providers: { codex_clu: { env: [A] } }\n",
    );
    let run = axiowl.run(&["doctor", "--json"]);
    let found = finding(&run, "config");
    assert_eq!(found["level"], "attention", "{found}");
    let said = found["finding"].as_str().unwrap_or_default();
    assert!(said.contains("codex_clu"), "{found}");
    assert_eq!(found["hint"], "did you mean `codex_cli`?");
}

#[test]
fn a_registry_that_cannot_be_read_is_a_finding_among_the_others() {
    let axiowl = machine();
    stub(&axiowl, ".local/bin/codex", "echo codex-cli 0.171.0");
    let line = "registry add-agent --provider codex_cli --session x --name X";
    let run = axiowl.run(&line.split(' ').collect::<Vec<_>>());
    let state = axiowl.home().join(".axiowl");
    let table = state.join("registry/agents.tsv");
    assert!(table.exists(), "{run}");
    std::fs::write(&table, "no table of ours\n").expect("damaged");
    let run = axiowl.run(&["doctor", "--strict", "--json"]);
    assert_eq!(run.code, 1, "{run}");
    assert_eq!(finding(&run, "registry")["level"], "broken", "{run}");
    finding(&run, "codex");
    finding(&run, "ledger");
}
