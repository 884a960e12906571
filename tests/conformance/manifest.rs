//! What every provider has to bring, and what the support matrix says of it (section 29, and of
//! sections 11, 24 to 28, 34 and annex A what is data).

use crate::program::{Axiowl, ROOT};
use crate::tests_of::Test;
use axiowl_discover::identity::session_id;
use axiowl_lang::layers::{self, RuleSet, Sources};
use axiowl_lang::rule::{Listed, Prune};
use axiowl_lang::support::{Label, Support};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn rules() -> RuleSet {
    let disk = Path::new(ROOT).join("rules");
    let sources = Sources {
        disk: Some(&disk),
        ..Sources::default()
    };
    layers::load_where(&sources, |_| true)
}

fn support() -> Support {
    let text = std::fs::read_to_string(Path::new(ROOT).join("rules/support.yaml")).expect("text");
    Support::parse("support.yaml", &text).expect("the support matrix")
}

fn seeds(label: Label) -> BTreeSet<String> {
    let surfaces = support().surfaces.into_iter();
    surfaces
        .filter(|s| s.seed == label)
        .map(|s| s.surface.value)
        .collect()
}

fn set(keys: &[&str]) -> BTreeSet<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

/// C332, A22: the surfaces the source documents call supported.
#[test]
fn c332_a22_the_seed_supported_surfaces() {
    let keys = [
        "codex",
        "codex_cli",
        "vscode_native",
        "vscode_copilot_backed",
        "cursor",
        "antigravity",
    ];
    assert_eq!(seeds(Label::Supported), set(&keys));
}

/// C333, C307, C313, C318: those they call targets, and ours beside them.
#[test]
fn c307_c313_c318_c333_a22_the_seed_targets() {
    let ours = ["copilot_cli", "grok", "gemini_cli"];
    let named = ["antigravity_cli", "claude_code_cli", "opencode_cli"];
    assert_eq!(seeds(Label::Target), set(&[&ours[..], &named[..]].concat()));
}

/// C334, C329, A4: those they call unsupported. Both can be changed without a build.
#[test]
fn c329_c334_a4_a22_the_seed_unsupported_surfaces_are_data() {
    assert_eq!(seeds(Label::Unsupported), set(&["cursor_cli", "remote"]));
    let axiowl = Axiowl::new();
    let shown = |axiowl: &Axiowl| {
        let run = axiowl.run(&["list", "providers", "--json"]);
        let lines = run.lines("provider");
        lines
            .iter()
            .find(|line| line["provider"] == "cursor_cli")
            .expect("cursor_cli")
            .clone()
    };
    assert_eq!(shown(&axiowl)["seed"], "unsupported");
    let row = "{ proven: experimental, evidence: seen by hand }";
    axiowl.write(
        "home/.config/axiowl/support.yaml",
        format!(
            "surfaces:\n- surface: cursor_cli\n  title: Cursor CLI\n  seed: target\n  discover: {row}\n  send: {row}\n  reply: {row}\n  install: {row}\n"
        ),
    );
    let changed = shown(&axiowl);
    assert_eq!(
        (&changed["seed"], &changed["proven"]),
        (&"target".into(), &"experimental".into())
    );
    axiowl.write(
        "home/.config/axiowl/support.yaml",
        "surfaces:\n- surface: cursor_cli\n",
    );
    let broken = axiowl.run(&["list", "providers"]);
    assert_eq!(broken.code, 1, "{broken}");
    assert!(broken.stderr.contains("support.yaml:2"), "{broken}");
}

/// C335, C291, C330: surfaces of one maker are entries of their own; C336: the note on Cursor.
#[test]
fn c291_c330_c335_c336_surfaces_of_one_maker_are_told_apart() {
    let support = support();
    for (one, other) in [
        ("codex", "codex_cli"),
        ("antigravity", "antigravity_cli"),
        ("cursor", "cursor_cli"),
    ] {
        assert!(
            support.get(one).is_some() && support.get(other).is_some(),
            "{one} {other}"
        );
    }
    assert!(
        support
            .get("cursor")
            .expect("cursor")
            .note
            .contains("patch-sensitive")
    );
}

