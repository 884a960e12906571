//! What the verbs make of a rule, and where each line comes from.

use super::*;

#[test]
fn replace_puts_a_value_in_place_of_another() {
    assert_eq!(
        changes("  sources.threads.sqlite.max_rows: { replace: 500 }\n"),
        [
            "-      max_rows: 5000          # plenty",
            "+      max_rows: 500          # plenty"
        ]
    );
    // Block into brackets.
    let overrides = "  sources.threads.sqlite.columns.folder:\n    replace: text\n  name.candidates[title]:\n    replace:\n      from: title\n      label: title\n      strip:\n        - 'a, b'\n";
    let set = load(overrides);
    assert!(set.problems().is_empty(), "{}", shown(&set));
    let text = &set.get("demo").unwrap().files[0].text;
    assert!(text.contains("archived: bool, folder: text }"), "{text}");
    assert!(
        text.contains(
            "    - from: title\n      label: title\n      strip:\n        - 'a, b'\n  reject"
        ),
        "{text}"
    );
    // Brackets into brackets, block under a key.
    assert_eq!(
        changes("  rows.where.title: { replace: { present: true, matches: '^[a-z]' } }\n"),
        [
            "-  where: { title: { present: true } }",
            "+  where: { title: { present: true, matches: '^[a-z]' } }"
        ]
    );
    assert_eq!(
        changes(
            "  proof[demo_thread].when:\n    replace:\n      all:\n        # both\n        - title: { present: true }\n        - archived: false\n"
        ),
        [
            "-    when: { title: { present: true } }",
            "+    when:",
            "+      all:",
            "+        # both",
            "+        - title: { present: true }",
            "+        - archived: false",
        ]
    );
}

#[test]
fn append_adds_items_and_new_keys() {
    assert_eq!(
        changes("  name.reject: { append: [unknown, untitled] }\n"),
        [
            "-  reject: [blank, uuid]",
            "+  reject: [blank, uuid, unknown, untitled]"
        ]
    );
    assert_eq!(
        changes("  name.reject: { append: unknown, before: uuid }\n"),
        [
            "-  reject: [blank, uuid]",
            "+  reject: [blank, unknown, uuid]"
        ]
    );
    assert_eq!(
        changes(
            "  status:\n    append:\n      - when: { folder: { blank: true } }\n        is: stale\n    before: active\n"
        ),
        ["+  - when: { folder: { blank: true } }", "+    is: stale"]
    );
    assert_eq!(
        changes(
            "  sources.threads.sqlite.columns: { append: { model: text? } }\n  \".\": { append: { prune: unproven } }\n"
        ),
        {
            let mut lines: Vec<String> = RULE
                .lines()
                .skip(11)
                .map(|line| format!("-{line}"))
                .collect();
            let after = RULE.replace("folder: text? }", "folder: text?, model: text? }");
            lines.extend(after.lines().skip(11).map(|line| format!("+{line}")));
            lines.push("+prune: unproven".into());
            lines
        }
    );
    // A single value where a list may stand becomes the first of one.
    assert_eq!(
        changes("  roots.store: { append: [\"~/.local/share/demo\"] }\n"),
        [
            "-  store: \"~/.demo\"",
            "+  store: [\"~/.demo\", \"~/.local/share/demo\"]"
        ]
    );
    assert_eq!(
        changes(
            "  proof: { append: { source: demo_more } }\n  proof[demo_rest]: { append: { when: { title: x } } }\n"
        ),
        ["+    when: { title: x }", "+  - { source: demo_more }"]
    );
}

#[test]
fn remove_takes_out_lines_and_items() {
    assert_eq!(
        changes("  proof[demo_rest]: { remove: true }\n"),
        ["-  - source: demo_rest"]
    );
    assert_eq!(
        changes("  name.reject: { remove: [uuid, blank] }\n"),
        ["-  reject: [blank, uuid]", "+  reject: []"]
    );
    assert_eq!(
        changes("  sources.index.jsonl.take[0].skip_empty: { remove: true }\n"),
        ["-          skip_empty: name"]
    );
    assert_eq!(
        changes("  proof[demo_thread].grants: { remove: true }\n"),
        ["-    grants: [enroll, send]   # both"]
    );
    // The first key of an item leaves its dash to the next one.
    assert_eq!(
        changes(
            "  sources.index.jsonl.take:\n    append:\n      - probe: x\n        # why\n        fields: { name: /title }\n  sources.index.jsonl.take[x].probe: { remove: true }\n"
        ),
        ["+        - fields: { name: /title }"]
    );
    assert_eq!(
        changes("  sources.threads.sqlite.columns: { remove: [folder] }\n"),
        [
            "-      columns: { id: text, title: text, archived: bool, folder: text? }",
            "+      columns: { id: text, title: text, archived: bool }"
        ]
    );
    let set = load(
        "  rows.join: { remove: [index] }\n  sources.index: { remove: true }\n  name.candidates: { remove: [renamed] }\n",
    );
    assert!(set.problems().is_empty(), "{}", shown(&set));
    let loaded = set.get("demo").unwrap();
    assert_eq!(loaded.rule.sources.len(), 1);
    assert_eq!(loaded.rule.rows.join.as_ref().map(Vec::len), Some(0));
}

#[test]
fn every_line_knows_the_file_it_comes_from() {
    let set = load(
        "  name.reject: { append: [unknown] }\n  status:\n    before: active\n    append:\n      - is: stale\n        when: { folder: { blank: true } }\n",
    );
    let loaded = set.get("demo").unwrap();
    let origin = |needle: &str| {
        let (origin, _) = loaded.files[0]
            .lines()
            .find(|(_, line)| line.contains(needle))
            .unwrap();
        let file = origin.file.rsplit('/').nth(1).unwrap().to_owned();
        (origin.layer, file, origin.line)
    };
    let patch = |line| (Layer::User, "demo".to_owned(), line);
    let base = |line| (Layer::BuiltIn, "demo".to_owned(), line);
    assert_eq!(origin("title: Demo"), base(4));
    assert_eq!(origin("reject:"), base(32));
    assert_eq!(origin("is: stale"), patch(10));
    assert_eq!(origin("folder: { blank"), patch(11));
    assert_eq!(origin("demo_rest"), base(40));
    // What decides names the file a person can open.
    let stale = &loaded.rule.status[1];
    assert!(loaded.place(stale.span).ends_with("demo/rule.yaml:10"));
    assert_eq!(
        loaded.place(loaded.rule.proof[0].span),
        "rules/demo/rule.yaml:37"
    );
    assert_ne!(loaded.digest, digest());
    assert_eq!(loaded.layer, Layer::User);
}
