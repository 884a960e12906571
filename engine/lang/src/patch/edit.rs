//! The verbs: append, replace and remove, as changes of a rule's text.
//!
//! The rule's own text stays as it is around what is changed, comments and all.

use super::path::{Found, Seat};
use super::render::Value;
use crate::origins::Fragment;
use crate::tree::{Form, Tree};
use std::ops::Range;

/// The rule that is changed.
#[derive(Clone, Copy)]
pub(crate) struct Rule<'a> {
    pub text: &'a str,
    pub tree: &'a Tree,
}

/// A range of the rule's text, and what goes there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Splice {
    pub range: Range<usize>,
    pub fragments: Vec<Fragment>,
}

impl Rule<'_> {
    /// Puts a value in place of the one at `found`; the error says why that cannot be.
    pub(crate) fn replace(self, found: Found, new: Value<'_>) -> Result<Splice, String> {
        let (range, mut fragments, indent, flow) = match found.seat {
            Seat::Root => return Err("the whole rule cannot be replaced by a patch".into()),
            Seat::Entry { map, index } => {
                let (key, value) = self.tree.entries(map)[index];
                let key = self.tree.span(key);
                let after = self.behind_colon(key.end);
                let range = after..self.value_end(key.end, value);
                (
                    range,
                    vec![],
                    self.column(key.start),
                    self.tree.is_flow(map),
                )
            }
            Seat::Item { list, .. } => {
                let span = self.tree.span(found.node);
                let column = self.column(span.start);
                let range = span.start..self.end_of(found.node);
                if !self.tree.is_flow(list) && new.is_block() {
                    let fragments = new.block(column);
                    return Ok(Splice { range, fragments });
                }
                let fragments = match self.tree.is_flow(list) {
                    true => new.bracketed(),
                    false => new.inline(column),
                };
                return Ok(Splice { range, fragments });
            }
        };
        fragments.extend(behind_key(new, indent, flow));
        Ok(Splice { range, fragments })
    }

    /// Takes out what is at `found`; brackets that are left stand for byte `by` of the patch.
    pub(crate) fn remove(self, found: Found, by: usize) -> Result<Splice, String> {
        let gone = |range| {
            Ok(Splice {
                range,
                fragments: Vec::new(),
            })
        };
        let (container, spans, index) = match found.seat {
            Seat::Root => return Err("the whole rule cannot be removed by a patch".into()),
            Seat::Entry { map, index } => {
                let entries = self.tree.entries(map).iter();
                let spans: Vec<Range<usize>> = entries
                    .map(|(key, value)| {
                        let key = self.tree.span(*key);
                        key.start..self.value_end(key.end, *value)
                    })
                    .collect();
                (map, spans, index)
            }
            Seat::Item { list, index } => {
                let items = self.tree.items(list).iter();
                let spans = items
                    .map(|i| self.tree.span(*i).start..self.end_of(*i))
                    .collect();
                (list, spans, index)
            }
        };
        let own: &Range<usize> = &spans[index];
        if spans.len() == 1 {
            return Ok(self.emptied(container, by));
        }
        if self.tree.is_flow(container) {
            // With the comma behind it, or, for the last, before it.
            return gone(match spans.get(index + 1) {
                Some(next) => own.start..next.start,
                None => spans[index - 1].end..own.end,
            });
        }
        let item = matches!(found.seat, Seat::Item { .. });
        let line = self.line_start(own.start);
        let before = &self.text[line..own.start];
        let alone = match item {
            true => before.trim_start_matches(' ').starts_with('-') && before.trim() == "-",
            false => before.trim().is_empty(),
        };
        if alone {
            return gone(line..self.next_line(own.end));
        }
        // It shares its line with the dash of what it stands in: the next one takes its place.
        match spans.get(index + 1) {
            Some(next) => gone(own.start..next.start),
            None => gone(spans[index - 1].end..own.end),
        }
    }

    /// A collection that loses its only part.
    fn emptied(self, container: usize, by: usize) -> Splice {
        let span = self.tree.span(container);
        let brackets = match self.tree.form(container) {
            Form::Map => "{}",
            Form::List | Form::Scalar => "[]",
        };
        let end = self.end_of(container);
        // A block list starts with a dash, and may stand no deeper than its key: brackets go
        // behind the colon.
        let before = self.text[..span.start].trim_end_matches(['-', ' ', '\n', '\r']);
        let block = !self.tree.is_flow(container);
        let (start, text) = match block && before.ends_with(':') {
            true => (before.len(), format!(" {brackets}")),
            false => (span.start, brackets.to_owned()),
        };
        Splice {
            range: start..end,
            fragments: vec![Fragment::made(text, by)],
        }
    }

    /// Adds values to the list at `found`, before its element `before` or at its end.
    pub(crate) fn append_items(
        self,
        found: Found,
        new: Value<'_>,
        before: Option<usize>,
    ) -> Result<Splice, String> {
        let values = new.each();
        let list = found.node;
        if self.tree.form(list) == Form::Scalar {
            // One value where a list may stand: it becomes the first of one.
            let span = self.tree.span(list);
            let mut fragments = Vec::new();
            for value in &values {
                fragments.push(Fragment::made(", ", value.tree.span(value.node).start));
                fragments.extend(value.bracketed());
            }
            let at = new.tree.span(new.node).start;
            let old = self.text[span.start..self.end_of(list)].to_owned();
            let mut all = vec![Fragment::made(format!("[{old}"), at)];
            all.extend(fragments);
            all.push(Fragment::made("]", at));
            return Ok(Splice {
                range: span.start..self.end_of(list),
                fragments: all,
            });
        }
        let items = self.tree.items(list);
        if self.tree.is_flow(list) || items.is_empty() {
            return Ok(self.append_in_brackets(list, &values, before));
        }
        let place = before.unwrap_or(items.len() - 1);
        let item = self.tree.span(items[place]);
        let dash = self.text[..item.start].trim_end().len().saturating_sub(1);
        let indent = self.column(dash);
        let mut fragments = Vec::new();
        let at = |value: &Value<'_>| value.tree.span(value.node).start;
        for value in &values {
            let dash = format!("{}- ", " ".repeat(indent));
            fragments.push(Fragment::made(dash, at(value)));
            fragments.extend(match value.is_block() {
                true => value.block(indent + 2),
                false => value.inline(indent + 2),
            });
            fragments.push(Fragment::made("\n", at(value)));
        }
        Ok(match before {
            Some(_) => {
                let line = self.line_start(dash);
                Splice {
                    range: line..line,
                    fragments,
                }
            }
            None => self.after_line(self.end_of(list), fragments),
        })
    }

    fn append_in_brackets(
        self,
        list: usize,
        values: &[Value<'_>],
        before: Option<usize>,
    ) -> Splice {
        let items = self.tree.items(list);
        let mut fragments = Vec::new();
        for (i, value) in values.iter().enumerate() {
            let at = value.tree.span(value.node).start;
            if i > 0 || (before.is_none() && !items.is_empty()) {
                fragments.push(Fragment::made(", ", at));
            }
            fragments.extend(value.bracketed());
            if before.is_some() && i + 1 == values.len() {
                fragments.push(Fragment::made(", ", at));
            }
        }
        let place = match (before, items.last()) {
            (Some(before), _) => self.tree.span(items[before]).start,
            (None, Some(last)) => self.end_of(*last),
            (None, None) => self.tree.span(list).start + 1,
        };
        Splice {
            range: place..place,
            fragments,
        }
    }

    /// Adds the entries of a mapping to the one at `found`. The keys must be new.
    pub(crate) fn append_entries(self, found: Found, new: Value<'_>) -> Result<Splice, String> {
        let map = found.node;
        let entries = self.tree.entries(map);
        let flow = self.tree.is_flow(map) || entries.is_empty();
        let indent = entries
            .first()
            .map_or(0, |(key, _)| self.column(self.tree.span(*key).start));
        let mut fragments = Vec::new();
        for (i, (key, value)) in new.tree.entries(new.node).iter().enumerate() {
            let at = new.tree.span(*key).start;
            if flow {
                if i > 0 || !entries.is_empty() {
                    fragments.push(Fragment::made(", ", at));
                }
            } else {
                fragments.push(Fragment::made(" ".repeat(indent), at));
            }
            fragments.extend(new.with(*key).bracketed());
            fragments.push(Fragment::made(":", at));
            fragments.extend(behind_key(new.with(*value), indent, flow));
            if !flow {
                fragments.push(Fragment::made("\n", at));
            }
        }
        if !flow {
            return Ok(self.after_line(self.end_of(map), fragments));
        }
        let place = match entries.last() {
            Some((_, last)) => self.end_of(*last),
            None => self.tree.span(map).start + 1,
        };
        Ok(Splice {
            range: place..place,
            fragments,
        })
    }

    /// Whole lines after the one that holds a byte.
    fn after_line(self, byte: usize, mut fragments: Vec<Fragment>) -> Splice {
        let place = self.next_line(byte);
        let unfinished = !self.text[..place].ends_with('\n') && place > 0;
        if unfinished {
            let start = fragments.first().map_or(0, |f| f.start);
            fragments.insert(0, Fragment::made("\n", start));
        }
        Splice {
            range: place..place,
            fragments,
        }
    }

    /// The end of a node, without line ends that belong to a text in block style.
    fn end_of(self, node: usize) -> usize {
        let span = self.tree.span(node);
        span.start + self.text[span].trim_end().len()
    }

    /// The end of a value, which may be left out.
    fn value_end(self, key_end: usize, value: usize) -> usize {
        let colon = self.behind_colon(key_end);
        match self.tree.span(value).is_empty() {
            true => colon,
            false => self.end_of(value).max(colon),
        }
    }

    fn behind_colon(self, key_end: usize) -> usize {
        let rest = &self.text[key_end..];
        key_end + rest.find(':').map_or(0, |at| at + 1)
    }

    fn line_start(self, byte: usize) -> usize {
        self.text[..byte].rfind('\n').map_or(0, |at| at + 1)
    }

    fn next_line(self, byte: usize) -> usize {
        let rest = &self.text[byte..];
        byte + rest.find('\n').map_or(rest.len(), |at| at + 1)
    }

    fn column(self, byte: usize) -> usize {
        byte - self.line_start(byte)
    }
}

/// A value behind the colon of a key that stands at `indent`.
fn behind_key(new: Value<'_>, indent: usize, flow: bool) -> Vec<Fragment> {
    let at = new.tree.span(new.node).start;
    let mut out = Vec::new();
    if flow {
        out.push(Fragment::made(" ", at));
        out.extend(new.bracketed());
    } else if new.is_block() {
        out.push(Fragment::made(format!("\n{}", " ".repeat(indent + 2)), at));
        out.extend(new.block(indent + 2));
    } else {
        out.push(Fragment::made(" ", at));
        out.extend(new.inline(indent + 2));
    }
    out
}
