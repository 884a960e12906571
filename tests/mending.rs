//! The story of whoever uses AxiOwl when a provider changes its files: discovery says what
//! drifted, a case is captured, two lines of a patch mend the rule, and the patch survives the
//! next update. Everything goes through the binary; `rules/README.md` tells the same story.

mod program;

use program::{Axiowl, ROOT, Run, copy_tree};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// A change of a provider's files, and how a person answers it.
struct Story {
    provider: &'static str,
    scope: &'static str,
    /// A session whose name, or whose being a target, the change costs.
    name: &'static str,
    /// What the provider does to its files, below its home.
    change: fn(&Path),
    /// What discovery says about it.
    drift: &'static str,
    /// The verdict it gives.
    verdict: &'static str,
    /// The lines of the patch: two at most.
    lines: &'static [&'static str],
    /// A word of the first line, as it is mistyped at first.
    typo: (&'static str, &'static str),
    /// What the check says about the mistyped line.
    hint: &'static str,
}

fn renamed_column(home: &Path) {
    let database = Connection::open(home.join(".codex/state_5.sqlite")).expect("database");
    let sql = "ALTER TABLE threads RENAME COLUMN archived TO is_archived";
    database.execute_batch(sql).expect("renamed");
}

fn moved_database(home: &Path) {
    let data = home.join(".local/share/opencode");
    let to = data.join("db");
    std::fs::create_dir(&to).expect("folder");
    std::fs::rename(data.join("opencode.db"), to.join("opencode.db")).expect("moved");
}

/// Rewrites every transcript of Claude Code.
fn transcripts(home: &Path, rewrite: &dyn Fn(&str) -> String) {
    let projects = home.join(".claude/projects");
    for project in std::fs::read_dir(projects).expect("projects") {
        for file in std::fs::read_dir(project.expect("project").path()).expect("project") {
            let path = file.expect("file").path();
            if path.extension().is_some_and(|ext| ext == "jsonl") {
                let text = std::fs::read_to_string(&path).expect("text");
                std::fs::write(&path, rewrite(&text)).expect("written");
            }
        }
    }
}

fn new_kind(home: &Path) {
    transcripts(home, &|text| {
        let text = text.replace("\"type\":\"custom-title\"", "\"type\":\"session-label\"");
        text.replace("\"customTitle\":", "\"label\":")
    });
}

fn nested_title(home: &Path) {
    transcripts(home, &|text| {
        let mut out = String::new();
        for line in text.split_inclusive('\n') {
            let Ok(mut record) = serde_json::from_str::<serde_json::Value>(line) else {
                out.push_str(line);
                continue;
            };
            if record["type"] != "custom-title" {
                out.push_str(line);
                continue;
            }
            let title = record["customTitle"].take();
            record
                .as_object_mut()
                .expect("record")
                .remove("customTitle");
            record["title"] = serde_json::json!({ "custom": title });
            out.push_str(&format!("{record}\n"));
        }
        out
    });
}

/// A machine of its own: a home as recorded, with real databases, in a recorded world.
struct Machine {
    axiowl: Axiowl,
    home: PathBuf,
}

impl Machine {
    fn new(provider: &str) -> Self {
        let axiowl = Axiowl::new();
        let home = axiowl.path("machine/home");
        let case = Path::new(ROOT)
            .join("rules")
            .join(provider)
            .join("fixtures");
        let (from, case) = match provider {
            "codex" => (
                Path::new(ROOT).join("rules/codex/fixtures/home"),
                case.join("threads"),
            ),
            "claude_code_cli" => (case.join("projects/home"), case.join("projects")),
            _ => (case.join("sessions/home"), case.join("sessions")),
        };
        copy_tree(&from, &home);
        let world = std::fs::read_to_string(case.join("world.yaml")).expect("world");
        let world = world.replace("../home", "home");
        axiowl.write("machine/world.yaml", world);
        for text in [
            ".codex/state_5.sqlite.sql",
            ".local/share/opencode/opencode.db.sql",
        ] {
            let text = home.join(text);
            if text.is_file() {
                let database = Connection::open(text.with_extension("")).expect("database");
                let sql = std::fs::read_to_string(&text).expect("statements");
                database.execute_batch(&sql).expect("built");
                std::fs::remove_file(text).expect("removed");
            }
        }
        // Claude Code says a title twice; here it is one of the versions that say it once.
        if provider == "claude_code_cli" {
            transcripts(&home, &|text| {
                let lines = text.split_inclusive('\n');
                lines
                    .filter(|line| !line.contains("\"agent-name\""))
                    .collect()
            });
        }
        Self { axiowl, home }
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let world = self.axiowl.path("machine/world.yaml");
        let world = ["--world", world.to_str().expect("text")];
        self.axiowl.run(&[&world[..], arguments].concat())
    }

