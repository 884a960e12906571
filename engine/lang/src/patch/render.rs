//! A value of a patch as the text that fits the place it goes to.
//!
//! Texts are copied as they are where they can be, so that what a person wrote stays as they
//! wrote it; only indentation is adapted, and block style becomes brackets inside brackets.

use crate::origins::Fragment;
use crate::tree::{Form, Tree};
use std::ops::Range;

/// A value of a patch file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value<'a> {
    pub text: &'a str,
    pub tree: &'a Tree,
    pub node: usize,
}

impl<'a> Value<'a> {
    /// Another node of the same file.
    pub(crate) fn with(self, node: usize) -> Self {
        Self { node, ..self }
    }

    pub(crate) fn form(self) -> Form {
        self.tree.form(self.node)
    }

    /// The items of a list; the value itself for anything else.
    pub(crate) fn each(self) -> Vec<Value<'a>> {
        match self.form() {
            Form::List => {
                let items = self.tree.items(self.node).iter();
                items.map(|item| self.with(*item)).collect()
            }
            _ => vec![self],
        }
    }

    fn span(self) -> Range<usize> {
        let span = self.tree.span(self.node);
        let raw = &self.text[span.clone()];
        span.start..span.start + raw.trim_end().len()
    }

    fn raw(self) -> &'a str {
        &self.text[self.span()]
    }

    /// Whether it is a mapping or list written over several lines without brackets.
    pub(crate) fn is_block(self) -> bool {
        self.form() != Form::Scalar && !self.tree.is_flow(self.node) && !self.is_empty()
    }

    fn is_empty(self) -> bool {
        self.tree.entries(self.node).is_empty() && self.tree.items(self.node).is_empty()
    }

    fn is_block_text(self) -> bool {
        self.form() == Form::Scalar && self.raw().starts_with(['|', '>'])
    }

    /// Behind a colon or dash, lines that follow at `indent`. Not for a block collection.
    pub(crate) fn inline(self, indent: usize) -> Vec<Fragment> {
        if self.is_block() {
            return self.bracketed();
        }
        let rest = self.raw().lines().skip(1).filter(|l| !l.trim().is_empty());
        let margin = rest.map(leading).min().unwrap_or(0);
        self.moved(margin, indent)
    }

    /// A block collection whose first line starts where the text goes, the others at `indent`.
    pub(crate) fn block(self, indent: usize) -> Vec<Fragment> {
        let start = self.span().start;
        let line = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        self.moved(start - line, indent)
    }

    /// Inside brackets.
    pub(crate) fn bracketed(self) -> Vec<Fragment> {
        let at = self.span().start;
        if self.form() == Form::Scalar {
            if self.is_block_text() {
                let quoted = serde_json::Value::from(self.tree.text_of(self.node));
                return vec![Fragment::made(quoted.to_string(), at)];
            }
            let raw = self.raw();
            let plain = !raw.starts_with(['"', '\'']);
            if plain && raw.contains([',', '[', ']', '{', '}', '\n']) {
                let quoted = serde_json::Value::from(self.tree.text_of(self.node));
                return vec![Fragment::made(quoted.to_string(), at)];
            }
            return self.inline(0);
        }
        if self.tree.is_flow(self.node) {
            return self.inline(0);
        }
        let mut out = Vec::new();
        match self.form() {
            Form::Map => {
                out.push(Fragment::made("{ ", at));
                for (i, (key, value)) in self.tree.entries(self.node).iter().enumerate() {
                    if i > 0 {
                        out.push(Fragment::made(", ", at));
                    }
                    out.extend(self.with(*key).bracketed());
                    out.push(Fragment::made(": ", at));
                    out.extend(self.with(*value).bracketed());
                }
                out.push(Fragment::made(" }", at));
            }
            Form::List | Form::Scalar => {
                out.push(Fragment::made("[", at));
                for (i, item) in self.tree.items(self.node).iter().enumerate() {
                    if i > 0 {
                        out.push(Fragment::made(", ", at));
                    }
                    out.extend(self.with(*item).bracketed());
                }
                out.push(Fragment::made("]", at));
            }
        }
        out
    }

    /// The text with `margin` taken from its second line on, and `indent` given instead.
    fn moved(self, margin: usize, indent: usize) -> Vec<Fragment> {
        let mut out = Vec::new();
        let mut at = self.span().start;
        for (i, line) in self.raw().split_inclusive('\n').enumerate() {
            let cut = if i == 0 { 0 } else { leading(line).min(margin) };
            if i > 0 && !line.trim().is_empty() {
                out.push(Fragment::made(" ".repeat(indent), at + cut));
            }
            out.push(Fragment::copied(&line[cut..], at + cut));
            at += line.len();
        }
        out
    }
}

fn leading(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}
