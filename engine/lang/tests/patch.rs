//! Patches: what they make of a rule, where each line comes from, and what is wrong with them.

use axiowl_lang::codes;
use axiowl_lang::diag::Diagnostic;
use axiowl_lang::layers::{RuleSet, Sources, load_all};
use axiowl_lang::load::{Layer, LoadedRule};
use std::path::Path;

const RULE: &str = r#"# A rule in both styles.
axiowl: 1
provider: demo
title: Demo
roots:
  store: "~/.demo"
sources:
  threads:
    sqlite:
      path: "{store}/state.sqlite"
      sql: SELECT * FROM threads
      columns: { id: text, title: text, archived: bool, folder: text? }
      max_rows: 5000          # plenty
  index:
    jsonl:
      path: "{store}/index.jsonl"
      per: line
      take:
        # The last one counts.
        - fields: { id: /id, name: /name }
          skip_empty: name
rows:
  from: threads
  session: "{id}"
  where: { title: { present: true } }
  join:
    - { with: index, on: id, as: index }
name:
  candidates:
    - { from: index.name, label: renamed }
    - { from: title, label: title, weak: true }
  reject: [blank, uuid]
status:
  - { when: { archived: true }, is: archived }
  - { is: active }
proof:
  - source: demo_thread
    when: { title: { present: true } }
    grants: [enroll, send]   # both
  - source: demo_rest
aliases: ["{name} agent"]
"#;

const BASE: &str = "1f2a03b1";

fn digest() -> String {
    load("").get("demo").unwrap().digest.clone()
}

