//! What is wrong with a patch, and where that is said.

use super::*;

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
