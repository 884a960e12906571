//! The discover command: scopes, words, JSON lines, what is merged when (sections 5, 6 and 30).

use crate::program::ROOT;
use crate::scene::{Scene, row};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Scope and the provider key of its rows.
const SCOPES: [(&str, &str); 11] = [
    ("codex", "codex"),
    ("codex-cli", "codex_cli"),
    ("vscode-native", "vscode_native"),
    ("vscode-copilot", "vscode_copilot_backed"),
    ("copilot-cli", "copilot_cli"),
    ("antigravity", "antigravity"),
    ("antigravity-cli", "antigravity_cli"),
    ("cursor", "cursor"),
    ("cursor-cli", "cursor_cli"),
    ("claude-code-cli", "claude_code_cli"),
    ("opencode-cli", "opencode_cli"),
];

/// C049 to C059: each scope is accepted; C061: and asks its own provider's rule.
#[test]
fn c049_to_c059_c061_every_scope_is_accepted_and_runs_its_own_provider() {
    let scene = Scene::both();
    let mut wrong = Vec::new();
    for (scope, provider) in SCOPES {
        let run = scene.run(&["discover", scope, "--json"]);
        let summaries = if run.code == 0 {
            run.lines("discovery_summary")
        } else {
            Vec::new()
        };
        let providers: Vec<&Value> = summaries.iter().map(|line| &line["provider"]).collect();
        if run.code != 0 || providers != [provider] {
            wrong.push(format!("{scope}: {providers:?} {}", run.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(
        scene.run(&["discover", "codex-desktop"]).code,
        2,
        "no other word is a scope"
    );
}

/// C048, C060: `all` gives one report a scope, A12: the extensions included.
#[test]
fn c048_c060_a12_all_runs_every_local_scope_once() {
    let scene = Scene::both();
    let run = scene.ok(&["discover", "all", "--json"]);
    let lines = run.lines("discovery_summary");
    let reported: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["provider"].as_str())
        .collect();
    let distinct: BTreeSet<&str> = reported.iter().copied().collect();
    assert_eq!(distinct.len(), reported.len(), "{reported:?}");
    for provider in SCOPES.map(|(_, provider)| provider).iter().chain(&["grok"]) {
        assert!(
            distinct.contains(provider),
            "{provider} is not in {reported:?}"
        );
    }
}

/// C046, C071, C072, C076 to C086: JSON lines, a row's fields, the scope's last line. C082: the
/// two flags are two fields. C028: the node is `local`.
#[test]
fn c046_c071_c072_c076_to_c086_json_has_a_line_a_row_and_then_the_summary() {
    let scene = Scene::codex();
    let run = scene.ok(&["discover", "codex", "--json"]);
    let all: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let (summary, rows) = all.split_last().expect("lines");
    assert_eq!(summary["schema"], "axiowl.discovery_summary/1", "{run}");
    assert_eq!(summary["found"], rows.len());
    assert!(
        rows.len() > 3
            && rows
                .iter()
                .all(|r| r["schema"] == "axiowl.discovered_agent/1")
    );
    let keys = |line: &Value| -> Vec<String> {
        line.as_object().expect("object").keys().cloned().collect()
    };
    let fields = [
        "schema",
        "provider",
        "provider_session_id",
        "node_id",
        "display_name",
        "status",
        "kind",
        "sendable",
        "has_enrollment_proof",
        "source",
        "evidence",
        "last_seen_at",
        "last_error",
        "cwd",
        "decision",
        "reason",
    ];
    assert!(rows.iter().all(|row| keys(row) == fields), "{run}");
    let fields = [
        "schema", "provider", "node_id", "found", "enrolled", "updated", "skipped", "evidence",
        "pruned", "issues", "verdict", "registry",
    ];
    assert_eq!(keys(summary), fields);

    let pinned = row(rows, "01a22cbd-b4a8-7b40-a5cd-453e8dfba256");
    assert_eq!(pinned["display_name"], "Plan holidays");
    assert_eq!(
        (&pinned["provider"], &pinned["node_id"]),
        (&"codex".into(), &"local".into())
    );
    assert_eq!(
        (&pinned["sendable"], &pinned["has_enrollment_proof"]),
        (&true.into(), &true.into())
    );
    assert_eq!(pinned["source"], "codex_desktop_thread_state");
    assert!(
        pinned["evidence"]
            .as_array()
            .is_some_and(|e| e.iter().all(Value::is_string))
    );
    assert_eq!(pinned["last_seen_at"], "2026-11-30T13:56:00.040Z");
    assert_eq!(pinned["status"], "active");
    assert!(pinned["last_error"].is_null());
    let cli = scene.discover("codex-cli");
    let gone = row(&cli, "01a22cbe-13a0-7dd1-8c7e-88703f16b00b");
    assert!(
        gone["last_error"]
            .as_str()
            .is_some_and(|e| e.contains("the transcript is gone"))
    );
}

/// C063 to C070: the words of the plain summary, with the numbers the JSON gives.
#[test]
fn c063_to_c070_the_plain_summary_has_every_number_and_the_registry() {
    let scene = Scene::codex();
    let json = scene.ok(&["discover", "codex", "--json", "--dry-run"]);
    let summary = &json.lines("discovery_summary")[0];
    let plain = scene.ok(&["discover", "codex"]).stdout;
    assert!(plain.starts_with("codex "), "{plain}");
    let said = |word: &str| {
        let found = plain
            .lines()
            .find_map(|line| line.trim().strip_prefix(word));
        found
            .unwrap_or_else(|| panic!("no `{word}` in {plain}"))
            .trim()
            .to_owned()
    };
    assert_eq!(said("node"), "local");
    for word in ["found", "enrolled", "updated", "skipped", "evidence"] {
        assert_eq!(said(word), summary[word].to_string(), "{word}");
    }
    let issues = summary["issues"].as_array().expect("issues");
    assert_eq!(said("issues"), issues.len().to_string());
    assert!(!issues.is_empty());
    for issue in issues {
        assert!(
            plain.contains(issue["message"].as_str().expect("text")),
            "{issue}: {plain}"
        );
    }
    assert_eq!(
        said("registry"),
        scene
            .axiowl
            .path("state/registry/agents.tsv")
            .display()
            .to_string()
    );
}

/// C047: a targeted run looks for one session, by name or id, and prunes or demotes no other.
#[test]
fn c047_a_targeted_run_finds_the_named_session_alone() {
    let scene = Scene::both();
    let by_name = scene.ok(&["discover", "codex", "--target", "Plan holidays", "--json"]);
    let rows = by_name.lines("discovered_agent");
    assert_eq!(rows.len(), 1, "{by_name}");
    assert_eq!(rows[0]["display_name"], "Plan holidays");
    let id = "01a22cbd-8c1a-7c80-80e3-68a3f10739cc";
    let by_id = scene.ok(&["discover", "codex", "--target", id, "--json"]);
    assert_eq!(by_id.lines("discovered_agent").len(), 1, "{by_id}");
    assert_eq!(
        scene.rows().len(),
        2,
        "each run added its own session and took none away"
    );
}

/// C062: a scope is in the registry before the next one is done. The output pipe is not read,
/// so the run stands still in the first scope's lines.
#[test]
fn c062_each_scope_is_merged_before_the_next_one_runs() {
    let scene = Scene::codex();
    for n in 0..300 {
        let id = format!("60000000-0000-4000-8000-{n:012}");
        let record = format!(
            "{{\"type\":\"user\",\"sessionId\":\"{id}\",\"cwd\":\"/home/dev/projects/webshop\",\
             \"message\":{{\"content\":\"Session number {n}\"}}}}\n"
        );
        scene.axiowl.write(
            &format!("home/.claude/projects/-home-dev-projects-webshop/{id}.jsonl"),
            record,
        );
    }
    let arguments = scene.with_flags(&["discover", "all", "--json"]);
    let mut child = scene
        .axiowl
        .command(&arguments)
        .stdout(Stdio::piped())
        .spawn()
        .expect("axiowl runs");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !scene
        .table()
        .contains("60000000-0000-4000-8000-000000000299")
    {
        assert!(Instant::now() < deadline, "the first scope never came");
        assert!(
            child.try_wait().expect("wait").is_none(),
            "it ended without a merge"
        );
        std::thread::yield_now();
    }
    let at_first = scene.table();
    assert!(
        !at_first.contains("codex:local:"),
        "the later scope was merged already"
    );
    let mut rest = String::new();
    child
        .stdout
        .take()
        .expect("pipe")
        .read_to_string(&mut rest)
        .expect("output");
    assert!(child.wait().expect("wait").success());
    assert!(scene.table().contains("codex:local:"));
}

/// C062: a scope that fails does not take the others with it, and is named.
#[test]
fn c062_all_goes_on_when_one_scope_fails() {
    let scene = Scene::both();
    let rules = scene.axiowl.path("rules");
    for provider in ["claude_code_cli", "codex", "codex_cli"] {
        scene.axiowl.copy_rule(provider, &rules.join(provider));
    }
    scene.axiowl.write(
        "rules/codex/rule.yaml",
        "axiowl: 1\nprovider: codex\nnonsense: true\n",
    );
    let rules = rules.display().to_string();
    // A registry is made by one set of rules.
    let state = scene.axiowl.path("apart");
    let apart = state.display().to_string();
    let words = [
        "--rules", &rules, "--state", &apart, "discover", "all", "--json",
    ];
    let run = scene.axiowl.run(&words);
    assert!(
        run.stderr.contains("the") && run.stderr.contains("codex is broken"),
        "{run}"
    );
    let found = run.lines("discovery_summary");
    assert!(
        found
            .iter()
            .any(|line| line["provider"] == "claude_code_cli"),
        "{run}"
    );
    let table = std::fs::read_to_string(state.join("registry/agents.tsv")).expect("table");
    assert!(table.contains("claude_code_cli:local:"), "{run}");

    // A store that cannot be read is its scope's issue, and the later scopes run.
    let database = scene.axiowl.home().join(".codex/state_5.sqlite");
    std::fs::write(&database, b"no database").expect("write");
    let run = scene.ok(&["discover", "all", "--json"]);
    let lines = run.lines("discovery_summary");
    let of = |provider: &str| {
        lines
            .iter()
            .find(|line| line["provider"] == provider)
            .unwrap_or_else(|| panic!("{run}"))
    };
    assert_ne!(of("codex")["issues"], Value::Array(Vec::new()), "{run}");
    assert_eq!(of("claude_code_cli")["verdict"], "verified", "{run}");
}

/// C073: the evidence log has one decision a row, with its reason. C031.
#[test]
fn c073_the_evidence_log_has_one_decision_a_row() {
    let scene = Scene::codex();
    let rows = scene.discover("codex");
    let log = std::fs::read_to_string(scene.axiowl.path("state/evidence.log")).expect("log");
    let decisions: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .filter(|line: &Value| line["event"] == "discovery_decision")
        .collect();
    assert_eq!(decisions.len(), rows.len());
    for row in &rows {
        let id = format!(
            "codex:local:{}",
            row["provider_session_id"].as_str().expect("id")
        );
        let of: Vec<&Value> = decisions
            .iter()
            .filter(|d| d["agent_id"] == id.as_str())
            .collect();
        assert_eq!(of.len(), 1, "{id}");
        assert_eq!(
            (&of[0]["decision"], &of[0]["reason"]),
            (&row["decision"], &row["reason"])
        );
        assert!(
            of[0]["reason"]
                .as_str()
                .is_some_and(|reason| !reason.is_empty()),
            "{id}"
        );
    }
}

/// C075, C092, C109: found, enrolled, evidence and skipped are told apart, and add up.
#[test]
fn c075_c092_c109_found_is_not_enrolled_and_the_counts_add_up() {
    let scene = Scene::both();
    for (scope, evidence, skipped) in [("codex", 2, 0), ("claude-code-cli", 5, 3)] {
        let run = scene.ok(&["discover", scope, "--json"]);
        let summary = &run.lines("discovery_summary")[0];
        let n = |key: &str| summary[key].as_u64().expect("number");
        assert_eq!(
            (n("evidence"), n("skipped")),
            (evidence, skipped),
            "{scope}: {run}"
        );
        assert!(
            n("enrolled") > 0 && n("found") > n("enrolled"),
            "{scope}: {run}"
        );
        assert_eq!(
            n("enrolled") + n("updated") + n("evidence") + n("skipped"),
            n("found")
        );
        let again = scene.ok(&["discover", scope, "--json"]);
        let summary = &again.lines("discovery_summary")[0];
        assert_eq!(summary["enrolled"], 0, "{again}");
        assert_eq!(summary["updated"].as_u64(), Some(n("enrolled")), "{again}");
    }
}

/// C087 to C091, C093, A1, A18: the words of a status.
#[test]
fn c087_to_c091_c093_a1_a18_the_words_of_a_status() {
    let words: Vec<&str> = axiowl_model::Status::ALL
        .iter()
        .map(|status| status.as_str())
        .collect();
    let expected = [
        "active",
        "archived",
        "stale",
        "unhealthy",
        "auth_unproven",
        "evidence_only",
        "unsupported",
        "out_of_scope",
        "partial",
    ];
    assert_eq!(words, expected);
    // And they are what the output says: one of each that two stores give.
    let scene = Scene::codex();
    let mut rows = scene.discover("codex");
    rows.extend(scene.discover("codex-cli"));
    let said: BTreeSet<&str> = rows
        .iter()
        .filter_map(|row| row["status"].as_str())
        .collect();
    assert_eq!(
        said.into_iter().collect::<Vec<_>>(),
        ["active", "archived", "evidence_only", "stale"]
    );
}

/// C026: provider keys are the rules' folders, and what a row's provider is.
#[test]
fn c026_provider_keys_are_the_rules_folders_and_known_surfaces() {
    let scene = Scene::empty();
    let listed = scene.ok(&["list", "providers", "--json"]).lines("provider");
    let keys: BTreeSet<&str> = listed
        .iter()
        .filter_map(|line| line["provider"].as_str())
        .collect();
    for key in [
        "codex",
        "codex_cli",
        "vscode_native",
        "vscode_copilot_backed",
        "cursor",
    ] {
        assert!(keys.contains(key), "{key}: {keys:?}");
    }
    let rules = std::path::Path::new(ROOT).join("rules");
    for entry in std::fs::read_dir(rules).expect("rules") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            let key = path
                .file_name()
                .expect("name")
                .to_string_lossy()
                .into_owned();
            assert!(keys.contains(key.as_str()), "{key}: {keys:?}");
        }
    }
}
