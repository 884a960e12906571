//! `rules/rule.schema.json` and `rules/patch.schema.json` are what the types say.
//! `AXIOWL_BLESS=1 cargo test -p axiowl-lang --test schema` writes them.

use axiowl_lang::schema::{json_schema, patch_schema};
use std::path::Path;

#[test]
fn the_schema_files_are_what_the_types_say() {
    for (name, schema) in [
        ("rule.schema.json", json_schema()),
        ("patch.schema.json", patch_schema()),
    ] {
        let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules");
        let path = rules.join(name);
        let made = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
        if std::env::var_os("AXIOWL_BLESS").is_some() {
            std::fs::write(&path, &made).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == made,
            "rules/{name} is out of date; run AXIOWL_BLESS=1 cargo test -p axiowl-lang --test schema"
        );
    }
}

#[test]
fn the_schema_knows_every_key_and_forbids_others() {
    let schema = json_schema();
    let keys = schema["properties"].as_object().unwrap();
    for key in [
        "axiowl",
        "provider",
        "sources",
        "rows",
        "proof",
        "shares",
        "transcript",
    ] {
        assert!(keys.contains_key(key), "{key}");
    }
    assert_eq!(schema["additionalProperties"], false);
    let sqlite = &schema["$defs"]["Sqlite"];
    assert_eq!(
        sqlite["properties"]["columns"]["additionalProperties"]["type"][0],
        "string"
    );
}
