//! The HTTP door and those who stall in it: nobody without the token keeps it from anybody who
//! has it, and nobody who has it keeps it for ever.

use crate::codex::{CLIENT, THREAD, meta};
use crate::host::greeting;
use crate::program::Axiowl;
use crate::web::{TOKEN, Web, request};
use axiowl_test_support::poll;
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Longer than headers and bodies may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

fn connect(web: &Web) -> TcpStream {
    let stream = TcpStream::connect(&web.address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// What comes until the other side closes, and how long that takes.
fn rest(mut stream: TcpStream) -> (String, Duration) {
    let (start, mut all) = (Instant::now(), Vec::new());
    let mut some = [0; 4096];
    loop {
        match stream.read(&mut some) {
            Ok(0) => break,
            Ok(count) => all.extend_from_slice(&some[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => panic!("it is kept open: {error}"),
        }
    }
    (String::from_utf8_lossy(&all).into_owned(), start.elapsed())
}

fn list() -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} }).to_string()
}

#[test]
fn a_connection_that_stalls_is_closed_soon() {
    let axiowl = Axiowl::new();
    let web = Web::of(&axiowl);
    let silent = connect(&web);
    let mut half = connect(&web);
    half.write_all(b"POST /mcp HTTP/1.1\r\nHost: x\r\n")
        .expect("some headers");
    let (_, took) = rest(silent);
    assert!(took < Duration::from_secs(15), "silent: {took:?}");
    let (_, took) = rest(half);
    assert!(took < Duration::from_secs(15), "half its headers: {took:?}");
}

#[test]
fn a_body_that_does_not_come_or_is_too_long_is_answered_and_closed() {
    let axiowl = Axiowl::new();
    let web = Web::of(&axiowl);
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let whole = request(&web.address, &list(), &bearer);
    let mut half = connect(&web);
    half.write_all(&whole.as_bytes()[..whole.len() - 5])
        .expect("half of it");
    let (said, took) = rest(half);
    assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
    assert!(took < Duration::from_secs(30), "{took:?}");

    let mut long = connect(&web);
    let large = request(&web.address, &" ".repeat(5 << 20), &bearer);
    // The server may close while the rest is on its way.
    let _ = long.write_all(large.as_bytes());
    let (said, _) = rest(long);
    assert!(
        said.is_empty() || said.starts_with("HTTP/1.1 413 "),
        "{said}"
    );
    assert_eq!(web.session("some-host").request("ping", json!({}))["id"], 7);
}

#[test]
fn connections_without_the_token_keep_nobody_out() {
    let axiowl = Axiowl::new();
    let web = Web::of(&axiowl);
    let session = web.session("some-host");
    let stalled: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = connect(&web);
            stream.write_all(b"POST /mcp HTTP/1.1\r\n").expect("a line");
            stream
        })
        .collect();
    let start = Instant::now();
    assert_eq!(session.request("ping", json!({}))["id"], 7);
    web.session("another-host");
    let took = start.elapsed();
    assert!(took < Duration::from_secs(4), "{took:?}");
    // The first of them had to leave for the last.
    let mut first = stalled.into_iter().next().expect("one");
    let ended = first.read(&mut [0; 1]);
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "it was only timed out"
    );
}

#[test]
fn a_door_whose_places_are_taken_says_so() {
    let axiowl = Axiowl::new();
    let web = Web::of(&axiowl);
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let whole = request(&web.address, &list(), &bearer);
    // Each has shown the token, and says the rest of its request later.
    let mut held: Vec<TcpStream> = Vec::new();
    for _ in 0..256 {
        let mut stream = connect(&web);
        stream
            .write_all(&whole.as_bytes()[..whole.len() - 1])
            .expect("most of it");
        held.push(stream);
    }
    let full = poll(PATIENCE, || {
        let answer = web.post(&serde_json::from_str(&list()).expect("JSON"), "");
        (answer.status == 503).then_some(answer)
    });
    let full = full.expect("as many as there may be");
    assert!(full.headers.contains("retry-after: "), "{full:?}");
    drop(held);
    let room = poll(PATIENCE, || {
        let answer = web.post(&serde_json::from_str(&list()).expect("JSON"), "");
        (answer.status != 503).then_some(())
    });
    assert!(room.is_some(), "their places are free when they have left");
}

#[test]
fn sessions_over_http_are_bounded_and_closing_one_makes_room() {
    let axiowl = Axiowl::new();
    let web = Web::of(&axiowl);
    let greet =
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting("h") });
    let mut first = None;
    let mut opened = 0;
    let full = loop {
        let answer = web.post(&greet, "");
        if answer.status != 200 {
            break answer;
        }
        opened += 1;
        let id = answer
            .headers
            .lines()
            .find_map(|line| line.strip_prefix("mcp-session-id: "));
        first.get_or_insert(id.expect("a session").trim().to_owned());
        assert!(opened <= 1024, "there is no end to them");
    };
    assert_eq!((full.status, opened), (503, 1024), "{full:?}");
    let delete = format!(
        "DELETE /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\nMcp-Session-Id: {}\r\n\r\n",
        web.address,
        first.expect("one")
    );
    let deleted = web.raw(&delete);
    assert!(deleted.status / 100 == 2, "{deleted:?}");
    assert_eq!(web.post(&greet, "").status, 200);
}

#[test]
fn two_requests_of_one_id_in_a_session_are_each_answered() {
    let axiowl = Axiowl::new();
    let web = Web::of(&axiowl);
    let session = web.session(CLIENT);
    let call = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
        "name": "axiowl_whoami", "arguments": {}, "_meta": meta(THREAD, "call_1") } });
    let answers: Vec<String> = std::thread::scope(|scope| {
        let ask = || {
            let answer = web.post(&call, &session.headers);
            let message = answer.message();
            assert_eq!(message["id"], 5, "{message}");
            format!("{} {}", answer.status, message["error"]["code"])
        };
        let asked = [scope.spawn(ask), scope.spawn(ask)];
        asked
            .into_iter()
            .map(|one| one.join().expect("an answer"))
            .collect()
    });
    let refused = answers.iter().filter(|one| *one == "400 -32600").count();
    let served = answers.iter().filter(|one| *one == "200 null").count();
    assert_eq!((refused, served), (1, 1), "{answers:?}");
    // And the id is free again.
    assert_eq!(web.post(&call, &session.headers).status, 200);
}
