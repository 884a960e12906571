//! One line of a host, judged by itself: a message, something that gets no answer, or a refusal
//! to answer with. Knows nothing of pipes, and nothing of what was said before.

use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, NumberOrString, RequestId};
use serde_json::{Value, json};

/// The line is no JSON, or more of it than is read.
const PARSE_ERROR: i32 = -32700;
/// The line is JSON and no request.
const INVALID_REQUEST: i32 = -32600;
/// The request asks for something, and not as MCP asks.
const INVALID_PARAMS: i32 = -32602;
/// The request is well-formed, and there is no room for it.
const NO_ROOM: i32 = -32000;

/// What a line is.
pub(crate) enum Line {
    /// For the server.
    Message(Box<ClientJsonRpcMessage>),
    /// Nothing that JSON-RPC lets anybody answer: a notification nobody knows, an answer to
    /// nothing.
    Nothing,
    /// No request; its sender is told.
    Refused(Refusal),
}

/// An answer to what is no request, or none that can be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The request's own id, `null` where it has none that could be used.
    id: Option<RequestId>,
    code: i32,
    message: String,
}

impl Refusal {
    /// Of a line that is longer than `most` bytes.
    pub fn too_long(most: usize) -> Self {
        let message = format!("a line has {most} bytes at most; this one was not read");
        Self::of(PARSE_ERROR, message)
    }

    /// Of a request whose id another one has.
    pub fn id_in_use(id: RequestId) -> Self {
        let message = "another request has this id; each one needs an id of its own";
        Self::of(INVALID_REQUEST, message).to(id)
    }

    /// The same of a request that is still a text.
    pub fn id_in_use_of(request: &[u8]) -> Self {
        let asked: Option<Value> = serde_json::from_slice(request).ok();
        let id = asked.as_ref().and_then(|asked| id(&asked["id"]));
        let refusal = Self::id_in_use(NumberOrString::Number(0));
        Self { id, ..refusal }
    }

    /// Of one request too many.
    pub fn crowded(id: RequestId, most: usize) -> Self {
        Self::of(NO_ROOM, format!("{most} requests are under way already")).to(id)
    }

    fn of(code: i32, message: impl Into<String>) -> Self {
        Self {
            id: None,
            code,
            message: message.into(),
        }
    }

    fn to(mut self, id: RequestId) -> Self {
        self.id = Some(id);
        self
    }

    /// The line that says so, without its end.
    pub fn line(&self) -> Vec<u8> {
        let id = self.id.clone().map(NumberOrString::into_json_value);
        let error = json!({ "code": self.code, "message": self.message });
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
            .to_string()
            .into_bytes()
    }
}

/// Reads a line without its end.
pub(crate) fn read(line: &[u8]) -> Line {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // RFC 8259 lets readers pass over it.
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    if line.iter().all(u8::is_ascii_whitespace) {
        return Line::Nothing;
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        // What is wrong, and where; nothing of the line itself.
        Err(error) => {
            let message = format!("this line is no JSON: {error}");
            return Line::Refused(Refusal::of(PARSE_ERROR, message));
        }
    };
    let Value::Object(fields) = &value else {
        let message = match value {
            Value::Array(_) => "requests come one a line, not in a list",
            _ => "this is no JSON-RPC message",
        };
        return Line::Refused(Refusal::of(INVALID_REQUEST, message));
    };
    if !fields.contains_key("method")
        && (fields.contains_key("result") || fields.contains_key("error"))
    {
        // An answer. Nobody answers answers.
        return match serde_json::from_value(value) {
            Ok(message) => Line::Message(Box::new(message)),
            Err(_) => Line::Nothing,
        };
    }
    let id = fields.get("id").map(id);
    let sound = fields.get("jsonrpc").is_some_and(|v| v == "2.0")
        && fields.get("method").is_some_and(Value::is_string);
    let refused = |id: Option<RequestId>, message: &str| {
        let refusal = Refusal::of(INVALID_REQUEST, message);
        Line::Refused(match id {
            Some(id) => refusal.to(id),
            None => refusal,
        })
    };
    let named = fields.get("params").is_none_or(Value::is_object);
    match id {
        Some(None) => refused(None, "an id is a text or a whole number"),
        Some(id) if !sound => refused(id, "this is no JSON-RPC 2.0 request"),
        None if !sound => refused(None, "this is no JSON-RPC 2.0 request"),
        Some(Some(id)) if !named => {
            Line::Refused(Refusal::of(INVALID_PARAMS, "params are an object").to(id))
        }
        Some(id) => match serde_json::from_value(value) {
            Ok(message @ JsonRpcMessage::Request(_)) => Line::Message(Box::new(message)),
            _ => refused(id, "this is no request"),
        },
        None => match serde_json::from_value(value) {
            Ok(message @ JsonRpcMessage::Notification(_)) => Line::Message(Box::new(message)),
            _ => Line::Nothing,
        },
    }
}