/// C331, C337, C338, C339: that there is code says nothing. What is said to be proven names a
/// test that exists, and the whole is supported only with every operation.
#[test]
fn c331_c337_c338_c339_supported_means_a_test_shows_it() {
    let tests = crate::tests_of::all(Path::new(ROOT));
    let mut wrong = Vec::new();
    let mut proven = 0;
    for surface in support().surfaces {
        for (operation, standing) in surface.operations() {
            let what = format!("{} {operation}", surface.surface.value);
            for test in &standing.tests {
                let there = tests.iter().any(|one| one.name == *test);
                assert!(there, "{what}: there is no test `{test}`");
            }
            if standing.proven.value == Label::Supported {
                let surface = &surface.surface.value;
                wrong.extend(overclaims(surface, operation, &standing.tests, &tests));
                proven += 1;
            }
            assert!(!standing.evidence.is_empty(), "{what}");
        }
        let whole = surface
            .operations()
            .iter()
            .all(|(_, s)| s.proven.value == Label::Supported);
        assert_eq!(
            surface.proven() == Label::Supported,
            whole,
            "{}",
            surface.surface.value
        );
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(proven > 0);
    // An edge exists for these, and the matrix does not take that for support of the surface.
    let axiowl = Axiowl::new();
    let lines = axiowl
        .run(&["list", "providers", "--json"])
        .lines("provider");
    let with_code: Vec<&Value> = lines
        .iter()
        .filter(|line| line["delivery"] == true)
        .collect();
    assert!(
        with_code.iter().any(|line| line["proven"] != "supported"),
        "{lines:?}"
    );
    let operations = |line: &Value| line["operations"].as_array().map_or(0, Vec::len);
    assert!(
        lines
            .iter()
            .filter(|l| l["seed"].is_string())
            .all(|l| operations(l) == 4)
    );
}

/// Why a surface is not said to support an operation by the tests that are named for it.
fn overclaims(surface: &str, operation: &str, named: &[String], tests: &[Test]) -> Vec<String> {
    let claim = format!("{surface} {operation}");
    let mut wrong = Vec::new();
    if named.is_empty() {
        wrong.push(format!("{claim}: no test is named"));
    }
    for name in named {
        let test = tests
            .iter()
            .find(|test| test.name == *name && test.shows.contains(&claim));
        match test {
            // Its very surface: not one whose name begins the same, and not one of the same maker.
            None => wrong.push(format!("{claim}: `{name}` does not say that it shows it")),
            // Files can be recorded; a client that takes a message or answers cannot.
            Some(test) if operation != "discover" && !test.is_with_a_real_client() => {
                wrong.push(format!("{claim}: `{name}` is no test with the real client"));
            }
            Some(_) => {}
        }
    }
    wrong
}

/// What is taken for support of another surface, another operation or by a stand-in is refused.
#[test]
fn c337_support_is_not_inherited_from_a_surface_with_a_like_name() {
    let test = |file: &str, shows: &str| Test {
        name: "codex_answers".into(),
        file: file.into(),
        shows: BTreeSet::from([shows.to_owned()]),
    };
    let named = ["codex_answers".to_owned()];
    let real = "tests/real_replies.rs";
    let shown = [test(real, "codex_cli reply")];
    assert!(overclaims("codex_cli", "reply", &named, &shown).is_empty());
    for (surface, operation) in [
        ("codex", "reply"),
        ("codex_cli", "send"),
        ("codex_", "reply"),
    ] {
        assert_eq!(overclaims(surface, operation, &named, &shown).len(), 1);
    }
    let stand_in = [test("tests/pipeline/replies.rs", "codex_cli reply")];
    assert_eq!(overclaims("codex_cli", "reply", &named, &stand_in).len(), 1);
    assert_eq!(overclaims("codex_cli", "reply", &[], &shown).len(), 1);
}

/// What a test says that it shows is a surface and an operation of the matrix, which names it.
#[test]
fn what_tests_say_that_they_show_stands_in_the_matrix() {
    let support = support();
    let mut named = BTreeSet::new();
    for surface in &support.surfaces {
        for (operation, standing) in surface.operations() {
            for test in &standing.tests {
                named.insert((
                    format!("{} {operation}", surface.surface.value),
                    test.clone(),
                ));
            }
        }
    }
    for test in crate::tests_of::all(Path::new(ROOT)) {
        for shown in test.shows {
            let there = named.contains(&(shown.clone(), test.name.clone()));
            assert!(
                there,
                "`{}` shows {shown}, and support.yaml does not name it",
                test.name
            );
        }
    }
}

/// C347: remote needs a contract, validation of nodes and a bar of its own before it is anything.
#[test]
fn c347_remote_is_unsupported_until_it_has_a_bar_of_its_own() {
    let support = support();
    let remote = support.get("remote").expect("remote");
    assert_eq!(remote.proven(), Label::Unsupported);
    for word in ["contract", "nodes", "bar"] {
        assert!(remote.send.evidence.contains(word), "{word}");
    }
    assert!(rules().get("remote").is_none());
}

/// C381: the five agents have a rule; C382, A12: what is ours beside the documents says so.
#[test]
fn c381_c382_a12_the_five_agents_are_there_and_extensions_are_marked() {
    let rules = rules();
    let five = [
        "claude_code_cli",
        "codex_cli",
        "opencode_cli",
        "grok",
        "antigravity_cli",
    ];
    let missing: Vec<_> = five.iter().filter(|key| rules.get(key).is_none()).collect();
    let support = support();
    let marked = support.surfaces.iter().filter(|s| s.extension);
    let marked: BTreeSet<String> = marked.map(|s| s.surface.value.clone()).collect();
    assert_eq!(marked, set(&["grok", "gemini_cli"]));
    assert!(missing.is_empty(), "no rule for {missing:?}");
}

/// C383, C228: a provider is a rule, fixtures that expect something, a line in the matrix, and
/// an edge or a line that says why there is none.
#[test]
fn c228_c383_every_rule_has_fixtures_a_matrix_line_and_a_word_on_delivery() {
    let support = support();
    let rules = rules();
    assert_eq!(rules.problems().len(), 0);
    for rule in rules
        .iter()
        .filter(|rule| rule.rule.listed != Listed::WhenPresent)
    {
        let key = rule.rule.provider.value.as_str();
        assert!(
            !expected_rows(key).is_empty(),
            "{key}: no fixture expects a row"
        );
        let surface = support
            .get(key)
            .unwrap_or_else(|| panic!("{key} is not in the matrix"));
        let refused = surface.send.proven.value == Label::Unsupported;
        assert!(
            refused || axiowl_providers::serves(key),
            "{key}: no edge, and the matrix does not say so"
        );
    }
}

fn expected_rows(provider: &str) -> Vec<Value> {
    let folder = Path::new(ROOT)
        .join("rules")
        .join(provider)
        .join("fixtures");
    let Ok(cases) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let files: Vec<PathBuf> = cases
        .map(|case| case.expect("case").path().join("expected.json"))
        .collect();
    let rows = files.iter().filter_map(|file| {
        let text = std::fs::read_to_string(file).ok()?;
        let expected: Value = serde_json::from_str(&text).expect("JSON");
        expected["rows"].as_array().cloned()
    });
    rows.flatten().collect()
}

/// C467, C468, C469, A3: the form of every provider's ids; C470: byte for byte what the MCP
/// server makes of the same session.
#[test]
fn c467_to_c470_a3_discovery_and_mcp_build_the_same_ids() {
    let forms: BTreeMap<&str, &str> = [
        ("codex", ""),
        ("codex_cli", ""),
        ("claude_code_cli", "claude_code_cli:session:"),
        ("opencode_cli", "opencode_cli:session:"),
        ("copilot_cli", "copilot_cli:session:"),
        ("vscode_native", "vscode_native:session:"),
        ("vscode_copilot_backed", "copilot_cli:session:"),
        ("cursor", "cursor:composer:"),
        ("cursor_cli", "cursor_cli:session:"),
        ("antigravity", "antigravity:cascade:"),
        ("antigravity_cli", "antigravity_cli:conversation:"),
        ("grok", "grok:session:"),
        ("gemini_cli", "gemini_cli:session:"),
    ]
    .into();
    let rules = rules();
    let mut missing = Vec::new();
    for (provider, prefix) in &forms {
        let rows = expected_rows(provider);
        let Some(loaded) = rules.get(provider).filter(|_| !rows.is_empty()) else {
            missing.push(*provider);
            continue;
        };
        for row in rows {
            let session = row["provider_session_id"].as_str().expect("id");
            let bare = session
                .strip_prefix(prefix)
                .unwrap_or_else(|| panic!("{provider}: {session}"));
            assert!(
                !bare.is_empty() && !bare.contains(':'),
                "{provider}: {session}"
            );
            assert_eq!(
                session_id(loaded, bare).as_deref(),
                Some(session),
                "{provider}"
            );
            assert_eq!(row["provider"], *provider);
        }
    }
    assert!(missing.is_empty(), "no rule with a fixture: {missing:?}");
}

/// C136, C140: the two VS Code scopes prune, and no other does.
#[test]
fn c136_c140_only_the_vs_code_scopes_prune() {
    let rules = rules();
    let pruning: BTreeSet<String> = rules
        .iter()
        .filter(|rule| rule.rule.prune == Prune::Unproven)
        .map(|rule| rule.rule.provider.value.clone())
        .collect();
    assert_eq!(pruning, set(&["vscode_native", "vscode_copilot_backed"]));
}
