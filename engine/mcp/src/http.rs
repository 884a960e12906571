//! Streamable HTTP on loopback, for hosts that do not start a server of their own.
//!
//! Nothing is answered without the token, and the token proves no session: a call is still
//! proven by itself, with the process at the other end of its own connection as its host. Knows
//! nothing of how that process is found.

use crate::guests::{Guest, Guests};
use crate::lines::LONGEST;
use crate::server::{Server, runtime};
use crate::{Desk, Door, ServeError, Token, ending, wire};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited, combinators::BoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    AUTHORIZATION, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::{Method, Request, Response, StatusCode, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::borrow::Cow;
use std::collections::HashSet;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

/// The one path that is served.
const PATH: &str = "/mcp";
/// How long a client may take to send its headers, and may keep a connection without a request.
const HEADERS: Duration = Duration::from_secs(5);
/// How long the rest of a request may take.
const BODY: Duration = Duration::from_secs(10);
/// Sessions of the older lifecycle.
const SESSIONS: usize = 1024;
/// How long one of them may say nothing. Agents sit idle for hours, and a session holds next to
/// nothing.
const IDLE: Duration = Duration::from_secs(24 * 3600);
/// The header that names such a session.
const SESSION: &str = "mcp-session-id";
/// A pause after the system had no connection to give.
const BREATH: Duration = Duration::from_millis(100);
/// Seconds after which a host that found no room may come again.
const LATER: HeaderValue = HeaderValue::from_static("5");

type Answer = Response<BoxBody<Bytes, Infallible>>;
type Mcp = StreamableHttpService<Server, LocalSessionManager>;

/// Serves on a loopback address until a signal ends it; `ready` is told the address once
/// connections are accepted.
///
/// # Errors
/// When the address is not this machine's own, or cannot be had.
pub fn serve_http(
    desk: Arc<dyn Desk>,
    address: SocketAddr,
    token: Token,
    ready: impl FnOnce(&str),
) -> Result<(), ServeError> {
    if !address.ip().is_loopback() {
        return Err(ServeError::NotLoopback(address.ip()));
    }
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let runtime = runtime()?;
    let closing = CancellationToken::new();
    let server = Server::new(desk, closing.clone());
    let door = Arc::new(Entrance::new(server.clone(), token));
    let ended = runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        ready(&format!("http://{}{PATH}", listener.local_addr()?));
        let ended = tokio::select! {
            never = accept(&listener, &door) => match never {},
            signal = ending::asked() => signal,
        };
        closing.cancel();
        door.mcp.config.cancellation_token.cancel();
        server.quiet().await;
        ended
    });
    runtime.shutdown_background();
    Ok(ended?)
}

/// What every request has to pass.
struct Entrance {
    token: Token,
    sessions: Arc<LocalSessionManager>,
    asked: Asked,
    mcp: Mcp,
}

