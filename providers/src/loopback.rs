//! Asks an HTTP server on this machine: one request a connection, a bounded answer, a bounded
//! time. Knows no provider, and no address but loopback ones.

use serde_json::Value;
use std::fmt;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Bytes of an answer that are read.
const LARGEST: u64 = 4 * 1024 * 1024;

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// The status.
    pub status: u16,
    /// The body, where it is JSON; else null.
    pub body: Value,
}

/// A request that brought no answer.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// Nothing was sent.
    Unsent(String),
    /// It may have been taken.
    Lost(String),
}

/// A server on this machine, with what it wants to know of who asks.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// The value of an `authorization` header, which nothing prints.
    pub login: Option<String>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let login = if self.login.is_some() {
            ", with a login"
        } else {
            ""
        };
        write!(f, "{}{login}", self.address)
    }
}

/// Sends one request and waits for the answer.
///
/// # Errors
/// [`NoAnswer`].
pub(crate) fn request(
    server: &Server,
    method: &str,
    path: &str,
    body: Option<&Value>,
    within: Duration,
) -> Result<Answer, NoAnswer> {
    let address = server.address;
    let unsent = |error: std::io::Error| NoAnswer::Unsent(error.to_string());
    let lost = |error: std::io::Error| NoAnswer::Lost(error.to_string());
    if !address.ip().is_loopback() {
        return Err(NoAnswer::Unsent(format!(
            "{address} is not on this machine"
        )));
    }
    let until = Instant::now() + within;
    let left = || {
        until
            .saturating_duration_since(Instant::now())
            .max(Duration::from_millis(1))
    };
    let mut stream = TcpStream::connect_timeout(&address, left()).map_err(unsent)?;
    stream.set_write_timeout(Some(left())).map_err(unsent)?;
    let body = body.map(Value::to_string).unwrap_or_default();
    let login = match &server.login {
        Some(login) => format!("authorization: {login}\r\n"),
        None => String::new(),
    };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\naccept: application/json\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n{login}connection: close\r\n\r\n",
        body.len()
    );
    let sent = stream.write_all(head.as_bytes());
    sent.and_then(|()| stream.write_all(body.as_bytes()))
        .map_err(lost)?;
    let mut answer = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        if answer.len() as u64 > LARGEST || Instant::now() >= until {
            return Err(NoAnswer::Lost("no whole answer in time".into()));
        }
        stream.set_read_timeout(Some(left())).map_err(lost)?;
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => answer.extend_from_slice(&piece[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(lost(error)),
        }
        if is_whole(&answer) {
            break;
        }
    }
    parse(&answer).ok_or_else(|| NoAnswer::Lost("the answer is not understood".into()))
}

fn split(answer: &[u8]) -> Option<(String, &[u8])> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
    Some((head, &answer[end + 4..]))
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let lines = head.lines().skip(1);
    lines
        .filter_map(|line| line.split_once(':'))
        .find_map(|(has, value)| (has.trim() == name).then(|| value.trim()))
}

fn is_chunked(head: &str) -> bool {
    header(head, "transfer-encoding").is_some_and(|value| value.contains("chunked"))
}

/// Whether an answer is there as a whole, though the connection stays open.
fn is_whole(answer: &[u8]) -> bool {
    let Some((head, body)) = split(answer) else {
        return false;
    };
    if is_chunked(&head) {
        return body.ends_with(b"0\r\n\r\n");
    }
    let length = header(&head, "content-length").and_then(|value| value.parse::<usize>().ok());
    length.is_some_and(|length| body.len() >= length) || head.contains(" 204 ")
}

fn parse(answer: &[u8]) -> Option<Answer> {
    let (head, body) = split(answer)?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let body = match is_chunked(&head) {
        true => unchunked(body)?,
        false => body.to_vec(),
    };
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Some(Answer { status, body })
}

fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let size = String::from_utf8_lossy(&rest[..end]);
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        rest = &rest[end + 2..];
        if size == 0 {
            return Some(out);
        }
        out.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::net::TcpListener;

    fn at(address: SocketAddr, login: Option<&str>) -> Server {
        let login = login.map(str::to_owned);
        Server { address, login }
    }

    fn served(answer: &'static str) -> Result<Answer, NoAnswer> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut got = [0; 4096];
            let read = stream.read(&mut got).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8_lossy(&got[..read]).into_owned()
        });
        let body = json!({"x": 1});
        let asked = at(address, Some("Basic eDp5"));
        let got = request(&asked, "POST", "/a", Some(&body), Duration::from_secs(20));
        let sent = server.join().unwrap();
        assert!(sent.starts_with("POST /a HTTP/1.1\r\n"), "{sent}");
        assert!(sent.contains("\r\nauthorization: Basic eDp5\r\n"), "{sent}");
        assert!(!format!("{asked:?}").contains("eDp5"));
        got
    }

    #[test]
    fn answers_of_either_form_are_read() {
        let plain = served("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":1}").unwrap();
        assert_eq!((plain.status, plain.body), (200, json!({"a": 1})));
        let chunked = served(
            "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n3;x\r\n:1}\r\n0\r\n\r\n",
        );
        let chunked = chunked.unwrap();
        assert_eq!((chunked.status, chunked.body), (404, json!({"a": 1})));
        assert_eq!(
            served("HTTP/1.1 204 No Content\r\n\r\n").unwrap().status,
            204
        );
    }

    #[test]
    fn no_answer_says_whether_anything_went_out() {
        assert!(matches!(served("garbage"), Err(NoAnswer::Lost(_))));
        assert!(matches!(served(""), Err(NoAnswer::Lost(_))));
        let gone = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let short = Duration::from_secs(5);
        assert!(matches!(
            request(&at(gone, None), "GET", "/", None, short),
            Err(NoAnswer::Unsent(_))
        ));
        let far = "192.0.2.1:80".parse().unwrap();
        assert!(matches!(
            request(&at(far, None), "GET", "/", None, short),
            Err(NoAnswer::Unsent(_))
        ));
    }
}
