//! The policy's syntax tree: its entry, the fields it reads, the keys it answers with.

use super::{Known, Lint};
use crate::codes;
use crate::diag::{Diagnostic, SourceText};
use crate::nearest::correct;
use crate::policy::reads::{Chain, chains};
use crate::policy::{ANSWER_KEYS, CompiledPolicy, ENTRY, ENTRY_SHAPE, offset};
use rhai::{AST, ASTNode, Expr, Position, Stmt};
use std::ops::Range;

pub(super) fn check(lint: &mut Lint, policy: Option<&CompiledPolicy>) {
    unused(lint);
    let Some(policy) = policy else {
        return;
    };
    // One that does not compile has been reported.
    let Ok(ast) = policy.ast() else {
        return;
    };
    let source = &lint.files[usize::from(policy.file).min(lint.files.len() - 1)];
    let Some(row) = entry(lint, ast, source) else {
        return;
    };
    let known = lint.row();
    if !known.unsure {
        for read in chains(ast, &row) {
            field(lint, source, &read, &known);
        }
    }
    for (key, position) in answers(ast) {
        if !ANSWER_KEYS.contains(&key.as_str()) {
            let message = format!("the policy answers with `{key}`");
            let help = correct(&key, ANSWER_KEYS, "an answer may hold");
            let at = word(source, position, key.len());
            lint.mistyped(
                codes::POLICY_ANSWER,
                (source, at),
                "unknown key",
                message,
                help,
            );
        }
    }
}

/// Scripts of the folder that never run.
fn unused(lint: &mut Lint) {
    let named = lint.rule.policy.as_ref().map(|p| p.as_str());
    if named.is_some_and(|name| !lint.folder.scripts.contains_key(name)) {
        // Already said, with the names of those that are there.
        return;
    }
    for name in lint.folder.scripts.keys() {
        if named != Some(name.as_str()) {
            let (file, at) = lint.key(&["provider"]);
            let message = format!("the script `{name}` beside the rule never runs");
            lint.push(
                Diagnostic::warning(codes::POLICY_UNUSED, message)
                    .at(file, at, "no `policy` names it")
                    .help(format!("add `policy: {name}`, or remove the file")),
            );
        }
    }
}

/// Checks the entry and gives the name of its first parameter.
fn entry(lint: &mut Lint, ast: &AST, source: &SourceText) -> Option<String> {
    let all: Vec<_> = ast.iter_functions().collect();
    let named = || all.iter().filter(|f| f.name == ENTRY);
    if let Some(found) = named().find(|f| f.params.len() == 2) {
        return Some(found.params[0].to_owned());
    }
    let (message, at) = match named().next() {
        Some(found) => {
            let count = found.params.len();
            let message = format!("`{ENTRY}` takes {count} parameters; it is called with two");
            (message, find_function(&source.text, ENTRY))
        }
        None => (format!("the policy has no `{ENTRY_SHAPE}`"), 0..0),
    };
    let help = match named().next() {
        Some(_) => format!("write `{ENTRY_SHAPE} {{ … }}`"),
        None => {
            let others = all.iter().map(|f| f.name);
            match crate::nearest::nearest(ENTRY, others) {
                Some(near) => format!("`{near}` is never called; did you mean `{ENTRY_SHAPE}`?"),
                None => format!("write `{ENTRY_SHAPE} {{ … }}`"),
            }
        }
    };
    lint.error(
        codes::POLICY_ENTRY,
        (source, at),
        "called for each row",
        message,
        help,
    );
    None
}

/// Where a function's name stands in the text, for a message only.
fn find_function(text: &str, name: &str) -> Range<usize> {
    match text.find(&format!("fn {name}")) {
        Some(at) => at + 3..at + 3 + name.len(),
        None => 0..0,
    }
}

fn field(lint: &mut Lint, source: &SourceText, chain: &Chain, known: &Known) {
    let Some((first, at)) = chain.first() else {
        return;
    };
    if known.fields.contains(first) {
        return;
    }
    let prefix = format!("{first}.");
    let record = known.fields.iter().any(|f| f.starts_with(&prefix));
    let (wrong, at, shown) = match chain.get(1) {
        // A joined record as a map.
        None if record => return,
        Some((second, at)) if record => {
            let full = format!("{first}.{second}");
            if known.fields.contains(&full) {
                return;
            }
            (full, at, second.len())
        }
        _ => (first.clone(), at, first.len()),
    };
    let help = correct(
        &wrong,
        known.fields.iter().map(String::as_str),
        "the fields here",
    );
    let message = format!("the policy reads `row.{wrong}`, which no row has");
    let at = word(source, *at, shown);
    lint.mistyped(
        codes::POLICY_FIELD,
        (source, at),
        "unknown field",
        message,
        help,
    );
}

fn word(source: &SourceText, position: Position, len: usize) -> Range<usize> {
    let start = offset(&source.text, position);
    // A quoted key starts with its quote.
    let quote = usize::from(source.text[start..].starts_with(['"', '\'', '`']));
    start + quote..start + quote + len
}

/// Keys of map literals that the entry returns, or leaves as its value.
fn answers(ast: &AST) -> Vec<(String, Position)> {
    let entry =
        ast.clone_functions_only_filtered(|_, _, _, name, params| name == ENTRY && params == 2);
    let mut out = Vec::new();
    entry.walk(&mut |path: &[ASTNode]| {
        let value = match path.last() {
            Some(ASTNode::Stmt(Stmt::Return(Some(value), ..))) => Some(&**value),
            Some(ASTNode::Stmt(Stmt::Expr(value))) => Some(&**value),
            _ => None,
        };
        if let Some(Expr::Map(map, _)) = value {
            for (key, _) in &map.0 {
                out.push((key.name.to_string(), key.pos));
            }
        }
        true
    });
    out
}
