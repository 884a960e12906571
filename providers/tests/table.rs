//! The dispatch table of this build: each provider key has its own edge, and nobody else's.

use axiowl_model::SessionKey;
use axiowl_pipeline::edge::Target;
use axiowl_pipeline::{EdgeTable, NoEdge, TwoEdges};

/// The keys of conformance 16, and those that came later.
const KEYS: [&str; 13] = [
    "codex",
    "codex_cli",
    "vscode_native",
    "vscode_copilot_backed",
    "antigravity",
    "antigravity_cli",
    "cursor",
    "claude_code_cli",
    "copilot_cli",
    "opencode_cli",
    "cursor_cli",
    "grok",
    "gemini_cli",
];

fn table() -> EdgeTable {
    EdgeTable::new(axiowl_providers::edges()).unwrap()
}

fn target(provider: &str) -> Target {
    // The very same id everywhere: nothing but the key may tell the surfaces apart.
    Target {
        key: SessionKey::local(
            provider,
            "copilot_cli:session:01a22d45-4155-71f2-b15e-0b00e2cb854c",
        ),
        display_name: "A Session".into(),
        cwd: "/work".into(),
        home: String::new(),
    }
}

#[test]
fn c213_to_c223_every_provider_key_has_an_edge_of_its_own() {
    let table = table();
    for key in KEYS {
        let target = target(key);
        assert_eq!(table.pick(&target).map(|edge| edge.provider()), Ok(key));
    }
    let all: Vec<_> = table.providers().collect();
    let mut known = KEYS.to_vec();
    known.push("echo");
    known.sort_unstable();
    assert_eq!(all, known, "an edge without a known key");
}

#[test]
fn c224_c225_no_surface_is_ever_served_by_anothers_edge() {
    let table = table();
    for one in KEYS {
        for other in KEYS.iter().filter(|other| **other != one) {
            let (one, other) = (target(one), target(other));
            let (mine, theirs) = (table.pick(&one).unwrap(), table.pick(&other).unwrap());
            assert_ne!(mine.provider(), theirs.provider());
        }
    }
    // Not even where its own edge is not there: what is left is no substitute.
    for gone in KEYS {
        let rest = axiowl_providers::edges()
            .into_iter()
            .filter(|edge| edge.provider() != gone);
        let table = EdgeTable::new(rest).unwrap();
        let missing = NoEdge::UnknownProvider {
            provider: gone.into(),
        };
        assert_eq!(
            table.pick(&target(gone)).map(|edge| edge.provider()),
            Err(missing)
        );
    }
}

#[test]
fn c226_c227_remote_is_out_of_scope_and_an_unknown_key_an_error() {
    let table = table();
    let pick = |key: &str| table.pick(&target(key)).map(|edge| edge.provider());
    assert_eq!(pick("remote"), Err(NoEdge::Remote));
    for unknown in ["", "Codex", "codex ", "vscode", "axiowl", "cursor:cli"] {
        let provider = unknown.to_owned();
        assert_eq!(pick(unknown), Err(NoEdge::UnknownProvider { provider }));
    }
    assert!(NoEdge::Remote.to_string().contains("out of scope"));
}

#[test]
fn two_edges_for_one_key_are_no_table() {
    let twice = axiowl_providers::edges()
        .into_iter()
        .chain(axiowl_providers::edges());
    let error = EdgeTable::new(twice).map(|_| ()).unwrap_err();
    assert!(matches!(error, TwoEdges { .. }), "{error}");
}
