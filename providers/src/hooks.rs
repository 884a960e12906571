//! What providers' hooks tell: which session is about to make which call. One function a hook
//! family reads the payload; what a hook answers never decides anything for the host.
//!
//! Payloads also hold prompts, file text and mail addresses. Only the session's id and a digest
//! of the call leave this module.

use axiowl_pipeline::identity::marker::{Marker, digest};
use serde_json::{Map, Value, json};

/// The hooks of Antigravity, the editor and the CLI.
pub(crate) const ANTIGRAVITY: &str = "antigravity";
/// The hooks of Cursor, the editor and the CLI.
pub(crate) const CURSOR: &str = "cursor";
/// The hooks of Gemini CLI.
pub(crate) const GEMINI: &str = "gemini";
/// Our tools start with this; nothing is noted about others.
const OUR_TOOLS: &str = "axiowl_";

/// What a hook has to answer, and what it saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// What the host reads. Never a decision: the host goes on as it would have.
    pub answer: String,
    /// The hook family and the marker to leave.
    pub marker: Option<(&'static str, Marker)>,
}

/// Reads the payload of a hook; a provider's key and its family's name both name it. What is not
/// understood is answered as if the hook were not there.
pub fn hear(hook: &str, payload: &[u8]) -> Heard {
    // Cursor on Windows puts a byte order mark before its payload (X24).
    let payload = payload.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(payload);
    let payload: Value = serde_json::from_slice(payload).unwrap_or_default();
    match hook {
        "gemini" | "gemini_cli" => gemini(&payload),
        "cursor" | "cursor_cli" => cursor(&payload),
        "antigravity" | "antigravity_cli" => antigravity(&payload),
        "copilot" | "copilot_cli" | "vscode_copilot_backed" => copilot(&payload),
        _ => nothing(),
    }
}

/// The call of one of our tools by a session.
struct Call<'a> {
    session: &'a str,
    tool: &'a str,
    arguments: Value,
    id: Option<&'a str>,
}

/// `BeforeTool` (`providers/opencode-gemini.md` D).
fn gemini(payload: &Value) -> Heard {
    let context = &payload["mcp_context"]["tool_name"];
    let call = Call {
        session: text(&payload["session_id"]),
        tool: bare(context.as_str().unwrap_or(text(&payload["tool_name"]))),
        arguments: arguments(&payload["tool_input"]),
        id: None,
    };
    marked(GEMINI, nothing(), &call)
}

/// `preToolUse` and `beforeMCPExecution` (`providers/cursor-antigravity-grok.md` C).
fn cursor(payload: &Value) -> Heard {
    let call = Call {
        session: text(&payload["conversation_id"]),
        tool: bare(text(&payload["tool_name"])),
        arguments: arguments(&payload["tool_input"]),
        id: payload["tool_use_id"].as_str(),
    };
    marked(CURSOR, nothing(), &call)
}

/// `PreToolUse` (`providers/cursor-antigravity-grok.md` C). This host denies a call whose hook
/// decides nothing, and asks its user as it would have when the hook allows.
fn antigravity(payload: &Value) -> Heard {
    let outer = &payload["toolCall"];
    let inner = &outer["args"];
    let (tool, given) = match inner["ToolName"].as_str() {
        Some(tool) => (tool, &inner["Arguments"]),
        None => (text(&outer["name"]), inner),
    };
    let call = Call {
        session: text(&payload["conversationId"]),
        tool: bare(tool),
        arguments: arguments(given),
        id: None,
    };
    let decision = if is_ours(call.tool) { "allow" } else { "ask" };
    let answer = Heard {
        answer: json!({ "decision": decision }).to_string(),
        marker: None,
    };
    marked(ANTIGRAVITY, answer, &call)
}

/// `preMcpToolCall` (`providers/copilot-vscode.md` D1): the host puts what this answers into the
/// request's metadata, so no marker is needed.
fn copilot(payload: &Value) -> Heard {
    let session = text(&payload["sessionId"]);
    if session.is_empty() || !is_ours(text(&payload["toolName"])) {
        return nothing();
    }
    Heard {
        answer: json!({ "metaToUse": { "axiowl/sessionId": session } }).to_string(),
        marker: None,
    }
}

fn marked(family: &'static str, heard: Heard, call: &Call<'_>) -> Heard {
    if call.session.is_empty() || !is_ours(call.tool) {
        return heard;
    }
    let marker = Marker {
        digest: digest(call.tool, &call.arguments),
        session: call.session.to_owned(),
        call: call.id.map(|id| format!("{family}:{id}")),
        // Who runs the hook is not its payload's to say.
        hosts: Vec::new(),
    };
    Heard {
        marker: Some((family, marker)),
        ..heard
    }
}

fn nothing() -> Heard {
    Heard {
        answer: "{}".into(),
        marker: None,
    }
}

fn is_ours(tool: &str) -> bool {
    tool.starts_with(OUR_TOOLS)
}

/// The tool's own name behind the prefixes that hosts put before it: `MCP:axiowl_whoami`,
/// `mcp_axiowl_axiowl_whoami`.
fn bare(tool: &str) -> &str {
    let tool = tool.rsplit(':').next().unwrap_or(tool);
    match tool.rfind(OUR_TOOLS) {
        Some(at) => &tool[at..],
        None => tool,
    }
}

