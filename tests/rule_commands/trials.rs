//! `rules try` and `rules explain`: what an edited rule would do, before it does it.

use super::*;
use std::path::PathBuf;

/// The registry's rows, without what depends on when a command ran.
fn agents(axiowl: &Axiowl) -> Vec<(String, String, bool)> {
    let run = axiowl.run(&["list", "agents", "--all", "--json"]);
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let rows = run.lines("agent");
    rows.iter()
        .map(|r| {
            (
                text(r, "agent_id"),
                text(r, "display_name"),
                r["sendable"] == true,
            )
        })
        .collect()
}

/// What `try` says would be found, lost and changed is what `discover` then does.
#[test]
fn try_foretells_what_discover_does() {
    let axiowl = machine();
    assert_eq!(axiowl.run(&["discover", "demo"]).code, 0);
    let before = agents(&axiowl);
    let edited = path(&axiowl, "edited/rule.yaml");
    // Drafts count, and the second session no longer does; the first has another name.
    let other = RULE
        .replace(
            "not: { draft: true }",
            &format!("not: {{ id: \"{}\" }}", id(2)),
        )
        .replace("label: title }", "label: title, prefix: \"My \" }");
    axiowl.write("edited/rule.yaml", &other);
    let run = axiowl.run(&["rules", "try", "demo", "--rule", &edited]);
    says(
        &run,
        0,
        &[
            "+ \"My Draft\"",
            "- \"Second\"",
            "display_name: \"First\" -> \"My First\"",
            "registry  gains \"My Draft\"",
            "registry  renames \"My First\"",
            "nothing was written",
        ],
    );
    assert_eq!(agents(&axiowl), before, "try wrote");
    let told = axiowl.run(&["rules", "try", "demo", "--rule", &edited, "--json"]);
    let trial = &told.lines("rule_trial")[0];
    let effect = trial["registry"].clone();

    axiowl.write(&rule_file(), &other);
    assert_eq!(axiowl.run(&["discover", "demo"]).code, 0);
    let after = agents(&axiowl);
    let known =
        |rows: &[(String, String, bool)], id: &str| rows.iter().find(|(i, ..)| i == id).cloned();
    let gained: Vec<&String> = after
        .iter()
        .filter(|(id, ..)| known(&before, id).is_none())
        .map(|(_, name, _)| name)
        .collect();
    assert_eq!(
        gained.len(),
        effect["gained"].as_array().expect("list").len(),
        "{told}"
    );
    let demoted = after
        .iter()
        .filter(|(id, _, s)| !s && known(&before, id).is_some_and(|(.., was)| was));
    assert_eq!(
        demoted.count(),
        effect["demoted"].as_array().expect("list").len(),
        "{told}"
    );
    let renamed = after
        .iter()
        .filter(|(id, name, _)| known(&before, id).is_some_and(|(_, was, _)| was != *name));
    assert_eq!(
        renamed.count(),
        effect["renamed"].as_array().expect("list").len(),
        "{told}"
    );
    assert_eq!(effect["lost"], json!([]), "{told}");
    // Once in force, nothing is left to try.
    says(
        &axiowl.run(&["rules", "try", "demo", "--rule", &edited]),
        0,
        &["no row would be different", "would be the same"],
    );
}

/// `--watch` runs once, again for each save, and ends when the folder is gone.
#[cfg(unix)]
#[test]
fn try_watches_the_rule_and_ends_with_its_folder() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    let axiowl = machine();
    axiowl.write("edited/rule.yaml", RULE);
    let edited = path(&axiowl, "edited/rule.yaml");
    let mut child = axiowl
        .command(&[
            "rules", "try", "demo", "--rule", &edited, "--watch", "--json",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .expect("axiowl runs");
    let mut lines = BufReader::new(child.stdout.take().expect("output")).lines();
    // Waits for the end of a round: the pipe is what tells, however long it takes.
    let mut round = || loop {
        let line = lines.next().expect("a line").expect("text");
        let line: Value = serde_json::from_str(&line).expect("json");
        if line["schema"] == "axiowl.rule_trial/1" {
            return line;
        }
    };
    assert_eq!(round()["changes"], 0);
    changed(
        &axiowl,
        "edited/rule.yaml",
        "label: title }",
        "label: title, prefix: \"My \" }",
    );
    assert_eq!(round()["changes"], 2);
    // A broken save is no end: the next good one is run.
    axiowl.write("edited/rule.yaml", "axiowl: 1\nprovider: [\n");
    axiowl.write(
        "edited/rule.yaml",
        RULE.replace("title: Demo sessions", "title: Demo"),
    );
    assert_eq!(round()["changes"], 0);
    std::fs::remove_dir_all(PathBuf::from(&edited).parent().expect("folder")).expect("removed");
    assert!(child.wait().expect("ends").success());
}

#[test]
fn explain_shows_each_decision_under_an_edited_rule() {
    let axiowl = machine();
    let run = axiowl.run(&["rules", "explain", "demo", &id(1)]);
    says(&run, 0, &["First", "demo_file", "rule.yaml:"]);
    changed(
        &axiowl,
        "edited/rule.yaml",
        "id: { uuid: true }",
        "id: { equals: nobody }",
    );
    let edited = path(&axiowl, "edited");
    let run = axiowl.run(&["rules", "explain", "demo", &id(1), "--rule", &edited]);
    // The value that was seen, and where the decision stands.
    let place = RULE
        .lines()
        .position(|line| line.contains("demo_file"))
        .expect("line")
        + 1;
    says(
        &run,
        0,
        &[
            "demo_unproven",
            &id(1),
            &format!("edited/rule.yaml:{place}"),
        ],
    );
    says(&axiowl.run(&["rules", "explain", "demo", "Nobody"]), 3, &[]);
    says(
        &axiowl.run(&["rules", "explain", "dem", "First"]),
        2,
        &["did you mean `demo`?"],
    );
}
