//! Key paths as patches write them: `sources.threads.sqlite.max_rows`,
//! `proof[codex_desktop_thread_state].grants`, `.` for the whole rule.

use crate::tree::{Form, Tree};

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// `.key`
    Key(String),
    /// `[name]`: an element of a list by its name or number, or a key that holds a dot.
    Element(String),
}

impl Step {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Key(name) | Self::Element(name) => name,
        }
    }
}

/// Reads a path; the error says what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Vec<Step>, String> {
    if text == "." {
        return Ok(Vec::new());
    }
    let mut steps = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let end = closing(inner).ok_or("a `[` has no `]`")?;
            let name = inner[..end].trim();
            let quoted = ['"', '\''].iter().find_map(|quote| {
                name.strip_prefix(*quote)?
                    .strip_suffix(*quote)
                    .filter(|_| name.len() > 1)
            });
            let name = quoted.unwrap_or(name);
            if name.is_empty() {
                return Err("`[]` names nothing".into());
            }
            steps.push(Step::Element(name.to_owned()));
            rest = &inner[end + 1..];
            match rest.strip_prefix('.') {
                Some("") => return Err("it ends with a dot".into()),
                Some(after) => rest = after,
                None if rest.is_empty() || rest.starts_with('[') => {}
                None => return Err(format!("`{rest}` follows a `]` without a dot")),
            }
            continue;
        }
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        if end == 0 {
            return Err("a key between two dots is empty".into());
        }
        steps.push(Step::Key(rest[..end].trim().to_owned()));
        rest = &rest[end..];
        if let Some(after) = rest.strip_prefix('.') {
            if after.is_empty() {
                return Err("it ends with a dot".into());
            }
            rest = after;
        }
    }
    match steps.is_empty() {
        true => Err("it is empty; `.` is the whole rule".into()),
        false => Ok(steps),
    }
}

/// The place of the bracket that closes an open one.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth == 0 => return Some(at),
            ']' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// A path as it is written, for messages.
pub(crate) fn shown(steps: &[Step]) -> String {
    let mut out = String::new();
    for step in steps {
        match step {
            Step::Key(key) if out.is_empty() => out.push_str(key),
            Step::Key(key) => {
                out.push('.');
                out.push_str(key);
            }
            Step::Element(name) => {
                out.push('[');
                out.push_str(name);
                out.push(']');
            }
        }
    }
    if out.is_empty() { ".".into() } else { out }
}

/// Where a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seat {
    /// It is the whole document.
    Root,
    /// It is the value of this entry of a mapping.
    Entry { map: usize, index: usize },
    /// It is this item of a list.
    Item { list: usize, index: usize },
}

/// A node that a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub node: usize,
    pub seat: Seat,
}

/// Why a path leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Miss {
    /// There is nothing of that name; what there is instead.
    Absent { step: usize, known: Vec<String> },
    /// Several elements have that name; their numbers.
    Several { step: usize, numbers: Vec<usize> },
    /// The path goes on, and there is only a single value (or nothing).
    Leaf { step: usize },
}

/// Follows a path through a tree.
pub(crate) fn find(tree: &Tree, steps: &[Step]) -> Result<Found, Miss> {
    find_from(tree, tree.root().ok_or(Miss::Leaf { step: 0 })?, steps)
}

/// Follows a path from a node on.
pub(crate) fn find_from(tree: &Tree, node: usize, steps: &[Step]) -> Result<Found, Miss> {
    let mut found = Found {
        node,
        seat: Seat::Root,
    };
    for (at, step) in steps.iter().enumerate() {
        found = one(tree, found.node, at, step)?;
    }
    Ok(found)
}

fn one(tree: &Tree, node: usize, at: usize, step: &Step) -> Result<Found, Miss> {
    let name = step.name();
    match tree.form(node) {
        Form::Scalar => Err(Miss::Leaf { step: at }),
        Form::Map => {
            let entries = tree.entries(node);
            let index = entries.iter().position(|(k, _)| tree.text_of(*k) == name);
            let Some(index) = index else {
                let known = entries.iter().map(|(k, _)| tree.text_of(*k).to_owned());
                return Err(Miss::Absent {
                    step: at,
                    known: known.collect(),
                });
            };
            Ok(Found {
                node: entries[index].1,
                seat: Seat::Entry { map: node, index },
            })
        }
        Form::List => {
            let items = tree.items(node);
            let called = |item: &usize| names(tree, *item).contains(&name);
            let mut numbers: Vec<usize> = (0..items.len()).filter(|i| called(&items[*i])).collect();
            if numbers.is_empty() {
                // By number, as diagnostics count.
                let number = name.parse::<usize>().ok();
                numbers.extend(number.filter(|n| *n < items.len()));
            }
            match numbers.as_slice() {
                [index] => Ok(Found {
                    node: items[*index],
                    seat: Seat::Item {
                        list: node,
                        index: *index,
                    },
                }),
                [] => {
                    let known = items
                        .iter()
                        .filter_map(|item| names(tree, *item).first().map(|n| (*n).to_owned()));
                    Err(Miss::Absent {
                        step: at,
                        known: known.collect(),
                    })
                }
                _ => Err(Miss::Several { step: at, numbers }),
            }
        }
    }
}

