use super::*;
use crate::recipe::Part;
use serde_json::json;

fn server() -> Entry {
    let value = json!({ "command": "/bin/axiowl", "args": ["mcp"] });
    Entry::key(Part::Server, &["servers", "axiowl"], value)
}

fn hook() -> Entry {
    Entry::element(
        Part::Hook,
        &["hooks", "Before"],
        json!({ "command": "axiowl hook x", "timeout": 10 }),
    )
}

/// Puts entries in, checks that every old byte is there, and takes them out again.
fn there_and_back(format: Format, text: &str, entries: &[Entry]) -> String {
    let mut with = text.to_owned();
    let mut added = Vec::new();
    for entry in entries {
        let document = Document::read(format, &with).expect("readable");
        assert_eq!(
            document.find(entry).expect("found"),
            Found::Absent,
            "{with}"
        );
        let (new, made) = document
            .add(entry)
            .unwrap_or_else(|why| panic!("{why}: {with}"));
        added.push((entry, made));
        with = new;
    }
    assert!(is_subsequence(text, &with), "{with}");
    let mut back = with.clone();
    for (entry, made) in added.iter().rev() {
        let document = Document::read(format, &back).expect("readable");
        assert_eq!(document.find(entry).expect("found"), Found::Same, "{back}");
        back = document
            .take(entry, made)
            .unwrap_or_else(|why| panic!("{why}: {back}"));
    }
    let read = |text: &str| Document::read(format, text).expect("readable").value;
    assert_eq!(read(&back), read(text), "{back}");
    assert!(is_subsequence(&back, &with), "{back}");
    with
}

#[test]
fn comments_order_and_unknown_keys_of_json_stay() {
    let text = "// mine\n{\n\t\"zeta\": 1, // one\n\t\"servers\": { \"other\": {\"url\": \"x\"}, },\n\t/* two */\n\t\"alpha\": [1,2 , 3] // last\n}\n";
    let with = there_and_back(Format::Jsonc, text, &[server(), hook()]);
    for kept in [
        "// mine",
        "// one",
        "/* two */",
        "[1,2 , 3], // last\n",
        "\t\"zeta\": 1",
    ] {
        assert!(with.contains(kept), "{with}");
    }
}

#[test]
fn every_shape_of_json_takes_entries_and_gives_them_back() {
    for text in [
        "",
        "{}",
        "{ }\n",
        "{\n}\n",
        "{\"a\":1}",
        "{\"a\":1,\"servers\":{}}",
        "{\n  \"servers\": {\n  }\n}",
        "{\r\n  \"a\": {\r\n    \"b\": []\r\n  }\r\n}\r\n",
        "{\"hooks\":{\"Before\":[]}}",
        "{\"hooks\":{\"Before\":[{\"command\":\"own\"}],\"After\":[1]},\"servers\":{\"x\":{}}}",
        "{\n    \"hooks\": {\n        \"Before\": [\n            { \"command\": \"own\" }\n        ]\n    }\n}\n",
    ] {
        there_and_back(Format::Json, text, &[server(), hook()]);
        there_and_back(Format::Jsonc, text, &[hook(), server()]);
    }
}

#[test]
fn every_shape_of_toml_takes_a_table_and_gives_it_back() {
    for text in [
        "",
        "\n",
        "a = 1",
        "a = 1\n",
        "# only a comment",
        "[servers.other]\nurl = \"x\" # mine\n",
        "b = 2\r\n[c]\r\nd = 'e'\r\n",
        "[[list]]\na = 1\n\n[[list]]\na = 2\n",
        "[servers]\n",
        "x = \"\"\"\n[servers.axiowl]\n\"\"\"\n",
        "when = 2026-11-30T12:00:00Z\n[projects.\"/home/dev/x\"]\ntrust_level = \"trusted\"\n",
    ] {
        there_and_back(Format::Toml, text, &[server()]);
    }
}

