//! The crate arrows: which crate may use which, and which libraries stay in one crate.

use std::collections::BTreeMap;
use std::process::Command;

/// Crate → the crates of this workspace it may use.
const ARROWS: [(&str, &[&str]); 9] = [
    ("axiowl-model", &[]),
    ("axiowl-lang", &["model"]),
    ("axiowl-sources", &["lang", "model"]),
    ("axiowl-registry", &["model"]),
    ("axiowl-install", &["registry"]),
    ("axiowl-discover", &["lang", "model", "sources"]),
    (
        "axiowl-pipeline",
        &["discover", "lang", "model", "registry", "sources"],
    ),
    ("axiowl-mcp", &["model", "pipeline", "registry"]),
    (
        "axiowl-providers",
        &["install", "model", "pipeline", "sources"],
    ),
];

/// Library → the only crates that may use it.
const KEPT_IN: [(&str, &[&str]); 8] = [
    ("toml_edit", &["axiowl-install"]),
    ("jsonc-parser", &["axiowl-install"]),
    ("serde-saphyr", &["axiowl-lang"]),
    ("postcard", &["axiowl-lang"]),
    ("rmcp", &["axiowl-mcp"]),
    ("glob", &["axiowl-sources"]),
    ("rhai", &["axiowl-lang", "axiowl-discover"]),
    (
        "tokio",
        &[
            "axiowl",
            "axiowl-mcp",
            "axiowl-pipeline",
            "axiowl-providers",
            "axiowl-test-support",
        ],
    ),
];

/// Crate → names of the crates it depends on, development dependencies left out.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| {
            let names = package["dependencies"]
                .as_array()
                .expect("dependencies")
                .iter();
            let names = names
                .filter(|dependency| dependency["kind"] != "dev")
                .map(|dependency| dependency["name"].as_str().expect("name").to_owned());
            (
                package["name"].as_str().expect("name").to_owned(),
                names.collect(),
            )
        })
        .collect()
}

#[test]
fn arrows_run_one_way() {
    let dependencies = dependencies();
    for (name, allowed) in ARROWS {
        let used = dependencies
            .get(name)
            .unwrap_or_else(|| panic!("{name} is not in the workspace"));
        for dependency in used
            .iter()
            .filter_map(|dependency| dependency.strip_prefix("axiowl-"))
        {
            assert!(
                allowed.contains(&dependency),
                "{name} must not use axiowl-{dependency}"
            );
        }
    }
}

#[test]
fn libraries_stay_where_they_belong() {
    let dependencies = dependencies();
    for (library, homes) in KEPT_IN {
        let users: Vec<&String> = dependencies
            .iter()
            .filter(|(_, used)| used.iter().any(|name| name == library))
            .map(|(name, _)| name)
            .collect();
        assert!(
            !users.is_empty(),
            "nobody uses {library}; drop it from this test"
        );
        for user in users {
            assert!(
                homes.contains(&user.as_str()),
                "{user} must not use {library}"
            );
        }
    }
}

/// A provider's name in the engine would be knowledge that belongs into a rule or an edge.
#[test]
fn no_engine_crate_names_a_provider() {
    let root = env!("CARGO_MANIFEST_DIR");
    let names = [
        "codex",
        "claude",
        "opencode",
        "copilot",
        "antigravity",
        "grok",
        "gemini",
        "cursor_",
    ];
    let mut checked = 0;
    for name in [
        "model", "lang", "sources", "discover", "install", "registry", "pipeline", "mcp",
    ] {
        let mut folders = vec![std::path::PathBuf::from(format!(
            "{root}/engine/{name}/src"
        ))];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("folder") {
                let path = entry.expect("entry").path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                // Names of files that nobody may read are no knowledge of what is in them.
                let secrets = path.ends_with("engine/lang/src/secrets.rs");
                if secrets || path.to_string_lossy().contains("test") {
                    continue;
                }
                let text = std::fs::read_to_string(&path).expect("text");
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                for (number, line) in code.lines().enumerate() {
                    let line = line.split("//").next().unwrap_or_default().to_lowercase();
                    let found = names.iter().find(|name| line.contains(*name));
                    assert!(found.is_none(), "{}:{}: {line}", path.display(), number + 1);
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 40, "only {checked} files were looked at");
}
