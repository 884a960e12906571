//! What no rule and no script can do, each through the binary: hang, take memory without bound,
//! read outside its roots, read secrets, grant, divert a message.

mod program;

use program::{Axiowl, Run};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Far more than any of these runs takes, far less than for ever.
const BOUND: Duration = Duration::from_secs(60);

/// A machine with a rule of the user's and two sessions; `parts` replace parts of the rule.
fn machine(parts: &[(&str, &str)]) -> Axiowl {
    let axiowl = Axiowl::new();
    let mut rule = r#"axiowl: 1
provider: demo
title: Demo
roots: { demo: "~/.demo" }
sources:
  s: { jsonl: { path: "{demo}/*.jsonl", take: [ { fields: { id: /id, title: /title, link: /link } } ] } }
rows: { from: s, session: "{id}" }
name: { candidates: [ { from: title, label: title } ] }
proof: [ { source: demo_x, when: { id: { present: true } }, grants: [enroll, send] } ]
aliases: [ "{id}" ]
"#
    .to_owned();
    for (from, to) in parts {
        assert!(rule.contains(from), "{from}");
        rule = rule.replace(from, to);
    }
    axiowl.write("home/.config/axiowl/rules/demo/rule.yaml", rule);
    for (id, title) in [("a", "Alpha"), ("b", "Beta")] {
        let record =
            json!({ "id": id, "title": title, "link": axiowl.home().join("outside.json") });
        axiowl.write(&format!("home/.demo/{id}.jsonl"), format!("{record}\n"));
    }
    axiowl
}

/// The same with a script.
fn scripted(body: &str) -> Axiowl {
    let axiowl = machine(&[("aliases:", "policy: policy.rhai\naliases:")]);
    let script = format!("fn review(row, ctx) {{\n{body}\n}}\n");
    axiowl.write("home/.config/axiowl/rules/demo/policy.rhai", script);
    axiowl
}

fn discover(axiowl: &Axiowl) -> Run {
    let started = Instant::now();
    let run = axiowl.run(&["discover", "demo", "--json"]);
    assert!(started.elapsed() < BOUND, "it took {:?}", started.elapsed());
    run
}

/// Rows by session, whether each could be sent to, and why not.
fn rows(run: &Run) -> Vec<(String, bool, String)> {
    assert_eq!(run.code, 0, "{run}");
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let rows = run.lines("discovered_agent");
    rows.iter()
        .map(|row| {
            (
                text(row, "provider_session_id"),
                row["sendable"] == true,
                text(row, "reason"),
            )
        })
        .collect()
}

#[test]
fn a_script_that_never_ends_or_grows_costs_its_own_row_only() {
    for body in [
        "loop { }",
        "let x = 0; while true { x += 1; }",
        "fn f() { f() } f()",
        "let s = \"x\"; loop { s += s; }",
        "let a = []; loop { a.push(a); }",
        "let m = #{}; let n = 0; loop { m[`${n}`] = n; n += 1; }",
        "throw \"no\"",
        "row.title.len() / 0",
    ] {
        // The second session's script answers as it should.
        let axiowl = scripted(&format!(
            "if row.id == \"b\" {{ return; }}\n{}",
            body.replace("fn f() { f() } f()", "deep(1)")
        ));
        if body.starts_with("fn f") {
            let file = "home/.config/axiowl/rules/demo/policy.rhai";
            let text = std::fs::read_to_string(axiowl.path(file)).expect("script");
            axiowl.write(file, format!("fn deep(n) {{ deep(n + 1) }}\n{text}"));
        }
        let run = discover(&axiowl);
        let rows = rows(&run);
        assert_eq!(rows.len(), 2, "{body}: {run}");
        assert_eq!((rows[0].1, rows[1].1), (false, true), "{body}: {run}");
        assert!(rows[0].2.contains("line "), "{body}: {run}");
    }
}

#[test]
fn a_script_cannot_grant_or_speak_for_the_engine() {
    for answer in [
        "#{ grants: [\"enroll\", \"send\"] }",
        "#{ sendable: true }",
        "#{ veto: 1 }",
        "#{ notes: \"x\" }",
        "[1]",
        "true",
    ] {
        let axiowl = scripted(&format!("let r = {answer}; r"));
        let run = axiowl.run(&["discover", "demo", "--json"]);
        // An unknown key is refused when the rule is loaded, anything else when it is returned.
        if run.stderr.contains("AX074") {
            continue;
        }
        let found = run.lines("discovered_agent");
        assert_eq!(found.len(), 2, "{answer}: {run}");
        assert!(
            found.iter().all(|row| row["sendable"] == false),
            "{answer}: {run}"
        );
    }
    // Without a rung that grants, a script that says nothing leaves everything evidence.
    let axiowl = machine(&[("grants: [enroll, send]", "missing: a door")]);
    assert!(
        rows(&discover(&axiowl))
            .iter()
            .all(|(_, sendable, _)| !sendable)
    );
}

