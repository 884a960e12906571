//! The places of a YAML text: which key and value stand where.
//!
//! Serves diagnostics (keys that no type keeps a place for, the path of a place) and the
//! recovery in [`crate::parse`]. It holds no meaning and is never what a rule is read from.

mod walk;

pub(crate) use walk::Form;

use serde_yaml::granit_parser::{self, ErrorKind, Event, Parser, StructureStyle};
use std::ops::Range;

/// Nodes of one document, parents before children. A flat list, so that no nesting can
/// exhaust the stack.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    /// Where and why the text is no YAML.
    pub broken: Option<Broken>,
    /// Anchors, aliases, tags or merge keys occur: cutting a piece out may change another.
    pub entangled: bool,
}

/// Where a text stops being YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    pub byte: usize,
    pub message: String,
    /// It is YAML, and nests too deep.
    pub too_deep: bool,
}

#[derive(Debug)]
struct Node {
    span: Range<usize>,
    parent: Option<usize>,
    shape: Shape,
}

#[derive(Debug)]
enum Shape {
    Scalar(String),
    Map {
        flow: bool,
        entries: Vec<(usize, usize)>,
    },
    List {
        flow: bool,
        items: Vec<usize>,
    },
}

/// A key and its value, or an item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// From the key (or the item) to the end of the value.
    pub span: Range<usize>,
    /// It stands in `{…}` or `[…]`.
    pub flow: bool,
    /// It is an item of a list.
    pub item: bool,
    /// Its neighbours, not counting itself.
    pub siblings: usize,
    /// The mapping or list it stands in.
    pub container: usize,
}

/// A mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Where to point: the key it is the value of, the item, or its first key.
    pub place: Range<usize>,
    /// The part it is the value of; none for the whole document.
    pub part: Option<Part>,
    /// Tells it from others of the same tree.
    pub id: usize,
}

impl Tree {
    /// The places of a text; what follows a syntax error is missing.
    pub fn of(text: &str) -> Self {
        let mut tree = Self::default();
        let limit = text.len().saturating_mul(2).saturating_add(16);
        let options = granit_parser::options! { flow_nesting_limit: crate::yaml::MAX_RULE_DEPTH };
        let mut parser = Parser::new_from_str_with_options(text, options);
        let mut open: Vec<(usize, Option<usize>)> = Vec::new();
        for _ in 0..limit {
            let (event, span) = match parser.next_event() {
                Some(Ok(found)) => found,
                Some(Err(error)) => {
                    tree.broken = Some(Broken {
                        byte: error.marker().byte_offset().unwrap_or(text.len()),
                        message: error.info(),
                        too_deep: *error.kind() == ErrorKind::RecursionLimitExceeded,
                    });
                    break;
                }
                None => break,
            };
            let bytes = span.byte_range().unwrap_or(0..0);
            let shape = match event {
                Event::Scalar(text, _, anchor, tag) => {
                    tree.entangled |= anchor != 0 || tag.is_some() || text == "<<";
                    Shape::Scalar(text.into_owned())
                }
                Event::Alias(_) => {
                    tree.entangled = true;
                    Shape::Scalar(String::new())
                }
                Event::MappingStart(style, anchor, tag) => {
                    tree.entangled |= anchor != 0 || tag.is_some();
                    let flow = style == StructureStyle::Flow;
                    Shape::Map {
                        flow,
                        entries: Vec::new(),
                    }
                }
                Event::SequenceStart(style, anchor, tag) => {
                    tree.entangled |= anchor != 0 || tag.is_some();
                    let flow = style == StructureStyle::Flow;
                    Shape::List {
                        flow,
                        items: Vec::new(),
                    }
                }
                Event::MappingEnd | Event::SequenceEnd => {
                    if let Some((node, _)) = open.pop() {
                        tree.close(node, bytes.end);
                    }
                    continue;
                }
                Event::DocumentEnd => break,
                _ => continue,
            };
            let collection = !matches!(shape, Shape::Scalar(_));
            let id = tree.add(shape, bytes, &mut open);
            if collection {
                open.push((id, None));
            }
        }
        for (node, _) in open.into_iter().rev() {
            tree.close(node, text.len());
        }
        tree
    }

