//! The JSON Schema of rules, made from the types, for editors.

use crate::patch::Patch;
use crate::rule::Rule;
use serde_json::Value;

/// The schema that `rules/rule.schema.json` holds.
pub fn json_schema() -> Value {
    let mut schema = schemars::schema_for!(Rule).to_value();
    schema["title"] = "AxiOwl rule, language version 1".into();
    schema
}

/// The schema that `rules/patch.schema.json` holds.
pub fn patch_schema() -> Value {
    let mut schema = schemars::schema_for!(Patch).to_value();
    schema["title"] = "AxiOwl patch of a rule, language version 1".into();
    schema
}
