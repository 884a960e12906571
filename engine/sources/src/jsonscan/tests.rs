//! The scanner against `serde_json`, on whole documents, cut ones and noise.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn pointers(texts: &[&str]) -> Vec<Pointer> {
    texts
        .iter()
        .map(|text| Pointer::parse(text).unwrap())
        .collect()
}

#[test]
fn values_before_a_cut_are_found_and_the_rest_is_not() {
    let list = pointers(&["/payload/originator", "/payload/text", "/n", "/payload"]);
    let wanted = Wanted::new(&list);
    let scan = wanted.scan(br#"{"n":12,"payload":{"originator":"a\u0062\n","text":"long lo"#);
    assert_eq!(scan.end, End::Cut);
    assert_eq!(
        wanted.value(&scan, "/payload/originator"),
        Some(json!("ab\n"))
    );
    assert_eq!(wanted.value(&scan, "/n"), Some(json!(12)));
    assert_eq!(wanted.value(&scan, "/payload/text"), None);
    assert_eq!(wanted.value(&scan, "/payload"), None);
}

#[test]
fn escaped_keys_stars_indexes_and_double_keys() {
    let list = pointers(&["/a/b", "/l/1/t", "/l/*/t", "", "/a"]);
    let wanted = Wanted::new(&list);
    let text = br#"{"a":{"b":1},"l":[{"t":"x"},{"t":"y"}],"\u0061":{"c":2}} "#;
    let scan = wanted.scan(text);
    assert_eq!(scan.end, End::Complete);
    assert_eq!(wanted.value(&scan, "/a/b"), None, "the later key counts");
    assert_eq!(wanted.value(&scan, "/a"), Some(json!({"c": 2})));
    assert_eq!(wanted.value(&scan, "/l/1/t"), Some(json!("y")));
    assert_eq!(wanted.value(&scan, "/l/*/t"), Some(json!(["x", "y"])));
    assert!(wanted.value(&scan, "").is_some_and(|v| v.is_object()));
}

#[test]
fn damage_is_told_from_a_cut() {
    let wanted = Wanted::new(&[]);
    let ends = |text: &[u8]| wanted.scan(text).end;
    assert_eq!(
        ends(br#"{"a":1,"b{"a":2}"#),
        End::Bad(11),
        "half a record glued to the next"
    );
    assert_eq!(ends(br#"{"a":1}{"a":2}"#), End::Bad(7));
    assert_eq!(ends(&[0; 40]), End::Bad(0));
    assert_eq!(ends(b"{\"a\x01\":1}"), End::Bad(3));
    for cut in [
        "",
        " ",
        "{",
        "{\"a",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":tru",
        "[1",
        "[1,",
        "\"\\",
        "\"\\u00",
    ] {
        assert_eq!(ends(cut.as_bytes()), End::Cut, "{cut}");
    }
    assert_eq!(ends(&[b'['; 127]), End::Cut);
    assert_eq!(ends(&[b'['; 4000]), End::Bad(127), "too deep");
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-c\"\\\\\u{e9}]{1,2}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Every pointer into a document, starred ones too.
fn all_pointers(value: &Value, path: &str, out: &mut Vec<String>) {
    out.push(path.to_owned());
    out.push(format!("{path}/*"));
    match value {
        Value::Array(list) => {
            for (i, inner) in list.iter().enumerate() {
                all_pointers(inner, &format!("{path}/{i}"), out);
            }
        }
        Value::Object(map) => {
            for (key, inner) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                all_pointers(inner, &format!("{path}/{key}"), out);
            }
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn it_agrees_with_serde_json_on_documents_cut_anywhere(value in document(), at in any::<prop::sample::Index>()) {
        let mut texts = Vec::new();
        all_pointers(&value, "", &mut texts);
        let list: Vec<Pointer> = texts.iter().filter_map(|t| Pointer::parse(t)).collect();
        let wanted = Wanted::new(&list);
        for text in [serde_json::to_vec(&value).unwrap(), serde_json::to_vec_pretty(&value).unwrap()] {
            // The printed form is read back, so that floats are compared as printed.
            let value: Value = serde_json::from_slice(&text).unwrap();
            let scan = wanted.scan(&text);
            prop_assert_eq!(scan.end, End::Complete);
            for pointer in &list {
                prop_assert_eq!(wanted.value(&scan, pointer.as_str()), crate::pointer::at(pointer, &value));
            }
            let cut = &text[..at.index(text.len())];
            let scan = wanted.scan(cut);
            let whole = serde_json::from_slice::<Value>(cut).is_ok();
            prop_assert_eq!(scan.end, if whole { End::Complete } else { End::Cut });
            for pointer in list.iter().filter(|_| !whole) {
                if let Some(found) = wanted.value(&scan, pointer.as_str()) {
                    prop_assert_eq!(Some(found), crate::pointer::at(pointer, &value));
                }
            }
        }
    }

    #[test]
    fn it_accepts_exactly_what_serde_json_accepts(bytes in prop::collection::vec(prop_oneof![
        prop::sample::select(b"{}[]\",:\\u0019eE.-+ \ntrufalsn".to_vec()), any::<u8>()], 0..60)) {
        let scan = Wanted::new(&[]).scan(&bytes);
        if std::str::from_utf8(&bytes).is_ok() {
            let accepted = serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok();
            prop_assert_eq!(scan.end == End::Complete, accepted);
        }
    }
}
