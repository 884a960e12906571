//! Conditions and values in words, for reasons and explanations.

use axiowl_lang::at::At;
use axiowl_lang::cond::{Cond, Test};
use serde_json::Value;

/// Names of variables or programs, as alternatives.
pub(crate) fn listed_names(names: &[At<String>]) -> String {
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    names.join(" or ")
}

/// A condition in words, without any row's values: the reason a filter drops rows for.
pub fn described(cond: &Cond) -> String {
    let joined =
        |list: &[Cond], word: &str| list.iter().map(described).collect::<Vec<_>>().join(word);
    match cond {
        Cond::All(list) => joined(list, " and "),
        Cond::Any(list) => joined(list, " or "),
        Cond::Not(inner) => format!("not ({})", described(inner)),
        Cond::Fact(name) => format!("fact {}", name.value),
        Cond::Targeted(_) => "it is the target".into(),
        Cond::Env(names) => format!("{} is set", listed_names(names)),
        Cond::Executable(names) => format!("{} is installed", listed_names(names)),
        Cond::Field { name, test } => match &test.value {
            Test::Equals(want) => format!("{} is {}", name.value, shown(want)),
            Test::In(list) => {
                format!(
                    "{} is one of {}",
                    name.value,
                    list.iter().map(shown).collect::<Vec<_>>().join(", ")
                )
            }
            Test::Ops(ops) => match &ops.has {
                Some(want) => format!("{} holds {}", name.value, shown(want)),
                None => format!("{} fits", name.value),
            },
        },
    }
}

/// A value in at most 60 characters.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        value => axiowl_model::clip(&axiowl_model::display_safe(&value.to_string()), 60),
    }
}
