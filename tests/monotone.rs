//! Less is never more: whatever is taken from a provider's store, a row, a line, half a file, a
//! whole one, no session that was no target becomes one, and none gets a name that it did not
//! have a claim to.
//!
//! Over every case of every shipped rule. What a rule means to be told by a file's absence is
//! named below, each with its reason.

mod program;

use axiowl_discover::{Options, discover};
use axiowl_lang::layers::{self, Sources};
use axiowl_lang::load::LoadedRule;
use axiowl_lang::world_spec::WorldSpec;
use axiowl_model::DiscoveredAgent;
use axiowl_sources::World;
use program::{ROOT, copy_tree};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Lines of one file that are dropped, evenly spread.
const LINES: usize = 6;
/// Files of one case that are looked at, evenly spread.
const FILES: usize = 20;

/// Where less is more and has to be: provider, part of the file's path, end of the session's id,
/// and why. A file's absence is what its provider says by it; what is damaged is never among these
/// unless nobody can tell.
const MEANT: [(&str, &str, &str, &str); 22] = [
    (
        "antigravity",
        "b0000000-0000-4000-8000-000000000010.db",
        "10",
        "the parent of a conversation stands in a row of its own; without the row it has none",
    ),
    (
        "antigravity_cli",
        "conversation_summaries.db",
        "2",
        "X15: without a store of summaries the annotations alone decide",
    ),
    (
        "antigravity_cli",
        "conversation_summaries.db",
        "4",
        "X15: without a store of summaries the annotations alone decide",
    ),
    (
        "antigravity_cli",
        "conversation_summaries.db",
        "11",
        "X15: without a store of summaries the annotations alone decide",
    ),
    (
        "cursor",
        "composers/home/.config/Cursor/User/globalStorage/state.vscdb",
        "501",
        "a composer without a row of content is not known to be empty",
    ),
    (
        "cursor",
        "legacy/home/.config/Cursor/User/globalStorage/state.vscdb",
        "03",
        "a composer without a row of content is not known to be empty",
    ),
    (
        "cursor",
        ".axiowl/bridges/cursor.json",
        "01",
        "AxiOwl's own note: without one that can be read nothing is known against a send",
    ),
    (
        "cursor_cli",
        "88880000-0000-4000-8000-000000000003/meta.json",
        "03",
        "of two equal copies one is left: there is no doubt any more",
    ),
    (
        "vscode_native",
        "chatSessions/e0000053-0000-4000-8000-000000000003.jsonl",
        "0053-0000-4000-8000-000000000003",
        "of two equal copies one is left: there is no doubt any more",
    ),
    (
        "vscode_native",
        "damage/home/.config/Code/User/workspaceStorage/d1/state.vscdb",
        "0053-0000-4000-8000-000000000003",
        "of two equal copies one is known to be readable: there is no doubt any more",
    ),
    (
        "vscode_native",
        "damage/home/.config/Code/User/workspaceStorage/d2/state.vscdb",
        "0053-0000-4000-8000-000000000003",
        "of two equal copies one is known to be readable: there is no doubt any more",
    ),
    (
        "vscode_native",
        "desktop/home/.config/Code/User/globalStorage/state.vscdb",
        "0013-0000-4000-8000-000000000003",
        "what is archived is listed in a row; without the row nothing is",
    ),
    (
        "vscode_native",
        "5f1b6f7e0d1c4a3b8e9f001122334455/state.vscdb",
        "0003-0000-4000-8000-000000000003",
        "what is archived is listed in a row; without the row nothing is",
    ),
    (
        "vscode_native",
        "prune/home/.config/Code/User/workspaceStorage/p1/state.vscdb",
        "0062-0000-4000-8000-000000000003",
        "what is archived is listed in a row; without the row nothing is",
    ),
    (
        "vscode_native",
        "d3/state.vscdb",
        "0054-0000-4000-8000-000000000003",
        "a folder without a state is that of code-server or of an old empty window",
    ),
    (
        "vscode_native",
        "d4/workspace.json",
        "0055-0000-4000-8000-000000000003",
        "a folder that names no window is that of code-server or of an old empty window",
    ),
    (
        "vscode_native",
        "e0000042-0000-4000-8000-000000000003.jsonl",
        "0042-0000-4000-8000-000000000003",
        "the damaged line is what was taken away",
    ),
    (
        "vscode_native",
        "e0000046-0000-4000-8000-000000000003.jsonl",
        "0046-0000-4000-8000-000000000003",
        "the damaged line is what was taken away",
    ),
    (
        "vscode_native",
        "e0000005-0000-4000-8000-000000000003.jsonl",
        "0005-0000-4000-8000-000000000003",
        "a log without its last rename has the name of before",
    ),
    (
        "gemini_cli",
        "session-2026-11-30T14-43-5a000003.jsonl",
        "03",
        "a log without the line that takes messages back has them still",
    ),
    (
        "gemini_cli",
        "etc/settings.json",
        "189",
        "the system's settings are gone, and the user's decide",
    ),
    (
        "copilot_cli",
        "b0000012-0000-4000-8000-000000000001/workspace.yaml",
        "01",
        "a YAML text that ends within its name cannot be told from a shorter name",
    ),
];

fn is_meant(provider: &str, file: &str, session: &str) -> bool {
    MEANT
        .iter()
        .any(|(of, part, end, _)| *of == provider && file.contains(part) && session.ends_with(end))
}

/// Something taken from a store.
#[derive(Debug, Clone, Copy)]
enum Less {
    File,
    HalfOfIt,
    Line(usize),
}

