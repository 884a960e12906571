//! Logs of changes from rule text to rows.

use crate::harness::{Home, columns, issues};
use crate::pointer;
use axiowl_lang::scalar::Pointer;
use axiowl_model::codes;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const RULE: &str = "  s:
    mutation_log:
      path: \"{r}/*/chatSessions/*.json*\"
      fields:
        id: /sessionId
        title: /customTitle
        first: /requests/0/message/text
        last: [/requests/-/done, /requests/-/at]
        all: /requests/*/at
        waiting: /pending
";

fn lines(changes: &[Value]) -> String {
    changes.iter().map(|change| format!("{change}\n")).collect()
}

fn begin() -> Value {
    json!({"kind": 0, "v": {"version": 3, "sessionId": "s1", "requests": [], "inputState": {"text": "draft"}}})
}

const FIELDS: [&str; 7] = ["stem", "id", "title", "first", "last", "all", "torn"];

#[test]
fn an_object_is_rebuilt_and_a_whole_one_is_read() {
    let home = Home::new();
    home.write(
        "w/chatSessions/a.jsonl",
        lines(&[
            begin(),
            json!({"kind": 2, "k": ["requests"], "v": [{"message": {"text": "one"}, "at": 1}, {"message": {"text": "two"}, "at": 2}]}),
            json!({"kind": 1, "k": ["customTitle"], "v": "First"}),
            json!({"kind": 1, "k": ["inputState", "text"], "v": "not wanted"}),
            json!({"kind": 2, "k": ["requests"], "v": [{"at": 3}], "i": 1}),
            json!({"kind": 1, "k": ["requests", 1, "done"], "v": 9}),
            json!({"kind": 1, "k": ["customTitle"], "v": "Last"}),
            json!({"kind": 2, "k": ["pending"], "i": 0}),
        ]),
    );
    home.write(
        "w/chatSessions/a.json",
        r#"{"sessionId": "s1", "customTitle": "what it began with"}"#,
    );
    home.write(
        "w/chatSessions/b.json",
        r#"{"sessionId":"s2","requests":[{"message":{"text":"hi"},"at":5,"done":6}]}"#,
    );
    home.write(
        "w/chatSessions/c.jsonl",
        lines(&[
            begin(),
            json!({"k": ["customTitle"], "v": "gone", "kind": 1}),
            json!({"v": {"at": 4}, "kind": 1, "k": ["requests", 0]}),
            json!({"kind": 3, "k": ["customTitle"]}),
            json!({"kind": 3, "k": ["not", "there"]}),
        ]),
    );
    let tables = home.read(RULE);
    assert_eq!(
        columns(&tables, &FIELDS),
        [
            json!(["a", "s1", "Last", "one", 9, [1, 3], false]),
            json!(["b", "s2", null, "hi", 6, [5], false]),
            json!(["c", "s1", null, null, 4, [4], false]),
        ]
        .map(|row| row.as_array().unwrap().clone())
    );
    assert!(tables.issues.is_empty(), "{:?}", tables.issues);
    assert_eq!(tables.tables["s"].files_matched, 4);
}

#[test]
fn a_torn_end_leaves_what_was_known_and_says_so() {
    let home = Home::new();
    let torn = format!(
        "{}{{\"kind\":1,\"k\":[\"customTitle\"],\"v\":\"ha",
        lines(&[begin()])
    );
    home.write("w/chatSessions/a.jsonl", &torn);
    home.write("w/chatSessions/b.json", "{\"sessionId\":\"s2\"");
    home.write(
        "w/chatSessions/c.jsonl",
        lines(&[begin(), json!({"kind": 7, "k": []})]),
    );
    home.write(
        "w/chatSessions/d.jsonl",
        lines(&[json!({"kind": 1, "k": ["other"], "v": 1})]),
    );
    home.write(
        "w/chatSessions/e.jsonl",
        lines(&[
            begin(),
            json!({"kind": 1, "k": ["requests", 5, "at"], "v": 1}),
        ]),
    );
    home.write("w/chatSessions/f.jsonl", "");
    let tables = home.read(RULE);
    assert_eq!(
        columns(&tables, &["stem", "id", "torn"]),
        [
            json!(["a", "s1", true]),
            json!(["b", null, true]),
            json!(["c", "s1", true]),
            json!(["d", null, true]),
            json!(["e", "s1", true]),
        ]
        .map(|row| row.as_array().unwrap().clone())
    );
    assert_eq!(
        issues(&tables),
        [
            (codes::DAMAGED, Some(2)),
            (codes::DAMAGED, Some(1)),
            (codes::DAMAGED, Some(1)),
            (codes::EMPTY_FILE, None),
        ]
    );
    let strange: Vec<u64> = tables.tables["s"]
        .not_understood
        .iter()
        .map(|(_, line, _)| *line)
        .collect();
    assert_eq!(strange, [2, 2]);
    assert!(tables.tables["s"].incomplete);
}

#[test]
fn a_log_too_big_is_left_out_and_named() {
    let home = Home::new();
    home.write("w/chatSessions/a.jsonl", lines(&[begin(), begin()]));
    home.write("w/chatSessions/b.jsonl", lines(&[begin()]));
    let tables = home.read(&format!("{RULE}      max_bytes: 150\n"));
    assert_eq!(columns(&tables, &["stem"]), [[json!("b")]]);
    assert_eq!(issues(&tables), [(codes::CAP, None)]);
    assert!(tables.issues[0].path.as_ref().unwrap().ends_with("a.jsonl"));
    let tables = home.read(&format!("{RULE}      max_files: 1\n"));
    assert_eq!(
        (tables.tables["s"].rows.len(), issues(&tables)),
        (1, vec![(codes::CAP, None)])
    );
}

#[test]
fn text_that_is_kept_has_a_limit() {
    let home = Home::new();
    let long = "x".repeat(1 << 20);
    let mut changes = vec![begin()];
    changes.extend((0..17).map(|_| json!({"kind": 1, "k": ["customTitle"], "v": long})));
    home.write("w/chatSessions/a.jsonl", lines(&changes));
    let tables = home.read(RULE);
    assert_eq!(issues(&tables), [(codes::CAP, None)]);
    assert_eq!(columns(&tables, &["torn"]), [[json!(true)]]);
    // What is not wanted costs nothing.
    let unwanted: Vec<Value> = changes
        .iter()
        .map(|change| json!({"kind": change["kind"], "k": ["other"], "v": change["v"]}))
        .collect();
    home.write("w/chatSessions/a.jsonl", lines(&unwanted));
    assert!(home.read(RULE).issues.is_empty());
}

/// Applies a change to the whole object, as its own program does.
fn naive(state: &mut Value, change: &Value) -> Option<()> {
    let path: Vec<Value> = change["k"].as_array().cloned().unwrap_or_default();
    fn at<'v>(state: &'v mut Value, path: &[Value]) -> Option<&'v mut Value> {
        let mut current = state;
        for step in path {
            if current.is_null() && step.is_string() {
                *current = Value::Object(Map::new());
            }
            current = match (step, current) {
                (Value::String(name), Value::Object(map)) => {
                    map.entry(name.clone()).or_insert(Value::Null)
                }
                (Value::Number(n), Value::Array(list)) => {
                    let n = n.as_u64()? as usize;
                    if n == list.len() {
                        list.push(Value::Null);
                    }
                    list.get_mut(n)?
                }
                _ => return None,
            };
        }
        Some(current)
    }
    match change["kind"].as_u64()? {
        0 => *state = change["v"].clone(),
        1 => *at(state, &path)? = change["v"].clone(),
        2 => {
            let place = at(state, &path)?;
            if place.is_null() {
                *place = json!([]);
            }
            let list = place.as_array_mut()?;
            if let Some(i) = change["i"].as_u64() {
                list.truncate(i as usize);
            }
            list.extend(change["v"].as_array().cloned().unwrap_or_default());
        }
        _ => {
            let (last, parents) = path.split_last()?;
            if let (Some(name), Some(Value::Object(map))) = (last.as_str(), at(state, parents)) {
                map.shift_remove(name);
            }
        }
    }
    Some(())
}

fn request() -> impl Strategy<Value = Value> {
    (any::<u8>(), "[a-z]{0,4}").prop_map(|(n, text)| json!({"at": n, "message": {"text": text, "parts": [1, {"a": text}]}, "response": [text]}))
}

fn change() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[a-z]{0,6}".prop_map(|t| json!({"kind": 1, "k": ["customTitle"], "v": t})),
        "[a-z]{0,6}"
            .prop_map(|t| json!({"kind": 1, "k": ["inputState", "text"], "v": {"deep": [t]}})),
        (
            proptest::collection::vec(request(), 0..3),
            proptest::option::of(0..3_u64)
        )
            .prop_map(|(v, i)| match i {
                Some(i) => json!({"kind": 2, "k": ["requests"], "v": v, "i": i}),
                None => json!({"v": v, "k": ["requests"], "kind": 2}),
            }),
        (0..3_u64, any::<u8>())
            .prop_map(|(n, at)| json!({"kind": 1, "k": ["requests", n, "at"], "v": at})),
        (0..3_u64, "[a-z]{0,4}").prop_map(
            |(n, t)| json!({"kind": 1, "k": ["requests", n, "message"], "v": {"text": t}})
        ),
        (0..3_u64).prop_map(|n| json!({"kind": 2, "k": ["requests", n, "response"], "v": ["x"]})),
        Just(json!({"kind": 3, "k": ["customTitle"]})),
        Just(json!({"kind": 2, "k": ["pending"], "v": [{"id": 1}]})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_kept_is_what_the_whole_object_would_say(changes in proptest::collection::vec(change(), 0..12)) {
        let mut state = Value::Null;
        let mut applied = vec![begin()];
        naive(&mut state, &begin());
        for change in changes {
            let mut next = state.clone();
            if naive(&mut next, &change).is_some() {
                state = next;
                applied.push(change);
            }
        }
        let home = Home::new();
        home.write("w/chatSessions/a.jsonl", lines(&applied));
        let tables = home.read(RULE);
        prop_assert!(tables.issues.is_empty(), "{:?}", tables.issues);
        let row = &tables.tables["s"].rows[0];
        for (field, text) in [("title", "/customTitle"), ("first", "/requests/0/message/text"), ("all", "/requests/*/at"), ("waiting", "/pending")] {
            let expected = pointer::at(&Pointer::parse(text).unwrap(), &state).unwrap_or_default();
            prop_assert_eq!(&row[field], &expected, "{}", field);
        }
    }

    #[test]
    fn no_bytes_are_too_much(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0..400_usize) {
        let home = Home::new();
        home.write("w/chatSessions/a.jsonl", &bytes);
        home.write("w/chatSessions/b.json", &bytes);
        let log = lines(&[begin(), json!({"kind": 2, "k": ["requests"], "v": [{"message": {"text": "t"}}]}), json!({"kind": 1, "k": ["requests", 0, "at"], "v": 1})]);
        home.write("w/chatSessions/c.jsonl", &log.as_bytes()[..cut.min(log.len())]);
        let tables = home.read(RULE);
        prop_assert!(tables.tables["s"].rows.len() <= 3);
    }
}
