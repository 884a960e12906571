//! TOML: a table of ours is written at the end of the text and cut out of it again.

use crate::error::Why;
use crate::recipe::{Entry, Place};
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Key};

/// The line above a table of ours.
const NOTE: &str = "# Added by `axiowl install`; `axiowl uninstall` takes it out.";

/// What a text means.
pub(crate) fn value(text: &str) -> Result<Value, Why> {
    toml_edit::de::from_str(text).map_err(|error| Why::Damaged(error.message().to_owned()))
}

/// The text with a table of ours at its end.
pub(crate) fn add(text: &str, entry: &Entry) -> Result<String, Why> {
    let (Place::Key, Value::Object(table)) = (entry.place, &entry.value) else {
        return Err(Why::NotAlone(entry.shown()));
    };
    let header: Vec<String> = entry.path.iter().map(|key| shown(key)).collect();
    let mut block = format!("{NOTE}\n[{}]\n", header.join("."));
    for (key, value) in table {
        let value = inline(value).ok_or_else(|| Why::NotAlone(entry.shown()))?;
        block.push_str(&format!("{} = {value}\n", shown(key)));
    }
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let added = format!("{gap}{block}");
    let added = if text.contains("\r\n") {
        added.replace('\n', "\r\n")
    } else {
        added
    };
    Ok(format!("{text}{added}"))
}

/// A value in a line; a table in a table is none of ours.
fn inline(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Bool(bool) => (*bool).into(),
        Value::Number(number) => number.as_i64()?.into(),
        Value::String(text) => text.as_str().into(),
        Value::Array(list) => {
            let list: Option<toml_edit::Array> = list.iter().map(inline).collect();
            list?.into()
        }
        Value::Null | Value::Object(_) => return None,
    })
}

fn shown(key: &str) -> String {
    Key::new(key).to_string()
}

/// The text without the tables of an entry: its own, and those below it that others added.
pub(crate) fn cut(text: &str, entry: &Entry, _emptied: &[Vec<String>]) -> Result<String, Why> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut gone = vec![false; lines.len()];
    let mut at = 0;
    let mut found = false;
    while at < lines.len() {
        if !header(lines[at]).is_some_and(|path| path.starts_with(&entry.path)) {
            at += 1;
            continue;
        }
        found = true;
        let end = (at + 1..lines.len())
            .find(|line| header(lines[*line]).is_some())
            .unwrap_or(lines.len());
        // What stands behind the last setting belongs to whatever follows.
        let settings = (at..end).rev().find(|line| !is_idle(lines[*line]));
        let last = settings.unwrap_or(at);
        let mut first = at;
        if first > 0 && lines[first - 1].trim_end() == NOTE {
            first -= 1;
            // The blank line that came with it.
            if first > 0 && lines[first - 1].trim().is_empty() {
                first -= 1;
            }
        }
        gone[first..=last].fill(true);
        at = end;
    }
    if !found {
        return Err(Why::NotAlone(entry.shown()));
    }
    let kept = lines.iter().zip(gone).filter(|(_, gone)| !gone);
    Ok(kept.map(|(line, _)| *line).collect())
}

fn is_idle(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// The keys of a table's header line.
fn header(line: &str) -> Option<Vec<String>> {
    let line = line.trim();
    let inner = line.strip_prefix('[')?.split_once(']')?.0;
    let keys = Key::parse(inner.trim_start_matches('[').trim()).ok()?;
    Some(keys.iter().map(|key| key.get().to_owned()).collect())
}

/// The text without an entry, as the library writes it.
pub(crate) fn take(text: &str, entry: &Entry, emptied: &[Vec<String>]) -> Result<String, Why> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| Why::Damaged(error.message().to_owned()))?;
    let path = emptied.last().unwrap_or(&entry.path);
    let (last, parents) = path
        .split_last()
        .ok_or_else(|| Why::NotAlone(entry.shown()))?;
    let mut item: &mut Item = document.as_item_mut();
    for key in parents {
        item = item
            .get_mut(key)
            .ok_or_else(|| Why::NotAlone(entry.shown()))?;
    }
    if let Some(table) = item.as_table_like_mut() {
        table.remove(last);
    }
    Ok(document.to_string())
}
