//! Where an item goes in the text of an object or list, and which bytes go with one that is
//! taken out. Follows the layout that is there; knows no keys and no files.

use serde::Serialize as _;
use serde_json::Value;

/// The places of an object or list in its text.
pub(crate) struct Container {
    /// Its opening bracket.
    pub start: usize,
    /// Behind its closing bracket.
    pub end: usize,
    /// First and behind the last byte of each item.
    pub items: Vec<(usize, usize)>,
    /// Its own commas.
    pub commas: Vec<usize>,
}

/// Bytes to put in, and bytes to leave out.
#[derive(Default)]
pub(crate) struct Splices(Vec<(usize, usize, String)>);

impl Splices {
    fn put(&mut self, at: usize, text: impl Into<String>) {
        self.0.push((at, at, text.into()));
    }

    fn cut(&mut self, from: usize, to: usize) {
        self.0.push((from, to, String::new()));
    }

    /// The text with all of them.
    pub fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(from, to, _)| (*from, *to));
        let mut out = String::with_capacity(text.len() + 256);
        let mut at = 0;
        for (from, to, new) in &self.0 {
            out.push_str(&text[at..*from]);
            out.push_str(new);
            at = *to;
        }
        out.push_str(&text[at..]);
        out
    }
}

impl Container {
    /// Puts an item behind the last one.
    pub fn put(&self, text: &str, key: Option<&str>, value: &Value) -> Splices {
        let mut out = Splices::default();
        let inside = &text[self.start..self.end];
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let Some(&(first, last)) = self.items.last() else {
            let outer = indent_of(text, self.start);
            let unit = if outer.starts_with('\t') { "\t" } else { "  " };
            let item = item(key, value, &format!("{outer}{unit}"), unit, newline);
            let close = if inside.contains('\n') {
                String::new()
            } else {
                format!("{newline}{outer}")
            };
            out.put(
                self.start + 1,
                format!("{newline}{outer}{unit}{item}{close}"),
            );
            return out;
        };
        let trailing = self.commas.iter().copied().find(|at| *at >= last);
        let lead = &text[line_start(text, first)..first];
        let own_line = lead.trim().is_empty() && inside.contains('\n');
        if !own_line {
            let tight = !inside.contains("\": ") && !inside.contains(", ");
            let gap = if tight { "" } else { " " };
            let item = line_item(key, value, tight);
            out.put(last, format!(",{gap}{item}"));
            return out;
        }
        let outer = indent_of(text, self.start);
        let unit = lead.strip_prefix(outer).filter(|unit| !unit.is_empty());
        let item = item(key, value, lead, unit.unwrap_or("  "), newline);
        let behind = trailing.map_or(last, |comma| comma + 1);
        // A remark behind the last item stays with it.
        let at = line_rest(text, behind).unwrap_or(behind);
        match trailing {
            Some(_) => out.put(at, format!("{newline}{lead}{item},")),
            None => {
                out.put(last, ",");
                out.put(at, format!("{newline}{lead}{item}"));
            }
        }
        out
    }

    /// Leaves an item out, with its comma and, where it stands alone on them, its lines.
    pub fn take(&self, text: &str, index: usize) -> Splices {
        let mut out = Splices::default();
        let (from, mut to) = self.items[index];
        let next = self.items.get(index + 1).map_or(self.end, |next| next.0);
        let after = self
            .commas
            .iter()
            .copied()
            .find(|at| *at >= to && *at < next);
        // A comma that is only allowed there because of the item goes with it.
        let before = self.commas.iter().copied().rfind(|at| *at < from);
        match (after, before) {
            (Some(after), _) => {
                if text[to..after].trim().is_empty() {
                    to = after + 1;
                } else {
                    out.cut(after, after + 1);
                }
            }
            (None, Some(before)) => out.cut(before, before + 1),
            (None, None) => {}
        }
        let start = line_start(text, from);
        let alone_before = text[start..from].trim().is_empty() && start > self.start;
        let rest = text[to..].find('\n').map(|at| to + at + 1);
        match rest.filter(|end| alone_before && text[to..*end].trim().is_empty()) {
            Some(end) => out.cut(start, end),
            None => {
                let spaces = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
                let behind = match after {
                    Some(_) => spaces(&text[to..]),
                    None => 0,
                };
                let ahead = match (after, before) {
                    (None, Some(before)) => {
                        let lead = &text[before + 1..from];
                        lead.len() - lead.trim_end_matches([' ', '\t']).len()
                    }
                    _ => 0,
                };
                out.cut(from - ahead, to + behind);
            }
        }
        out
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The white space at the head of a line.
fn indent_of(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The end of a line when nothing but a remark stands in it behind `at`.
fn line_rest(text: &str, at: usize) -> Option<usize> {
    let end = at + text[at..].find('\n')?;
    let end = if text[..end].ends_with('\r') {
        end - 1
    } else {
        end
    };
    let rest = text[at..end].trim();
    let closed = rest.starts_with("/*") && rest.find("*/") == Some(rest.len() - 2);
    (rest.is_empty() || rest.starts_with("//") || closed).then_some(end)
}

/// An item laid out over lines.
fn item(key: Option<&str>, value: &Value, lead: &str, unit: &str, newline: &str) -> String {
    let mut bytes = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    let mut writer = serde_json::Serializer::with_formatter(&mut bytes, format);
    let written = value.serialize(&mut writer).is_ok();
    let text = match String::from_utf8(bytes) {
        Ok(text) if written => text,
        _ => value.to_string(),
    };
    let text = text.replace('\n', &format!("{newline}{lead}"));
    match key {
        Some(key) => format!("{}: {text}", Value::from(key)),
        None => text,
    }
}

/// An item in a line.
fn line_item(key: Option<&str>, value: &Value, tight: bool) -> String {
    let gap = if tight { "" } else { " " };
    match key {
        Some(key) => format!("{}:{gap}{value}", Value::from(key)),
        None => value.to_string(),
    }
}
