//! Folders from rule text to rows.

use crate::harness::{Home, columns, issues};
use axiowl_model::codes;
use serde_json::json;

const SOURCE: &str = "  s:
    folder:
      path: \"{r}/sessions/*\"
      needs: summary.json
      fields:
        title: { file: summary.json, json: [/name, /info/title] }
        id: { file: meta/id.yaml, yaml: /id }
        branch: { file: HEAD, matches: '^ref: (.+)$' }
        word: { file: HEAD, matches: 'ref' }
        updates: { file: updates.jsonl }
        parts: { file: \"parts/*.json\", what: count }
        newest: { file: \"parts/*.json\", what: newest }
        bytes: { file: summary.json, what: size }
        there: { file: none, what: exists }
";

#[test]
fn a_folder_is_a_row_with_what_its_files_say() {
    let home = Home::new();
    home.write("sessions/a.b/summary.json", r#"{"info":{"title":"T"}}"#);
    home.write("sessions/a.b/meta/id.yaml", "id: x1\n");
    home.write("sessions/a.b/HEAD", "ref: main");
    home.write("sessions/a.b/updates.jsonl", "");
    for n in 0..3 {
        let path = home.write(&format!("sessions/a.b/parts/{n}.json"), "{}");
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(n + 1);
        std::fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(time)
            .unwrap();
    }
    home.write("sessions/bare/HEAD", "ref: x");
    home.write("sessions/min/summary.json", "{}");
    home.write("sessions/file-not-folder", "");
    let tables = home.read(SOURCE);
    let first = ["title", "id", "branch", "word", "updates"];
    let rest = ["parts", "newest", "bytes", "there", "stem", "folder"];
    let rows = columns(&tables, &[&first[..], &rest].concat());
    let expected = json!([
        "T", "x1", "main", "ref", true, 3, 3000, 22, false, "a.b", "sessions"
    ]);
    assert_eq!(json!(rows[0]), expected);
    let bare = json!([
        null, null, null, null, false, 0, null, 2, false, "min", "sessions"
    ]);
    assert_eq!(json!(rows[1]), bare);
    assert_eq!((rows.len(), tables.issues.len()), (2, 0));
    assert_eq!(
        (
            tables.tables["s"].files_matched,
            tables.tables["s"].files_read
        ),
        (3, 2)
    );
}

#[test]
fn damage_links_and_secrets_cost_their_own_field() {
    let home = Home::new();
    home.write("sessions/a/summary.json", "{");
    home.write("sessions/a/HEAD", [0xff; 10]);
    std::fs::write(home.path("outside"), "ref: secret").unwrap();
    home.write("sessions/b/summary.json", "{\"name\":\"B\"}");
    std::os::unix::fs::symlink(home.path("outside"), home.path("r/sessions/b/HEAD")).unwrap();
    let tables = home.read(SOURCE);
    let rows = columns(&tables, &["title", "branch", "stem"]);
    assert_eq!(
        rows,
        [
            [json!(null), json!(null), json!("a")],
            [json!("B"), json!(null), json!("b")]
        ]
    );
    let found: Vec<&str> = issues(&tables).into_iter().map(|(code, _)| code).collect();
    assert!(
        found.contains(&codes::DAMAGED) && found.contains(&codes::OUTSIDE_ROOTS),
        "{found:?}"
    );
    let tables = home.read(
        "  s: { folder: { path: \"{r}/sessions/*\", fields: { x: { file: ../../outside } } } }\n",
    );
    assert_eq!(
        columns(&tables, &["x"]).concat(),
        [json!(false), json!(false)]
    );
    assert_eq!(issues(&tables)[0].0, codes::OUTSIDE_ROOTS);
}

#[test]
fn lines_at_the_ends_of_a_file_and_other_documents_are_fields() {
    let rule = "  s:
    folder:
      path: \"{r}/s/*\"
      needs: [events.jsonl, sub/config.toml]
      fields:
        made: { file: events.jsonl, first_line: [/none, /data/id] }
        seen: { file: events.jsonl, last_line: /time }
        trust: { file: sub/config.toml, toml: /trust }
        host: { file: config.json, json: /host, comments: true }
";
    let home = Home::new();
    for name in ["a", "b", "c"] {
        home.write(&format!("s/{name}/sub/config.toml"), "trust = true\n");
    }
    home.write(
        "s/a/events.jsonl",
        "{\"data\":{\"id\":1}}\n{\"time\":2}\n{\"time\":3}\n{\"ti",
    );
    home.write("s/a/config.json", "// managed\n{\"host\": \"x\",}");
    home.write("s/b/events.jsonl", "no record\n");
    home.write("s/d/events.jsonl", "{}");
    let big = format!(
        "{{\"data\":{{\"id\":7}}}}\n{}{{\"time\":8}}\n",
        "{\"x\":\"y\"}\n".repeat(200_000)
    );
    home.write("s/c/events.jsonl", big);
    let tables = home.read(rule);
    assert_eq!(
        columns(&tables, &["stem", "made", "seen", "trust", "host"]),
        [
            json!(["a", 1, 3, true, "x"]),
            json!(["b", null, null, true, null]),
            json!(["c", 7, 8, true, null]),
        ]
        .map(|row| row.as_array().unwrap().clone())
    );
    assert_eq!(
        issues(&tables),
        [(codes::DAMAGED, None), (codes::DAMAGED, None)]
    );
}
