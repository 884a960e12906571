//! Walking a tree node by node, for patches: what a node is, what stands in it and where.

use super::{Shape, Tree};
use std::ops::Range;

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A text, number or truth value.
    Scalar,
    /// A mapping.
    Map,
    /// A list.
    List,
}

impl Form {
    /// The word for messages, with its article.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Scalar => "a single value",
            Self::Map => "a mapping",
            Self::List => "a list",
        }
    }
}

impl Tree {
    /// The whole document.
    pub(crate) fn root(&self) -> Option<usize> {
        (!self.nodes.is_empty()).then_some(0)
    }

    /// What a node is.
    pub(crate) fn form(&self, node: usize) -> Form {
        match &self.nodes[node].shape {
            Shape::Scalar(_) => Form::Scalar,
            Shape::Map { .. } => Form::Map,
            Shape::List { .. } => Form::List,
        }
    }

    /// Whether a collection is written with brackets; a scalar is not.
    pub(crate) fn is_flow(&self, node: usize) -> bool {
        match &self.nodes[node].shape {
            Shape::Map { flow, .. } | Shape::List { flow, .. } => *flow,
            Shape::Scalar(_) => false,
        }
    }

    /// The bytes of a node.
    pub(crate) fn span(&self, node: usize) -> Range<usize> {
        self.nodes[node].span.clone()
    }

    /// The text of a scalar; empty for a collection.
    pub(crate) fn text_of(&self, node: usize) -> &str {
        self.text(node)
    }

    /// The keys and values of a mapping, in order; nothing for other nodes.
    pub(crate) fn entries(&self, node: usize) -> &[(usize, usize)] {
        match &self.nodes[node].shape {
            Shape::Map { entries, .. } => entries,
            _ => &[],
        }
    }

    /// The items of a list, in order; nothing for other nodes.
    pub(crate) fn items(&self, node: usize) -> &[usize] {
        match &self.nodes[node].shape {
            Shape::List { items, .. } => items,
            _ => &[],
        }
    }

    /// The entry of a mapping under a key.
    pub(crate) fn entry_of(&self, map: usize, key: &str) -> Option<(usize, usize)> {
        self.entry(map, key)
    }

    /// The node at a path of keys.
    pub(crate) fn node_at(&self, path: &[&str]) -> Option<usize> {
        self.node(path)
    }
}
