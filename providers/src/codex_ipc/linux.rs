//! The Unix socket side: checks of the peer, framing, the two requests.

use crate::local_socket;
use axiowl_sources::World;
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The router answers at once; discovery does not wait for one that does not.
const DEADLINE: Duration = Duration::from_secs(2);
/// A frame that is larger is read and thrown away. The protocol allows 256 MiB.
const KEPT: usize = 1024 * 1024;
/// The protocol's own limit.
const LARGEST: usize = 256 * 1024 * 1024;

/// Where the socket may be: in Codex's folder, or in the folder of older builds.
pub(super) fn places(world: &World, root: &Path) -> Vec<PathBuf> {
    let uid = rustix::process::getuid().as_raw();
    let old = world
        .env("TMPDIR")
        .unwrap_or("/tmp")
        .trim_end_matches('/')
        .to_owned();
    let old = format!("{old}/codex-ipc/ipc-{uid}.sock");
    let old = world.real_path(&old).unwrap_or_else(|| PathBuf::from(old));
    vec![root.join("ipc/ipc.sock"), old]
}

/// Asks the first socket that is there.
pub(super) fn owns(places: &[PathBuf], thread: &str) -> Result<bool, String> {
    let Some(socket) = places.iter().find(|path| path.symlink_metadata().is_ok()) else {
        return Err("the Codex desktop app has no IPC socket here".into());
    };
    let shown = socket.display();
    let ask = || -> Result<bool, String> { Router::connect(socket)?.owner(thread) };
    ask().map_err(|why| format!("{shown}: {why}"))
}

/// A connection to the router.
struct Router {
    stream: UnixStream,
    until: Instant,
}

impl Router {
    fn connect(socket: &Path) -> Result<Self, String> {
        Ok(Self {
            // Codex makes the same checks of the folder (C6).
            stream: local_socket::connect(socket)?.stream,
            until: Instant::now() + DEADLINE,
        })
    }

    fn owner(&mut self, thread: &str) -> Result<bool, String> {
        let client = json!({ "clientType": "axiowl" });
        let hello = self.request("initializing-client", 0, "initialize", client)?;
        let client = hello["result"]["clientId"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if hello["resultType"] != "success" || client.is_empty() {
            return Err("it does not let us in".into());
        }
        let about = json!({ "hostId": "local", "conversationId": thread });
        let answer = self.request(&client, 1, "thread-owner-discovery", about)?;
        match (
            answer["resultType"].as_str(),
            answer["handledByClientId"].as_str(),
        ) {
            (Some("success"), Some(owner)) => Ok(!owner.is_empty()),
            (Some("error"), _) if answer["error"] == "no-client-found" => Ok(false),
            (Some("error"), _) => {
                let error = answer["error"].as_str().unwrap_or("an error");
                Err(format!("it answered {}", axiowl_model::display_safe(error)))
            }
            _ => Err("its answer is not understood".into()),
        }
    }

    /// Sends a request and waits for its own answer.
    fn request(
        &mut self,
        from: &str,
        version: u32,
        method: &str,
        params: Value,
    ) -> Result<Value, String> {
        let id = uuid::Uuid::new_v4().to_string();
        self.write(&json!({
            "type": "request", "requestId": id, "sourceClientId": from, "version": version,
            "method": method, "params": params,
        }))?;
        loop {
            let Some(frame) = self.read()? else {
                continue;
            };
            match frame["type"].as_str() {
                Some("response") if frame["requestId"] == id.as_str() => return Ok(frame),
                Some("client-discovery-request") => {
                    let answer = json!({
                        "type": "client-discovery-response", "requestId": frame["requestId"],
                        "response": { "canHandle": false },
                    });
                    self.write(&answer)?;
                }
                _ => {}
            }
        }
    }

    fn write(&mut self, message: &Value) -> Result<(), String> {
        let text = message.to_string();
        let length = u32::try_from(text.len()).map_err(|error| error.to_string())?;
        let mut frame = length.to_le_bytes().to_vec();
        frame.extend_from_slice(text.as_bytes());
        let left = self.left()?;
        let sent = self
            .stream
            .set_write_timeout(Some(left))
            .and_then(|()| self.stream.write_all(&frame));
        sent.map_err(|error| told(&error))
    }

    /// One frame; nothing when it was too large to keep.
    fn read(&mut self) -> Result<Option<Value>, String> {
        let mut head = [0; 4];
        self.fill(&mut head)?;
        let length = usize::try_from(u32::from_le_bytes(head)).unwrap_or(usize::MAX);
        if length > LARGEST {
            return Err("it does not speak the protocol".into());
        }
        if length > KEPT {
            let mut left = length;
            let mut part = vec![0; KEPT];
            while left > 0 {
                let size = left.min(KEPT);
                self.fill(&mut part[..size])?;
                left -= size;
            }
            return Ok(None);
        }
        let mut body = vec![0; length];
        self.fill(&mut body)?;
        let parsed = serde_json::from_slice(&body);
        parsed
            .map(Some)
            .map_err(|error| format!("its answer is no JSON: {error}"))
    }

    fn fill(&mut self, mut part: &mut [u8]) -> Result<(), String> {
        while !part.is_empty() {
            let left = self.left()?;
            let read = self
                .stream
                .set_read_timeout(Some(left))
                .and_then(|()| self.stream.read(part));
            match read {
                Ok(0) => return Err("it closed the connection".into()),
                Ok(count) => part = &mut part[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(told(&error)),
            }
        }
        Ok(())
    }

    fn left(&self) -> Result<Duration, String> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            Err("it did not answer in time".into())
        } else {
            Ok(left)
        }
    }
}

fn told(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "it did not answer in time".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
