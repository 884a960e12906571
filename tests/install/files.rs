//! What an install writes, and that an uninstall leaves every byte as it was.

use crate::machine::{CLAUDE, CLAUDE_SETTINGS, CODEX, GEMINI, json, machine, ok, others, read};
use crate::program::Axiowl;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

#[test]
fn every_byte_of_the_selected_files_stays_and_comes_back() {
    let axiowl = machine();
    let before = others(&axiowl);
    let run = ok(
        &axiowl,
        &["install", "codex", "claude-code", "gemini", "--yes"],
    );
    assert!(
        run.stdout.contains("nothing more is proven by that"),
        "{run}"
    );
    let with = others(&axiowl);
    let program = env!("CARGO_BIN_EXE_axiowl");

    let codex = read(&axiowl, ".codex/config.toml");
    assert!(codex.starts_with(CODEX), "{codex}");
    assert!(
        codex.contains(&format!(
            "[mcp_servers.axiowl]\ncommand = \"{program}\"\nargs = [\"mcp\"]\n"
        )) && codex.contains("default_tools_approval_mode = \"approve\""),
        "{codex}"
    );
    let claude = read(&axiowl, ".claude.json");
    assert_eq!(
        claude.lines().count(),
        1,
        "one line stays one line: {claude}"
    );
    for piece in [
        "{\"numStartups\":3,\"projects\"",
        "\"docs\":{\"command\":\"docs\"}",
        "\"z\":\"\\u00e9\"}",
    ] {
        assert!(claude.contains(piece), "{claude}");
    }
    let server = &json(&axiowl, ".claude.json")["mcpServers"]["axiowl"];
    assert_eq!(
        server,
        &json!({ "type": "stdio", "command": program, "args": ["mcp"], "alwaysLoad": true })
    );
    let allowed = &json(&axiowl, ".claude/settings.json")["permissions"]["allow"];
    assert_eq!(allowed, &json!(["Bash(ls:*)", "mcp__axiowl"]));
    let gemini = read(&axiowl, ".gemini/settings.json");
    for piece in [
        "// mine",
        "// own",
        "\t\t\t{ \"matcher\": \".*\", \"hooks\": [] },",
        "hook gemini\"",
    ] {
        assert!(gemini.contains(piece), "{gemini}");
    }
    let mode = |path: &str| with[&axiowl.home().join(path)].1;
    assert_eq!(
        (mode(".claude.json"), mode(".codex/config.toml")),
        (0o600, before[&axiowl.home().join(".codex/config.toml")].1)
    );

    // Again: nothing to do, and nothing done.
    let again = ok(
        &axiowl,
        &["install", "codex", "claude-code", "gemini", "--yes"],
    );
    assert!(again.stdout.contains("nothing was changed"), "{again}");
    assert_eq!(others(&axiowl), with);

    ok(&axiowl, &["uninstall", "--all", "--yes"]);
    assert_eq!(others(&axiowl), before);
    let text = [CODEX, CLAUDE, CLAUDE_SETTINGS, GEMINI];
    let files = [
        ".codex/config.toml",
        ".claude.json",
        ".claude/settings.json",
        ".gemini/settings.json",
    ];
    for (text, file) in text.iter().zip(files) {
        assert_eq!(&read(&axiowl, file), text, "{file}");
    }
    let left = std::fs::read_dir(axiowl.home().join(".axiowl/install")).expect("records");
    let left: Vec<_> = left.flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["lock"], "no copy of anybody's configuration is left");
}