/// The rules with a patch of these overrides in the user's layer; none for an empty text.
fn load(overrides: &str) -> RuleSet {
    let dir = tempfile::tempdir().unwrap();
    if !overrides.is_empty() {
        let base = match overrides.contains("base:") {
            true => String::new(),
            false => format!("base: {}\n", digest()),
        };
        let text =
            format!("axiowl: 1\nprovider: demo\nextends: builtin\n{base}override:\n{overrides}");
        put(&dir.path().join("demo/rule.yaml"), &text);
        put(&dir.path().join("demo/fixtures/one/world.yaml"), "");
    }
    load_all(&Sources {
        built_in: &[("demo", "rule.yaml", RULE)],
        user: Some(dir.path()),
        ..Sources::default()
    })
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// The lines that a patch changes: `-` of the built-in, `+` of the result.
fn changes(overrides: &str) -> Vec<String> {
    let set = load(overrides);
    assert!(set.problems().is_empty(), "{}", shown(&set));
    let after = &set.get("demo").unwrap().files[0].text;
    let (before, after): (Vec<&str>, Vec<&str>) = (RULE.lines().collect(), after.lines().collect());
    let same = before
        .iter()
        .zip(&after)
        .take_while(|(a, b)| a == b)
        .count();
    let (before, after) = (&before[same..], &after[same..]);
    let both = before.iter().rev().zip(after.iter().rev());
    let end = both.take_while(|(a, b)| a == b).count();
    let mark = |sign: char, lines: &[&str]| -> Vec<String> {
        let lines = lines[..lines.len() - end].iter();
        lines.map(|line| format!("{sign}{line}")).collect()
    };
    [mark('-', before), mark('+', after)].concat()
}

fn shown(set: &RuleSet) -> String {
    let all = set.problems().iter().flat_map(|p| &p.diagnostics);
    all.map(|d| format!("{d}\n")).collect()
}

fn errors(overrides: &str) -> Vec<Diagnostic> {
    let set = load(overrides);
    // The built-in one is used, and that is said.
    let problem = &set.problems()[0];
    assert_eq!(problem.layer, Layer::User);
    assert_eq!(problem.instead, Some(Layer::BuiltIn));
    assert_eq!(set.get("demo").unwrap().layer, Layer::BuiltIn);
    problem.diagnostics.clone()
}

fn warnings(overrides: &str) -> Vec<String> {
    let set = load(overrides);
    assert!(set.problems().is_empty(), "{}", shown(&set));
    let loaded = set.get("demo").unwrap();
    let found = loaded.warnings.iter();
    found
        .map(|d| format!("{}: {}", d.code, d.message))
        .collect()
}

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

#[test]
fn what_is_not_there_is_an_error_with_what_is_near() {
    let found = errors(
        "  sources.thread.sqlite.max_rows: { replace: 1 }\n  proof[demo_tread]: { remove: true }\n  name.reject: { append: [unknown], before: uid }\n  sources.threads.sqlite.pick: { replace: newest }\n  rows.session.x: { remove: true }\n",
    );
    let shown: Vec<(&str, usize, &str)> = found
        .iter()
        .map(|d| {
            let line = d.primary().unwrap().line;
            (d.code, line, d.help.as_deref().unwrap())
        })
        .collect();
    assert_eq!(
        shown,
        [
            (codes::PATCH_KEY, 6, "did you mean `threads`?"),
            (codes::PATCH_KEY, 7, "did you mean `demo_thread`?"),
            (codes::PATCH_KEY, 8, "did you mean `uuid`?"),
            (
                codes::PATCH_KEY,
                9,
                "to add it, write `sources.threads.sqlite: { append: { pick: … } }`; what is there: `path`, `sql`, `columns`, `max_rows`"
            ),
            (codes::PATCH_KEY, 10, "end the path at `rows.session`"),
        ]
    );
    let fix = found[0].fix().unwrap();
    assert_eq!(fix.text, "threads");
    let text = &found[0].primary().unwrap().text;
    assert_eq!(&text[fix.span.clone()], "thread");
}

#[test]
fn verbs_that_do_not_fit_are_errors() {
    let found = errors(
        "  name.reject: { }\n  name.reject[uuid]: { remove: true, replace: blank }\n  proof: { before: demo_rest, remove: [demo_rest] }\n  sources.threads.sqlite.columns: { append: { id: int } }\n  sources.threads.sqlite: { append: [x] }\n  name.candidates: { remove: yes }\n  \".\": { remove: true }\n  status: { apend: [] }\n",
    );
    let shown: Vec<(&str, usize, &str)> = found
        .iter()
        .map(|d| (d.code, d.primary().unwrap().line, d.message.as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            (codes::PATCH_VERB, 6, "nothing is done here"),
            (codes::PATCH_VERB, 7, "two verbs undo each other here"),
            (
                codes::PATCH_VERB,
                8,
                "`before` does nothing without `append`"
            ),
            (
                codes::PATCH_VERB,
                9,
                "`sources.threads.sqlite.columns.id` is there already"
            ),
            (
                codes::PATCH_VERB,
                10,
                "`sources.threads.sqlite` is a mapping, and `append` gives it a list"
            ),
            (
                codes::PATCH_VERB,
                11,
                "`remove` takes `true` or a list of names"
            ),
            (
                codes::PATCH_VERB,
                12,
                "the whole rule cannot be removed by a patch"
            ),
            (codes::UNKNOWN_KEY, 13, "there is no key `apend` here"),
        ]
    );
}

#[test]
fn what_a_patch_breaks_is_shown_where_it_breaks_and_names_the_patch() {
    // The built-in's candidate reads a source that the patch took away.
    let found = errors("  sources.index: { remove: true }\n");
    let first = &found[0];
    assert_eq!(first.code, codes::UNKNOWN_SOURCE);
    assert_eq!(&*first.labels[0].file, "rules/demo/rule.yaml");
    assert_eq!(first.labels[0].line, 27);
    assert!(first.labels[1].file.ends_with("/demo/rule.yaml"));
    assert_eq!(first.labels[1].line, 5);
    // A mistake in what the patch brings stands in the patch.
    let found = errors(
        "  proof:\n    append:\n      - source: demo_x\n        when: { titel: x }\n    before: demo_rest\n",
    );
    assert_eq!(found[0].code, codes::UNKNOWN_FIELD);
    let label = found[0].primary().unwrap();
    assert!(label.file.ends_with("/demo/rule.yaml") && !label.file.starts_with("rules"));
    assert_eq!((label.line, label.column), (9, 17));
    let fix = found[0].fix().unwrap();
    assert_eq!(
        (&label.text[fix.span.clone()], fix.text.as_str()),
        ("titel", "title")
    );
}

#[test]
fn a_missing_base_and_a_changed_one_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let patch = |extends: &str| {
        format!(
            "axiowl: 1\nprovider: demo\nextends: {extends}\nbase: {BASE}\noverride: {{ name.reject: {{ append: [unknown] }} }}\n"
        )
    };
    put(&dir.path().join("demo/rule.yaml"), &patch("vendor"));
    let load = |built_in: &[(&str, &str, &str)]| {
        load_all(&Sources {
            built_in,
            user: Some(dir.path()),
            ..Sources::default()
        })
    };
    let set = load(&[("demo", "rule.yaml", RULE)]);
    let diagnostic = &set.problems()[0].diagnostics[0];
    assert_eq!(diagnostic.code, codes::PATCH_BASE);
    assert_eq!(
        diagnostic.help.as_deref(),
        Some("what can be extended here: `builtin`")
    );

    put(&dir.path().join("demo/rule.yaml"), &patch("builtin"));
    let set = load(&[]);
    assert_eq!(set.problems()[0].diagnostics[0].code, codes::PATCH_BASE);
    assert!(set.get("demo").is_none());

    // Another base: it is applied, and said.
    let set = load(&[("demo", "rule.yaml", RULE)]);
    assert!(set.problems().is_empty());
    assert_eq!(
        set.get("demo")
            .unwrap()
            .rule
            .name
            .as_ref()
            .unwrap()
            .reject
            .as_ref()
            .map_or(0, Vec::len),
        3
    );
    let notice = &set.notices()[0];
    assert_eq!(notice.code, codes::PATCH_DRIFT);
    assert!(notice.message.contains(&digest()), "{notice}");
    assert!(warnings("  name.reject: { append: [unknown] }\n").is_empty());
}

