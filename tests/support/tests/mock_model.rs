//! The mock model over real HTTP on both wires, spoken by a few lines of `TcpStream`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use axiowl_test_support::{MockModel, Wire};
use serde_json::{Value, json};

const DEADLINE: Duration = Duration::from_secs(20);

/// Sends one request and returns status and body; `Connection: close` ends the body.
fn http(address: SocketAddr, method: &str, path: &str, body: &Value) -> (u16, String) {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let mut stream = TcpStream::connect(address).expect("the mock model listens");
    stream
        .set_read_timeout(Some(DEADLINE))
        .expect("a read timeout");
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: mock\r\nx-api-key: sk-secret\r\nx-test: kept\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
    .expect("a written request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("a whole answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .expect("a status");
    let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    (
        status,
        if chunked {
            unchunk(body)
        } else {
            body.to_owned()
        },
    )
}

fn unchunk(mut rest: &str) -> String {
    let mut whole = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).expect("a chunk size");
        whole.push_str(&after[..size]);
        rest = after[size..].trim_start_matches("\r\n");
    }
    whole
}

fn events(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|json| serde_json::from_str(json).expect("an event is JSON"))
        .collect()
}

fn messages(model: &MockModel, prompt: &str, stream: bool) -> (u16, String) {
    let body = json!({ "model": "claude-x", "stream": stream, "tools": [{ "name": "Read" }],
                       "messages": [{ "role": "user", "content": prompt }] });
    http(model.address(), "POST", "/v1/messages?beta=true", &body)
}

fn responses(model: &MockModel, input: Value) -> (u16, String) {
    let tools = json!([{ "type": "namespace", "name": "mcp__axiowl",
                         "tools": [{ "type": "function", "name": "axiowl_send_message" }] }]);
    let body = json!({ "model": "m", "stream": true, "tools": tools, "input": input });
    http(model.address(), "POST", "/v1/responses", &body)
}

fn user(text: &str) -> Value {
    let content = json!([{ "type": "input_text", "text": text }]);
    json!({ "type": "message", "role": "user", "content": content })
}

/// The text that a stream of either wire spells.
fn spelled(events: &[Value]) -> String {
    let piece = |event: &Value| {
        event["delta"]["text"]
            .as_str()
            .or(event["delta"].as_str())
            .map(str::to_owned)
    };
    events.iter().filter_map(piece).collect()
}

