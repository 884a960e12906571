//! A rule as a whole, for looking at: its lines with patches applied and shared parts filled
//! in, and where each comes from; its literals, patterns and conditions. Nothing is decided
//! by it.

use crate::cond::{Cond, Test};
use crate::load::{LoadedRule, RuleFile};
use crate::origins::OriginLine;
use crate::rule::Rule;
use crate::scalar::Pattern;
use crate::source::Source;
use crate::tree::{Form, Tree};
use std::ops::Range;

/// What a rule takes from the one it shares, where it does not give it itself.
pub(crate) const SHARED: [&str; 11] = [
    "roots",
    "home",
    "sources",
    "beside",
    "expects",
    "rows",
    "name",
    "status",
    "evidence",
    "transcript",
    "policy",
];
/// Of these it takes key by key.
const BY_KEY: [&str; 2] = ["rows", "name"];

/// A line and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveLine {
    /// Layer, file and line.
    pub origin: OriginLine,
    /// The text, without its line end.
    pub text: String,
}

impl LoadedRule {
    /// The lines of the rule, then those it takes from a shared one, then its policy.
    pub fn effective(&self) -> Vec<EffectiveLine> {
        let mut out = Vec::new();
        let policy = self.policy.as_ref().map(|p| usize::from(p.file));
        let own = self.files.first().map_or("", |file| &file.text);
        let own = Tree::of(own);
        for (number, file) in self.files.iter().enumerate() {
            let shared = number > 0 && Some(number) != policy;
            match shared {
                false => out.extend(lines(file, 0..file.text.len())),
                true => {
                    for part in taken(&own, &Tree::of(&file.text)) {
                        out.extend(lines(file, part));
                    }
                }
            }
        }
        out
    }
}

/// The whole lines that a range touches.
fn lines(file: &RuleFile, part: Range<usize>) -> Vec<EffectiveLine> {
    let mut at = 0;
    let mut out = Vec::new();
    for (origin, text) in file.lines() {
        // A line ends in at least one byte, except perhaps the last.
        let end = file.text[at..]
            .find('\n')
            .map_or(file.text.len(), |n| at + n + 1);
        if at < part.end && end > part.start {
            out.push(EffectiveLine {
                origin,
                text: text.to_owned(),
            });
        }
        at = end;
    }
    out
}

/// The parts of a shared rule that another one takes.
fn taken(own: &Tree, shared: &Tree) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let Some(root) = shared.root() else {
        return out;
    };
    for (key, value) in shared.entries(root) {
        let name = shared.text_of(*key);
        if !SHARED.contains(&name) {
            continue;
        }
        let whole = shared.span(*key).start..shared.span(*value).end;
        let mine = own.node_at(&[name]);
        match mine {
            None => out.push(whole),
            Some(mine) if BY_KEY.contains(&name) && own.form(mine) == Form::Map => {
                for (key, value) in shared.entries(*value) {
                    if own.entry_of(mine, shared.text_of(*key)).is_none() {
                        out.push(shared.span(*key).start..shared.span(*value).end);
                    }
                }
            }
            Some(_) => {}
        }
    }
    out
}

impl LoadedRule {
    /// The provider whose rule holds the sources: its own, or the one it shares. What the
    /// store has changed is mended there.
    pub fn sources_holder(&self) -> &str {
        match &self.rule.shares {
            Some(shared) if !self.has_own("sources") => shared.as_str(),
            _ => self.rule.provider.as_str(),
        }
    }

    /// Whether a top key, or one below it, stands in the rule itself and not only in the one
    /// it shares.
    pub fn has_own(&self, key: &str) -> bool {
        let own = self.files.first().map_or("", |file| &file.text);
        let path: Vec<&str> = key.split('.').collect();
        Tree::of(own).key(&path).is_some()
    }

    /// Every key of the rule's texts with the single values under it, those of lists too.
    pub fn literals(&self) -> Vec<(String, String)> {
        let policy = self.policy.as_ref().map(|p| usize::from(p.file));
        let mut out = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            if Some(number) != policy {
                let tree = Tree::of(&file.text);
                if let Some(root) = tree.root() {
                    gather(&tree, root, "", &mut out);
                }
            }
        }
        out
    }

    /// The texts that conditions of rows and records compare with.
    pub fn compared(&self) -> Vec<String> {
        let mut out = Vec::new();
        self.rule.each_condition(&mut |cond| {
            cond.each_field(&mut |_, test| {
                let values = match &test.value {
                    Test::Equals(value) => vec![value],
                    Test::In(values) => values.iter().collect(),
                    Test::Ops(ops) => {
                        let listed = ops.one_of.iter().flatten();
                        listed.chain(&ops.equals).chain(&ops.has).collect()
                    }
                };
                out.extend(
                    values
                        .into_iter()
                        .filter_map(|v| v.as_str().map(str::to_owned)),
                );
            });
        });
        out
    }

    /// The patterns that conditions of rows and records ask for.
    pub fn patterns(&self) -> Vec<Pattern> {
        let mut out = Vec::new();
        self.rule.each_condition(&mut |cond| {
            cond.each_field(&mut |_, test| {
                if let Test::Ops(ops) = &test.value {
                    out.extend(ops.matches.iter().map(|pattern| pattern.value.clone()));
                }
            });
        });
        out
    }
}

fn gather(tree: &Tree, node: usize, key: &str, out: &mut Vec<(String, String)>) {
    match tree.form(node) {
        Form::Scalar => out.push((key.to_owned(), tree.text_of(node).to_owned())),
        Form::List => {
            for item in tree.items(node) {
                gather(tree, *item, key, out);
            }
        }
        Form::Map => {
            for (name, value) in tree.entries(node) {
                let name = tree.text_of(*name);
                gather(tree, *value, name, out);
            }
        }
    }
}

impl Rule {
    /// Calls `visit` for every condition of rows, and of the records of JSON Lines sources.
    pub fn each_condition<'a>(&'a self, visit: &mut dyn FnMut(&'a Cond)) {
        self.rows.filter.iter().for_each(&mut *visit);
        let kinds = self.rows.kind.iter().flatten();
        kinds.filter_map(|k| k.when.as_ref()).for_each(&mut *visit);
        let candidates = self.name.iter().flat_map(|name| &name.candidates);
        candidates
            .filter_map(|c| c.when.as_ref())
            .for_each(&mut *visit);
        self.status
            .iter()
            .filter_map(|s| s.when.as_ref())
            .for_each(&mut *visit);
        self.proof
            .iter()
            .filter_map(|r| r.when.as_ref())
            .for_each(&mut *visit);
        self.evidence
            .iter()
            .filter_map(|e| e.when.as_ref())
            .for_each(&mut *visit);
        for source in self.sources.values() {
            if let Source::Jsonl(jsonl) = source {
                jsonl.when.iter().for_each(&mut *visit);
                jsonl
                    .take
                    .iter()
                    .filter_map(|t| t.filter.as_ref())
                    .for_each(&mut *visit);
            }
        }
    }
}