/// The id of a request as JSON has it; nothing of what is none.
pub(crate) fn request_id(request: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Asked {
        id: Value,
        #[serde(rename = "method")]
        _method: serde::de::IgnoredAny,
    }
    let asked: Asked = serde_json::from_slice(request).ok()?;
    id(&asked.id).map(|id| id.into_json_value().to_string())
}

/// An id that can be answered to.
fn id(value: &Value) -> Option<RequestId> {
    match value {
        Value::String(text) => Some(NumberOrString::String(text.as_str().into())),
        Value::Number(number) => number.as_i64().map(NumberOrString::Number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `id code` of a refusal.
    fn refused(line: &str) -> String {
        match read(line.as_bytes()) {
            Line::Refused(refusal) => {
                let said: Value = serde_json::from_slice(&refusal.line()).expect("JSON");
                assert_eq!(said["jsonrpc"], "2.0");
                format!("{} {}", said["id"], said["error"]["code"])
            }
            Line::Nothing => "nothing".into(),
            Line::Message(_) => "message".into(),
        }
    }

    #[test]
    fn what_is_no_request_is_refused_with_the_id_it_has() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{}{}}}"#,
            "[".repeat(400),
            "]".repeat(400)
        );
        let cases = [
            ("hello", "null -32700"),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/li"#,
                "null -32700",
            ),
            (deep.as_str(), "null -32700"),
            ("7", "null -32600"),
            (
                r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
                "null -32600",
            ),
            ("{}", "null -32600"),
            (r#"{"jsonrpc":"2.0"}"#, "null -32600"),
            (r#"{"jsonrpc":"2.0","method":5}"#, "null -32600"),
            (r#"{"method":"tools/list"}"#, "null -32600"),
            (r#"{"id":"a","method":"tools/list"}"#, "\"a\" -32600"),
            (
                r#"{"jsonrpc":"1.0","id":3,"method":"tools/list"}"#,
                "3 -32600",
            ),
            (r#"{"jsonrpc":"2.0","id":3}"#, "3 -32600"),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
                "null -32600",
            ),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
                "null -32600",
            ),
            (
                r#"{"jsonrpc":"2.0","id":2,"method":"ping","params":[1]}"#,
                "2 -32602",
            ),
            (
                r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
                "null -32600",
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(refused(line), expected, "{line}");
        }
        assert!(matches!(read(b"{\"method\":\"\xff\"}"), Line::Refused(_)));
    }

    #[test]
    fn notifications_and_answers_are_never_answered() {
        for line in [
            "",
            " \t\r",
            r#"{"jsonrpc":"2.0","result":{"x":1}}"#,
            r#"{"jsonrpc":"2.0","id":4,"error":5}"#,
            r#"{"jsonrpc":"2.0","id":{},"error":{"code":1,"message":"m"}}"#,
        ] {
            assert_eq!(refused(line), "nothing", "{line}");
        }
    }

    #[test]
    fn messages_go_on_as_they_are() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":"x","method":"no/such","params":{"y":[1]}}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r",
        ] {
            assert_eq!(refused(line), "message", "{line}");
        }
    }
}