async fn accept(listener: &tokio::net::TcpListener, door: &Arc<Entrance>) -> Infallible {
    let guests = Guests::new();
    loop {
        let accepted = listener.accept().await;
        let accepted = accepted.and_then(|(stream, client)| {
            let server = stream.local_addr()?;
            Ok((stream, Door::Loopback { client, server }))
        });
        match accepted {
            Ok((stream, from)) => {
                let (door, guest) = (Arc::clone(door), guests.admit());
                tokio::spawn(async move { door.converse(stream, from, &guest).await });
                // What it has said already is heard before the next one comes, who may be one
                // too many.
                tokio::task::yield_now().await;
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

impl Entrance {
    fn new(server: Server, token: Token) -> Self {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(IDLE);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = config;
        let sessions = Arc::new(sessions);
        // A page in a browser sends its origin, and no page has business here.
        let config = StreamableHttpServerConfig::default().enforce_origin_validation();
        let mcp = Mcp::new(
            move || Ok(server.clone()),
            Arc::clone(&sessions),
            config.with_max_request_body_bytes(LONGEST),
        );
        Self {
            token,
            sessions,
            asked: Asked::default(),
            mcp,
        }
    }

    async fn converse(&self, stream: TcpStream, from: Door, guest: &Guest) {
        let answer = service_fn(|request| async move {
            Ok::<_, Infallible>(self.answer(request, from, guest).await)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS)
            .serve_connection(TokioIo::new(stream), answer);
        let ended = tokio::select! {
            ended = connection => ended,
            () = guest.sent_away() => return,
        };
        // A client that goes away in the middle is nobody's failure.
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended early");
        }
    }

    async fn answer(&self, request: Request<Incoming>, from: Door, guest: &Guest) -> Answer {
        let authorization = request.headers().get(AUTHORIZATION);
        let authorization = authorization.and_then(|value| value.to_str().ok());
        if !self.token.opens(authorization) {
            return unauthorized();
        }
        if !guest.shows_the_token() {
            return no_room("all connections of this server are taken");
        }
        if request.uri().path() != PATH {
            return text(StatusCode::NOT_FOUND, "there is nothing but /mcp");
        }
        let mut request = match whole(request).await {
            Ok(request) => request,
            Err(answer) => return answer,
        };
        if opens_a_session(&request) && self.sessions.sessions.read().await.len() >= SESSIONS {
            return no_room("all sessions of this server are taken");
        }
        // Nothing behind this needs it, so nothing behind this can leak it.
        request.headers_mut().remove(AUTHORIZATION);
        request.extensions_mut().insert(from);
        let Some(asked) = self.asked.take(&request) else {
            return json(wire::Refusal::id_in_use_of(request.body()).line());
        };
        let answer = self.mcp.handle(request.map(Full::new)).await;
        // Until its answer has left, or nobody waits for it.
        answer.map(|body| {
            body.map_frame(move |frame| {
                let _held = &asked;
                frame
            })
            .boxed()
        })
    }
}

/// A request with all of its body, where it comes soon enough and is no longer than may be.
async fn whole(request: Request<Incoming>) -> Result<Request<Bytes>, Answer> {
    let (head, body) = request.into_parts();
    let read = Limited::new(body, LONGEST).collect();
    let (status, why) = match tokio::time::timeout(BODY, read).await {
        Ok(Ok(body)) => return Ok(Request::from_parts(head, body.to_bytes())),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            (StatusCode::PAYLOAD_TOO_LARGE, "a request has 4 MiB at most")
        }
        Ok(Err(_)) => (StatusCode::BAD_REQUEST, "the request broke off"),
        Err(_) => (
            StatusCode::REQUEST_TIMEOUT,
            "the request did not come to its end",
        ),
    };
    Err(closing(text(status, why)))
}

/// Requests of sessions that have no answer yet. Two of one id would share one answer, and the
/// other would be waited for without end.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<HashSet<String>>>);

/// A request that has no answer yet.
struct Held {
    of: Asked,
    key: Option<String>,
}

impl Asked {
    /// Takes a request in; nothing where its session asks by this id already.
    fn take(&self, request: &Request<Bytes>) -> Option<Held> {
        let session = request.headers().get(SESSION);
        let session = session.and_then(|value| value.to_str().ok());
        let id = wire::request_id(request.body());
        let key = session
            .zip(id)
            .map(|(session, id)| format!("{session} {id}"));
        if let Some(key) = &key
            && !self.all().insert(key.clone())
        {
            return None;
        }
        let of = self.clone();
        Some(Held { of, key })
    }

    fn all(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            self.of.all().remove(key);
        }
    }
}

/// Whether a request begins a session of the older lifecycle.
fn opens_a_session(request: &Request<Bytes>) -> bool {
    #[derive(serde::Deserialize)]
    struct Asked<'a> {
        #[serde(borrow)]
        method: Cow<'a, str>,
    }
    request.method() == Method::POST
        && !request.headers().contains_key(SESSION)
        && serde_json::from_slice::<Asked<'_>>(request.body())
            .is_ok_and(|asked| asked.method == "initialize")
}

fn unauthorized() -> Answer {
    let mut answer = text(
        StatusCode::UNAUTHORIZED,
        "send the token of this server as `Authorization: Bearer <token>`",
    );
    let bearer = HeaderValue::from_static("Bearer");
    answer.headers_mut().insert(WWW_AUTHENTICATE, bearer);
    closing(answer)
}

fn no_room(why: &'static str) -> Answer {
    let mut answer = text(StatusCode::SERVICE_UNAVAILABLE, why);
    answer.headers_mut().insert(RETRY_AFTER, LATER);
    closing(answer)
}

/// The body was not read, so the connection cannot be used again.
fn closing(mut answer: Answer) -> Answer {
    let close = HeaderValue::from_static("close");
    answer.headers_mut().insert(CONNECTION, close);
    answer
}

fn json(line: Vec<u8>) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(line)).boxed());
    *answer.status_mut() = StatusCode::BAD_REQUEST;
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(CONTENT_TYPE, json);
    answer
}

fn text(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    answer
}