    /// Hangs a node under the innermost open collection.
    fn add(
        &mut self,
        shape: Shape,
        span: Range<usize>,
        open: &mut [(usize, Option<usize>)],
    ) -> usize {
        let id = self.nodes.len();
        let parent = open.last().map(|(node, _)| *node);
        self.nodes.push(Node {
            span,
            parent,
            shape,
        });
        if let Some((parent, key)) = open.last_mut() {
            match &mut self.nodes[*parent].shape {
                Shape::Map { entries, .. } => match key.take() {
                    Some(key) => entries.push((key, id)),
                    None => *key = Some(id),
                },
                Shape::List { items, .. } => items.push(id),
                Shape::Scalar(_) => {}
            }
        }
        id
    }

    /// A flow collection ends with its bracket, a block one with its last child.
    fn close(&mut self, node: usize, end: usize) {
        let last = match &self.nodes[node].shape {
            Shape::Map {
                flow: false,
                entries,
            } => entries.last().map(|(_, value)| *value),
            Shape::List { flow: false, items } => items.last().copied(),
            _ => None,
        };
        let end = last.map_or(end, |child| self.nodes[child].span.end);
        let span = &mut self.nodes[node].span;
        span.end = end.max(span.start);
    }

    /// The place of the key at a path of keys (list items by their number).
    pub fn key(&self, path: &[&str]) -> Option<Range<usize>> {
        let (last, parents) = path.split_last()?;
        let (key, _) = self.entry(self.node(parents)?, last)?;
        Some(self.nodes[key].span.clone())
    }

    /// The place of the value at a path of keys.
    pub fn value(&self, path: &[&str]) -> Option<Range<usize>> {
        Some(self.nodes[self.node(path)?].span.clone())
    }

    /// The text of a scalar at a path of keys.
    pub fn scalar(&self, path: &[&str]) -> Option<&str> {
        match &self.nodes[self.node(path)?].shape {
            Shape::Scalar(text) => Some(text),
            _ => None,
        }
    }

    fn node(&self, path: &[&str]) -> Option<usize> {
        let root = if self.nodes.is_empty() { None } else { Some(0) };
        path.iter()
            .try_fold(root?, |node, step| match &self.nodes[node].shape {
                Shape::Map { .. } => self.entry(node, step).map(|(_, value)| value),
                Shape::List { items, .. } => items.get(step.parse::<usize>().ok()?).copied(),
                Shape::Scalar(_) => None,
            })
    }

    fn entry(&self, map: usize, key: &str) -> Option<(usize, usize)> {
        let Shape::Map { entries, .. } = &self.nodes[map].shape else {
            return None;
        };
        entries.iter().copied().find(|(k, _)| self.text(*k) == key)
    }

    fn text(&self, node: usize) -> &str {
        match &self.nodes[node].shape {
            Shape::Scalar(text) => text,
            _ => "",
        }
    }

    /// The path of the innermost entry around a byte: `proof[1].grants`.
    pub fn path_at(&self, byte: usize) -> Option<String> {
        let mut node = self.innermost(byte)?;
        let mut steps = Vec::new();
        while let Some(parent) = self.nodes[node].parent {
            match &self.nodes[parent].shape {
                Shape::Map { entries, .. } => {
                    let key = entries.iter().find(|(k, v)| *k == node || *v == node);
                    steps.push((self.text(key.map_or(node, |(k, _)| *k)).to_owned(), false));
                }
                Shape::List { items, .. } => {
                    let at = items.iter().position(|i| *i == node).unwrap_or(0);
                    steps.push((format!("[{at}]"), true));
                }
                Shape::Scalar(_) => {}
            }
            node = parent;
        }
        let mut out = String::new();
        for (step, item) in steps.into_iter().rev() {
            if !item && !out.is_empty() {
                out.push('.');
            }
            out.push_str(&step);
        }
        Some(out).filter(|path| !path.is_empty())
    }

    /// The first step of the path of a byte: `proof`.
    pub fn section_at(&self, byte: usize) -> Option<String> {
        let path = self.path_at(byte)?;
        let end = path.find(['.', '[']).unwrap_or(path.len());
        Some(path[..end].to_owned())
    }

    fn innermost(&self, byte: usize) -> Option<usize> {
        // Children come after their parents, so the last node that fits is the innermost.
        let fits = |n: &Node| n.span.start <= byte && byte < n.span.end.max(n.span.start + 1);
        self.nodes.iter().rposition(fits)
    }

