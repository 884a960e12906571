//! Whole rules: loading, sharing, digests, places, fields and guards.

use axiowl_lang::fields::{row_fields, source_fields};
use axiowl_lang::guard::{guarding_columns, guards};
use axiowl_lang::load::{Layer, LoadedRule, RuleFolder, load, shared_name};
use std::path::Path;

fn folder(provider: &str) -> RuleFolder {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules");
    let mut folder = RuleFolder::read(&dir.join(provider), Layer::BuiltIn).unwrap();
    folder.shown = format!("rules/{provider}");
    // What the rule does is not the matter here.
    folder.cases = None;
    folder
}

fn loaded(folder: &RuleFolder) -> LoadedRule {
    let desk = self::folder("desk");
    match load(folder, &|name| (name == "desk").then_some(&desk)) {
        Ok(loaded) => loaded,
        Err(errors) => panic!("{}", errors.iter().map(|e| e.plain()).collect::<String>()),
    }
}

#[test]
fn a_rule_that_uses_everything_loads_without_a_word() {
    let desk = loaded(&folder("desk"));
    assert_eq!(desk.warnings, []);
    assert_eq!(desk.files.len(), 2);
    assert_eq!(desk.policy.as_ref().unwrap().file, 1);
    assert_eq!(desk.rule.scope_word(), "desk");
}

#[test]
fn places_name_the_file_and_line() {
    let desk = loaded(&folder("desk"));
    let text = &desk.files[0].text;
    let line = text[..text.find("desk_owner").unwrap()].lines().count();
    assert_eq!(
        desk.place(desk.rule.proof[1].source.span),
        format!("rules/desk/rule.yaml:{line}")
    );
}

#[test]
fn a_sharing_rule_takes_what_it_does_not_give() {
    let cli = folder("desk_cli");
    assert_eq!(shared_name(&cli).as_deref(), Some("desk"));
    let cli = loaded(&cli);
    assert_eq!(cli.rule.session_text(), "cli:{id}");
    assert_eq!(cli.rule.proof.len(), 1);
    assert_eq!(cli.rule.status.len(), 6);
    assert_eq!(cli.rule.sources.len(), 7);
    assert!(cli.rule.aliases.is_empty() && cli.rule.identity.is_empty());
    assert_eq!(cli.rule.scope_word(), "desk-cli");
    // Its policy is the shared one, and places lead into the file they stand in.
    let policy = cli.policy.as_ref().unwrap();
    assert_eq!(
        cli.files[usize::from(policy.file)].name,
        "rules/desk/policy.rhai"
    );
    assert!(
        cli.place(cli.rule.proof[0].source.span)
            .starts_with("rules/desk_cli/rule.yaml:")
    );
    assert!(
        cli.place(cli.rule.status[0].span)
            .starts_with("rules/desk/rule.yaml:")
    );
}

/// What the tests read of a rule.
trait Session {
    fn session_text(&self) -> &str;
}

impl Session for axiowl_lang::rule::Rule {
    fn session_text(&self) -> &str {
        self.rows.session.as_ref().unwrap().as_str()
    }
}

#[test]
fn the_digest_names_the_content_and_not_the_line_ends() {
    let desk = folder("desk");
    let digest = loaded(&desk).digest;
    let expected =
        blake3::hash(format!("{}\0{}", desk.rule, desk.scripts["policy.rhai"]).as_bytes());
    assert_eq!(digest, expected.to_hex()[..12]);

    let mut dos = desk.clone();
    dos.rule = desk.rule.replace('\n', "\r\n");
    let from_dos = loaded(&dos);
    assert_eq!(from_dos.digest, digest);
    let text = &from_dos.files[0].text;
    assert_eq!(
        &text[from_dos.rule.proof[1].source.span.range()],
        "desk_owner"
    );

    let mut other = desk.clone();
    other
        .scripts
        .insert("policy.rhai".into(), "fn review(row, ctx) {}".into());
    assert_ne!(loaded(&other).digest, digest);
    let cli = folder("desk_cli");
    assert_ne!(
        loaded(&cli).digest,
        blake3::hash(cli.rule.as_bytes()).to_hex()[..12]
    );
}

#[test]
fn the_fields_of_a_row_are_exactly_these() {
    let desk = loaded(&folder("desk"));
    let fields: Vec<String> = row_fields(&desk.rule).into_iter().collect();
    let own = [
        "above",
        "any_loose",
        "archived",
        "best",
        "composed",
        "cwd",
        "desk_title",
        "file",
        "folder",
        "id",
        "mtime",
        "name",
        "path",
        "pinned",
        "registered_as",
        "rollout_path",
        "size",
        "source",
        "stem",
        "thread_source",
        "title",
        "updated_at",
        "updated_at_ms",
        "version",
    ];
    let plain: Vec<&str> = fields
        .iter()
        .map(String::as_str)
        .filter(|f| !f.contains('.'))
        .collect();
    assert_eq!(plain, own);
    let below = |name: &str| -> Vec<&str> {
        let prefix = format!("{name}.");
        fields
            .iter()
            .filter_map(|f| f.strip_prefix(&prefix))
            .collect()
    };
    assert_eq!(
        below("index"),
        [
            "above", "folder", "id", "mtime", "name", "path", "size", "stem"
        ]
    );
    assert_eq!(
        below("desktop"),
        [
            "above", "folder", "mtime", "path", "pinned", "roots", "size", "stem", "titles"
        ]
    );
    assert_eq!(
        below("extra"),
        [
            "above", "fid", "folder", "has_log", "mtime", "parts", "path", "size", "stem"
        ]
    );
    // A source that follows another has that one's fields too, to be joined by.
    assert!(below("head").contains(&"cli") && below("head").contains(&"id"));
    assert!(below("composed").is_empty() && below("pinned").is_empty());
    assert!(source_fields(&desk.rule, "composers").contains("key"));
    assert!(source_fields(&desk.rule, "no such source").is_empty());
}

#[test]
fn guards_are_the_columns_that_bar() {
    let desk = loaded(&folder("desk"));
    let guards = guards(&desk.rule);
    let read: Vec<&str> = guards.iter().map(|g| g.field.as_str()).collect();
    // In the order of the rule: filter, kinds, statuses. `extra.parts` bars nothing.
    assert_eq!(
        read,
        [
            "source",
            "thread_source",
            "title",
            "archived",
            "rollout_path",
            "best"
        ]
    );
    let best = guards.last().unwrap();
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        best.any_of,
        [pair("index", "name"), pair("threads", "name")]
    );
    assert!(desk.place(best.at).starts_with("rules/desk/rule.yaml:"));
    let columns = guarding_columns(&desk.rule);
    assert!(columns.contains(&pair("threads", "archived")));
    assert!(!columns.iter().any(|(_, column)| column == "updated_at"));
}

#[test]
fn comments_may_stand_anywhere_and_be_long() {
    let mut desk = folder("desk");
    let comments = "    # a line of comment\n".repeat(80);
    desk.rule = desk
        .rule
        .replace("\nsources:\n", &format!("\nsources:\n{comments}"))
        .replace("  join:\n", &format!("  join:\n{comments}"))
        .replace("\nproof:\n", &format!("\nproof:\n{comments}"));
    loaded(&desk);
}
