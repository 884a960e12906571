//! Key-value stores, protobuf columns and generations of tables, from rule text to rows.

use crate::harness::{Home, columns, issues};
use axiowl_model::codes;
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::json;
use std::path::Path;

const HEADERS: &str = "  s:
    sqlite:
      path: \"{r}/*/state.vscdb\"
      key_value:
        keys: [composer.headers, composer.data]
        fields: { migrated: /hasMigrated }
        each: { at: [/allComposers, /composers], fields: { id: /composerId, name: [/name, /title] } }
";

fn store(path: &Path, rows: &[(&str, &dyn rusqlite::ToSql)]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE IF NOT EXISTS ItemTable(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)",
        )
        .unwrap();
    for (key, value) in rows {
        connection
            .execute("INSERT INTO ItemTable VALUES (?1, ?2)", (key, value))
            .unwrap();
    }
}

#[test]
fn the_first_key_that_is_there_gives_the_rows() {
    let home = Home::new();
    let both = r#"{"allComposers":[{"composerId":"a","name":"A"},{"composerId":"b","title":"B"}]}"#;
    let old = r#"{"composers":[{"composerId":"c"}],"hasMigrated":false}"#;
    let moved = r#"{"hasMigrated":true}"#;
    let wide: Vec<u8> = old.encode_utf16().flat_map(u16::to_le_bytes).collect();
    store(
        &home.path("r/1/state.vscdb"),
        &[("composer.data", &"{}"), ("composer.headers", &both)],
    );
    store(
        &home.path("r/2/state.vscdb"),
        &[
            ("composer.data", &wide),
            ("composer.headers", &None::<String>),
        ],
    );
    store(&home.path("r/3/state.vscdb"), &[("composer.data", &moved)]);
    store(
        &home.path("r/4/state.vscdb"),
        &[("other", &"not asked for")],
    );
    let tables = home.read(HEADERS);
    assert_eq!(
        columns(&tables, &["folder", "id", "name", "migrated"]),
        [
            [json!("1"), json!("a"), json!("A"), json!(null)],
            [json!("1"), json!("b"), json!("B"), json!(null)],
            [json!("2"), json!("c"), json!(null), json!(false)],
        ]
    );
    assert!(tables.issues.is_empty() && tables.tables["s"].not_understood.is_empty());
    assert_eq!(tables.tables["s"].files_read, 4);
}

#[test]
fn a_value_that_cannot_be_read_says_nothing_and_is_named() {
    let home = Home::new();
    store(
        &home.path("r/1/state.vscdb"),
        &[("composer.data", &"{\"composers\":[")],
    );
    store(&home.path("r/2/state.vscdb"), &[("composer.data", &"[]")]);
    Connection::open(home.path("r/1/state.vscdb")).unwrap();
    std::fs::create_dir_all(home.path("r/5")).unwrap();
    Connection::open(home.path("r/5/state.vscdb"))
        .unwrap()
        .execute_batch("CREATE TABLE other(a)")
        .unwrap();
    let tables = home.read(HEADERS);
    assert_eq!(tables.tables["s"].rows.len(), 0);
    assert_eq!(
        issues(&tables),
        [(codes::DAMAGED, None), (codes::DRIFT, None)]
    );
    assert!(
        tables.issues[0].message.contains("composer.data"),
        "{:?}",
        tables.issues[0]
    );
    assert_eq!(tables.tables["s"].not_understood.len(), 2);
    assert!(tables.tables["s"].incomplete);
}

#[test]
fn every_key_with_a_prefix_is_a_row() {
    let home = Home::new();
    store(
        &home.path("r/1/state.vscdb"),
        &[
            ("data:b", &"{\"name\":\"B\"}"),
            ("data:a", &"{\"name\":\"A\"}"),
            ("data", &"{}"),
            ("date:c", &"{\"name\":\"C\"}"),
            ("data:z", &"7b226e616d65223a225a227d"),
        ],
    );
    let rule = |rest: &str| {
        format!(
            "  s:\n    sqlite:\n      path: \"{{r}}/*/state.vscdb\"\n      key_value: {{ prefix: \"data:\", fields: {{ name: /name }}{rest} }}\n"
        )
    };
    let tables = home.read(&rule(""));
    assert_eq!(
        columns(&tables, &["key", "name"]),
        [[json!("a"), json!("A")], [json!("b"), json!("B")]]
    );
    assert_eq!(
        issues(&tables),
        [(codes::DAMAGED, None)],
        "one is hexadecimal"
    );
    let tables = home.read(&rule(", encoding: hex"));
    assert_eq!(
        columns(&tables, &["key", "name"]),
        [[json!("z"), json!("Z")]]
    );
    let tables = home.read(&format!("{}      max_rows: 1\n", rule("")));
    assert_eq!(issues(&tables), [(codes::CAP, None)]);
}

