//! What is refused, and that a refusal leaves everything as it was.

use crate::machine::{CODEX, json, machine, ok, others, read};
use std::os::unix::fs::{PermissionsExt, symlink};

/// An install that has to be refused for a reason, and change nothing.
fn refused(axiowl: &crate::program::Axiowl, client: &str, reason: &str) {
    let before = others(axiowl);
    let run = axiowl.run(&["install", client, "--yes"]);
    assert_eq!(run.code, 1, "{run}");
    assert!(
        run.stderr.contains(reason) && run.stderr.contains("hint: "),
        "{reason}: {run}"
    );
    assert_eq!(others(axiowl), before, "{reason}");
    assert!(
        !axiowl
            .home()
            .join(".axiowl/install")
            .join(format!("{client}.json"))
            .exists()
    );
}

#[test]
fn damaged_and_foreign_configuration_is_refused_and_not_overwritten() {
    let axiowl = machine();
    for (text, reason) in [
        ("model = \n", "damaged"),
        ("[mcp_servers]\naxiowl = 1\n", "AxiOwl did not write it"),
        (
            "[mcp_servers.axiowl]\ncommand = \"other\"\n",
            "AxiOwl did not write it",
        ),
        ("mcp_servers = 3\n", "is not a table"),
        (
            "mcp_servers = { docs = { command = \"docs\" } }\n",
            "without changing other parts",
        ),
    ] {
        axiowl.write("home/.codex/config.toml", text);
        refused(&axiowl, "codex", reason);
    }
    axiowl.write("home/.codex/config.toml", b"\xff\xfe".as_slice());
    refused(&axiowl, "codex", "not UTF-8");
    for (text, reason) in [
        ("{ // a comment its reader does not know\n}", "damaged"),
        ("[]", "damaged"),
        ("{\"mcpServers\":{},\"mcpServers\":{}}", "given twice"),
        ("{\"mcpServers\":null}", "is not a table"),
    ] {
        axiowl.write("home/.claude.json", text);
        refused(&axiowl, "claude-code", reason);
    }
    // The second file of two is damaged: the first stays, too.
    axiowl.write("home/.claude.json", "{}");
    axiowl.write(
        "home/.claude/settings.json",
        "{\"permissions\":{\"allow\":\"all\"}}",
    );
    refused(&axiowl, "claude-code", "is not a list");
}

#[test]
fn one_refused_client_does_not_keep_the_others_from_theirs() {
    let axiowl = machine();
    axiowl.write("home/.codex/config.toml", "model = \n");
    let run = axiowl.run(&["install", "codex", "claude-code", "--yes", "--json"]);
    assert_eq!(run.code, 1, "{run}");
    let results = run.lines("install_result");
    let of = |client: &str| {
        results
            .iter()
            .find(|line| line["client"] == client)
            .expect("a result")["result"]
            .clone()
    };
    assert_eq!(
        (of("codex"), of("claude-code")),
        ("refused".into(), "installed".into())
    );
    assert!(json(&axiowl, ".claude.json")["mcpServers"]["axiowl"].is_object());
}

#[test]
fn links_stay_links_and_lead_to_the_changed_file() {
    let axiowl = machine();
    let home = axiowl.home();
    axiowl.write("home/dotfiles/codex.toml", CODEX);
    std::fs::remove_file(home.join(".codex/config.toml")).expect("file");
    symlink("../dotfiles/codex.toml", home.join(".codex/config.toml")).expect("link");
    let before = others(&axiowl);
    ok(&axiowl, &["install", "codex", "--yes"]);
    let meta = std::fs::symlink_metadata(home.join(".codex/config.toml")).expect("link");
    assert!(meta.is_symlink());
    assert!(read(&axiowl, "dotfiles/codex.toml").contains("[mcp_servers.axiowl]"));
    ok(&axiowl, &["uninstall", "codex", "--yes"]);
    assert_eq!(others(&axiowl), before);

    std::fs::remove_file(home.join("dotfiles/codex.toml")).expect("file");
    refused(&axiowl, "codex", "which is not there");
}

#[test]
fn read_only_files_and_folders_in_the_way_are_refused() {
    let axiowl = machine();
    let file = axiowl.home().join(".codex/config.toml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).expect("mode");
    refused(&axiowl, "codex", "read-only");
    std::fs::remove_file(&file).expect("file");
    std::fs::create_dir(&file).expect("folder");
    refused(&axiowl, "codex", "no regular file");
}

#[test]
fn only_the_own_home_is_ever_set_up() {
    let axiowl = machine();
    let before = others(&axiowl);
    let home = axiowl.home();
    let run = axiowl.run(&[
        "--home",
        home.to_str().expect("text"),
        "install",
        "codex",
        "--yes",
    ]);
    assert_eq!(run.code, 2, "{run}");
    assert_eq!(others(&axiowl), before);
}

#[test]
fn taking_out_leaves_what_somebody_put_in_our_place() {
    let axiowl = machine();
    ok(&axiowl, &["install", "claude-code", "--yes"]);
    let mut claude = json(&axiowl, ".claude.json");
    claude["mcpServers"]["axiowl"] = serde_json::json!({ "command": "somebody-elses" });
    axiowl.write("home/.claude.json", claude.to_string());
    let run = ok(&axiowl, &["uninstall", "claude-code", "--yes", "--json"]);
    let steps = run.lines("install_plan")[0]["steps"].clone();
    assert_eq!(steps[0]["what"], "leaves_foreign", "{steps}");
    assert_eq!(json(&axiowl, ".claude.json"), claude);
    let again = ok(&axiowl, &["uninstall", "claude-code", "--yes"]);
    assert!(
        again.stdout.contains("Nothing of AxiOwl is on record"),
        "{again}"
    );
}

#[test]
fn somebody_elses_file_in_the_place_of_a_door_is_never_overwritten() {
    let axiowl = machine();
    let extension = "home/.copilot/extensions/axiowl/extension.mjs";
    axiowl.write(extension, "// theirs\n");
    refused(&axiowl, "copilot", "AxiOwl did not write it");
    // Ours, which its user changed since: neither an install nor an uninstall takes it.
    std::fs::remove_file(axiowl.path(extension)).expect("file");
    ok(&axiowl, &["install", "copilot", "--yes"]);
    let place = ".copilot/extensions/axiowl/extension.mjs";
    let changed = read(&axiowl, place) + "// mine\n";
    axiowl.write(extension, changed.clone());
    let run = axiowl.run(&["install", "copilot", "--yes"]);
    assert_eq!(run.code, 1, "{run}");
    assert_eq!(read(&axiowl, place), changed);
    ok(&axiowl, &["uninstall", "copilot", "--yes"]);
    assert_eq!(read(&axiowl, place), changed);
}

#[test]
fn where_nothing_is_installed_an_uninstall_says_so_and_looking_leaves_nothing_behind() {
    let axiowl = machine();
    let before = crate::machine::tree(&axiowl.home());
    let run = ok(&axiowl, &["uninstall", "--all", "--dry-run"]);
    assert!(
        run.stdout.contains("nothing of AxiOwl's is installed"),
        "{run}"
    );
    assert_eq!(crate::machine::tree(&axiowl.home()), before);
    let odd = axiowl.run(&["--json", "list", "agents"]);
    assert_eq!(odd.code, 2, "{odd}");
    assert!(odd.stderr.contains("behind the command"), "{odd}");
}
