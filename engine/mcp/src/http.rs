//! Streamable HTTP on loopback, for hosts that do not start a server of their own.
//!
//! Nothing is answered without the token, and the token proves no session: a call is still
//! proven by itself, with the process at the other end of its own connection as its host. Knows
//! nothing of how that process is found.

use crate::server::{GOODBYE, Server, runtime};
use crate::{Desk, Door, ServeError, Token};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONNECTION, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Request, Response, StatusCode, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// The one path that is served.
const PATH: &str = "/mcp";
/// Connections at the same time; further ones wait.
const CONNECTIONS: usize = 256;
/// How long a client may take to send its headers.
const HEADERS: Duration = Duration::from_secs(30);
/// How long a session of the older lifecycle may say nothing. Agents sit idle for hours, and a
/// session holds next to nothing.
const IDLE: Duration = Duration::from_secs(24 * 3600);
/// A pause after the system had no connection to give.
const BREATH: Duration = Duration::from_millis(100);

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
    let closing = Arc::new(AtomicBool::new(false));
    let door = Arc::new(Entrance {
        token,
        mcp: mcp(desk, &closing),
    });
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        ready(&format!("http://{}{PATH}", listener.local_addr()?));
        tokio::select! {
            never = accept(&listener, &door) => match never {},
            signal = ended() => signal,
        }
    });
    closing.store(true, Ordering::Release);
    door.mcp.config.cancellation_token.cancel();
    runtime.shutdown_timeout(GOODBYE);
    Ok(ended?)
}

fn mcp(desk: Arc<dyn Desk>, closing: &Arc<AtomicBool>) -> Mcp {
    let server = Server::new(desk, Arc::clone(closing));
    let mut sessions = SessionConfig::default();
    sessions.keep_alive = Some(IDLE);
    let mut manager = LocalSessionManager::default();
    manager.session_config = sessions;
    // A page in a browser sends its origin, and no page has business here.
    let config = StreamableHttpServerConfig::default().enforce_origin_validation();
    Mcp::new(move || Ok(server.clone()), Arc::new(manager), config)
}

/// What every request has to pass.
struct Entrance {
    token: Token,
    mcp: Mcp,
}

async fn accept(listener: &tokio::net::TcpListener, door: &Arc<Entrance>) -> Infallible {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // Never closed, so there is always a permit to wait for.
        let permit = Arc::clone(&room).acquire_owned().await;
        let accepted = listener.accept().await;
        let accepted = accepted.and_then(|(stream, client)| {
            let server = stream.local_addr()?;
            Ok((stream, Door::Loopback { client, server }))
        });
        match accepted {
            Ok((stream, from)) => {
                let door = Arc::clone(door);
                tokio::spawn(async move {
                    door.converse(stream, from).await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

impl Entrance {
    async fn converse(&self, stream: TcpStream, from: Door) {
        let answer =
            service_fn(
                |request| async move { Ok::<_, Infallible>(self.answer(request, from).await) },
            );
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS)
            .serve_connection(TokioIo::new(stream), answer);
        // A client that goes away in the middle is nobody's failure.
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended early");
        }
    }

    async fn answer(&self, mut request: Request<Incoming>, from: Door) -> Answer {
        let authorization = request.headers().get(AUTHORIZATION);
        let authorization = authorization.and_then(|value| value.to_str().ok());
        if !self.token.opens(authorization) {
            return unauthorized();
        }
        if request.uri().path() != PATH {
            return text(StatusCode::NOT_FOUND, "there is nothing but /mcp");
        }
        // Nothing behind this needs it, so nothing behind this can leak it.
        request.headers_mut().remove(AUTHORIZATION);
        request.extensions_mut().insert(from);
        self.mcp.handle(request).await
    }
}

/// The body was not read, so the connection cannot be used again.
fn unauthorized() -> Answer {
    let mut answer = text(
        StatusCode::UNAUTHORIZED,
        "send the token of this server as `Authorization: Bearer <token>`",
    );
    let headers = answer.headers_mut();
    headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}

fn text(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    answer
}

/// Waits for a signal that asks the program to end.
async fn ended() -> io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            pressed = tokio::signal::ctrl_c() => pressed,
            _ = terminate.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}
