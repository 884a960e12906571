//! Applies the verbs of a patch one after the other, and keeps what goes wrong.

use super::edit::{Rule, Splice};
use super::path::{self, Found, Step};
use super::problem::{Problem, clash, missed, missed_element};
use super::render::Value;
use super::{Patch, Patched};
use crate::codes;
use crate::diag::{Diagnostic, SourceText};
use crate::folder::RuleFolder;
use crate::origins::{OriginFile, Origins};
use crate::tree::{Form, Tree};
use std::ops::Range;

/// The keys of [`super::Verbs`].
const VERBS: [&str; 4] = ["append", "before", "replace", "remove"];

/// A patch while it is applied.
pub(super) struct Work<'a> {
    folder: &'a RuleFolder,
    below: &'a RuleFolder,
    file: &'a SourceText,
    tree: &'a Tree,
    text: String,
    origins: Origins,
    number: usize,
    pub(super) found: Vec<Diagnostic>,
}

/// One verb at one path.
pub(super) struct Op<'a> {
    pub(super) path: Vec<Step>,
    /// The place of the path in the patch.
    at: Range<usize>,
    pub(super) verb: Verb<'a>,
}

pub(super) enum Verb<'a> {
    Replace(Value<'a>),
    Append(Value<'a>, Option<String>),
    Remove,
}

impl<'a> Work<'a> {
    pub(super) fn new(
        folder: &'a RuleFolder,
        below: &'a RuleFolder,
        file: &'a SourceText,
        tree: &'a Tree,
    ) -> Self {
        let mut origins = match &below.origins {
            Some(origins) => (**origins).clone(),
            None => Origins::whole(OriginFile {
                layer: below.layer.clone(),
                source: below.main(),
            }),
        };
        let number = origins.add(OriginFile {
            layer: folder.layer.clone(),
            source: file.clone(),
        });
        Self {
            folder,
            below,
            file,
            tree,
            text: below.rule.clone(),
            origins,
            number,
            found: Vec::new(),
        }
    }

    pub(super) fn run(&mut self) {
        for op in self.ops() {
            let tree = Tree::of(&self.text);
            let rule = Rule {
                text: &self.text,
                tree: &tree,
            };
            match perform(rule, &op) {
                Ok(splice) => {
                    let Splice { range, fragments } = splice;
                    self.text = self
                        .origins
                        .splice(&self.text, range, self.number, fragments);
                }
                Err(problem) => {
                    let diagnostic = problem.at(self.file, op.at.clone());
                    self.found.push(diagnostic);
                }
            }
        }
        let broken = Tree::of(&self.text).broken;
        if let Some(broken) = broken.filter(|_| self.found.is_empty()) {
            let (origin, at) = self.origins.locate(broken.byte);
            let message = format!("what the patch makes is no YAML: {}", broken.message);
            self.found.push(
                Diagnostic::error(codes::SYNTAX, message)
                    .at(&origin.source, at..at + 1, "from here on")
                    .help("write the value in one line, with brackets and quotes"),
            );
        }
    }

    /// The verbs in the order they stand in: removals of an entry first, then additions.
    fn ops(&mut self) -> Vec<Op<'a>> {
        let tree = self.tree;
        let mut out = Vec::new();
        let overrides = tree.node_at(&["override"]);
        for (key, verbs) in overrides.map_or(&[][..], |node| tree.entries(node)) {
            let (at, written) = (tree.span(*key), tree.text_of(*key));
            let path = match path::parse(written) {
                Ok(path) => path,
                Err(why) => {
                    let message = format!("`{written}` is no key path: {why}");
                    self.found.push(
                        Diagnostic::error(codes::PATCH_KEY, message)
                            .at(self.file, at, "not a path")
                            .help("write `key.key`, and `list[name]` for an element of a list"),
                    );
                    continue;
                }
            };
            let value = |verb: &str| {
                let (_, node) = tree.entry_of(*verbs, verb)?;
                Some(Value {
                    text: &self.file.text,
                    tree,
                    node,
                })
            };
            let entries = tree.entries(*verbs).iter();
            if entries
                .clone()
                .any(|(k, _)| !VERBS.contains(&tree.text_of(*k)))
            {
                // A misspelt verb is an error already.
                continue;
            }
            let before = value("before").map(|v| tree.text_of(v.node).to_owned());
            let all = (value("append"), value("replace"), value("remove"));
            if let Some(problem) = clash(&all, before.is_some()) {
                self.found.push(problem.at(self.file, at));
                continue;
            }
            let (append, replace, remove) = all;
            let op = |path: &[Step], verb| Op {
                path: path.to_vec(),
                at: at.clone(),
                verb,
            };
            for named in remove.iter().flat_map(|value| value.each()) {
                let whole = tree.text_of(named.node) == "true"
                    && remove.is_some_and(|v| v.form() == Form::Scalar);
                let mut target = path.clone();
                if !whole {
                    target.push(Step::Element(tree.text_of(named.node).to_owned()));
                }
                out.push(op(&target, Verb::Remove));
            }
            out.extend(replace.map(|value| op(&path, Verb::Replace(value))));
            out.extend(append.map(|value| op(&path, Verb::Append(value, before))));
        }
        out
    }

    pub(super) fn finish(self, patch: &Patch, warnings: Vec<Diagnostic>) -> RuleFolder {
        let mut scripts = self.below.scripts.clone();
        scripts.extend(self.folder.scripts.clone());
        RuleFolder {
            provider: self.folder.provider.clone(),
            layer: self.folder.layer.clone(),
            shown: self.folder.shown.clone(),
            file: self.folder.file.clone(),
            rule: self.text,
            scripts,
            origins: Some(self.origins.into()),
            patched: Some(Patched {
                patch: Box::new(self.folder.clone()),
                base: Box::new(self.below.clone()),
                written_for: patch.base.value.clone(),
                warnings,
            }),
            cases: self.folder.cases,
            prepared: None,
        }
    }
}

