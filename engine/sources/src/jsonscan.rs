//! Finds values by pointer in JSON text without building the document.
//!
//! One walk over a record checks all of it and remembers where the wanted values
//! stand; long strings are jumped over by `memchr`. The walk also works on a record
//! that a window cut: what was complete before the cut is found. It must not know
//! what a value means, and agrees with `serde_json` on every complete document.

use crate::pointer::{find, index};
use axiowl_lang::scalar::Pointer;
use memchr::memchr2;
use serde_json::Value;

/// Nesting beyond this is damage, as for `serde_json`.
const DEPTH: usize = 127;

/// The pointers that are looked for, arranged as a tree.
#[derive(Debug)]
pub(crate) struct Wanted {
    nodes: Vec<Node>,
    pointers: Vec<Entry>,
    /// Pointers as written, in the order of `pointers`: few, so that looking at each is quickest.
    texts: Vec<String>,
    captures: usize,
}

#[derive(Debug, Default)]
struct Node {
    children: Vec<(String, usize)>,
    capture: Option<usize>,
}

/// A pointer: the capture of its plain part, and what follows from the first `*` on.
#[derive(Debug)]
struct Entry {
    capture: usize,
    rest: Vec<String>,
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// One JSON value, and nothing but white space after it.
    Complete,
    /// The text ended inside the value; all before it is well formed.
    Cut,
    /// No JSON from this byte on.
    Bad(usize),
}

/// What a walk found.
#[derive(Debug)]
pub(crate) struct Scan<'d> {
    /// How it ended.
    pub end: End,
    spans: Vec<Option<&'d [u8]>>,
}

impl Wanted {
    /// Arranges pointers; equal ones are looked for once.
    pub(crate) fn new<'p>(pointers: impl IntoIterator<Item = &'p Pointer>) -> Self {
        let mut wanted = Self {
            nodes: vec![Node::default()],
            pointers: Vec::new(),
            texts: Vec::new(),
            captures: 0,
        };
        for pointer in pointers {
            if wanted.texts.iter().any(|text| text == pointer.as_str()) {
                continue;
            }
            let segments = pointer.segments();
            let plain = segments
                .iter()
                .take_while(|s| !["*", "-"].contains(&s.as_str()))
                .count();
            let capture = wanted.capture(&segments[..plain]);
            let entry = Entry {
                capture,
                rest: segments[plain..].to_vec(),
            };
            wanted.texts.push(pointer.as_str().to_owned());
            wanted.pointers.push(entry);
        }
        wanted
    }

    fn capture(&mut self, segments: &[String]) -> usize {
        let mut node = 0;
        for segment in segments {
            let known = self.nodes[node]
                .children
                .iter()
                .find(|(key, _)| key == segment);
            node = match known.map(|(_, child)| *child) {
                Some(child) => child,
                None => {
                    let child = self.nodes.len();
                    self.nodes.push(Node::default());
                    self.nodes[node].children.push((segment.clone(), child));
                    child
                }
            };
        }
        *self.nodes[node].capture.get_or_insert_with(|| {
            self.captures += 1;
            self.captures - 1
        })
    }

    /// Walks one record.
    pub(crate) fn scan<'d>(&self, data: &'d [u8]) -> Scan<'d> {
        let mut walk = Walk {
            wanted: self,
            data,
            at: 0,
            spans: vec![None; self.captures],
        };
        let end = match walk.value(Some(0), 0) {
            Ok(()) => {
                walk.space();
                if walk.at == data.len() {
                    End::Complete
                } else {
                    End::Bad(walk.at)
                }
            }
            Err(Stop::Cut) => End::Cut,
            Err(Stop::Bad) => End::Bad(walk.at),
        };
        Scan {
            end,
            spans: walk.spans,
        }
    }

    /// The value of a pointer that was asked for; nothing for null.
    pub(crate) fn value(&self, scan: &Scan<'_>, pointer: &str) -> Option<Value> {
        let entry = &self.pointers[self.texts.iter().position(|text| text == pointer)?];
        let text = (*scan.spans.get(entry.capture)?)?;
        let value: Value = serde_json::from_slice(text).ok()?;
        if entry.rest.is_empty() {
            return (!value.is_null()).then_some(value);
        }
        find(&entry.rest, &value).map(|found| found.into_owned())
    }
}

enum Stop {
    Cut,
    Bad,
}

struct Walk<'w, 'd> {
    wanted: &'w Wanted,
    data: &'d [u8],
    at: usize,
    spans: Vec<Option<&'d [u8]>>,
}

