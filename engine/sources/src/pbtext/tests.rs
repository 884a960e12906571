//! Text messages from rule text to rows.

use super::parse::message;
use crate::harness::{Home, columns, issues};
use axiowl_model::codes;
use proptest::prelude::*;
use serde_json::{Value, json};

const RULE: &str = "  s:\n    pbtext:\n      path: \"{r}/*.pbtxt\"\n      fields:\n        title: [title, name, displayName, \"*.chatName\"]\n        viewed: last_user_view_time.seconds as unix_s\n        tags: tag as texts\n        pinned: pinned as bool\n";

fn title(text: &str) -> Value {
    let home = Home::new();
    home.write("a.pbtxt", text);
    let tables = home.read(RULE);
    assert_eq!(issues(&tables), [], "{text}");
    columns(&tables, &["title"]).concat().remove(0)
}

#[test]
fn fields_blocks_and_repeated_fields() {
    let home = Home::new();
    home.write(
        "a.pbtxt",
        "# annotations\ntitle:\"Design \\\"review\\\" \\346\\227\\245\" last_user_view_time:{seconds:1790000000 nanos:1}\ntag: 'a' tag: \"b\" \"c\"\npinned: true\n",
    );
    home.write(
        "b.pbtxt",
        "last_user_view_time < seconds: 0x10; > tag: [\"x\", \"y\"]",
    );
    let tables = home.read(RULE);
    assert_eq!(
        columns(&tables, &["stem", "title", "viewed", "tags", "pinned"]),
        [
            [
                json!("a"),
                json!("Design \"review\" \u{65e5}"),
                json!(1_790_000_000_000_i64),
                json!(["a", "bc"]),
                json!(true)
            ],
            [
                json!("b"),
                json!(null),
                json!(16_000),
                json!(["x", "y"]),
                json!(null)
            ],
        ]
    );
    assert!(tables.issues.is_empty());
}

#[test]
fn json_like_spellings_are_understood() {
    for (text, expected) in [
        (
            "{ \"displayName\": \"x\", \"n\": [1, {\"a\": null}, [2]], }",
            "x",
        ),
        (
            "\"name\" : \"caf\\u00e9 \\ud83d\\ude00 \\/\"",
            "caf\u{e9} \u{1f600} /",
        ),
        ("meta { chatName: 'it\\'s' }", "it's"),
        (
            "\u{feff}title: \"\\x41\\102\\t\\U0001F600\\ud83dx\"",
            "AB\t\u{1f600}\u{fffd}x",
        ),
        ("[x.y/Any] { name: \"no\" } title: \"yes\" \0\0", "yes"),
    ] {
        assert_eq!(title(text), json!(expected), "{text}");
    }
}

#[test]
fn damage_has_a_line_and_says_nothing() {
    for (text, line) in [
        ("title: \"half", 1),
        ("a: 1\ntitle: \"half\n", 2),
        ("a: 1\n\nb {\n c: 2", 4),
        ("title \"x\"", 1),
        ("title:", 1),
        ("title: }", 1),
        ("{ a: 1 } b: 2", 1),
        ("title: \"\\777\"", 1),
        ("title: \"\\u12\"", 1),
        ("[a", 1),
        ("a: [1", 1),
    ] {
        let home = Home::new();
        home.write("a.pbtxt", text);
        let tables = home.read(RULE);
        assert_eq!(tables.tables["s"].rows.len(), 0, "{text}");
        assert_eq!(issues(&tables), [(codes::DAMAGED, Some(line))], "{text}");
        assert!(tables.tables["s"].incomplete);
    }
}

#[test]
fn empty_files_caps_and_strangers_are_named() {
    let home = Home::new();
    home.write("a.pbtxt", "");
    home.write("b.pbtxt", "other: 1");
    home.write("c.pbtxt", format!("title: \"{}\"", "x".repeat(100)));
    let tables = home.read(&format!("{RULE}      max_bytes: 64\n"));
    assert_eq!(columns(&tables, &["stem"]), [[json!("b")]]);
    assert_eq!(
        issues(&tables),
        [(codes::EMPTY_FILE, None), (codes::CAP, None)]
    );
    assert_eq!(tables.tables["s"].not_understood.len(), 1);
}

#[test]
fn depth_and_number_of_fields_have_limits() {
    for text in [
        "a{".repeat(50_000),
        format!("a:{}", "[".repeat(50_000)),
        "a:1 ".repeat(30_000),
    ] {
        assert!(message(&text).is_err());
    }
}

/// A string as a writer of the format escapes it.
fn escaped(text: &str, octal: bool) -> String {
    let byte = |b: &u8| match (b, octal) {
        (b'"', _) => "\\\"".to_owned(),
        (b'\\', _) => "\\\\".to_owned(),
        (b'\n', _) => "\\n".to_owned(),
        (0x20..0x7f, _) => char::from(*b).to_string(),
        (_, true) => format!("\\{b:03o}"),
        (_, false) => format!("\\x{b:02x}"),
    };
    text.as_bytes().iter().map(byte).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_text_is_too_much(text in r#"[{}\[\]<>:,;"'\\#a0u\n \x00]{0,80}"#) {
        let _ = message(&text);
    }

    #[test]
    fn no_bytes_are_too_much(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let home = Home::new();
        home.write("a.pbtxt", &bytes);
        home.read(RULE);
    }

    #[test]
    fn what_was_escaped_is_read(text in "\\PC{1,40}", octal in any::<bool>()) {
        let written = format!("x: 1 title: \"{}\" y {{ z: 2 }}", escaped(&text, octal));
        prop_assert_eq!(title(&written), json!(text));
    }
}
