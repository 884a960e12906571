//! Replaces the texts of line-based files: YAML, TOML, protobuf's text format, tables, plain
//! text. Keys at the start of a line stay.

use super::values::Values;

/// Replaces the texts of a file; `keyed` says that its lines have keys. In prose, what stands
/// before a colon is text like any other.
pub fn replace(text: &str, keyed: bool, values: &mut Values) -> String {
    let lines = text.split_inclusive('\n');
    match keyed {
        true => lines.map(|line| one(line, values)).collect(),
        false => lines.map(|line| values.words.text(line)).collect(),
    }
}

/// Replaces the cells of a table under a header line, which stays.
pub fn replace_table(text: &str, values: &mut Values) -> String {
    let mut lines = text.split_inclusive('\n');
    let head = lines.next().unwrap_or_default();
    let columns: Vec<&str> = head.trim_end().split('\t').collect();
    values.words.keep(head);
    let mut out = head.to_owned();
    for line in lines {
        let body = line.trim_end_matches(['\n', '\r']);
        let cells: Vec<String> = body
            .split('\t')
            .enumerate()
            .map(|(at, cell)| values.value(columns.get(at).copied().unwrap_or(""), cell))
            .collect();
        out += &cells.join("\t");
        out += &line[body.len()..];
    }
    out
}

fn one(line: &str, values: &mut Values) -> String {
    let body = line.trim_end_matches(['\n', '\r']);
    let end = &line[body.len()..];
    let start = body.trim_start_matches([' ', '\t', '-']);
    let lead = &body[..body.len() - start.len()];
    let Some((key, between, value)) = split(start) else {
        return format!("{lead}{}{end}", values.words.text(start));
    };
    let shown = values.key(key);
    let single = value.len() > 1 && value.starts_with('\'') && value.ends_with('\'');
    let replaced = match serde_json::from_str::<String>(value) {
        // Escapes are no parts of words.
        Ok(inner) => serde_json::Value::from(values.value(key, &inner)).to_string(),
        Err(_) if single => format!("'{}'", values.value(key, &value[1..value.len() - 1])),
        Err(_) => values.value(key, value),
    };
    format!("{lead}{shown}{between}{replaced}{end}")
}

/// `key: value` or `key = value`: the key, what stands between, the value.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    let word = |c: char| c.is_ascii_alphanumeric() || "_.-\"".contains(c);
    let key_end = text.find(|c| !word(c))?;
    if key_end == 0 || key_end > 60 {
        return None;
    }
    let rest = &text[key_end..];
    let sign = rest.trim_start();
    if !sign.starts_with([':', '=']) {
        return None;
    }
    // `http://…` is no key.
    let value = sign[1..].trim_start();
    if sign[1..].starts_with("//") {
        return None;
    }
    let between = &rest[..rest.len() - value.len()];
    Some((&text[..key_end], between, value))
}

#[cfg(test)]
mod tests {
    use super::super::values::tests::values;
    use super::*;

    #[test]
    fn keys_and_quotes_stay() {
        let text = "id: 01a22cbd-a1e8-7a93-ac5a-2bcb9e103879\nname: \"Private: matter\"\nlist:\n  - one two\ntype = custom-title\n# Private\napi_key: abc\n";
        let out = replace(text, true, &mut values());
        let lines: Vec<&str> = out.lines().collect();
        assert!(lines[0].starts_with("id: 00000001-"), "{out}");
        assert!(
            lines[1].starts_with("name: \"") && lines[1].ends_with('"'),
            "{out}"
        );
        assert_eq!(lines[4], "type = custom-title");
        assert_eq!(lines[6], "api_key: dropped");
        assert!(!out.contains("Private") && !out.contains("matter"), "{out}");
        assert_eq!(out.lines().count(), text.lines().count());
        let prose = replace("Alice: hello\n", false, &mut values());
        assert!(
            !prose.contains("Alice") && !prose.contains("hello"),
            "{prose}"
        );
    }

    #[test]
    fn cells_of_a_table_are_replaced_by_their_columns() {
        let out = replace_table("id\tstatus\tname\n7\tactive\tPrivate\n", &mut values());
        assert!(out.starts_with("id\tstatus\tname\n7\tactive\t"), "{out}");
        assert!(!out.contains("Private"));
    }
}
