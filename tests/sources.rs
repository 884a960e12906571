//! What the command line decides about sources: AxiOwl's own files, programs that may run,
//! stores that may be copied.

mod program;

use program::{Axiowl, Run};

/// A provider with one source, and the case that its rule check asks for.
fn with_rule(source: &str) -> Axiowl {
    let axiowl = Axiowl::new();
    let rule = format!(
        "axiowl: 1\nprovider: demo\ntitle: Demo\nroots: {{ demo: ~/.demo }}\nsources:\n{source}rows: {{ from: s, session: \"demo:session:{{id}}\" }}\nname: {{ candidates: [ {{ from: title, label: title }} ] }}\nproof:\n  - {{ source: demo_listed, grants: [enroll, send] }}\n"
    );
    axiowl.write("rules/demo/rule.yaml", rule);
    axiowl
}

fn discover(axiowl: &Axiowl, more: &[&str]) -> Run {
    let rules = axiowl.path("rules").display().to_string();
    let flags = ["--rules", &rules, "discover", "demo", "--json"];
    axiowl.run(&[&flags[..], more].concat())
}

fn names(run: &Run) -> Vec<String> {
    let rows = run.lines("discovered_agent");
    let name =
        |row: &serde_json::Value| row["display_name"].as_str().unwrap_or_default().to_owned();
    rows.iter().map(name).collect()
}

fn codes(run: &Run) -> Vec<String> {
    assert_eq!(run.lines("discovery_summary").len(), 1, "{run}");
    let issues = run.lines("discovery_summary")[0]["issues"].clone();
    let list = issues.as_array().cloned().unwrap_or_default();
    let code = |issue: &serde_json::Value| issue["code"].as_str().unwrap_or_default().to_owned();
    list.iter().map(code).collect()
}

#[test]
fn a_rule_reads_axiowls_own_files_below_the_state_root() {
    let axiowl = with_rule(
        "  s: { tsv: { path: \"{state}/demo/sessions.tsv\", escaped: true, columns: { id: text, title: text } } }\n",
    );
    let table = "id\ttitle\na\tOne\\ttab\n";
    axiowl.write("home/.axiowl/demo/sessions.tsv", table);
    let run = discover(&axiowl, &[]);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(names(&run), ["One\ttab"], "{run}");

    // Another state folder is another root, and a provider that is not there stays absent.
    let state = axiowl.path("other").display().to_string();
    let run = discover(&axiowl, &["--state", &state]);
    assert!(names(&run).is_empty() && codes(&run).is_empty(), "{run}");
    let run = axiowl.run(&[
        "--state",
        &state,
        "--rules",
        &axiowl.path("rules").display().to_string(),
        "discover",
        "demo",
    ]);
    assert!(run.stdout.contains("not here"), "{run}");

    // In a recorded world the folder is recorded too.
    axiowl.write(
        "case/world.yaml",
        "now: 2026-11-30T15:00:00Z\nmaps: { /home/dev: home }\n",
    );
    axiowl.write(
        "case/home/.axiowl/demo/sessions.tsv",
        "id\ttitle\nb\tRecorded\n",
    );
    let case = axiowl.path("case").display().to_string();
    let run = discover(&axiowl, &["--fixture", &case]);
    assert_eq!(names(&run), ["Recorded"], "{run}");
}

#[cfg(unix)]
#[test]
fn programs_run_in_discovery_only_where_the_user_says_so() {
    let axiowl = with_rule(
        "  s: { command: { argv: [demo-list, --json], readonly: proven, reason: it prints a constant, each: { at: \"\", fields: { id: /id, title: /title } } } }\n",
    );
    let program = axiowl.path("demo-list");
    axiowl.write(
        "demo-list",
        "#!/bin/sh\necho run >> \"$0.log\"\necho '[{\"id\":\"a\",\"title\":\"Listed\"}]'\n",
    );
    std::fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .expect("mode");
    let config = format!("executables: {{ demo-list: {} }}\n", program.display());
    axiowl.write("home/.config/axiowl/config.yaml", &config);

    let run = discover(&axiowl, &[]);
    assert_eq!((run.code, names(&run)), (0, vec![]), "{run}");
    assert_eq!(codes(&run), ["command_off"], "{run}");
    assert!(!axiowl.path("demo-list.log").exists(), "it ran");

    // A rule from a folder may start a program only once its user has read and trusted it.
    let run = discover(&axiowl, &["--allow-commands"]);
    assert_eq!(
        (names(&run), run.stderr.contains("not trusted")),
        (vec![], true),
        "{run}"
    );
    let rule = axiowl.path("rules/demo").display().to_string();
    assert_eq!(axiowl.run(&["rules", "trust", &rule]).code, 0);
    let run = discover(&axiowl, &["--allow-commands"]);
    assert_eq!(names(&run), ["Listed"], "{run}");

    axiowl.write(
        "home/.config/axiowl/config.yaml",
        format!("{config}providers: {{ demo: {{ commands: true }} }}\n"),
    );
    let run = discover(&axiowl, &[]);
    assert_eq!(names(&run), ["Listed"], "{run}");
    let log = std::fs::read_to_string(axiowl.path("demo-list.log")).expect("log");
    assert_eq!(log.lines().count(), 2);
}

#[test]
fn a_store_too_large_for_its_mirror_enrols_nothing_unless_the_user_allows_it() {
    let axiowl = with_rule(
        "  s: { sqlite: { path: \"{demo}/demo.db\", mirror: only, sql: SELECT * FROM session, columns: { id: text, title: text } } }\n",
    );
    let path = axiowl.path("home/.demo/demo.db");
    std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
    let connection = rusqlite::Connection::open(&path).expect("store");
    connection
        .execute_batch(
            "CREATE TABLE session(id, title, rest); INSERT INTO session VALUES ('a', 'Kept', zeroblob(2000000));",
        )
        .expect("rows");
    connection.close().expect("closed");
    axiowl.write(
        "home/.config/axiowl/config.yaml",
        "limits: { live_store: 1 MiB }\n",
    );
    let run = discover(&axiowl, &[]);
    assert_eq!(
        (
            names(&run),
            codes(&run).contains(&"mirror_too_large".to_owned())
        ),
        (vec![], true),
        "{run}"
    );
    axiowl.write(
        "home/.config/axiowl/config.yaml",
        "limits: { live_store: 4 MiB }\n",
    );
    let run = discover(&axiowl, &[]);
    assert_eq!(names(&run), ["Kept"], "{run}");

    // A row that was known before stays when the store cannot be copied any more.
    axiowl.write(
        "home/.config/axiowl/config.yaml",
        "limits: { live_store: 1 MiB }\n",
    );
    discover(&axiowl, &[]);
    let rules = axiowl.path("rules").display().to_string();
    let run = axiowl.run(&["--rules", &rules, "list", "agents", "--json"]);
    assert_eq!(run.lines("agent").len(), 1, "{run}");
}