    fn rule(&self, provider: &str) -> PathBuf {
        let rules = self.axiowl.home().join(".config/axiowl/rules");
        rules.join(provider).join("rule.yaml")
    }

    /// Whether a message could be sent to a session of that name.
    fn is_target(&self, name: &str) -> bool {
        let run = self.run(&["list", "agents", "--json"]);
        run.lines("agent")
            .iter()
            .any(|agent| agent["display_name"] == name)
    }

    /// Whether a run of discovery finds a session of that name.
    fn finds(&self, scope: &str, name: &str) -> bool {
        let run = self.run(&["discover", scope, "--json"]);
        let agents = run.lines("discovered_agent");
        agents
            .iter()
            .any(|agent| agent["display_name"] == name && agent["sendable"] == true)
    }
}

fn assert_says(run: &Run, code: i32, words: &[&str]) {
    assert_eq!(run.code, code, "{run}");
    let said = format!("{}{}", run.stdout, run.stderr);
    for word in words {
        assert!(said.contains(word), "no {word:?} in\n{run}");
    }
}

/// The lines of a patch under `override:`, in place of the ones that eject left as examples.
fn write_patch(file: &Path, lines: &[String]) {
    let text = std::fs::read_to_string(file).expect("patch");
    let (head, _) = text.split_once("override:\n").expect("a place for changes");
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    std::fs::write(file, format!("{head}override:\n{lines}")).expect("written");
}

fn mend(story: &Story) -> Machine {
    let Story {
        provider,
        scope,
        name,
        ..
    } = *story;
    let machine = Machine::new(provider);
    assert!(
        machine.finds(scope, name),
        "{name} is not there to begin with"
    );
    (story.change)(&machine.home);

    // Discovery says what drifted and where to start; the session is not what it was.
    assert!(!machine.finds(scope, name), "the change costs nothing");
    let run = machine.run(&["discover", scope]);
    assert_says(
        &run,
        0,
        &[
            &format!("verdict    {}", story.verdict),
            story.drift,
            &format!("axiowl rules capture {provider}"),
        ],
    );
    assert_says(
        &machine.run(&["discover", scope, "--strict"]),
        1,
        &[story.drift],
    );
    assert_says(&machine.run(&["rules", "list"]), 0, &[story.drift]);

    let run = machine.run(&["rules", "capture", provider]);
    assert_says(
        &run,
        0,
        &[
            "kept      ",
            &format!("axiowl rules eject {provider} --patch"),
        ],
    );
    let run = machine.run(&["rules", "eject", provider, "--patch"]);
    assert_says(&run, 0, &["wrote     ", "axiowl rules check"]);

    // Two lines, the first one mistyped: what the check says leads to the right one.
    let file = machine.rule(provider);
    let folder = file
        .parent()
        .expect("folder")
        .to_str()
        .expect("text")
        .to_owned();
    let (right, wrong) = story.typo;
    let mut lines: Vec<String> = story.lines.iter().map(|line| (*line).to_owned()).collect();
    assert!(
        lines.len() <= 2 && lines[0].contains(right),
        "nothing to mistype"
    );
    let first = lines[0].clone();
    lines[0] = first.replacen(right, wrong, 1);
    write_patch(&file, &lines);
    assert_says(&machine.run(&["rules", "check", &folder]), 1, &[story.hint]);
    lines[0] = first;
    write_patch(&file, &lines);
    assert_says(&machine.run(&["rules", "check", &folder]), 0, &["0 errors"]);

    // On the real files, and on the captured ones.
    let run = machine.run(&["rules", "try", provider]);
    assert_says(&run, 0, &[name, "nothing was written"]);
    assert!(run.stdout.contains("registry  "), "{run}");
    let run = machine.run(&["rules", "test", provider]);
    assert_says(&run, 1, &["there is no expected.json yet"]);
    assert_says(
        &machine.run(&["rules", "test", provider, "--update=all"]),
        0,
        &["updated"],
    );
    assert_says(
        &machine.run(&["rules", "test", provider]),
        0,
        &[&format!("passed   {provider}/captured"), " 0 failed"],
    );

    let run = machine.run(&["discover", scope]);
    assert!(!run.stdout.contains(story.drift), "{run}");
    assert!(
        machine.finds(scope, name),
        "{}",
        machine.run(&["discover", scope])
    );
    assert!(machine.is_target(name));
    upgraded(story, &machine);
    machine
}

