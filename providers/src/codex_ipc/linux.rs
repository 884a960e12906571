//! The Unix socket side: checks of the peer, framing, the two requests.

use super::{NoTurn, Said};
use crate::local_socket;
use axiowl_sources::World;
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The router answers at once; discovery does not wait for one that does not.
const DEADLINE: Duration = Duration::from_secs(2);
/// Errors that say that nobody was given the request.
const UNTAKEN: [&str; 2] = ["no-client-found", "no-handler-for-request"];
/// Has the owner of a thread start a turn.
const START: &str = "thread-follower-start-turn";
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
    vec![own_place(root), old]
}

/// Where newer builds have it. A message is handed in nowhere else: the other place is a variable's
/// to say.
pub(super) fn own_place(root: &Path) -> PathBuf {
    root.join("ipc/ipc.sock")
}

/// Asks the first socket that is there.
pub(super) fn owns(places: &[PathBuf], thread: &str) -> Result<bool, String> {
    let Some(socket) = places.iter().find(|path| path.symlink_metadata().is_ok()) else {
        return Err("the Codex desktop app has no IPC socket here".into());
    };
    let shown = socket.display();
    let ask = || -> Result<bool, String> { Ok(Router::connect(socket)?.find(thread)?.is_some()) };
    ask().map_err(|why| format!("{shown}: {why}"))
}

/// The owner of a thread, if the desktop app is that.
pub(super) fn desk(socket: &Path, thread: &str) -> Result<Option<Desk>, String> {
    if socket.symlink_metadata().is_err() {
        return Ok(None);
    }
    let find = || -> Result<Option<Desk>, String> {
        let mut router = Router::connect(socket)?;
        let Some(found) = router.find(thread)? else {
            return Ok(None);
        };
        if found.takes_others == Some(false) {
            return Err("the window that owns the thread takes no input of other programs".into());
        }
        let owner = found.owner;
        Ok(Some(Desk { router, owner }))
    };
    find().map_err(|why| format!("{}: {why}", socket.display()))
}

/// The window that owns a thread.
pub(crate) struct Desk {
    router: Router,
    owner: String,
}

impl Desk {
    /// Has it start a turn; the turn's id. The newer form of the request is tried first; a
    /// version that is not understood has started nothing.
    pub fn start_turn(mut self, said: &Said<'_>, within: Duration) -> Result<String, NoTurn> {
        let input = json!([{ "type": "text", "text": said.body }]);
        let newer = json!({
            "conversationId": said.thread,
            "turnStart": {
                "request": {
                    "threadId": said.thread, "input": input, "clientUserMessageId": said.message,
                },
                "context": { "inheritThreadSettings": true },
            },
        });
        let older = json!({
            "conversationId": said.thread, "hostId": "local",
            "turnStartParams": { "input": input, "attachments": [] },
        });
        for (version, params) in [(2, newer), (1, older)] {
            self.router.until = Instant::now() + within;
            let asked = self.router.ask(version, START, params, Some(&self.owner));
            let id = asked.map_err(NoTurn::Unasked)?;
            let answer = self.router.answer(&id).map_err(NoTurn::Unknown)?;
            match answer["resultType"].as_str() {
                Some("success") => {
                    let turn = &answer["result"]["result"]["turn"]["id"];
                    return Ok(turn.as_str().unwrap_or_default().to_owned());
                }
                Some("error") if answer["error"] == "request-version-mismatch" => {}
                Some("error") => {
                    let error = answer["error"].as_str().unwrap_or("an error");
                    let shown = axiowl_model::display_safe(error);
                    return Err(match UNTAKEN.contains(&error) {
                        true => NoTurn::Declined(shown),
                        // The router may have handed it on before that.
                        false => NoTurn::Unknown(shown),
                    });
                }
                _ => return Err(NoTurn::Unknown("its answer is not understood".into())),
            }
        }
        Err(NoTurn::Declined(
            "it knows no version of the request that we know".into(),
        ))
    }
}

/// Who owns a thread.
struct Found {
    owner: String,
    /// What it says of input that is not its own user's.
    takes_others: Option<bool>,
}

/// A connection to the router.
struct Router {
    stream: UnixStream,
    until: Instant,
    /// What it calls us.
    client: String,
}

impl Router {
    fn connect(socket: &Path) -> Result<Self, String> {
        Ok(Self {
            // Codex makes the same checks of the folder (C6).
            stream: local_socket::connect(socket)?.stream,
            until: Instant::now() + DEADLINE,
            client: "initializing-client".into(),
        })
    }

    /// Says hello and asks who owns a thread.
    fn find(&mut self, thread: &str) -> Result<Option<Found>, String> {
        let client = json!({ "clientType": "axiowl" });
        let hello = self.request(0, "initialize", client)?;
        let client = hello["result"]["clientId"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if hello["resultType"] != "success" || client.is_empty() {
            return Err("it does not let us in".into());
        }
        self.client = client;
        let about = json!({ "hostId": "local", "conversationId": thread });
        let answer = self.request(1, "thread-owner-discovery", about)?;
        match (
            answer["resultType"].as_str(),
            answer["handledByClientId"].as_str(),
        ) {
            (Some("success"), Some("")) => Ok(None),
            (Some("success"), Some(owner)) => Ok(Some(Found {
                owner: owner.to_owned(),
                takes_others: answer["result"]["supportsUntrustedAppInput"].as_bool(),
            })),
            (Some("error"), _) if answer["error"] == "no-client-found" => Ok(None),
            (Some("error"), _) => {
                let error = answer["error"].as_str().unwrap_or("an error");
                Err(format!("it answered {}", axiowl_model::display_safe(error)))
            }
            _ => Err("its answer is not understood".into()),
        }
    }

    /// Sends a request and waits for its own answer.
    fn request(&mut self, version: u32, method: &str, params: Value) -> Result<Value, String> {
        let id = self.ask(version, method, params, None)?;
        self.answer(&id)
    }

    /// Sends a request, to one client where that is named; its id. After an error part of it
    /// may have gone out, but no whole frame, which is nothing to the other side.
    fn ask(
        &mut self,
        version: u32,
        method: &str,
        params: Value,
        to: Option<&str>,
    ) -> Result<String, String> {
        let id = uuid::Uuid::new_v4().to_string();
        let mut request = json!({
            "type": "request", "requestId": id, "sourceClientId": self.client,
            "version": version, "method": method, "params": params,
        });
        if let Some(to) = to {
            request["targetClientId"] = json!(to);
        }
        self.write(&request)?;
        Ok(id)
    }

    /// The answer to a request.
    fn answer(&mut self, id: &str) -> Result<Value, String> {
        loop {
            let Some(frame) = self.read()? else {
                continue;
            };
            match frame["type"].as_str() {
                Some("response") if frame["requestId"] == id => return Ok(frame),
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
