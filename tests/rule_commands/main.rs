//! The commands that people mend rules with, through the binary: check, test, try, explain,
//! trust, diff, new, eject, and what list, doctor and discover say about drift.

#[path = "../program/mod.rs"]
mod program;
mod strangers;
mod trials;

use program::{Axiowl, Run};
use serde_json::{Value, json};

const RULE: &str = r#"axiowl: 1
provider: demo
title: Demo sessions
roots: { demo: "~/.demo" }
sources:
  sessions:
    jsonl:
      path: "{demo}/*.jsonl"
      records: { at: /type, known: [session, title] }
      take:
        - { probe: '"session"', where: { /type: session }, fields: { id: /id, cwd: /cwd, draft: /draft } }
        - { probe: '"title"', where: { /type: title }, fields: { title: /title } }
rows:
  from: sessions
  session: "demo:session:{id}"
  where: { not: { draft: true } }
name: { candidates: [ { from: title, label: title }, { from: cwd, label: folder, basename: true, weak: true } ] }
status:
  - { when: { cwd: { dir_exists: false } }, is: stale, error: "the folder is gone: {cwd}" }
  - { is: active }
proof:
  - { source: demo_file, when: { id: { uuid: true } }, grants: [enroll, send] }
  - { source: demo_unproven, missing: an id }
"#;

/// A machine with one rule of the user's, one case of it, and two sessions.
fn machine() -> Axiowl {
    let axiowl = Axiowl::new();
    axiowl.write(&rule_file(), RULE);
    let case = "home/.config/axiowl/rules/demo/fixtures/one";
    axiowl.write(
        &format!("{case}/world.yaml"),
        "now: 2026-01-01T12:00:00Z\nhome: /home/dev\nmaps: { /home/dev: home }\ndirs: [/home/dev/work]\n",
    );
    let recorded = format!("{case}/home/.demo");
    session(&axiowl, &recorded, 1, "First", "/home/dev/work", false);
    session(&axiowl, &recorded, 2, "Second", "/home/dev/work", false);
    session(&axiowl, &recorded, 3, "Draft", "/home/dev/work", true);
    let cwd = axiowl.home().join("work");
    std::fs::create_dir_all(&cwd).expect("folder");
    let cwd = cwd.to_str().expect("text");
    session(&axiowl, "home/.demo", 1, "First", cwd, false);
    session(&axiowl, "home/.demo", 2, "Second", cwd, false);
    session(&axiowl, "home/.demo", 3, "Draft", cwd, true);
    axiowl
}

fn rule_file() -> String {
    "home/.config/axiowl/rules/demo/rule.yaml".into()
}

fn id(number: u8) -> String {
    format!("0192b1c0-0000-7000-8000-00000000000{number}")
}

fn session(axiowl: &Axiowl, folder: &str, number: u8, title: &str, cwd: &str, draft: bool) {
    let id = id(number);
    let first = json!({ "type": "session", "id": id, "cwd": cwd, "draft": draft });
    let title = json!({ "type": "title", "title": title });
    axiowl.write(
        &format!("{folder}/{id}.jsonl"),
        format!("{first}\n{title}\n"),
    );
}

/// The rule with a change, at its place or elsewhere.
fn changed(axiowl: &Axiowl, at: &str, from: &str, to: &str) {
    assert!(RULE.contains(from), "{from} is not in the rule");
    axiowl.write(at, RULE.replace(from, to));
}

fn says(run: &Run, code: i32, words: &[&str]) {
    assert_eq!(run.code, code, "{run}");
    let said = format!("{}{}", run.stdout, run.stderr);
    for word in words {
        assert!(said.contains(word), "no {word:?} in\n{run}");
    }
}

fn path(axiowl: &Axiowl, relative: &str) -> String {
    axiowl.path(relative).to_str().expect("text").to_owned()
}

