//! Documents from rule text to rows.

use crate::harness::{Home, columns, issues};
use axiowl_model::codes;
use proptest::prelude::*;
use serde_json::{Value, json};

const STATE: &str = "  s:
    json:
      path: [\"{r}/state.json\", \"{r}/state.json.bak\"]
      max_bytes: 1 KiB
      fields: { pinned: [/new/pins, /pins], texts: /m/*/t, none: /none }
";

#[test]
fn a_document_gives_its_fields_and_the_first_pattern_is_the_document() {
    let home = Home::new();
    home.write(
        "state.json",
        "\u{feff}{\"pins\":[1,2],\"m\":[{\"t\":\"a\"},{\"t\":\"b\"}]}",
    );
    home.write("state.json.bak", "{\"pins\":[9]}");
    let tables = home.read(STATE);
    let doc = tables.tables["s"].doc.as_ref().unwrap();
    assert_eq!(
        (&doc["pinned"], &doc["texts"], &doc["none"]),
        (&json!([1, 2]), &json!(["a", "b"]), &Value::Null)
    );
    assert_eq!(doc["stem"], json!("state"));
    assert_eq!(
        columns(&tables, &["pinned"]).concat(),
        [json!([1, 2]), json!([9])]
    );
    assert!(tables.issues.is_empty());
}

#[test]
fn a_document_that_cannot_be_read_whole_says_nothing() {
    let home = Home::new();
    for (content, code, line) in [
        (
            format!("{{\"pins\":[{}1]}}", "1,".repeat(600)),
            codes::CAP,
            None,
        ),
        ("{\"pins\":\n[1,".to_owned(), codes::DAMAGED, Some(2)),
        (String::new(), codes::DAMAGED, Some(1)),
    ] {
        home.write("state.json", &content);
        let tables = home.read(STATE);
        assert_eq!(tables.tables["s"].rows.len(), 0);
        assert!(tables.tables["s"].doc.is_none() && tables.tables["s"].incomplete);
        let found = issues(&tables);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, code);
        assert!(
            line.is_none() || found[0].1.is_none() || found[0].1 == line,
            "{found:?}"
        );
    }
    home.write("state.json", "{\"renamed\":1}");
    assert_eq!(home.read(STATE).tables["s"].not_understood.len(), 1);
}

#[test]
fn elements_become_rows_and_keep_plain_fields_of_the_document() {
    let home = Home::new();
    home.write(
        "list.json",
        r#"{"v":3,"big":[1],"all":{"k1":{"n":"a"},"k2":{"n":"b"}}}"#,
    );
    let source = "  s:
    json:
      path: \"{r}/list.json\"
      fields: { version: /v, big: /big }
      each: { at: [/none, /v, /all], fields: { name: /n } }
";
    let tables = home.read(source);
    let rows = columns(&tables, &["key", "name", "version", "big", "stem"]);
    assert_eq!(
        rows[0],
        [
            json!("k1"),
            json!("a"),
            json!(3),
            json!(null),
            json!("list")
        ]
    );
    assert_eq!(
        rows[1],
        [
            json!("k2"),
            json!("b"),
            json!(3),
            json!(null),
            json!("list")
        ]
    );
    assert_eq!(tables.tables["s"].doc.as_ref().unwrap()["big"], json!([1]));
    home.write("list.json", r#"{"v":3,"all":["a"]}"#);
    let tables = home.read(&source.replace("name: /n", "name: \"\""));
    assert_eq!(
        columns(&tables, &["name", "key"]),
        [[json!("a"), json!("absent")]]
    );
}

#[test]
fn yaml_documents() {
    let home = Home::new();
    home.write("a/workspace.yaml", "id: one\nfolder: { path: /p }\n");
    home.write("b/workspace.yaml", "id: [\n");
    let tables = home.read("  s: { yaml: { path: \"{r}/*/workspace.yaml\", fields: { id: /id, path: /folder/path } } }\n");
    assert_eq!(
        columns(&tables, &["id", "path", "folder"]),
        [[json!("one"), json!("/p"), json!("a")]]
    );
    assert_eq!(issues(&tables)[0].0, codes::DAMAGED);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_are_fatal(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let home = Home::new();
        home.write("state.json", &bytes);
        home.write("a.yaml", &bytes);
        home.read(STATE);
        home.read("  s: { yaml: { path: \"{r}/a.yaml\", fields: { id: /id } } }\n");
    }
}

#[test]
fn toml_and_json_with_comments_are_documents_too() {
    let home = Home::new();
    home.write(
        "a.toml",
        "[projects.\"/w\"]\ntrust = \"yes\"\n[projects.\"/v\"]\ntrust = \"no\"\n",
    );
    home.write("b.json", "// managed\n{ \"folders\": [\"/w\",], }\n");
    home.write("c.toml", "x = 1\ny = \n");
    let rule = "  s:\n    toml: { path: \"{r}/*.toml\", each: { at: /projects, fields: { trust: /trust } } }\n";
    let tables = home.read(rule);
    assert_eq!(
        columns(&tables, &["key", "trust"]),
        [[json!("/w"), json!("yes")], [json!("/v"), json!("no")]]
    );
    assert_eq!(issues(&tables), [(codes::DAMAGED, Some(2))]);
    let commented = |flag: bool| {
        format!(
            "  s:\n    json: {{ path: \"{{r}}/b.json\", comments: {flag}, fields: {{ f: /folders }} }}\n"
        )
    };
    let tables = home.read(&commented(true));
    assert_eq!(columns(&tables, &["f"]), [[json!(["/w"])]]);
    assert!(tables.issues.is_empty());
    assert_eq!(
        issues(&home.read(&commented(false))),
        [(codes::DAMAGED, Some(1))]
    );
}

#[test]
fn a_sparse_document_may_hold_none_of_the_fields() {
    let home = Home::new();
    home.write(
        "settings.json",
        "{ \"theme\": \"dark\" } // everything else is as it comes\n",
    );
    for (sparse, strange) in [("", 1), (", sparse: true", 0)] {
        let source = format!(
            "  s: {{ json: {{ path: \"{{r}}/settings.json\", comments: true{sparse}, fields: {{ x: /a/x }} }} }}\n"
        );
        let tables = home.read(&source);
        assert_eq!(tables.tables["s"].not_understood.len(), strange, "{sparse}");
        assert_eq!(columns(&tables, &["x"]), [[serde_json::Value::Null]]);
    }
}
