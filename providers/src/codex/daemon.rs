//! The Codex daemon that terminals share, over its control socket: JSON-RPC in WebSocket frames
//! over a Unix socket (`providers/codex.md` C4). It outlives us, and finishes what it was given.
//!
//! Only ever talked to when it is the very process that has the thread open.

use super::app_server::{CallError, Calls, hello};
use crate::local_socket;
use crate::open_session::Receiver;
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use tungstenite::client::client_with_config;
use tungstenite::protocol::{WebSocket, WebSocketConfig};
use tungstenite::{Error, Message};

/// How long it may take to answer the upgrade.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The largest answer that is taken; those that are asked for are small.
const LARGEST: usize = 16 * 1024 * 1024;

/// A connection to the daemon.
pub(super) struct Daemon {
    socket: WebSocket<UnixStream>,
    calls: u64,
}

impl Daemon {
    /// Connects to the control socket of exactly that process.
    ///
    /// # Errors
    /// Why it may not be talked to.
    pub fn connect(socket: &Path, receiver: &Receiver) -> Result<Self, String> {
        let text = |error: std::io::Error| error.to_string();
        // What stands in Codex's folder is a link to the socket.
        let real = socket.canonicalize().map_err(text)?;
        let found = local_socket::connect(&real)?;
        if found.pid != receiver.pid || !receiver.runs() {
            return Err(format!(
                "process {} answers there, and not process {}",
                found.pid, receiver.pid
            ));
        }
        let stream = found.stream;
        stream.set_read_timeout(Some(HANDSHAKE)).map_err(text)?;
        stream.set_write_timeout(Some(HANDSHAKE)).map_err(text)?;
        let limits = WebSocketConfig::default()
            .max_message_size(Some(LARGEST))
            .max_frame_size(Some(LARGEST));
        let (socket, _) = client_with_config("ws://localhost/", stream, Some(limits))
            .map_err(|error| format!("it does not speak WebSocket: {error}"))?;
        Ok(Self { socket, calls: 0 })
    }

    /// Shakes hands.
    pub fn initialize(&mut self, until: Instant) -> Result<(), CallError> {
        self.call("initialize", hello(), until)?;
        self.send(&json!({ "method": "initialized" }))
    }

    /// Says goodbye; the daemon goes on.
    pub fn close(mut self) {
        let _ = self.socket.close(None);
        let _ = self.socket.flush();
    }

    fn send(&mut self, message: &Value) -> Result<(), CallError> {
        self.socket
            .send(Message::text(message.to_string()))
            .map_err(|_| CallError::Ended)
    }
}

impl Calls for Daemon {
    /// What else comes is for other clients: this one has subscribed to nothing, and decides
    /// nothing.
    fn call(&mut self, method: &str, params: Value, until: Instant) -> Result<Value, CallError> {
        self.calls += 1;
        let id = self.calls;
        self.send(&json!({ "id": id, "method": method, "params": params }))?;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(CallError::TimedOut);
            }
            if self.socket.get_ref().set_read_timeout(Some(left)).is_err() {
                return Err(CallError::Ended);
            }
            let text = match self.socket.read() {
                Ok(Message::Text(text)) => text,
                Ok(_) => continue,
                Err(Error::Io(error)) if is_pause(error.kind()) => continue,
                Err(Error::Capacity(_)) => return Err(CallError::Flooded),
                Err(_) => return Err(CallError::Ended),
            };
            let Ok(answer) = serde_json::from_str::<Value>(&text) else {
                continue;
            };
            if answer["id"] == id && answer.get("method").is_none() {
                return super::app_server::result_of(&answer);
            }
        }
    }
}

fn is_pause(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut
    )
}