fn perform(rule: Rule<'_>, op: &Op<'_>) -> Result<Splice, Problem> {
    let found = path::find(rule.tree, &op.path).map_err(|miss| missed(rule, op, miss))?;
    let cannot = |why: String| Problem::verb(why, "change a part of it, or write a whole rule");
    match &op.verb {
        Verb::Replace(value) => rule.replace(found, *value).map_err(cannot),
        Verb::Remove => rule.remove(found, op.at.start).map_err(cannot),
        Verb::Append(value, before) => append(rule, found, *value, before.as_deref(), op),
    }
}

fn append(
    rule: Rule<'_>,
    found: Found,
    value: Value<'_>,
    before: Option<&str>,
    op: &Op<'_>,
) -> Result<Splice, Problem> {
    let cannot = |why: String| Problem::verb(why, "change a part of it, or write a whole rule");
    let path = path::shown(&op.path);
    if rule.tree.form(found.node) != Form::Map {
        let place = match before {
            None => None,
            Some(name) => {
                let step = [Step::Element(name.to_owned())];
                let miss = |miss| missed_element(rule, found, name, miss);
                let element = path::find_from(rule.tree, found.node, &step).map_err(miss)?;
                match element.seat {
                    path::Seat::Item { index, .. } => Some(index),
                    _ => None,
                }
            }
        };
        return rule.append_items(found, value, place).map_err(cannot);
    }
    if before.is_some() {
        let help = "the keys of a mapping have no order; leave `before` out";
        return Err(Problem::verb(format!("`{path}` is a mapping"), help));
    }
    if value.form() != Form::Map {
        let message = format!(
            "`{path}` is a mapping, and `append` gives it {}",
            value.form().word()
        );
        let help = "append entries: `append: { key: value }`";
        return Err(Problem::verb(message, help));
    }
    for (key, _) in value.tree.entries(value.node) {
        let key = value.tree.text_of(*key);
        if rule.tree.entry_of(found.node, key).is_some() {
            let mut longer = op.path.clone();
            longer.push(Step::Key(key.to_owned()));
            let there = path::shown(&longer);
            let message = format!("`{there}` is there already");
            let help = format!("write `{there}: {{ replace: … }}`");
            return Err(Problem::verb(message, help));
        }
    }
    rule.append_entries(found, value).map_err(cannot)
}