/// The keys whose value names an element of a list, the telling ones first.
const NAMING: [&str; 11] = [
    "source", "as", "label", "is", "client", "probe", "say", "from", "with", "id", "file",
];

/// What an element of a list may be called: a text by itself, a mapping by the keys that
/// tell it from its neighbours.
pub(crate) fn names(tree: &Tree, item: usize) -> Vec<&str> {
    match tree.form(item) {
        Form::Scalar => vec![tree.text_of(item)],
        Form::List => Vec::new(),
        Form::Map => NAMING
            .iter()
            .filter_map(|key| tree.entry_of(item, key))
            .filter(|(_, value)| tree.form(*value) == Form::Scalar)
            .flat_map(|(_, value)| spellings(tree.text_of(value)))
            .collect(),
    }
}

/// A probe holds the quotes that stand in the record; nobody wants to write them twice.
fn spellings(text: &str) -> impl Iterator<Item = &str> {
    let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
    inner
        .filter(|inner| !inner.is_empty())
        .into_iter()
        .chain([text])
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "sources:\n  s: { sqlite: { max_rows: 5 } }\nrows: { where: { a.b: 1 } }\nproof:\n  - source: one\n    grants: []\n  - { source: two, when: { x: 1 } }\nstatus:\n  - { is: stale, when: { a: 1 } }\n  - { is: stale, when: { b: 1 } }\nreject: [blank, '1']\ntake:\n  - { probe: '\"title\"', keep: first }\n  - { probe: plain, keep: last }\n";

    fn at(path: &str) -> Result<&'static str, Miss> {
        let tree = Tree::of(RULE);
        let found = find(&tree, &parse(path).unwrap())?;
        Ok(&RULE[tree.span(found.node)])
    }

    #[test]
    fn keys_elements_and_numbers_are_found() {
        assert_eq!(at("sources.s.sqlite.max_rows"), Ok("5"));
        assert_eq!(at("proof[two].when.x"), Ok("1"));
        assert_eq!(at("proof[one].grants"), Ok("[]"));
        assert_eq!(at("proof[1].source"), Ok("two"));
        assert_eq!(at("status[1].when"), Ok("{ b: 1 }"));
        assert_eq!(at("rows.where[\"a.b\"]"), Ok("1"));
        assert_eq!(at("rows[where][a.b]"), Ok("1"));
        // A name counts before a number.
        assert_eq!(at("reject[1]"), Ok("'1'"));
        assert_eq!(at("reject[0]"), Ok("blank"));
        // The quotes of a probe may be left out.
        for probe in ["title", "'\"title\"'", "\"title\""] {
            assert_eq!(at(&format!("take[{probe}].keep")), Ok("first"));
        }
        assert_eq!(at("take[plain].keep"), Ok("last"));
        assert!(at(".").unwrap().starts_with("sources:"));
    }

    #[test]
    fn a_miss_says_what_is_there() {
        let known = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        assert_eq!(
            at("sources.t"),
            Err(Miss::Absent {
                step: 1,
                known: known(&["s"])
            })
        );
        assert_eq!(
            at("proof[three]"),
            Err(Miss::Absent {
                step: 1,
                known: known(&["one", "two"])
            })
        );
        assert_eq!(
            at("status[stale]"),
            Err(Miss::Several {
                step: 1,
                numbers: vec![0, 1]
            })
        );
        assert_eq!(at("reject[0].x"), Err(Miss::Leaf { step: 2 }));
    }

    #[test]
    fn bad_paths_are_named() {
        for path in ["", "a.", "a..b", "a[", "a[]", "a[x]y", "[x].", ".a"] {
            assert!(parse(path).is_err(), "{path}");
        }
        assert_eq!(shown(&parse("a.b[c d].e").unwrap()), "a.b[c d].e");
        assert_eq!(shown(&parse("strip[a[b]c]").unwrap()), "strip[a[b]c]");
        assert_eq!(shown(&[]), ".");
    }
}