impl<'d> Walk<'_, 'd> {
    fn space(&mut self) {
        while matches!(self.data.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn peek(&mut self) -> Result<u8, Stop> {
        self.space();
        self.data.get(self.at).copied().ok_or(Stop::Cut)
    }

    fn value(&mut self, node: Option<usize>, depth: usize) -> Result<(), Stop> {
        let first = self.peek()?;
        let start = self.at;
        if let Some(node) = node {
            self.forget(node);
        }
        match first {
            b'{' => self.object(node, depth)?,
            b'[' => self.array(node, depth)?,
            b'"' => self.string().map(|_| ())?,
            b't' => self.word(b"true")?,
            b'f' => self.word(b"false")?,
            b'n' => self.word(b"null")?,
            b'-' | b'0'..=b'9' => self.number(depth == 0)?,
            _ => return Err(Stop::Bad),
        }
        if let Some(capture) = node.and_then(|node| self.wanted.nodes[node].capture) {
            self.spans[capture] = Some(&self.data[start..self.at]);
        }
        Ok(())
    }

    /// A key that stands twice: the later one counts, with all that is below it.
    fn forget(&mut self, node: usize) {
        let node = &self.wanted.nodes[node];
        if let Some(capture) = node.capture {
            self.spans[capture] = None;
        }
        for (_, child) in &node.children {
            self.forget(*child);
        }
    }

    fn object(&mut self, node: Option<usize>, depth: usize) -> Result<(), Stop> {
        if depth >= DEPTH {
            return Err(Stop::Bad);
        }
        self.at += 1;
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.peek()? != b'"' {
                return Err(Stop::Bad);
            }
            let start = self.at;
            let escaped = self.string()?;
            let child = node.and_then(|node| self.child(node, start, escaped));
            if self.peek()? != b':' {
                return Err(Stop::Bad);
            }
            self.at += 1;
            self.value(child, depth + 1)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(Stop::Bad),
            }
        }
    }

    /// The child of `node` under the key that was just read.
    fn child(&self, node: usize, start: usize, escaped: bool) -> Option<usize> {
        let children = &self.wanted.nodes[node].children;
        if children.is_empty() {
            return None;
        }
        let text = &self.data[start..self.at];
        let unescaped: String;
        let key = if escaped {
            unescaped = serde_json::from_slice(text).ok()?;
            unescaped.as_bytes()
        } else {
            &text[1..text.len() - 1]
        };
        children
            .iter()
            .find(|(name, _)| name.as_bytes() == key)
            .map(|(_, child)| *child)
    }

    fn array(&mut self, node: Option<usize>, depth: usize) -> Result<(), Stop> {
        if depth >= DEPTH {
            return Err(Stop::Bad);
        }
        self.at += 1;
        if self.peek()? == b']' {
            self.at += 1;
            return Ok(());
        }
        for position in 0.. {
            let child = node.and_then(|node| {
                let children = &self.wanted.nodes[node].children;
                let here = |(name, _): &&(String, usize)| index(name) == Some(position);
                children.iter().find(here).map(|(_, child)| *child)
            });
            self.value(child, depth + 1)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => break,
                _ => return Err(Stop::Bad),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Jumps over a string; says whether anything in it is escaped.
    fn string(&mut self) -> Result<bool, Stop> {
        self.at += 1;
        let mut escaped = false;
        loop {
            let rest = &self.data[self.at..];
            let stop = memchr2(b'"', b'\\', rest);
            let plain = &rest[..stop.unwrap_or(rest.len())];
            if plain.iter().fold(u8::MAX, |low, byte| low.min(*byte)) < 0x20 {
                self.at += plain.iter().position(|byte| *byte < 0x20).unwrap_or(0);
                return Err(Stop::Bad);
            }
            self.at += plain.len();
            let Some(stop) = stop else {
                return Err(Stop::Cut);
            };
            if rest[stop] == b'"' {
                self.at += 1;
                return Ok(escaped);
            }
            escaped = true;
            self.at += 1;
            match self.data.get(self.at) {
                None => return Err(Stop::Cut),
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
                Some(b'u') => {
                    self.at += 1;
                    for _ in 0..4 {
                        match self.data.get(self.at) {
                            None => return Err(Stop::Cut),
                            Some(byte) if byte.is_ascii_hexdigit() => self.at += 1,
                            Some(_) => return Err(Stop::Bad),
                        }
                    }
                }
                Some(_) => return Err(Stop::Bad),
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Stop> {
        for byte in word {
            match self.data.get(self.at) {
                None => return Err(Stop::Cut),
                Some(found) if found == byte => self.at += 1,
                Some(_) => return Err(Stop::Bad),
            }
        }
        Ok(())
    }

    /// A number that the text ends with may be cut, unless it is the whole document.
    fn number(&mut self, whole: bool) -> Result<(), Stop> {
        if self.data[self.at] == b'-' {
            self.at += 1;
        }
        match self.data.get(self.at) {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.data.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.data.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.data.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        let cut = self.at == self.data.len() && !whole;
        if cut { Err(Stop::Cut) } else { Ok(()) }
    }

    fn digits(&mut self) -> Result<(), Stop> {
        match self.data.get(self.at) {
            None => return Err(Stop::Cut),
            Some(byte) if byte.is_ascii_digit() => {}
            Some(_) => return Err(Stop::Bad),
        }
        while self.data.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
