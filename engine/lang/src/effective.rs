//! A rule as it works, line by line: patches applied, shared parts filled in, and where each
//! line comes from. For showing; nothing is decided by it.

use crate::load::{LoadedRule, RuleFile};
use crate::origins::OriginLine;
use crate::tree::{Form, Tree};
use std::ops::Range;

/// What a rule takes from the one it shares, where it does not give it itself.
const SHARED: [&str; 10] = [
    "roots",
    "home",
    "sources",
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