    /// The innermost key with its value, or list item, around a byte.
    pub fn part_at(&self, byte: usize) -> Option<Part> {
        self.part_of(self.innermost(byte)?)
    }

    /// The part that a part's container is the value of.
    pub fn part_around(&self, part: &Part) -> Option<Part> {
        self.part_of(part.container)
    }

    /// The place of the largest list or mapping that starts at a byte, short of the whole.
    pub fn collection_from(&self, byte: usize) -> Option<Range<usize>> {
        let starts = |n: &&Node| {
            n.span.start == byte && n.parent.is_some() && !matches!(n.shape, Shape::Scalar(_))
        };
        self.nodes.iter().find(starts).map(|n| n.span.clone())
    }

    /// The mapping that a byte stands in: the one it starts, or of which it is a key or value.
    pub fn mapping_at(&self, byte: usize) -> Option<Mapping> {
        let mut node = self.innermost(byte)?;
        while !matches!(self.nodes[node].shape, Shape::Map { .. }) {
            node = self.nodes[node].parent?;
        }
        let span = &self.nodes[node].span;
        let place = match self.nodes[node].parent.map(|p| &self.nodes[p].shape) {
            Some(Shape::Map { entries, .. }) => {
                let key = entries.iter().find(|(_, v)| *v == node);
                key.map_or(span.clone(), |(k, _)| self.nodes[*k].span.clone())
            }
            Some(_) => span.clone(),
            // The whole document: its first key.
            None => match &self.nodes[node].shape {
                Shape::Map { entries, .. } => {
                    let key = entries.first();
                    key.map_or(span.clone(), |(k, _)| self.nodes[*k].span.clone())
                }
                _ => span.clone(),
            },
        };
        Some(Mapping {
            place,
            part: self.part_of(node),
            id: node,
        })
    }

    fn part_of(&self, node: usize) -> Option<Part> {
        let container = self.nodes[node].parent?;
        match &self.nodes[container].shape {
            Shape::Map { flow, entries } => {
                let (key, value) = entries.iter().find(|(k, v)| *k == node || *v == node)?;
                let start = self.nodes[*key].span.start;
                Some(Part {
                    span: start..self.nodes[*value].span.end.max(self.nodes[*key].span.end),
                    flow: *flow,
                    item: false,
                    siblings: entries.len() - 1,
                    container,
                })
            }
            Shape::List { flow, items } => Some(Part {
                span: self.nodes[node].span.clone(),
                flow: *flow,
                item: true,
                siblings: items.len().saturating_sub(1),
                container,
            }),
            Shape::Scalar(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "a: 1\nb:\n  c: { d: x, e: [f, { g: h }] }\n  i:\n    - j: k\n      l: m\n    - n\no: p\n";

    #[test]
    fn keys_values_and_paths() {
        let tree = Tree::of(TEXT);
        let at = |range: Option<Range<usize>>| &TEXT[range.unwrap()];
        assert_eq!(at(tree.key(&["b", "c", "e"])), "e");
        assert_eq!(at(tree.value(&["b", "c", "e"])), "[f, { g: h }]");
        assert_eq!(at(tree.value(&["b", "i", "1"])), "n");
        assert_eq!(tree.scalar(&["b", "i", "0", "l"]), Some("m"));
        assert_eq!(tree.key(&["b", "x"]), None);
        let path = |needle: &str| tree.path_at(TEXT.find(needle).unwrap()).unwrap();
        assert_eq!(path("h }"), "b.c.e[1].g");
        assert_eq!(path("l: m"), "b.i[0].l");
        assert_eq!(path("o: p"), "o");
        assert_eq!(tree.section_at(TEXT.find("h }").unwrap()).unwrap(), "b");
        assert!(!tree.entangled);
        assert!(Tree::of("a: &x 1\nb: *x\n").entangled);
    }

    #[test]
    fn parts_cover_key_and_value() {
        let tree = Tree::of(TEXT);
        let part = tree.part_at(TEXT.find("l: m").unwrap()).unwrap();
        assert_eq!(&TEXT[part.span.clone()], "l: m");
        let around = tree.part_around(&part).unwrap();
        assert_eq!(&TEXT[around.span.clone()], "j: k\n      l: m");
        assert!(around.item && !around.flow && around.siblings == 1);
    }
}
