//! What is wrong with a verb or a path, in words, with the way out.

use super::apply::{Op, Verb};
use super::edit::Rule;
use super::path::{self, Found, Miss, Step};
use super::render::Value;
use crate::codes;
use crate::diag::{Diagnostic, Help, SourceText};
use crate::nearest::{correct, suggest};
use crate::tree::Form;
use std::ops::Range;

/// What is wrong with a verb, without its place.
pub(super) struct Problem {
    code: &'static str,
    message: String,
    label: &'static str,
    help: Help,
}

impl Problem {
    pub(super) fn verb(message: impl Into<String>, help: impl Into<Help>) -> Self {
        Self {
            code: codes::PATCH_VERB,
            message: message.into(),
            label: "at this path",
            help: help.into(),
        }
    }

    pub(super) fn at(self, file: &SourceText, at: Range<usize>) -> Diagnostic {
        Diagnostic::error(self.code, self.message)
            .at(file, at, self.label)
            .help(self.help)
    }
}

pub(super) type Three<'a> = (Option<Value<'a>>, Option<Value<'a>>, Option<Value<'a>>);

/// Verbs that cannot stand together, or say nothing.
pub(super) fn clash((append, replace, remove): &Three<'_>, before: bool) -> Option<Problem> {
    let help = "write one of `append`, `replace` and `remove`; `remove: [names]` and `append` \
                may stand together";
    let scalar = |value: &Value<'_>| value.form() == Form::Scalar;
    if append.is_none() && replace.is_none() && remove.is_none() {
        return Some(Problem::verb("nothing is done here", help));
    }
    let whole = remove.as_ref().is_some_and(scalar);
    if replace.is_some() && (append.is_some() || remove.is_some()) || whole && append.is_some() {
        return Some(Problem::verb("two verbs undo each other here", help));
    }
    if before && append.is_none() {
        let help = "it says where `append` puts its items";
        return Some(Problem::verb(
            "`before` does nothing without `append`",
            help,
        ));
    }
    let value = remove.as_ref()?;
    let word = value.tree.text_of(value.node);
    let mapping = value.form() == Form::Map;
    (mapping || whole && word != "true").then(|| {
        let help = "write `remove: true`, or `remove: [name, …]` for parts of it";
        Problem::verb("`remove` takes `true` or a list of names", help)
    })
}

/// A path that leads nowhere.
pub(super) fn missed(rule: Rule<'_>, op: &Op<'_>, miss: Miss) -> Problem {
    let (message, help) = match miss {
        Miss::Absent { step, known } => {
            let name = op.path[step].name();
            let parent = path::shown(&op.path[..step]);
            let known = || known.iter().map(String::as_str);
            let shared = step == 0 && is_shared(rule, name);
            let help = match correct(name, known(), "what is there") {
                _ if shared => shared_help(rule, name),
                help if help.meant.is_some() => help,
                _ => absent_help(
                    rule,
                    op,
                    step,
                    name,
                    suggest(name, known(), "what is there"),
                ),
            };
            let place = match step {
                0 => "the rule below".to_owned(),
                _ => format!("`{parent}` of the rule below"),
            };
            let what = match &op.path[step] {
                Step::Key(_) => "key",
                Step::Element(_) => "element",
            };
            (format!("{place} has no {what} `{name}`"), help)
        }
        Miss::Several { step, numbers } => {
            let path = path::shown(&op.path[..=step]);
            let list = path::shown(&op.path[..step]);
            let numbers: Vec<String> = numbers.iter().map(|n| format!("`{list}[{n}]`")).collect();
            let message = format!("`{path}` fits {} elements", numbers.len());
            let help = format!("take one by its number: {}", numbers.join(", "));
            (message, help.into())
        }
        Miss::Leaf { step } => {
            let path = path::shown(&op.path[..step]);
            let message = format!("`{path}` is a single value and has no parts");
            (message, format!("end the path at `{path}`").into())
        }
    };
    Problem {
        code: codes::PATCH_KEY,
        message,
        label: "leads nowhere",
        help,
    }
}

/// A key that is not there: how to add it, when that is what was meant.
fn absent_help(rule: Rule<'_>, op: &Op<'_>, step: usize, name: &str, known: String) -> Help {
    let parent = &op.path[..step];
    let adds = matches!(op.verb, Verb::Replace(_) | Verb::Append(..));
    let map =
        path::find(rule.tree, parent).is_ok_and(|found| rule.tree.form(found.node) == Form::Map);
    match adds && map && step + 1 == op.path.len() {
        true => format!(
            "to add it, write `{}: {{ append: {{ {name}: … }} }}`; {known}",
            match parent.is_empty() {
                true => "\".\"".to_owned(),
                false => path::shown(parent),
            }
        )
        .into(),
        false => known.into(),
    }
}

/// Whether the rule below has a top key only from the rule it shares.
fn is_shared(rule: Rule<'_>, key: &str) -> bool {
    crate::effective::SHARED.contains(&key) && rule.tree.scalar(&["shares"]).is_some()
}

/// A shared key is changed in the rule that holds it, for every rule that shares it.
fn shared_help(rule: Rule<'_>, key: &str) -> Help {
    let holder = rule.tree.scalar(&["shares"]).unwrap_or_default();
    format!(
        "`{key}` is shared from `{holder}`: change it there, for every rule that shares it; \
         `axiowl rules eject {holder} --patch` is the way"
    )
    .into()
}

pub(super) fn missed_element(rule: Rule<'_>, list: Found, name: &str, miss: Miss) -> Problem {
    let items = rule.tree.items(list.node).iter();
    let known = items.filter_map(|item| path::names(rule.tree, *item).first().copied());
    let (message, help) = match miss {
        Miss::Several { numbers, .. } => {
            let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
            (
                format!("`before: {name}` fits {} elements", numbers.len()),
                Help::from(format!("take one by its number: {}", numbers.join(", "))),
            )
        }
        _ => (
            format!("there is no element `{name}` to put anything before"),
            correct(name, known, "what is there"),
        ),
    };
    Problem {
        code: codes::PATCH_KEY,
        message,
        label: "in this entry",
        help,
    }
}