#[test]
fn check_mends_what_is_beyond_doubt_and_nothing_else() {
    let axiowl = machine();
    let file = axiowl.path(&rule_file());
    // Two misspelt words that can mean one thing each, and a mistake without a sure way out.
    let wrong = RULE
        .replace("candidates:", "candidate:")
        .replace("basename:", "basenam:")
        .replace("title: Demo sessions", "title: Demo sessions # kept");
    std::fs::write(&file, &wrong).expect("rule");
    let run = axiowl.run(&["rules", "check", "--json"]);
    assert_eq!(run.code, 1, "{run}");
    let fixes: Vec<Value> = run
        .lines("diagnostic")
        .iter()
        .map(|d| d["fix"]["text"].clone())
        .collect();
    assert!(fixes.contains(&json!("candidates")), "{run}");
    let run = axiowl.run(&["rules", "check"]);
    says(&run, 1, &["AX003", "can be mended with --fix"]);
    assert_eq!(
        std::fs::read_to_string(&file).expect("rule"),
        wrong,
        "check alone changes nothing"
    );
    let run = axiowl.run(&["rules", "check", "--fix"]);
    says(
        &run,
        0,
        &[
            "mended ",
            "`candidate` -> `candidates`",
            "`basenam` -> `basename`",
        ],
    );
    let right = RULE.replace("title: Demo sessions", "title: Demo sessions # kept");
    assert_eq!(std::fs::read_to_string(&file).expect("rule"), right);
    says(
        &axiowl.run(&["rules", "check", "--fix"]),
        0,
        &["0 errors, 0 warnings"],
    );
}

#[test]
fn findings_are_sarif_and_every_code_is_explained() {
    let axiowl = machine();
    changed(
        &axiowl,
        &rule_file(),
        "from: title, label: title",
        "from: titel, label: title",
    );
    let run = axiowl.run(&["rules", "check", "--format", "sarif"]);
    assert_eq!(run.code, 1, "{run}");
    let log: Value = serde_json::from_str(&run.stdout).expect("one document");
    assert_eq!(log["version"], "2.1.0");
    let result = &log["runs"][0]["results"][0];
    assert_eq!(
        (&result["ruleId"], &result["level"]),
        (&json!("AX021"), &json!("error")),
        "{run}"
    );
    let place = &result["locations"][0]["physicalLocation"];
    let line = RULE
        .lines()
        .position(|line| line.starts_with("name:"))
        .expect("line")
        + 1;
    assert_eq!(place["region"]["startLine"], line, "{run}");
    let uri = place["artifactLocation"]["uri"].as_str().expect("uri");
    assert!(
        uri.starts_with("file:///") && uri.ends_with("demo/rule.yaml"),
        "{uri}"
    );
    let fix = &result["fixes"][0]["artifactChanges"][0]["replacements"][0];
    assert_eq!(fix["insertedContent"]["text"], "title", "{run}");

    let codes = axiowl_lang::codes::ALL;
    assert!(codes.len() > 40);
    for (code, title, explanation) in codes {
        let run = axiowl.run(&["rules", "check", "--explain", code]);
        says(&run, 0, &[title, explanation]);
    }
    says(
        &axiowl.run(&["rules", "check", "--explain", "AX999"]),
        2,
        &["codes run from AX001"],
    );
}

