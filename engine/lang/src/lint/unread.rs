//! What is known and not read: paths below a root, fields that exist, a reason.

use super::paths::{below_root, is_climbing};
use super::{Known, Lint};
use crate::at::At;
use crate::codes;
use crate::secrets::is_secret_path;
use crate::template::Template;
use std::collections::BTreeSet;

pub(super) fn check(lint: &mut Lint) {
    for path in &lint.rule.beside {
        stays_below(lint, path);
    }
    for unread in &lint.rule.unread {
        if let Some(when) = &unread.when {
            let known = Known::of("the machine", BTreeSet::new());
            let at = lint.place(unread.span);
            lint.condition(when, at, &known);
        }
        if unread.files.is_empty() && unread.when.is_none() {
            let at = lint.place(unread.span);
            let message = "`unread` names no files".into();
            let help = "name files below a root: `files: \"{root}/…\"`".into();
            lint.error(codes::INCOMPLETE, at, "empty", message, help);
        }
        for path in unread.files.iter() {
            stays_below(lint, path);
        }
        for field in unread.unless_in.iter().flat_map(|fields| fields.iter()) {
            lint.foreign_field(field);
        }
        if unread.say.trim().is_empty() {
            let at = lint.place(unread.span);
            let message = "`unread` gives no reason".into();
            let help = "say why the files are not read and what a person can do".into();
            lint.error(codes::INCOMPLETE, at, "no reason", message, help);
        }
    }
}

/// A path that is only looked for has to stay below a root, too.
fn stays_below(lint: &mut Lint, path: &At<Template>) {
    let at = lint.place(path.span);
    let text = path.as_str();
    if is_secret_path(text) {
        lint.secret(text, at);
    } else if is_climbing(text) || !below_root(lint, path) {
        let message = format!("the path `{text}` does not stay below a root");
        let help = "start with `{root}/`, and stay below it".into();
        lint.error(codes::PATH_ESCAPES, at, "leaves the roots", message, help);
    }
}