/// Each client by itself, over files that people have and keys that we know nothing of.
#[test]
fn every_client_is_put_in_and_taken_out_byte_for_byte() {
    let own = "// mine\n{\n\t\"z\": 1, // kept\n\t\"mcp\": { },\n\t\"servers\": { \"docs\": { \"command\": \"docs\" } },\n}\n";
    let plain = "{ \"z\": [1, 2],\n  \"mcpServers\": {\"docs\": {\"command\": \"docs\"}} }\n";
    let grok = "# mine\n[z]\ny = 1 # kept\n";
    for (client, files) in [
        ("codex", &[(".codex/config.toml", CODEX)][..]),
        ("claude-code", &[(".claude.json", CLAUDE)]),
        ("opencode", &[(".config/opencode/opencode.jsonc", own)]),
        ("copilot", &[(".copilot/mcp-config.json", plain)]),
        ("gemini", &[(".gemini/settings.json", GEMINI)]),
        ("vscode", &[(".config/Code/User/mcp.json", own)]),
        ("cursor", &[(".cursor/mcp.json", plain)]),
        ("antigravity", &[(".gemini/config/mcp_config.json", plain)]),
        ("grok", &[(".grok/config.toml", grok)]),
    ] {
        for there in [true, false] {
            let axiowl = Axiowl::new().with_env("PATH", "/usr/bin:/bin");
            for (file, text) in files.iter().filter(|_| there) {
                axiowl.write(&format!("home/{file}"), text);
            }
            // The client is here, whatever of its files is.
            for here in [
                ".codex/x",
                ".claude/projects/x",
                ".config/opencode/x",
                ".copilot/x",
                ".gemini/tmp/x",
                ".config/Code/User/x",
                ".cursor/x",
                ".gemini/antigravity/x",
                ".grok/x",
            ] {
                axiowl.write(&format!("home/{here}"), "");
            }
            for program in ["codex", "claude", "opencode", "copilot", "gemini", "grok"] {
                crate::machine::program(&axiowl, program);
            }
            let before = others(&axiowl);
            ok(&axiowl, &["install", client, "--yes"]);
            let with = others(&axiowl);
            assert_ne!(with, before, "{client}");
            for (file, text) in files.iter().filter(|_| there) {
                let now = read(&axiowl, file);
                assert!(now != *text && now.contains("axiowl"), "{client}: {now}");
                assert!(
                    now.contains("docs") || !text.contains("docs"),
                    "{client}: {now}"
                );
            }
            ok(&axiowl, &["install", client, "--yes"]);
            assert_eq!(
                others(&axiowl),
                with,
                "{client}: a second time changes nothing"
            );
            ok(&axiowl, &["uninstall", client, "--yes"]);
            assert_eq!(others(&axiowl), before, "{client}, there before: {there}");
        }
    }
}

#[test]
fn c353_what_was_not_selected_is_not_touched() {
    let axiowl = machine();
    let before = others(&axiowl);
    ok(&axiowl, &["install", "codex", "--yes"]);
    let mut after = others(&axiowl);
    let changed = axiowl.home().join(".codex/config.toml");
    assert_ne!(
        after.insert(changed.clone(), before[&changed].clone()),
        Some(before[&changed].clone())
    );
    assert_eq!(after, before, "one file, and no other file, folder or mode");
}