#[test]
fn test_says_what_no_case_reaches_and_writes_junit() {
    let axiowl = machine();
    let run = axiowl.run(&["rules", "test", "demo"]);
    says(&run, 1, &["there is no expected.json yet"]);
    says(
        &axiowl.run(&["rules", "test", "demo", "--update=all"]),
        0,
        &["updated  demo/one"],
    );
    let report = path(&axiowl, "report.xml");
    let run = axiowl.run(&["rules", "test", "demo", "--coverage", "--junit", &report]);
    says(
        &run,
        0,
        &[
            "never  status `stale`",
            "never  rung `demo_unproven`",
            "never  name candidate `folder`",
            "rule.yaml:",
        ],
    );
    // What a case does reach is not named, the condition of `where` included.
    for reached in [
        "status `active`",
        "rung `demo_file`",
        "condition on `draft`",
        "sessions.title",
    ] {
        assert!(!run.stdout.contains(&format!("never  {reached}")), "{run}");
    }
    assert!(
        run.stdout.contains("never  condition on `cwd` never held"),
        "{run}"
    );
    let xml = std::fs::read_to_string(&report).expect("report");
    assert!(
        xml.contains("tests=\"1\" failures=\"0\"")
            && xml.contains("classname=\"rules.demo\" name=\"one\""),
        "{xml}"
    );

    changed(
        &axiowl,
        &rule_file(),
        "label: title }",
        "label: title, first_line: true, prefix: \"X \" }",
    );
    let run = axiowl.run(&["rules", "test", "demo", "--junit", &report]);
    says(&run, 1, &["display_name: \"First\" -> \"X First\""]);
    let xml = std::fs::read_to_string(&report).expect("report");
    assert!(
        xml.contains("failures=\"1\"") && xml.contains("<failure message="),
        "{xml}"
    );
}

#[test]
fn changes_of_an_expectation_are_accepted_one_by_one() {
    let axiowl = machine();
    let expected = axiowl.path("home/.config/axiowl/rules/demo/fixtures/one/expected.json");
    says(
        &axiowl.run(&["rules", "test", "demo", "--update=all"]),
        0,
        &["updated"],
    );
    let before = std::fs::read_to_string(&expected).expect("expectation");
    // Two rows are named otherwise; the first change is taken, the others are not.
    std::fs::write(
        &expected,
        before
            .replace("\"First\"", "\"1st\"")
            .replace("\"Second\"", "\"2nd\""),
    )
    .expect("expectation");
    let run = answered(&axiowl, "y\nn\nmaybe\nq\n");
    assert_eq!(run.code, 1, "{run}");
    assert!(
        run.stdout
            .contains("accept? [y]es, [n]o, [a]ll of this case, [q]uit"),
        "{run}"
    );
    let now: Value =
        serde_json::from_str(&std::fs::read_to_string(&expected).expect("text")).expect("json");
    let names: Vec<&str> = now["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|r| r["display_name"].as_str())
        .collect();
    assert_eq!(names, ["First", "2nd"], "{run}");
    // Nobody answers: nothing is taken, and how to take everything is said.
    let run = answered(&axiowl, "");
    says(&run, 1, &["nobody answered"]);
    let run = answered(&axiowl, "a\n");
    says(&run, 0, &["updated"]);
    assert_eq!(std::fs::read_to_string(&expected).expect("text"), before);
}

/// `rules test --update`, with lines typed.
fn answered(axiowl: &Axiowl, lines: &str) -> Run {
    use std::io::Write as _;
    use std::process::Stdio;
    let mut child = axiowl
        .command(&["rules", "test", "demo", "--update"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("axiowl runs");
    child
        .stdin
        .take()
        .expect("input")
        .write_all(lines.as_bytes())
        .expect("typed");
    let output = child.wait_with_output().expect("ends");
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn where_says_what_it_dropped_and_why() {
    let axiowl = machine();
    let run = axiowl.run(&["discover", "demo"]);
    says(
        &run,
        0,
        &["left out   1: not of this surface, which is: not (draft is true)"],
    );
    axiowl.run(&["rules", "test", "demo", "--update=all"]);
    let expected = axiowl.path("home/.config/axiowl/rules/demo/fixtures/one/expected.json");
    let text = std::fs::read_to_string(expected).expect("expectation");
    let kept: Value = serde_json::from_str(&text).expect("json");
    let left_out = kept["left_out"].as_object().expect("left out");
    assert_eq!(left_out.values().collect::<Vec<_>>(), [&json!(1)], "{text}");
}