#[test]
fn a_statement_without_end_is_stopped() {
    let axiowl = machine(&[(
        "s: { jsonl: { path: \"{demo}/*.jsonl\", take: [ { fields: { id: /id, title: /title, link: /link } } ] } }",
        "s: { sqlite: { path: \"{demo}/x.sqlite\", sql: \"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) AS id, 'x' AS title FROM n\", columns: { id: text, title: text } } }",
    )]);
    let file = axiowl.home().join(".demo/x.sqlite");
    let database = rusqlite::Connection::open(file).expect("database");
    database.execute_batch("CREATE TABLE t (a)").expect("table");
    let run = discover(&axiowl);
    assert_eq!(rows(&run), [], "{run}");
    let issues = run.lines("discovery_summary")[0]["issues"].clone();
    assert!(!issues.as_array().expect("issues").is_empty(), "{run}");
}

#[test]
fn nothing_outside_the_roots_is_read() {
    // A path that says so is refused with its place.
    for path in [
        "{demo}/../outside.jsonl",
        "/etc/*.jsonl",
        "{demo}/*/../../*.jsonl",
    ] {
        let axiowl = machine(&[("{demo}/*.jsonl", path)]);
        let run = axiowl.run(&["rules", "check"]);
        assert_eq!(run.code, 1, "{path}: {run}");
        assert!(run.stdout.contains("AX030"), "{path}: {run}");
    }
    // A field that leads outside, and links, are looked at when the file would be opened.
    let axiowl = machine(&[
        (
            "rows:",
            "  t: { jsonl: { path: \"{s.link}\", take: [ { fields: { title2: /title } } ] } }\nrows:",
        ),
        (
            "session: \"{id}\" }",
            "session: \"{id}\", join: [ { with: t, on: link, to: path, as: t } ] }",
        ),
        (
            "from: title, label: title",
            "from: t.title2, label: other }, { from: title, label: title",
        ),
    ]);
    axiowl.write("home/outside.json", r#"{"title":"Stolen","id":"z"}"#);
    axiowl.write(
        "home/outside.jsonl",
        "{\"title\":\"Stolen\",\"id\":\"z\"}\n",
    );
    #[cfg(unix)]
    std::os::unix::fs::symlink(
        axiowl.home().join("outside.jsonl"),
        axiowl.home().join(".demo/z.jsonl"),
    )
    .expect("link");
    let run = discover(&axiowl);
    assert!(!run.stdout.contains("Stolen"), "{run}");
    let sessions: Vec<String> = rows(&run)
        .into_iter()
        .map(|(session, ..)| session)
        .collect();
    assert_eq!(sessions, ["a", "b"], "{run}");
}

#[test]
fn secret_files_are_never_read() {
    for file in [
        "auth.json",
        "credentials.json",
        ".credentials.json",
        "oauth_creds.json",
        "id_rsa",
        ".env",
        "mcp-auth.json",
        "cookies.json",
        "auth.jsonl",
        "jwt.txt",
    ] {
        let axiowl = machine(&[("{demo}/*.jsonl", &format!("{{demo}}/{file}"))]);
        let run = axiowl.run(&["rules", "check"]);
        assert_eq!(run.code, 1, "{file}: {run}");
        assert!(run.stdout.contains("AX031"), "{file}: {run}");
        // A pattern that happens to fit one does not help.
        let axiowl = machine(&[("{demo}/*.jsonl", "{demo}/*")]);
        axiowl.write(
            &format!("home/.demo/{file}"),
            "{\"id\":\"secret\",\"title\":\"hunter2\"}\n",
        );
        let run = discover(&axiowl);
        assert!(!run.stdout.contains("hunter2"), "{file}: {run}");
        assert_eq!(rows(&run).len(), 2, "{file}: {run}");
    }
}

/// An alias that is another session's name, alias or id would divert what is meant for it.
#[test]
fn no_alias_diverts_a_name() {
    let by_template = machine(&[("aliases: [ \"{id}\" ]", "aliases: [ \"Beta\", \"b\" ]")]);
    let by_script = scripted("if row.id == \"a\" { return #{ aliases: [\"Beta\", \"b\"] }; }");
    for axiowl in [by_template, by_script] {
        let run = discover(&axiowl);
        let summary = run.lines("discovery_summary").remove(0);
        let issues = summary["issues"].to_string();
        assert!(issues.contains("Beta"), "it is not reported: {run}");
        for name in ["Beta", "b"] {
            let run = axiowl.run(&["explain", name, "--json"]);
            let told = format!("{run}");
            assert!(
                told.contains("\"provider_session_id\":\"b\""),
                "{name}: {run}"
            );
            let sent = axiowl.run(&["send", "--to", name, "--body", "x", "--dry-run", "--json"]);
            assert!(
                !sent.stdout.contains("\"provider_session_id\":\"a\""),
                "{name}: {sent}"
            );
        }
    }
}
