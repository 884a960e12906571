//! The inbox of an open Claude Code session: a Unix socket that takes one JSON line a message,
//! and a socket of ours beside it, by which the session says what it does with a message it
//! does not read at once (`providers/claude-code.md` C.3).
//!
//! Its words are notices, not proof: one that is missing means nothing.

use crate::local_socket;
use crate::open_session::Receiver;
use axiowl_model::MessageId;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the session may take to read a message; half a second was seen (C.3).
const READING: Duration = Duration::from_secs(20);
/// How long a notice may take from its first byte to its last.
const NOTICE: Duration = Duration::from_secs(2);
/// A notice is a few hundred bytes.
const LARGEST: u64 = 64 * 1024;

/// A connection to the inbox.
pub(super) struct Inbox {
    stream: UnixStream,
}

impl Inbox {
    /// Connects to the inbox of exactly that process.
    ///
    /// # Errors
    /// Why nothing may be sent there.
    pub fn connect(socket: &Path, receiver: &Receiver) -> Result<Self, String> {
        let found = local_socket::connect(socket)?;
        // The start time is asked after the connection stands: the number is not used again
        // while the process holds it.
        if found.pid != receiver.pid || !receiver.runs() {
            return Err(format!(
                "process {} answers there, and not process {}",
                found.pid, receiver.pid
            ));
        }
        Ok(Self {
            stream: found.stream,
        })
    }

    /// Puts the message in. True when the session read it to its end.
    ///
    /// # Errors
    /// When the connection breaks; the message may have gone through it.
    pub fn put(mut self, line: &Value) -> io::Result<bool> {
        let until = Instant::now() + READING;
        self.stream.set_write_timeout(Some(READING))?;
        self.stream.write_all(format!("{line}\n").as_bytes())?;
        self.stream.shutdown(Shutdown::Write)?;
        let mut piece = [0; 1024];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(&mut piece) {
                Ok(0) => return Ok(true),
                Ok(_) => {}
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The line that puts a message into one session (C.3). With another session's id it is
/// dropped, which is the guard against `/clear` between our look and its arrival.
pub(super) fn line(message: MessageId, session: &str, from: &str, body: &str) -> Value {
    json!({
        "type": "user",
        "msgV": 1,
        "msg_id": message.to_string(),
        "from": from,
        "session_id": session,
        "message": { "role": "user", "content": body },
    })
}

/// What the session says about a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    /// `held`, `delivered`, `denied`, `expired` or `dropped`.
    pub status: String,
    /// Its words.
    pub reason: String,
}

/// A socket of ours that the session answers to; gone when dropped. It has to lie in the
/// inboxes' own folder: to another one nothing is said (C.3).
pub(super) struct Replies {
    listener: UnixListener,
    path: PathBuf,
    receiver: u32,
    message: String,
}

impl Replies {
    /// Listens beside an inbox for what is said about one message.
    ///
    /// # Errors
    /// When no socket can be made there.
    pub fn beside(socket: &Path, receiver: u32, message: MessageId) -> io::Result<Self> {
        let name = format!("axiowl-{}-{}.sock", std::process::id(), message);
        let path = socket.parent().unwrap_or(Path::new("/")).join(name);
        let listener = UnixListener::bind(&path)?;
        let replies = Self {
            listener,
            path,
            receiver,
            message: message.to_string(),
        };
        fs::set_permissions(&replies.path, fs::Permissions::from_mode(0o600))?;
        replies.listener.set_nonblocking(true)?;
        Ok(replies)
    }

    /// The address of the socket, as a sender's.
    pub fn address(&self) -> String {
        format!("uds:{}", self.path.display())
    }

    /// What was said since this was asked last, by the receiver about the message. Others'
    /// words are passed over.
    pub fn hear(&self) -> Vec<Notice> {
        let mut out = Vec::new();
        while let Ok((stream, _)) = self.listener.accept() {
            if local_socket::peer(&stream) == Ok(self.receiver) {
                out.extend(self.notices(stream));
            }
        }
        out
    }

    fn notices(&self, mut stream: UnixStream) -> Vec<Notice> {
        let until = Instant::now() + NOTICE;
        let mut said = Vec::new();
        let mut piece = [0; 4096];
        while (said.len() as u64) < LARGEST && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            let ready = stream
                .set_nonblocking(false)
                .and_then(|()| stream.set_read_timeout(Some(left.max(Duration::from_millis(1)))));
            if ready.is_err() {
                break;
            }
            match stream.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => said.extend_from_slice(&piece[..read]),
                Err(error) if is_pause(&error) => {}
                Err(_) => break,
            }
        }
        let text = String::from_utf8_lossy(&said);
        text.lines().filter_map(|line| self.notice(line)).collect()
    }

    fn notice(&self, line: &str) -> Option<Notice> {
        let said: Value = serde_json::from_str(line).ok()?;
        let text = |name: &str| said[name].as_str().unwrap_or_default();
        let ours = said["action"] == "peer_message_status"
            && text("orig_msg_id").eq_ignore_ascii_case(&self.message);
        if !ours {
            return None;
        }
        let reason = match (text("reason"), text("status_detail")) {
            ("", detail) => detail,
            (reason, _) => reason,
        };
        Some(Notice {
            status: text("status").to_owned(),
            reason: crate::one_turn::words(reason),
        })
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn is_pause(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_receivers_words_about_the_message_count() {
        let folder = tempfile::tempdir().unwrap();
        let (me, message) = (std::process::id(), MessageId::new());
        let inbox = folder.path().join("1.sock");
        let status = |status: &str, about: &str| {
            let line = json!({
                "type": "control", "action": "peer_message_status", "status": status,
                "reason": "because", "orig_msg_id": about,
            });
            format!("{line}\n")
        };
        let id = message.to_string();
        let said = [
            "rubbish\n".to_owned(),
            status("held", "another"),
            status("held", &id),
            json!({ "action": "other", "status": "denied", "orig_msg_id": id }).to_string(),
        ]
        .concat();
        let heard = |receiver: u32| {
            let replies = Replies::beside(&inbox, receiver, message).unwrap();
            assert!(replies.address().starts_with("uds:/"));
            assert!(replies.hear().is_empty());
            let mut stream = UnixStream::connect(&replies.path).unwrap();
            stream.write_all(said.as_bytes()).unwrap();
            drop(stream);
            replies.hear()
        };
        let [held] = heard(me).try_into().unwrap();
        assert_eq!(
            (held.status.as_str(), held.reason.as_str()),
            ("held", "because")
        );
        assert!(heard(me + 1).is_empty(), "somebody else's words");
        let left = fs::read_dir(folder.path()).unwrap();
        assert_eq!(left.count(), 0, "the socket goes with the delivery");
    }
}
