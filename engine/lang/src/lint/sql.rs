//! Whether a text is one SELECT. No SQL is compiled here; the database's own authorizer
//! refuses what slips through.

/// Why the text is not one SELECT, if it is not.
pub(super) fn not_one_select(sql: &str) -> Option<&'static str> {
    let words = top_level_words(sql);
    let mut statement = words.split(|w| *w == ";");
    let first = statement.next().unwrap_or_default();
    if statement.any(|rest| !rest.is_empty()) {
        return Some("something follows the semicolon");
    }
    match first.first().copied() {
        Some("SELECT") => None,
        Some("WITH") => {
            const VERBS: [&str; 6] = ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "VALUES"];
            match first.iter().find(|w| VERBS.contains(w)) {
                Some(&"SELECT") => None,
                Some(_) => Some("its `WITH` does not end in a SELECT"),
                None => Some("its `WITH` has no SELECT"),
            }
        }
        Some(_) => Some("it does not start with SELECT or WITH"),
        None => Some("it is empty"),
    }
}

/// The upper-case words outside brackets, strings, quoted names and comments; `;` is one,
/// and `?` stands for anything else.
fn top_level_words(sql: &str) -> Vec<&'static str> {
    const KNOWN: [&str; 7] = [
        "SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "REPLACE", "VALUES",
    ];
    let mut out = Vec::new();
    let mut depth = 0usize;
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        let skip = match c {
            '\'' | '"' | '`' => quoted(rest, c),
            '[' => rest.find(']').map_or(rest.len(), |at| at + 1),
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            c if c.is_alphanumeric() || c == '_' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                end.unwrap_or(rest.len())
            }
            c => c.len_utf8(),
        };
        let token = &rest[..skip];
        rest = &rest[skip..];
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            // A semicolon ends a statement whatever is still open.
            ';' => {
                depth = 0;
                out.push(";");
            }
            _ if c.is_whitespace() || token.starts_with("--") || token.starts_with("/*") => {}
            _ if depth > 0 => {}
            _ => {
                let known = KNOWN.iter().find(|k| k.eq_ignore_ascii_case(token));
                out.push(known.copied().unwrap_or("?"));
            }
        }
    }
    out
}

/// The length of a quoted piece; a doubled quote is part of it.
fn quoted(text: &str, quote: char) -> usize {
    let mut at = 1;
    while let Some(end) = text[at..].find(quote) {
        at += end + 1;
        if !text[at..].starts_with(quote) {
            return at;
        }
        at += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::not_one_select;

    #[test]
    fn one_select_passes() {
        for sql in [
            "SELECT * FROM t",
            "select a from t where b = 'x; DROP TABLE t' -- ; DELETE\n;",
            "/* c */ SELECT \"a;b\", [c;d] FROM t;  ",
            "WITH x AS (SELECT 1) SELECT * FROM x",
            "WITH x AS (SELECT 'it''s; )' FROM t), y AS (SELECT 1) select replace(a, 'b', 'c') FROM x",
        ] {
            assert_eq!(not_one_select(sql), None, "{sql}");
        }
    }

    #[test]
    fn anything_else_does_not() {
        for sql in [
            "",
            "-- SELECT",
            "DELETE FROM t",
            "PRAGMA journal_mode = DELETE",
            "ATTACH 'x' AS y",
            "SELECT 1; SELECT 2",
            "SELECT 1; -- x\n DROP TABLE t",
            "SELECT (1; DROP TABLE t",
            "WITH x AS (SELECT 1) DELETE FROM t",
            "WITH x AS (SELECT 1) REPLACE INTO t SELECT 1",
            "WITH x AS (SELECT 1)",
            "'SELECT' 1",
            "SELECTED",
        ] {
            assert!(not_one_select(sql).is_some(), "{sql}");
        }
    }
}
