//! The rule under a patch: absent, changed, of a pack; and what a patch lets in.

use super::*;

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