impl fmt::Display for Less {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => write!(f, "without"),
            Self::HalfOfIt => write!(f, "with the first half of"),
            Self::Line(line) => write!(f, "without line {} of", line + 1),
        }
    }
}

impl Less {
    /// Everything that can be taken from a file.
    fn all(bytes: &[u8]) -> Vec<Self> {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').count();
        let mut out = vec![Self::File, Self::HalfOfIt];
        if lines > 1 {
            out.extend(spread(lines, LINES).map(Self::Line));
        }
        out
    }

    /// What is left of the file.
    fn of(self, bytes: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::File => None,
            Self::HalfOfIt => Some(bytes[..bytes.len() / 2].to_vec()),
            Self::Line(dropped) => {
                let lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate();
                let kept = lines.filter(|(number, _)| *number != dropped);
                Some(kept.flat_map(|(_, line)| line.to_vec()).collect())
            }
        }
    }
}

/// At most `most` of the first `all` numbers, evenly spread.
fn spread(all: usize, most: usize) -> impl Iterator<Item = usize> {
    let step = all.div_ceil(most).max(1);
    (0..all).step_by(step)
}

/// The files of a case, but for what describes it.
fn files(case: &Path) -> Vec<PathBuf> {
    let described = ["world.yaml", "expected.json", "registry.tsv"];
    let mut out = Vec::new();
    let mut left = vec![case.to_path_buf()];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(&folder).expect("folder") {
            let path = entry.expect("entry").path();
            if path.is_dir() {
                left.push(path);
            } else if folder != case || !described.iter().any(|name| path.ends_with(name)) {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

fn sessions(rule: &LoadedRule, case: &Path) -> BTreeMap<String, DiscoveredAgent> {
    let text = std::fs::read_to_string(case.join("world.yaml")).expect("world");
    let spec = WorldSpec::parse("world.yaml", &text).expect("world");
    let world = World::fixture(case, &spec);
    let options = Options {
        trace: true,
        ..Options::default()
    };
    let agents = discover(rule, &world, &options).agents.into_iter();
    agents
        .map(|agent| (agent.key.session.clone(), agent))
        .collect()
}

fn is_target(agent: &DiscoveredAgent) -> bool {
    agent.sendable && agent.has_enrollment_proof
}

/// What became more by taking something away.
fn more(
    whole: &BTreeMap<String, DiscoveredAgent>,
    less: &BTreeMap<String, DiscoveredAgent>,
) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for (session, agent) in less.iter().filter(|(_, agent)| is_target(agent)) {
        let mut say = |what: String| out.push((session.clone(), what));
        let Some(before) = whole.get(session) else {
            say("is a target and was not there".into());
            continue;
        };
        if !is_target(before) {
            say(format!("became a target; it was none: {}", before.reason));
        }
        // A weak name may change with what it is made of; it never replaces a strong one.
        if !agent.weak_name && agent.display_name != before.display_name && is_target(before) {
            let (name, was) = (&agent.display_name, &before.display_name);
            let claimed = |name: &String| {
                let mut names = before.trace.iter().filter(|step| step.stage == "name");
                names.any(|step| step.text.contains(name.as_str()))
            };
            if !name.as_ref().is_some_and(claimed) {
                say(format!("is called {name:?}, and was {was:?}"));
            }
        }
    }
    out
}

#[test]
fn nothing_that_is_taken_away_makes_a_target_or_a_name() {
    let rules = Path::new(ROOT).join("rules");
    let set = layers::load_all(&Sources {
        disk: Some(&rules),
        ..Sources::default()
    });
    let mut wrong = Vec::new();
    let mut tried = 0;
    for rule in set.iter() {
        let provider = rule.rule.provider.value.as_str();
        let fixtures = rules.join(provider).join("fixtures");
        let Ok(cases) = std::fs::read_dir(&fixtures) else {
            continue;
        };
        // Cases may use each other's homes, also those of other rules, so all are copied.
        let folder = tempfile::tempdir().expect("a folder");
        copy_tree(&rules, folder.path());
        let folder = folder.path().join(provider).join("fixtures");
        for case in cases {
            let case = folder.join(case.expect("case").file_name());
            // A home that cases share is none of its own.
            if !case.join("world.yaml").is_file() {
                continue;
            }
            let whole = sessions(rule, &case);
            let files = files(&case);
            for at in spread(files.len(), FILES) {
                let file = &files[at];
                let bytes = std::fs::read(file).expect("bytes");
                for less in Less::all(&bytes) {
                    match less.of(&bytes) {
                        None => std::fs::remove_file(file).expect("removed"),
                        Some(left) => std::fs::write(file, left).expect("written"),
                    }
                    let shown = file.strip_prefix(&folder).expect("below");
                    let shown = shown.display().to_string();
                    for (session, what) in more(&whole, &sessions(rule, &case)) {
                        // Half of the system's settings says nothing of what it says whole.
                        let damage = matches!(less, Less::HalfOfIt);
                        if is_meant(provider, &shown, &session)
                            && !(damage && provider == "gemini_cli")
                        {
                            continue;
                        }
                        wrong.push(format!("{provider}, {less} {shown}: {session} {what}"));
                    }
                    tried += 1;
                    std::fs::write(file, &bytes).expect("written");
                }
            }
        }
    }
    println!("{tried} times something was taken away");
    assert!(tried > 500);
    assert!(
        wrong.is_empty(),
        "{} of {tried}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