/// The override as if it had been written for an earlier built-in rule: today's is newer.
fn upgraded(story: &Story, machine: &Machine) {
    let Story {
        provider,
        scope,
        name,
        ..
    } = *story;
    let file = machine.rule(provider);
    let base = file.with_file_name("base");
    let today = std::fs::read_to_string(base.join("rule.yaml")).expect("the kept rule");
    let policy = std::fs::read_to_string(base.join("policy.rhai")).unwrap_or_default();
    let line = today
        .lines()
        .find(|line| line.starts_with("title:"))
        .expect("title");
    let older = today.replace(line, "title: As it was called");
    std::fs::write(base.join("rule.yaml"), &older).expect("older");
    let digest = blake3::hash(format!("{older}\0{policy}").as_bytes()).to_hex();
    let patch = std::fs::read_to_string(&file).expect("patch");
    let written = patch
        .lines()
        .find(|line| line.starts_with("base:"))
        .expect("base");
    let digits = written["base:".len()..]
        .trim()
        .split(' ')
        .next()
        .expect("digits");
    std::fs::write(&file, patch.replace(digits, &digest[..12])).expect("patch");

    // It still holds, aloud.
    let run = machine.run(&["discover", scope]);
    assert_says(
        &run,
        0,
        &["AX016", &format!("axiowl rules diff {provider}")],
    );
    assert!(machine.finds(scope, name), "{run}");
    let run = machine.run(&["rules", "diff", provider]);
    let gone = "-title: As it was called";
    assert_says(
        &run,
        0,
        &[
            "what changed below",
            gone,
            &format!("+{line}"),
            "what the override changes",
        ],
    );
    assert_says(
        &machine.run(&["rules", "diff", provider, "--accept"]),
        0,
        &["accepted"],
    );
    let run = machine.run(&["discover", scope]);
    assert!(run.code == 0 && !run.stderr.contains("AX016"), "{run}");
    assert!(machine.finds(scope, name), "{run}");
}

#[test]
fn a_renamed_column() {
    mend(&Story {
        provider: "codex",
        scope: "codex",
        name: "Plan holidays",
        change: renamed_column,
        drift: "1 column is gone (threads.archived)",
        verdict: "drift",
        lines: &[
            "sources.threads.sqlite.columns: { append: { is_archived: bool }, remove: [archived] }",
            "status[archived].when: { replace: { is_archived: true } }",
        ],
        typo: ("sources.threads", "sources.thread"),
        hint: "threads",
    });
}

#[test]
fn a_moved_database() {
    mend(&Story {
        provider: "opencode_cli",
        scope: "opencode-cli",
        name: "Sub dir work",
        change: moved_database,
        drift: "1 file that nothing fits",
        verdict: "blind",
        lines: &["roots.opencode: { replace: \"~/.local/share/opencode/db\" }"],
        typo: ("replace", "replac"),
        hint: "replace",
    });
}

#[test]
fn a_new_kind_of_record() {
    mend(&Story {
        provider: "claude_code_cli",
        scope: "claude-code-cli",
        name: "Checkout Rework",
        change: new_kind,
        drift: "of an unknown sort (session-label)",
        verdict: "drift",
        lines: &[
            "sources.transcripts.jsonl.records.known: { append: [session-label] }",
            "sources.transcripts.jsonl.take: { append: { probe: '\"session-label\"', where: { /type: session-label }, fields: { custom_title: /label } } }",
        ],
        typo: ("records", "record"),
        hint: "records",
    });
}

#[test]
fn a_nested_title() {
    mend(&Story {
        provider: "claude_code_cli",
        scope: "claude-code-cli",
        name: "Checkout Rework",
        change: nested_title,
        drift: "1 field is given by none of its records (transcripts.custom_title)",
        verdict: "drift",
        lines: &[
            "sources.transcripts.jsonl.take[customTitle].fields.custom_title: { replace: /title/custom }",
            "sources.transcripts.jsonl.take[customTitle].probe: { replace: '\"custom-title\"' }",
        ],
        typo: ("customTitle", "customTitel"),
        hint: "customTitle",
    });
}