#[test]
fn files_and_folders_that_were_not_there_are_made_private_and_go_again() {
    let axiowl = Axiowl::new().with_env("PATH", "/usr/bin:/bin");
    for name in ["copilot", "codex", "opencode"] {
        crate::machine::program(&axiowl, name);
    }
    let before = others(&axiowl);
    ok(
        &axiowl,
        &["install", "copilot", "codex", "opencode", "--yes"],
    );
    let hook = &json(&axiowl, ".copilot/hooks/axiowl.json");
    let line = hook["hooks"]["preMcpToolCall"][0]["bash"]
        .as_str()
        .expect("a line");
    assert_eq!(
        (line, &hook["version"]),
        (
            format!("{} hook copilot", env!("CARGO_BIN_EXE_axiowl")).as_str(),
            &json!(1)
        )
    );
    let opencode = &json(&axiowl, ".config/opencode/opencode.json")["mcp"]["axiowl"];
    assert_eq!(
        opencode["command"],
        json!([env!("CARGO_BIN_EXE_axiowl"), "mcp"])
    );
    for file in [".copilot/mcp-config.json", ".codex/config.toml"] {
        let mode = std::fs::metadata(axiowl.home().join(file))
            .expect("file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    ok(
        &axiowl,
        &["uninstall", "copilot-cli", "codex_cli", "opencode", "--yes"],
    );
    assert_eq!(others(&axiowl), before);
}

/// A client that is there, and where its door goes.
fn with_copilot() -> (Axiowl, &'static str) {
    let axiowl = Axiowl::new().with_env("PATH", "/usr/bin:/bin");
    crate::machine::program(&axiowl, "copilot");
    (axiowl, ".copilot/extensions/axiowl/extension.mjs")
}

#[test]
fn a_door_into_open_sessions_comes_as_a_file_of_its_own_and_goes_again() {
    let (axiowl, extension) = with_copilot();
    axiowl.write(
        "home/.copilot/settings.json",
        "{\n  // mine\n  \"theme\": \"dark\"\n}\n",
    );
    let before = others(&axiowl);
    let plan = ok(&axiowl, &["install", "copilot", "--dry-run"]).stdout;
    // Of a whole file a person sees only how long it is.
    assert!(plan.contains("lines (all of it with --json)"), "{plan}");
    assert!(
        plan.contains("+ door") && plan.contains("+ switch"),
        "{plan}"
    );
    assert_eq!(others(&axiowl), before);
    ok(&axiowl, &["install", "copilot", "--yes"]);
    assert_eq!(
        read(&axiowl, extension),
        axiowl_providers::COPILOT_EXTENSION
    );
    let settings = read(&axiowl, ".copilot/settings.json");
    assert!(
        settings.contains("// mine") && settings.contains("\"EXTENSIONS\": true"),
        "{settings}"
    );
    let with = others(&axiowl);
    let again = ok(&axiowl, &["install", "copilot", "--yes"]);
    assert!(again.stdout.contains("nothing was changed"), "{again}");
    assert_eq!(others(&axiowl), with);
    ok(&axiowl, &["uninstall", "copilot", "--yes"]);
    assert_eq!(others(&axiowl), before);
}

#[test]
fn an_older_door_of_ours_is_renewed_and_listens_where_the_state_is() {
    let (axiowl, extension) = with_copilot();
    let before = others(&axiowl);
    let other = axiowl.path("other state");
    let other = other.to_str().expect("text");
    ok(&axiowl, &["--state", other, "install", "copilot", "--yes"]);
    let named = read(&axiowl, extension);
    assert!(
        named.contains(&format!("const named = \"{other}\";")),
        "{named}"
    );
    // The same install with the usual state folder: the file is another one.
    ok(
        &axiowl,
        &["--state", other, "uninstall", "copilot", "--yes"],
    );
    ok(&axiowl, &["install", "copilot", "--yes"]);
    // An earlier version's file, as its record has it.
    let record = axiowl.home().join(".axiowl/install/copilot.json");
    let text = std::fs::read_to_string(&record).expect("a record");
    std::fs::write(&record, text.replace("neither tools", "no tools")).expect("written");
    let older = read(&axiowl, extension).replace("neither tools", "no tools");
    axiowl.write(&format!("home/{extension}"), older);
    let states = ok(&axiowl, &["install", "--status", "--json"]).lines("install_status");
    let state = states.iter().find(|line| line["client"] == "copilot");
    assert_eq!(state.expect("its state")["state"], "outdated");
    ok(&axiowl, &["install", "copilot", "--yes"]);
    assert_eq!(
        read(&axiowl, extension),
        axiowl_providers::COPILOT_EXTENSION
    );
    ok(&axiowl, &["uninstall", "copilot", "--yes"]);
    assert_eq!(others(&axiowl), before);
}

#[test]
fn a_switch_that_its_user_set_otherwise_is_left() {
    let (axiowl, _) = with_copilot();
    let settings = "{ \"enabledFeatureFlags\": { \"EXTENSIONS\": false } }";
    axiowl.write("home/.copilot/settings.json", settings);
    let before = others(&axiowl);
    ok(&axiowl, &["install", "copilot", "--yes"]);
    assert_eq!(read(&axiowl, ".copilot/settings.json"), settings);
    ok(&axiowl, &["uninstall", "copilot", "--yes"]);
    assert_eq!(others(&axiowl), before);
}

#[test]
fn what_others_changed_in_between_stays_when_ours_goes() {
    let axiowl = machine();
    ok(
        &axiowl,
        &["install", "codex", "claude-code", "gemini", "--yes"],
    );
    // A client keeps an approval inside our table, and its user adds settings of their own.
    let codex = read(&axiowl, ".codex/config.toml")
        + "\n[mcp_servers.axiowl.tools.axiowl_send_message]\napproval_mode = \"approve\"\n\n# later\n[tui]\ntheme = \"x\"\n";
    axiowl.write("home/.codex/config.toml", codex);
    let claude = read(&axiowl, ".claude.json").replace("\"numStartups\":3", "\"numStartups\":4");
    axiowl.write("home/.claude.json", claude);
    let settings = read(&axiowl, ".claude/settings.json").replace("\"dark\"", "\"light\"");
    axiowl.write("home/.claude/settings.json", settings);
    let gemini = read(&axiowl, ".gemini/settings.json").replace("// mine", "// still mine");
    axiowl.write("home/.gemini/settings.json", gemini);
    ok(&axiowl, &["uninstall", "--all", "--yes"]);
    let codex = read(&axiowl, ".codex/config.toml");
    assert!(
        codex.starts_with(CODEX) && !codex.contains("axiowl"),
        "{codex}"
    );
    assert!(
        codex.ends_with("# later\n[tui]\ntheme = \"x\"\n"),
        "{codex}"
    );
    assert_eq!(
        read(&axiowl, ".claude.json"),
        CLAUDE.replace("\"numStartups\":3", "\"numStartups\":4")
    );
    assert_eq!(
        read(&axiowl, ".claude/settings.json"),
        CLAUDE_SETTINGS.replace("dark", "light")
    );
    assert_eq!(
        read(&axiowl, ".gemini/settings.json"),
        GEMINI.replace("// mine", "// still mine")
    );
}

#[test]
fn another_program_path_renews_the_entries_and_the_original_still_comes_back() {
    let axiowl = machine();
    let before = others(&axiowl);
    ok(&axiowl, &["install", "claude-code", "codex", "--yes"]);
    let other = axiowl.path("bin/axiowl");
    std::fs::create_dir_all(axiowl.path("bin")).expect("folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_axiowl"), &other).expect("link");
    let path = format!("{}:/usr/bin:/bin", axiowl.path("bin").display());
    let axiowl = axiowl.with_env("PATH", &path);
    let states = ok(&axiowl, &["install", "--status", "--json"]).lines("install_status");
    let outdated: Vec<_> = states
        .iter()
        .filter(|line| line["state"] == "outdated")
        .map(|line| line["client"].clone())
        .collect();
    assert_eq!(outdated, ["codex", "claude-code"]);
    ok(&axiowl, &["install", "claude-code", "codex", "--yes"]);
    assert_eq!(
        json(&axiowl, ".claude.json")["mcpServers"]["axiowl"]["command"],
        other.to_str().expect("text")
    );
    assert_eq!(
        read(&axiowl, ".codex/config.toml")
            .matches("axiowl]")
            .count(),
        1
    );
    ok(&axiowl, &["uninstall", "--all", "--yes"]);
    assert_eq!(others(&axiowl), before);
}

#[test]
fn without_approvals_nothing_lets_the_tools_pass_unasked() {
    let axiowl = machine();
    ok(
        &axiowl,
        &[
            "install",
            "codex",
            "claude-code",
            "gemini",
            "--no-approvals",
            "--yes",
        ],
    );
    assert!(!read(&axiowl, ".codex/config.toml").contains("approval_mode"));
    assert_eq!(read(&axiowl, ".claude/settings.json"), CLAUDE_SETTINGS);
    assert!(!read(&axiowl, ".gemini/settings.json").contains("trust"));
    // And given later, they can be taken back without taking out the rest.
    ok(&axiowl, &["install", "claude-code", "--yes"]);
    assert!(read(&axiowl, ".claude/settings.json").contains("mcp__axiowl"));
    ok(
        &axiowl,
        &["install", "claude-code", "--no-approvals", "--yes"],
    );
    assert_eq!(read(&axiowl, ".claude/settings.json"), CLAUDE_SETTINGS);
    assert!(read(&axiowl, ".claude.json").contains("axiowl"));
}
