//! What people and programs read: aligned tables, JSON lines, relative times.

use crate::exit::Exit;
use axiowl_model::{
    AgentRecord, DiscoveredAgent, DiscoverySummary, Issue, StageLine, Timestamp, display_safe,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::io::Write;

/// Writes a line to standard output, with colour where it is a terminal.
macro_rules! say {
    () => { $crate::output::write_out(format_args!(""), true) };
    ($($part:tt)*) => { $crate::output::write_out(format_args!($($part)*), true) };
}
/// The same without the line's end.
macro_rules! say_part {
    ($($part:tt)*) => { $crate::output::write_out(format_args!($($part)*), false) };
}
pub(crate) use {say, say_part};

/// Writes to standard output. A reader that has gone away (`axiowl … | head`) ends the program
/// quietly; a full disk ends it with a word. Neither is a defect of ours to panic about.
pub fn write_out(text: std::fmt::Arguments, line: bool) {
    let mut out = anstream::stdout();
    let end: &[u8] = if line { b"\n" } else { b"" };
    written(out.write_fmt(text).and_then(|()| out.write_all(end)));
}

/// Writes text without colours to standard output, in one go.
pub fn write_plain(text: &str) {
    written(std::io::stdout().write_all(text.as_bytes()));
}

/// Ends the program where it cannot be heard.
fn written(written: std::io::Result<()>) {
    if let Err(error) = written {
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            anstream::eprintln!("error: standard output cannot be written: {error}");
        }
        std::process::exit(Exit::Failed as i32);
    }
}

/// Prints one JSON object on a line, with its schema first.
pub fn json_line(kind: &str, fields: Value) {
    let mut line = Map::new();
    line.insert("schema".into(), format!("axiowl.{kind}/1").into());
    if let Value::Object(fields) = fields {
        line.extend(fields);
    }
    let mut text = quiet(Value::Object(line).to_string());
    text.push('\n');
    // JSON has no colours to take out.
    written(std::io::stdout().write_all(text.as_bytes()));
}

/// Bytes of lines that are written in one go.
const WRITE_BYTES: usize = 64 << 10;

/// Prints many objects of one kind, a line each.
pub fn json_lines<T: Serialize>(kind: &str, all: impl Iterator<Item = T>) {
    #[derive(Serialize)]
    struct Line<'a, T> {
        schema: &'a str,
        #[serde(flatten)]
        fields: T,
    }
    let schema = format!("axiowl.{kind}/1");
    let mut out = std::io::stdout().lock();
    let mut lines = Vec::new();
    for fields in all {
        let line = Line {
            schema: &schema,
            fields,
        };
        let start = lines.len();
        if let Err(error) = serde_json::to_writer(&mut lines, &line) {
            lines.truncate(start);
            written(Err(std::io::Error::other(error)));
            continue;
        }
        let plain = |byte: &u8| byte.is_ascii() && *byte != 0x7f;
        if !lines[start..].iter().all(plain) {
            let line = String::from_utf8_lossy(&lines.split_off(start)).into_owned();
            lines.extend_from_slice(quiet(line).as_bytes());
        }
        lines.push(b'\n');
        if lines.len() >= WRITE_BYTES {
            written(out.write_all(&lines));
            lines.clear();
        }
    }
    written(out.write_all(&lines));
}

/// JSON leaves characters as they are that act on a terminal or turn the direction of writing.
/// As escapes they mean the same to a program, and do nothing where a person sees them.
fn quiet(json: String) -> String {
    let acts = |c: char| {
        matches!(c, '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}')
    };
    if json.is_ascii() && !json.contains('\u{7f}') || !json.contains(acts) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if acts(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// A discovered row with what the registry made of it.
pub fn discovered_agent(agent: &DiscoveredAgent, decision: &str, reason: &str) -> Value {
    json!({
        "provider": agent.key.provider,
        "provider_session_id": agent.key.session,
        "node_id": agent.key.node,
        "display_name": agent.display_name,
        "status": agent.status,
        "kind": agent.kind,
        "sendable": agent.sendable,
        "has_enrollment_proof": agent.has_enrollment_proof,
        "source": agent.source,
        "evidence": agent.evidence,
        "last_seen_at": agent.last_seen_at,
        "last_error": agent.last_error,
        "cwd": agent.cwd,
        "decision": decision,
        "reason": reason,
    })
}

/// The last line of a scope.
pub fn discovery_summary(summary: &DiscoverySummary) -> Value {
    json!({
        "provider": summary.provider,
        "node_id": summary.node_id,
        "found": summary.found,
        "enrolled": summary.enrolled,
        "updated": summary.updated,
        "skipped": summary.skipped,
        "evidence": summary.evidence,
        "pruned": summary.pruned,
        "issues": summary.issues,
        "verdict": summary.verdict,
        "registry": summary.registry,
    })
}

/// A registry row as a program reads it.
#[derive(Serialize)]
pub struct AgentLine<'a> {
    agent_id: String,
    display_name: &'a str,
    aliases: &'a [String],
    provider: &'a str,
    provider_session_id: &'a str,
    node_id: &'a str,
    enabled: bool,
    sendable: bool,
    source: &'a str,
    proof: &'a str,
    home: &'a str,
    cwd: &'a str,
    first_seen_at: Option<Timestamp>,
    last_seen_at: Option<Timestamp>,
    last_verified_at: Option<Timestamp>,
    last_error: &'a str,
    /// Whether anything delivers to it; left out where nobody asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<bool>,
}

impl AgentLine<'_> {
    /// Says whether anything delivers to it.
    pub fn with_route(self, route: bool) -> Self {
        Self {
            route: Some(route),
            ..self
        }
    }
}