#[test]
fn both_wires_echo_a_prompt_without_directives() {
    let model = MockModel::start();
    let (status, body) = messages(&model, "hello", true);
    let stream = events(&body);
    assert_eq!((status, spelled(&stream).as_str()), (200, "ECHO[1]: hello"));
    let kinds: Vec<&str> = stream
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    assert_eq!(
        kinds,
        [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    let (status, body) = responses(&model, json!([user("one"), user("hello")]));
    let stream = events(&body);
    assert_eq!((status, spelled(&stream).as_str()), (200, "ECHO[2]: hello"));
    assert_eq!(
        stream.last().expect("a last event")["type"],
        "response.completed"
    );
    let seen: Vec<_> = model
        .requests()
        .iter()
        .map(|r| (r.number, r.wire))
        .collect();
    assert_eq!(seen, [(1, Wire::Messages), (2, Wire::Responses)]);
}

#[test]
fn a_call_without_stream_gets_one_json_message() {
    let model = MockModel::start();
    let (status, body) = messages(&model, "| @@text short", false);
    let message: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(status, 200);
    assert_eq!(message["content"][0]["text"], "short");
    assert_eq!(message["stop_reason"], "end_turn");
}

#[test]
fn a_tool_line_becomes_a_call_of_the_advertised_tool_and_then_its_result() {
    let model = MockModel::start();
    let prompt =
        "[AxiOwl 1] from \"x\"\n> @@tool mcp__axiowl__axiowl_send_message {\"to\":\"Bob\"}";

    let (_, body) = messages(&model, prompt, true);
    let stream = events(&body);
    let started = &stream[1]["content_block"];
    assert_eq!(started["name"], "mcp__axiowl__axiowl_send_message");
    assert_eq!(started["input"], json!({}));
    assert_eq!(stream[2]["delta"]["partial_json"], "{\"to\":\"Bob\"}");
    assert_eq!(stream[4]["delta"]["stop_reason"], "tool_use");

    let (_, body) = responses(&model, json!([user(prompt)]));
    let call = events(&body)[1]["item"].clone();
    assert_eq!(call["type"], "function_call");
    assert_eq!(
        (&call["namespace"], &call["name"]),
        (&json!("mcp__axiowl"), &json!("axiowl_send_message"))
    );
    let output =
        json!({ "type": "function_call_output", "call_id": call["call_id"], "output": "sent" });
    let (_, body) = responses(&model, json!([user(prompt), call, output]));
    assert_eq!(spelled(&events(&body)), "DONE: sent");
}

#[test]
fn an_error_line_answers_with_the_body_of_that_api() {
    let model = MockModel::start();
    let (status, body) = messages(&model, "@@error 401", true);
    let error: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(
        (status, &error["error"]["type"]),
        (401, &json!("authentication_error"))
    );
    let (status, body) = responses(&model, json!([user("> @@error 500")]));
    let error: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(
        (status, &error["error"]["code"]),
        (500, &json!("server_error"))
    );
}

#[test]
fn a_held_answer_waits_for_its_release() {
    let model = MockModel::start();
    std::thread::scope(|scope| {
        let held = scope.spawn(|| messages(&model, "@@hold gate\n@@text free", true));
        model
            .wait_for(|request| request.asks("@@hold gate"), DEADLINE)
            .expect("the held call");
        // A second call goes through while the first one waits.
        assert_eq!(messages(&model, "hello", true).0, 200);
        assert!(!held.is_finished());
        model.release("gate");
        let (_, body) = held.join().expect("the held call ends");
        assert_eq!(spelled(&events(&body)), "free");
    });
    let (_, body) = messages(&model, "@@hold gate\n@@text at once", true);
    assert_eq!(
        spelled(&events(&body)),
        "at once",
        "a release also frees later calls"
    );
}

#[test]
fn a_slow_answer_takes_its_time_and_arrives_whole() {
    let model = MockModel::start();
    for wire in ["messages", "responses"] {
        let started = Instant::now();
        let prompt = "@@slow 0.4\n@@text one two three four five";
        let (_, body) = match wire {
            "messages" => messages(&model, prompt, true),
            _ => responses(&model, json!([user(prompt)])),
        };
        assert!(started.elapsed() >= Duration::from_millis(390), "{wire}");
        let stream = events(&body);
        assert_eq!(spelled(&stream), "one two three four five", "{wire}");
        assert!(stream.len() > 10, "{wire}");
    }
}

#[test]
fn probes_counts_and_unknown_paths_are_answered_and_recorded() {
    let model = MockModel::start();
    let none = Value::Null;
    let address = model.address();
    assert_eq!(http(address, "HEAD", "/", &none).0, 200);
    assert_eq!(http(address, "GET", "/v1/models?x=1", &none).0, 200);
    assert_eq!(http(address, "GET", "/nope", &none).0, 404);
    let body = json!({ "messages": [{ "role": "user", "content": "count me" }] });
    let (status, count) = http(address, "POST", "/v1/messages/count_tokens", &body);
    assert_eq!(status, 200);
    assert!(count.contains("input_tokens"));
    assert_eq!(http(address, "POST", "/v1/responses", &none).0, 415);
    let requests = model.requests();
    let paths: Vec<_> = requests
        .iter()
        .map(|request| request.path.as_str())
        .collect();
    assert_eq!(
        paths,
        [
            "/",
            "/v1/models",
            "/nope",
            "/v1/messages/count_tokens",
            "/v1/responses"
        ]
    );
    assert_eq!(requests[3].prompt, "count me");
    let headers = &requests[3].headers;
    assert!(
        headers
            .iter()
            .any(|(name, value)| name == "x-test" && value == "kept")
    );
    assert!(!headers.iter().any(|(_, value)| value.contains("sk-secret")));
}

#[test]
fn a_title_call_gets_a_json_title() {
    let model = MockModel::start();
    let body = json!({
        "system": "Generate a title for this conversation.",
        "messages": [{ "role": "user", "content": "@@error 500 fix login" }],
    });
    let (status, body) = http(model.address(), "POST", "/v1/messages", &body);
    let message: Value = serde_json::from_str(&body).expect("JSON");
    let title: Value =
        serde_json::from_str(message["content"][0]["text"].as_str().expect("text")).expect("JSON");
    assert_eq!(status, 200);
    assert_eq!(title["title"], "Mock title: @@error 500 fix login");
    assert!(
        model.asked("fix login").is_empty(),
        "a side call is no turn"
    );
}

#[test]
fn waiting_for_what_never_comes_says_what_came() {
    let model = MockModel::start();
    messages(&model, "hello", true);
    let none = model.wait_for(|request| request.asks("other"), Duration::from_millis(1));
    let error = none.expect_err("nothing fits").to_string();
    assert!(
        error.contains("/v1/messages") && error.contains("hello"),
        "{error}"
    );
}

#[test]
fn dropping_the_model_ends_a_held_call() {
    let model = MockModel::start();
    let address = model.address();
    let call = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(address).expect("the mock model listens");
        stream
            .set_read_timeout(Some(DEADLINE))
            .expect("a read timeout");
        let body = json!({ "input": "@@hold never" }).to_string();
        write!(
            stream,
            "POST /v1/responses HTTP/1.1\r\nhost: mock\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("a written request");
        let mut answer = Vec::new();
        // Closed or reset: either way the call is over.
        let _ = stream.read_to_end(&mut answer);
        answer.len()
    });
    model
        .wait_for(|request| request.asks("@@hold never"), DEADLINE)
        .expect("the held call");
    drop(model);
    assert_eq!(call.join().expect("the call ends"), 0);
    assert!(
        TcpStream::connect(address).is_err(),
        "nobody listens any more"
    );
}