#[test]
fn a_patch_may_change_the_rule_of_a_pack_and_be_changed_itself() {
    let dir = tempfile::tempdir().unwrap();
    let patch = |extends: &str, word: &str| {
        format!(
            "axiowl: 1\nprovider: demo\nextends: {extends}\nbase: {BASE}\noverride: {{ name.reject: {{ append: [{word}] }} }}\n"
        )
    };
    put(
        &dir.path().join("vendor/demo/rule.yaml"),
        &patch("builtin", "unknown"),
    );
    put(
        &dir.path().join("user/demo/rule.yaml"),
        &patch("vendor", "untitled"),
    );
    let packs = [dir.path().join("vendor")];
    let user = dir.path().join("user");
    let set = load_all(&Sources {
        built_in: &[("demo", "rule.yaml", RULE)],
        packs: &packs,
        user: Some(&user),
        ..Sources::default()
    });
    assert!(set.problems().is_empty(), "{}", shown(&set));
    let loaded = set.get("demo").unwrap();
    assert_eq!(
        loaded
            .rule
            .name
            .as_ref()
            .unwrap()
            .reject
            .as_ref()
            .map_or(0, Vec::len),
        4
    );
    let line = |word: &str| {
        let at = loaded.files[0].text.find(word).unwrap();
        loaded.files[0].line_of(at).layer
    };
    assert_eq!(line("uuid,"), Layer::BuiltIn);
    assert_eq!(line("unknown"), Layer::Pack("vendor".into()));
    assert_eq!(line("untitled"), Layer::User);
}

#[test]
fn what_may_enrol_more_is_reported() {
    let widens = |overrides: &str| -> Vec<String> {
        let found = warnings(overrides).into_iter();
        found
            .map(|w| {
                let rest = w.strip_prefix("AX017: widens enrolment: ");
                rest.unwrap_or_else(|| panic!("{w}")).to_owned()
            })
            .collect()
    };
    assert_eq!(
        widens(
            "  proof[demo_rest].source: { replace: demo_all }\n  proof[demo_all]: { append: { grants: [enroll] } }\n"
        ),
        ["the rung `demo_all` is new, and grants"]
    );
    assert_eq!(
        widens(
            "  proof[demo_thread].when: { remove: true }\n  proof[demo_rest]: { remove: true }\n"
        ),
        ["the granting rung `demo_thread` asks for something else"]
    );
    assert_eq!(
        widens("  status[archived]: { remove: true }\n"),
        ["the status `archived` no longer bars"]
    );
    assert_eq!(
        widens("  status[archived].when: { replace: { archived: true, title: x } }\n"),
        ["the status `archived` bars in other cases"]
    );
    assert_eq!(
        widens("  status: { append: { is: active, when: { title: x } }, before: archived }\n"),
        ["a status that bars nothing comes before `archived`"]
    );
    assert_eq!(
        widens("  name.reject: { remove: [uuid] }\n"),
        ["names are no longer rejected as `uuid`"]
    );
    assert_eq!(
        widens(
            "  rows.where: { replace: { any: [ { title: { present: true } }, { folder: x } ] } }\n"
        ),
        ["`rows.where` keeps other rows"]
    );
    assert_eq!(
        widens(
            "  rows.where: { remove: true }\n  name: { append: { session_fallback: accepted } }\n"
        ),
        [
            "`rows.where` is gone",
            "the session id may stand in for a name"
        ]
    );
    assert_eq!(
        widens("  sources.threads.sqlite.columns.archived: { replace: bool? }\n"),
        ["`threads.archived` may be missing, and `archived` keeps sessions out by it"]
    );
    // What only takes away is not.
    for narrower in [
        "  rows.where: { replace: { title: { present: true }, archived: false } }\n",
        "  status: { append: { is: stale, when: { folder: x } }, before: archived }\n",
        "  status[archived].when: { replace: { any: [ { archived: true }, { folder: x } ] } }\n",
        "  name.reject: { append: [unknown] }\n",
        "  proof[demo_thread].grants: { replace: [enroll] }\n",
        "  proof: { append: { source: demo_stop, when: { folder: x } }, before: demo_thread }\n",
        "  aliases: { append: [\"{id}\"] }\n",
    ] {
        assert_eq!(warnings(narrower), Vec::<String>::new(), "{narrower}");
    }
    let first = |set: &RuleSet| -> LoadedRule { (**set.get("demo").unwrap()).clone() };
    let loaded = first(&load(
        "  status[archived].when: { replace: { archived: x } }\n",
    ));
    let warning = &loaded.warnings[0];
    assert!(warning.primary().unwrap().file.ends_with("/demo/rule.yaml"));
    assert_eq!(&*warning.labels[1].file, "rules/demo/rule.yaml");
    assert_eq!(warning.labels[1].line, 34);
}