/// A registry row within another object.
pub fn agent(row: &AgentRecord) -> Value {
    json!(agent_line(row))
}

/// A registry row.
pub fn agent_line(row: &AgentRecord) -> AgentLine<'_> {
    AgentLine {
        agent_id: row.agent_id(),
        display_name: &row.display_name,
        aliases: &row.aliases,
        provider: &row.key.provider,
        provider_session_id: &row.key.session,
        node_id: &row.key.node,
        enabled: row.enabled,
        sendable: row.sendable,
        source: &row.source,
        proof: &row.proof,
        home: &row.home,
        cwd: &row.cwd,
        first_seen_at: row.first_seen_at,
        last_seen_at: row.last_seen_at,
        last_verified_at: row.last_verified_at,
        last_error: &row.last_error,
        route: None,
    }
}

/// A stage as a program reads it.
pub fn stage(line: &StageLine) -> Value {
    json!({
        "message_id": line.message_id,
        "run_id": line.run_id,
        "stage": line.stage,
        "receipt": line.stage,
        "at": line.at,
        "provider": line.provider,
        "provider_session_id": line.provider_session_id,
        "display_name": line.display_name,
        "route": line.route,
        "evidence": line.evidence,
        "reason": line.reason,
        "also_matching": line.also_matching,
    })
}

/// A stage as a person reads it.
pub fn stage_text(line: &StageLine) -> String {
    let mut out = format!("{:<20} {}", line.stage.as_str(), line.at);
    if !line.route.is_empty() {
        out.push_str(&format!("  by {}", line.route));
    }
    let evidence = &line.evidence;
    if !evidence.kind.is_empty() {
        out.push_str(&format!("  {}", evidence.kind.replace('_', " ")));
    }
    if let Some(path) = &evidence.path {
        out.push_str(&format!(" {}", display_safe(path)));
        if let Some(offset) = evidence.offset {
            out.push_str(&format!(" at byte {offset}"));
        }
    }
    if !evidence.detail.is_empty() {
        out.push_str(&format!(" ({})", display_safe(&evidence.detail)));
    }
    if !line.reason.is_empty() {
        out.push_str(&format!("\n  {}", display_safe(&line.reason)));
    }
    out
}

pub use crate::table::table;

/// An issue in a line: code, place, what happened.
pub fn issue(issue: &Issue) -> String {
    let place = match (&issue.path, issue.line) {
        (Some(path), Some(line)) => format!("{}:{line}: ", display_safe(path)),
        (Some(path), None) => format!("{}: ", display_safe(path)),
        (None, Some(line)) => format!("line {line}: "),
        (None, None) => String::new(),
    };
    format!("{} {place}{}", issue.code, display_safe(&issue.message))
}

/// How long ago, in the largest fitting unit.
pub fn ago(at: Option<Timestamp>, now: Timestamp) -> String {
    let Some(at) = at else { return "never".into() };
    let seconds = (now.as_millis() - at.as_millis()) / 1000;
    match seconds {
        ..0 => "in the future".into(),
        0..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..86_400 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_times_use_the_largest_fitting_unit() {
        let now = Timestamp::from_millis(200_000_000);
        let before = |seconds: i64| Some(Timestamp::from_millis(now.as_millis() - seconds * 1000));
        assert_eq!(ago(before(5), now), "5 s ago");
        assert_eq!(ago(before(3_599), now), "59 min ago");
        assert_eq!(ago(before(86_400), now), "1 d ago");
        assert_eq!(ago(before(-5), now), "in the future");
        assert_eq!(ago(None, now), "never");
    }
}
