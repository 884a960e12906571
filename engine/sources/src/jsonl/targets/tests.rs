//! Which files a source reads, from rule text to rows.

use super::super::input::tests::deflated;
use crate::harness::{Home, columns, issues};
use axiowl_model::codes;
use serde_json::json;
use std::fs::{self, File};

fn title(text: &str) -> String {
    format!("{{\"title\":\"{text}\"}}\n")
}

const TITLES: &str = "  s:
    jsonl:
      path: \"{r}/*.jsonl\"
      head: 200
      tail: 200
      take: [ { probe: '\"title\"', fields: { title: /title } } ]
";

#[test]
fn names_conditions_and_other_sources_choose_the_files() {
    let home = Home::new();
    let source = "  s:
    jsonl:
      path: \"{r}/*/*.jsonl\"
      name: '^run-(?<id>[a-z]+)(?:-(?<part>\\d))?$'
      when: { size: { present: true }, folder: [x, y] }
      unless_in: { id: known.id }
      take: [ { fields: { a: /a } } ]
  known:
    json: { path: \"{r}/known.json\", each: { at: /ids, fields: { id: \"\" } } }
";
    for file in [
        "x/run-one.jsonl",
        "x/run-two-2.jsonl",
        "y/run-old.jsonl",
        "z/run-one.jsonl",
        "x/other.jsonl",
    ] {
        home.write(file, "{\"a\":1}\n");
    }
    home.write("known.json", "{\"ids\":[\"old\"]}");
    let tables = home.read(source);
    let rows = columns(&tables, &["id", "part", "folder"]);
    assert_eq!(
        rows,
        [
            [json!("one"), json!(null), json!("x")],
            [json!("two"), json!("2"), json!("x")]
        ]
    );
    assert_eq!(
        (
            tables.tables["s"].files_matched,
            tables.tables["s"].files_read
        ),
        (5, 2)
    );
}

#[test]
fn one_file_for_each_row_of_another_source() {
    let home = Home::new();
    let at = |name: &str| home.path("r").join(name).to_str().unwrap().to_owned();
    home.write("t/1.jsonl", "{\"who\":\"cli\"}\n");
    fs::write(
        home.path("r/t/2.jsonl.zst"),
        deflated(b"{\"who\":\"zipped\"}\n"),
    )
    .unwrap();
    home.write("t/3.jsonl", "{\"who\":\"not asked for\"}\n");
    fs::write(home.path("outside.jsonl"), "{\"who\":\"secret\"}\n").unwrap();
    let row = |id: u8, file: &str, known: &str| json!({"id": id, "file": file, "who": known, "list": [1]});
    let list = json!({"all": [
        row(1, &at("t/1.jsonl"), ""), row(2, &at("t/2.jsonl"), ""), row(3, &at("t/3.jsonl"), "known"),
        row(4, &at("t/gone.jsonl"), ""), row(5, home.path("outside.jsonl").to_str().unwrap(), ""), row(6, "", ""),
    ]});
    home.write("rows.json", list.to_string());
    let source = "  s:
    jsonl:
      path: \"{rows.file}\"
      also: [\".zst\"]
      when: { who: { blank: true } }
      take: [ { fields: { who: /who } } ]
  rows:
    json: { path: \"{r}/rows.json\", each: { at: /all, fields: { id: /id, file: /file, who: /who, list: /list } } }
";
    let tables = home.read(source);
    let rows = columns(&tables, &["id", "who", "stem", "list"]);
    assert_eq!(
        rows,
        [
            [json!(1), json!("cli"), json!("1"), json!("absent")],
            [json!(2), json!("zipped"), json!("2"), json!("absent")],
        ]
    );
    assert_eq!(issues(&tables), [(codes::OUTSIDE_ROOTS, None)]);
    let path = tables.tables["s"].rows[1]["path"].as_str().unwrap();
    assert!(path.ends_with("2.jsonl.zst"), "{path}");
}

#[test]
fn compressed_files_are_found_by_pattern_unless_the_plain_one_is_there() {
    let home = Home::new();
    let text = format!("{}{}", "{}\n".repeat(1000), title("end"));
    home.write("a.jsonl", title("plain"));
    home.write("a.jsonl.zst", deflated(title("old").as_bytes()));
    home.write("b.jsonl.zst", deflated(text.as_bytes()));
    home.write("c.jsonl.zst", "no compression");
    let tables = home.read(&TITLES.replace("head: 200", "also: [\".zst\"]\n      head: 200"));
    assert_eq!(
        columns(&tables, &["stem", "title"]),
        [[json!("a"), json!("plain")], [json!("b"), json!("end")],]
    );
    assert_eq!(issues(&tables), [(codes::DAMAGED, None)]);
    assert!(tables.tables["s"].incomplete);
}

#[test]
fn too_many_files_leave_the_newest() {
    let home = Home::new();
    for n in 0..10 {
        let path = home.write(&format!("{n}.jsonl"), title("x"));
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000 + (n * 7) % 10);
        File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(time)
            .unwrap();
    }
    let tables = home.read(&TITLES.replace("head: 200", "max_files: 3\n      head: 200"));
    assert_eq!(
        columns(&tables, &["stem"]).concat(),
        [json!("1"), json!("4"), json!("7")]
    );
    assert_eq!(issues(&tables), [(codes::CAP, None)]);
    assert!(tables.tables["s"].incomplete);
}
