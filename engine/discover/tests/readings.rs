//! What one rule of a run read serves the next one that reads the very same, and no other.

use axiowl_discover::{Options, Readings, discover};
use axiowl_lang::load::{Layer, LoadedRule, RuleFolder, load};
use axiowl_lang::world_spec::WorldSpec;
use axiowl_sources::World;
use std::sync::Arc;

/// A rule over one document whose field `title` stands at `title`.
fn rule(provider: &str, surface: &str, title: &str) -> Arc<LoadedRule> {
    let text = format!(
        "axiowl: 1\nprovider: {provider}\ntitle: Demo\nroots: {{ demo: ~/.demo }}\nsources:\n  s:\n    json: {{ path: \"{{demo}}/sessions.json\", each: {{ at: /sessions, fields: {{ id: /id, title: {title}, surface: /surface }} }} }}\nrows: {{ from: s, session: \"{provider}:session:{{id}}\", where: {{ surface: {surface} }} }}\nname: {{ candidates: [ {{ from: title, label: title }} ] }}\nproof:\n  - {{ source: demo_seen }}\n"
    );
    let folder = RuleFolder::new(provider, Layer::User, &format!("rules/{provider}"), &text);
    Arc::new(load(&folder, &|_| None).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}")))
}

/// The names that each rule finds where the store goes away after the first one.
fn found(rules: &[Arc<LoadedRule>], home: &str, with: bool) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().expect("folder");
    let store = folder.path().join("home/.demo/sessions.json");
    std::fs::create_dir_all(store.parent().expect("parent")).expect("folder");
    let sessions = r#"{"sessions":[{"id":"1","title":"One","other":"Uno","surface":"app"},
        {"id":"2","title":"Two","other":"Due","surface":"cli"}]}"#;
    std::fs::write(&store, sessions).expect("store");
    let spec = "now: 2026-11-30T15:00:00Z\nmaps: { /home/dev: home }\n";
    let spec = WorldSpec::parse("world.yaml", spec).expect("a world");
    let world = World::fixture(folder.path(), &spec);
    let options = Options {
        home: home.to_owned(),
        readings: with.then(|| Arc::new(Readings::of(rules))),
        ..Options::default()
    };
    let mut out = Vec::new();
    for rule in rules {
        let report = discover(rule, &world, &options);
        let names = report.agents.into_iter();
        out.push(names.filter_map(|agent| agent.display_name).collect());
        let _gone_before = std::fs::remove_file(&store);
    }
    out
}

#[test]
fn a_store_is_read_once_for_all_rules_that_read_it_alike() {
    let app = rule("app", "app", "/title");
    let cli = rule("cli", "cli", "/title");
    let other = rule("other", "cli", "/other");
    let none: [&str; 0] = [];
    let both = [Arc::clone(&app), Arc::clone(&cli)];
    assert_eq!(found(&both, "", true), [["One"], ["Two"]]);
    assert_eq!(found(&both, "", false), [vec!["One"], none.to_vec()]);
    assert_eq!(
        found(&both, "work", true),
        [vec!["One"], none.to_vec()],
        "another home is another store"
    );
    // A rule between them neither takes what it would not have read nor costs the other its share.
    let three = [Arc::clone(&app), other, Arc::clone(&cli)];
    assert_eq!(
        found(&three, "", true),
        [vec!["One"], none.to_vec(), vec!["Two"]]
    );
}