/// Arguments, which some hosts hand on as the text of a JSON document.
fn arguments(given: &Value) -> Value {
    match given {
        Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
        Value::Null => Value::Object(Map::new()),
        other => other.clone(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments() -> Value {
        json!({ "to": "Bob", "body": "hi" })
    }

    fn call() -> String {
        digest("axiowl_send_message", &arguments())
    }

    /// The family, session and digest of the marker of a payload.
    fn mark(hook: &str, payload: &Value) -> (String, Option<(&'static str, String, String)>) {
        let heard = hear(hook, payload.to_string().as_bytes());
        let marker = heard
            .marker
            .map(|(family, m)| (family, m.session, m.digest));
        (heard.answer, marker)
    }

    #[test]
    fn each_hook_names_the_session_and_the_call_the_server_will_get() {
        let of = |family| Some((family, "s1".to_owned(), call()));
        let gemini = json!({
            "session_id": "s1", "hook_event_name": "BeforeTool",
            "tool_name": "mcp_axiowl_axiowl_send_message", "tool_input": arguments(),
            "mcp_context": { "server_name": "axiowl", "tool_name": "axiowl_send_message" },
        });
        assert_eq!(mark("gemini", &gemini), ("{}".into(), of(GEMINI)));
        let mut without = gemini.clone();
        without["mcp_context"] = Value::Null;
        assert_eq!(mark("gemini_cli", &without).1, of(GEMINI));
        for (tool, input) in [
            ("MCP:axiowl_send_message", arguments()),
            ("axiowl_send_message", json!(arguments().to_string())),
        ] {
            let cursor = json!({ "conversation_id": "s1", "tool_name": tool, "tool_input": input });
            assert_eq!(mark("cursor", &cursor), ("{}".into(), of(CURSOR)), "{tool}");
        }
        let antigravity = json!({
            "conversationId": "s1", "stepIdx": 4,
            "toolCall": { "name": "call_mcp_tool", "args": {
                "ServerName": "axiowl", "ToolName": "axiowl_send_message", "Arguments": arguments() } },
        });
        let (answer, marker) = mark("antigravity", &antigravity);
        assert_eq!(
            (answer.as_str(), marker),
            (r#"{"decision":"allow"}"#, of(ANTIGRAVITY))
        );
    }

    #[test]
    fn x24_a_byte_order_mark_before_cursors_payload_is_no_part_of_it() {
        let payload = json!({
            "conversation_id": "s1", "tool_name": "MCP:axiowl_send_message", "tool_input": arguments(),
            "workspace_roots": ["/c:/work"],
        });
        let mut bytes = b"\xEF\xBB\xBF".to_vec();
        bytes.extend(payload.to_string().bytes());
        let heard = hear("cursor", &bytes);
        assert_eq!(
            heard.marker,
            hear("cursor", payload.to_string().as_bytes()).marker
        );
        let (family, marker) = heard.marker.expect("a marker");
        assert_eq!((family, marker.session.as_str()), (CURSOR, "s1"));
    }

    #[test]
    fn copilot_is_answered_with_the_sessions_id_and_keeps_everything_else() {
        let payload = json!({ "sessionId": "s1", "toolCallId": "c", "serverName": "axiowl",
            "toolName": "axiowl_send_message", "arguments": arguments() });
        let (answer, marker) = mark("copilot", &payload);
        assert_eq!(answer, r#"{"metaToUse":{"axiowl/sessionId":"s1"}}"#);
        assert_eq!(marker, None);
    }

    #[test]
    fn other_tools_and_what_is_not_understood_are_let_pass_unnoted() {
        let others = [
            (
                "gemini",
                json!({ "session_id": "s1", "tool_name": "run_shell_command", "tool_input": {} }),
            ),
            (
                "cursor",
                json!({ "conversation_id": "s1", "tool_name": "Shell", "tool_input": {} }),
            ),
            (
                "cursor",
                json!({ "tool_name": "MCP:axiowl_send_message", "tool_input": {} }),
            ),
            (
                "copilot",
                json!({ "sessionId": "s1", "serverName": "x", "toolName": "y" }),
            ),
            (
                "unheard_of",
                json!({ "session_id": "s1", "tool_name": "axiowl_send_message" }),
            ),
        ];
        for (hook, payload) in others {
            assert_eq!(
                mark(hook, &payload),
                ("{}".into(), None),
                "{hook} {payload}"
            );
        }
        for payload in [&b""[..], b"no json", b"[]", b"\xff\xfe", b"\xEF\xBB\xBF"] {
            for hook in ["gemini", "cursor", "copilot"] {
                assert_eq!(hear(hook, payload), nothing());
            }
            // Silence would deny the call; asking is what this host does by itself.
            assert_eq!(hear("antigravity", payload).answer, r#"{"decision":"ask"}"#);
        }
        let heard = hear(
            "antigravity_cli",
            br#"{"conversationId":"s1","toolCall":{"name":"run_command","args":{}}}"#,
        );
        assert_eq!(
            (heard.answer.as_str(), heard.marker),
            (r#"{"decision":"ask"}"#, None)
        );
    }

    #[test]
    fn x26_nothing_but_the_session_and_a_digest_is_kept() {
        let payload = json!({
            "conversation_id": "s1", "user_email": "somebody@example.org",
            "tool_name": "MCP:axiowl_send_message", "tool_input": { "to": "Bob", "body": "secret words" },
        });
        let heard = hear("cursor", payload.to_string().as_bytes());
        let kept = format!("{heard:?}");
        assert!(
            !kept.contains("somebody") && !kept.contains("secret"),
            "{kept}"
        );
    }
}