#[test]
fn what_a_client_added_to_our_table_goes_with_it_and_what_follows_stays() {
    let (with, made) = Document::read(Format::Toml, "a = 1\n")
        .unwrap()
        .add(&server())
        .unwrap();
    let text = format!(
        "{with}\n[servers.axiowl.tools.send]\napproval = \"approve\"\n\n# about z\n[z]\nb = 2\n\n[servers.axiowl.more]\nc = 3\n"
    );
    let document = Document::read(Format::Toml, &text).unwrap();
    let Found::Other(found) = document.find(&server()).unwrap() else {
        panic!("{text}")
    };
    let entry = Entry {
        value: found,
        ..server()
    };
    let back = document.take(&entry, &made).unwrap();
    assert_eq!(back, "a = 1\n\n\n# about z\n[z]\nb = 2\n\n");
}

#[test]
fn what_is_damaged_or_shaped_otherwise_is_refused() {
    for (format, text) in [
        (Format::Json, "{ // no\n}"),
        (Format::Json, "{\"a\":1,}"),
        (Format::Jsonc, "{"),
        (Format::Jsonc, "[]"),
        (Format::Jsonc, "{\"a\":1 \"b\":2}"),
        (Format::Json, "{'a':1}"),
        (Format::Toml, "a = "),
        (Format::Toml, "[a]\n[a]\n"),
        (Format::Json, "{\"a\":1}{\"b\":2}"),
    ] {
        let read = Document::read(format, text).map(|_| ());
        assert!(matches!(read, Err(Why::Damaged(_))), "{text}: {read:?}");
    }
    let twice = Document::read(Format::Json, "{\"a\":{\"b\":1,\"b\":2}}").map(|_| ());
    assert!(
        matches!(&twice, Err(Why::Twice(key)) if key == "a.b"),
        "{twice:?}"
    );
    for text in [
        "{\"servers\":[]}",
        "{\"servers\":null}",
        "{\"servers\":\"x\"}",
    ] {
        let found = Document::read(Format::Json, text).unwrap().find(&server());
        assert!(matches!(found, Err(Why::Shape(..))), "{text}: {found:?}");
    }
    let hooks = Document::read(Format::Json, "{\"hooks\":{\"Before\":{}}}")
        .unwrap()
        .find(&hook());
    assert!(matches!(hooks, Err(Why::Shape(..))), "{hooks:?}");
    // A table that is written in one line cannot grow by another one.
    let inline = Document::read(Format::Toml, "servers = { x = { a = 1 } }\n").unwrap();
    assert!(matches!(inline.add(&server()), Err(Why::NotAlone(_))));
}

proptest::proptest! {
    #[test]
    fn any_json_takes_entries_and_gives_them_back(value in object(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        there_and_back(Format::Json, &text.unwrap(), &[server(), hook()]);
    }

    #[test]
    fn no_text_panics(text in "[\\[\\]{}\"a-c.=#/*,:\n\r0-9' ]{0,60}") {
        for format in [Format::Json, Format::Jsonc, Format::Toml] {
            let Ok(document) = Document::read(format, &text) else { continue };
            for entry in [server(), hook()] {
                if let Ok((with, made)) = document.add(&entry) {
                    let back = Document::read(format, &with).unwrap().take(&entry, &made);
                    if let Ok(back) = back {
                        proptest::prop_assert_eq!(Document::read(format, &back).unwrap().value, document.value.clone());
                    }
                }
            }
        }
    }
}

/// Objects without the keys that the entries go to, or with them as tables.
fn object() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    let any = leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z]{1,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    let tables = proptest::collection::btree_map("[a-z]{1,4}", any.clone(), 0..4);
    (
        proptest::collection::btree_map("[a-g]{1,3}", any, 0..5),
        proptest::option::of(tables),
    )
        .prop_map(|(rest, servers)| {
            let mut out: Map<String, Value> = rest.into_iter().collect();
            if let Some(servers) = servers {
                out.insert(
                    "servers".into(),
                    Value::Object(servers.into_iter().collect()),
                );
            }
            Value::Object(out)
        })
}
