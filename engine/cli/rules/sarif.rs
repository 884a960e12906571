//! Findings as SARIF 2.1.0, for code scanning services and editors.

use axiowl_lang::codes;
use axiowl_lang::diag::{Diagnostic, Label, line_and_column};
use serde_json::{Value, json};

/// One log with one run.
pub fn log(found: &[Diagnostic]) -> Value {
    let mut used: Vec<&str> = found.iter().map(|d| d.code).collect();
    used.sort_unstable();
    used.dedup();
    let rules: Vec<Value> = used.iter().map(|code| rule(code)).collect();
    let results: Vec<Value> = found.iter().map(|d| result(d, &used)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "axiowl",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(code: &str) -> Value {
    let (title, explanation) = codes::explain(code).unwrap_or((code, code));
    json!({
        "id": code,
        "shortDescription": { "text": title },
        "fullDescription": { "text": explanation },
        "help": { "text": explanation },
    })
}

fn result(diagnostic: &Diagnostic, codes: &[&str]) -> Value {
    let mut text = diagnostic.message.clone();
    if let Some(help) = &diagnostic.help {
        text += &format!("\nhelp: {help}");
    }
    let primary = diagnostic.primary();
    let mut out = json!({
        "ruleId": diagnostic.code,
        "ruleIndex": codes.iter().position(|code| *code == diagnostic.code),
        "level": diagnostic.severity.as_str(),
        "message": { "text": text },
        "locations": primary.iter().map(|label| location(label)).collect::<Vec<_>>(),
    });
    let others = diagnostic.labels.iter().filter(|l| primary != Some(l));
    let related: Vec<Value> = others
        .map(|label| {
            let mut place = location(label);
            place["message"] = json!({ "text": label.label });
            place
        })
        .collect();
    if !related.is_empty() {
        out["relatedLocations"] = related.into();
    }
    if let (Some(fix), Some(label)) = (diagnostic.fix(), primary) {
        out["fixes"] = json!([{
            "description": { "text": format!("write `{}`", fix.text) },
            "artifactChanges": [{
                "artifactLocation": artifact(&fix.file),
                "replacements": [{
                    "deletedRegion": region(&label.text, fix.span.start, fix.span.end),
                    "insertedContent": { "text": fix.text },
                }],
            }],
        }]);
    }
    out
}

fn location(label: &Label) -> Value {
    json!({
        "physicalLocation": {
            "artifactLocation": artifact(&label.file),
            "region": region(&label.text, label.span.start, label.span.end),
        },
    })
}

fn region(text: &str, start: usize, end: usize) -> Value {
    let (line, column) = line_and_column(text, start);
    let (end_line, end_column) = line_and_column(text, end);
    json!({ "startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column })
}

/// A path as a URI: an absolute one as `file:`, a relative one as it is.
fn artifact(path: &str) -> Value {
    let path = path.replace('\\', "/");
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' | b':' => {
                uri.push(char::from(byte));
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    match uri.starts_with('/') {
        true => json!({ "uri": format!("file://{uri}") }),
        false => json!({ "uri": uri }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiowl_lang::diag::SourceText;

    #[test]
    fn a_finding_has_place_rule_and_fix() {
        let file = SourceText::new("my rules/x/rule.yaml", "é: 1\ntitel: x\n");
        let diagnostic = Diagnostic::error(codes::UNKNOWN_KEY, "there is no key `titel` here")
            .at(&file, 6..11, "unknown key")
            .also(&file, 0..2, "because of this")
            .help("look");
        let log = log(&[diagnostic]);
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "AX003");
        let result = &run["results"][0];
        assert_eq!(
            (&result["ruleIndex"], &result["level"]),
            (&json!(0), &json!("error"))
        );
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "my%20rules/x/rule.yaml");
        assert_eq!(
            place["region"],
            json!({ "startLine": 2, "startColumn": 1, "endLine": 2, "endColumn": 6 })
        );
        assert_eq!(
            result["relatedLocations"][0]["message"]["text"],
            "because of this"
        );
        assert_eq!(artifact("/a b")["uri"], "file:///a%20b");
    }
}