#[test]
fn values_and_columns_may_be_messages() {
    let home = Home::new();
    // base64 of {1: {1: "id", 2: "title"}}, twice.
    let value = "CgsKAmlkEgV0aXRsZQoLCgJpZBIFdGl0bGU=";
    store(
        &home.path("r/1/state.vscdb"),
        &[("sync.summaries", &value), ("sync.bad", &"!")],
    );
    let rule = |key: &str| {
        format!(
            "  s:\n    sqlite:\n      path: \"{{r}}/*/state.vscdb\"\n      key_value:\n        keys: [{key}]\n        encoding: base64\n        protobuf: {{ each: {{ at: \"1\", fields: {{ id: \"1\", title: \"2\" }} }} }}\n"
        )
    };
    let tables = home.read(&rule("sync.summaries"));
    assert_eq!(
        columns(&tables, &["id", "title"]),
        vec![[json!("id"), json!("title")]; 2]
    );
    assert_eq!(
        issues(&home.read(&rule("sync.bad"))),
        [(codes::DAMAGED, None)]
    );

    let connection = Connection::open(home.path("r/a.db")).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t(id, raw); INSERT INTO t VALUES ('a', x'0a0141'), ('b', x''), ('c', NULL), ('d', x'0a05');",
        )
        .unwrap();
    let rule = "  s:\n    sqlite:\n      path: \"{r}/*.db\"\n      file_fields: true\n      sql: SELECT * FROM t ORDER BY id\n      columns: { id: text, raw: blob, more: blob? }\n      protobuf: { raw: { fields: { title: \"1\" } }, more: { fields: { x: \"1\" } } }\n";
    let tables = home.read(rule);
    assert_eq!(
        columns(&tables, &["id", "raw", "title", "x", "stem"]),
        [
            [json!("a"), json!(true), json!("A"), json!(null), json!("a")],
            [
                json!("b"),
                json!(false),
                json!(null),
                json!(null),
                json!("a")
            ],
            [
                json!("c"),
                json!(false),
                json!(null),
                json!(null),
                json!("a")
            ],
            [
                json!("d"),
                json!(true),
                json!(null),
                json!(null),
                json!("a")
            ],
        ]
    );
    assert_eq!(issues(&tables), [(codes::DAMAGED, Some(4))]);
}

#[test]
fn statements_are_chosen_by_the_tables_that_exist() {
    let rule = "  s:
    sqlite:
      path: \"{r}/*.db\"
      file_fields: true
      sql: SELECT id, title, idle AS seen FROM session_v2
      when_table: [session_v2, session_v2.idle]
      instead:
        - { when_table: session_v2, sql: \"SELECT id, title FROM session_v2\" }
        - { when_table: session, sql: \"SELECT id, name AS title FROM session\" }
      columns: { id: text, title: text?, seen: unix_ms? }
";
    let home = Home::new();
    for (name, sql) in [
        (
            "a",
            "CREATE TABLE session_v2(id, title, Idle); INSERT INTO session_v2 VALUES ('a', 'A', 5); CREATE TABLE session(id, name); INSERT INTO session VALUES ('old', 'Old');",
        ),
        (
            "b",
            "CREATE TABLE Session_V2(id, title); INSERT INTO session_v2 VALUES ('b', 'B');",
        ),
        (
            "c",
            "CREATE TABLE session(id, name); INSERT INTO session VALUES ('c', 'C');",
        ),
        ("d", "CREATE TABLE unrelated(id);"),
    ] {
        let connection = Connection::open(home.path(&format!("r/{name}.db"))).unwrap();
        connection.execute_batch(sql).unwrap();
    }
    let tables = home.read(rule);
    assert_eq!(
        columns(&tables, &["stem", "id", "title", "seen"]),
        [
            [json!("a"), json!("a"), json!("A"), json!(5)],
            [json!("b"), json!("b"), json!("B"), json!(null)],
            [json!("c"), json!("c"), json!("C"), json!(null)],
        ]
    );
    assert!(tables.issues.is_empty() && !tables.tables["s"].incomplete);
    let capped = format!("{rule}      max_files: 2\n");
    assert_eq!(issues(&home.read(&capped)), [(codes::CAP, None)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn no_value_is_too_much(value in proptest::collection::vec(any::<u8>(), 0..200), text in any::<bool>()) {
        let home = Home::new();
        let as_text = String::from_utf8_lossy(&value).into_owned();
        let cell: &dyn rusqlite::ToSql = if text { &as_text } else { &value };
        store(&home.path("r/1/state.vscdb"), &[("composer.data", cell)]);
        home.read(HEADERS);
        for encoding in ["plain", "hex", "base64"] {
            home.read(&format!(
                "  s:\n    sqlite:\n      path: \"{{r}}/*/state.vscdb\"\n      key_value: {{ keys: [composer.data], encoding: {encoding}, protobuf: {{ fields: {{ a: \"1.2.base64.3\" }} }} }}\n"
            ));
        }
    }
}
