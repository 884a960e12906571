//! Delivery into a session that somebody has open, through its inbox socket
//! (`providers/claude-code.md` C.3 and C.5).
//!
//! The inbox gives no receipt but that it was read to the end; the transcript alone proves.

use super::records::Inlet;
use axiowl_pipeline::edge::{Delivery, EdgeContext};
#[cfg(not(target_os = "linux"))]
use axiowl_pipeline::edge::{EdgeError, Progress};
use std::path::Path;

/// The way for people.
pub(super) const ROUTE: &str = "inbox socket of the open session";

/// Everything that has to hold before a message goes into an inbox, in one process.
pub(super) struct Open<'a> {
    pub context: &'a EdgeContext<'a>,
    pub delivery: &'a Delivery<'a>,
    pub session: &'a str,
    /// Claude Code's folder.
    pub root: &'a Path,
    pub inlet: &'a Inlet,
}

#[cfg(target_os = "linux")]
pub(super) use linux::{deliver, knock};

/// Whether the inbox can be connected to.
#[cfg(not(target_os = "linux"))]
pub(super) fn knock(_inlet: &Inlet) -> Result<(), String> {
    Err("AxiOwl does not use inboxes on this system yet".into())
}

/// Delivers one message.
#[cfg(not(target_os = "linux"))]
pub(super) fn deliver(
    open: &Open<'_>,
    _progress: &mut dyn FnMut(Progress),
) -> Result<(), EdgeError> {
    Err(EdgeError::Refused {
        reason: format!(
            "{} cannot take {} here",
            open.session, open.delivery.message_id
        ),
    })
}

#[cfg(target_os = "linux")]
mod linux {
    use super::super::inbox::{self, Inbox, Notice, Replies};
    use super::super::records::Inlet;
    use super::super::{queue::Waiting, records, transcript, verdict};
    use super::{Open, ROUTE};
    use crate::in_flight::Trace;
    use crate::open_session::{Door, Receiver, Word, watch};
    use axiowl_model::{Evidence, display_safe};
    use axiowl_pipeline::edge::{EdgeError, Progress};
    use std::path::Path;
    use std::time::{Duration, Instant};

    /// How often the record is asked whether the session is still the one that is open.
    const RECORD: Duration = Duration::from_secs(1);
    /// How long a message that was read may take to stand in a transcript.
    const LAG: Duration = Duration::from_secs(3);

    pub(in super::super) fn knock(inlet: &Inlet) -> Result<(), String> {
        Inbox::connect(&inlet.socket, &inlet.receiver).map(drop)
    }

    pub(in super::super) fn deliver(
        open: &Open<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError> {
        let (delivery, inlet) = (open.delivery, open.inlet);
        let receiver = &inlet.receiver;
        let pid = receiver.pid;
        let not_submitted = |reason: String| EdgeError::NotSubmitted { reason };
        let replies = Replies::beside(&inlet.socket, pid, delivery.message_id);
        let replies = replies.map_err(|error| {
            not_submitted(format!(
                "what the session says of a message it holds could not be listened for beside \
                 {}: {error}",
                inlet.socket.display()
            ))
        })?;
        let inbox = Inbox::connect(&inlet.socket, receiver).map_err(|why| EdgeError::Refused {
            reason: format!("its inbox {} cannot be used: {why}", inlet.socket.display()),
        })?;
        let state = &open.context.state_root;
        let trace = Trace::hand_to(
            state,
            delivery.message_id,
            &delivery.target.key,
            pid,
            &receiver.start,
        );
        let trace = trace.map_err(|error| {
            not_submitted(format!(
                "the delivery could not be noted in the state folder: {error}"
            ))
        })?;
        let waiting = transcript(open.root, open.session)
            .map(|path| Waiting::behind(path, open.context.world, delivery.message_id));
        progress(Progress::Starting {
            route: ROUTE.into(),
        });
        let line = inbox::line(
            delivery.message_id,
            open.session,
            &replies.address(),
            delivery.visible_body,
        );
        let mut door = InboxDoor {
            open,
            replies,
            waiting,
            record: Instant::now(),
            left: None,
        };
        match inbox.put(&line) {
            Ok(true) => {
                let detail = format!(
                    "process {pid} read msg_id={} to its end",
                    delivery.message_id
                );
                progress(Progress::Submitted(Evidence::new("inbox_eof", detail)));
            }
            // It may have it nevertheless; the transcript tells.
            Ok(false) => tracing::warn!(pid, "the inbox was not read to its end in time"),
            Err(error) => tracing::warn!(pid, %error, "the connection to the inbox broke"),
        }
        watch(delivery, receiver, trace, &mut door, progress)
    }

    /// The inbox once it has the message.
    struct InboxDoor<'a> {
        open: &'a Open<'a>,
        replies: Replies,
        waiting: Option<Waiting>,
        /// When the record was looked at last.
        record: Instant,
        /// The session that the process went on to, and when that was noticed.
        left: Option<(String, Instant)>,
    }

    impl Door for InboxDoor<'_> {
        fn words(&mut self, seen: bool) -> Vec<Word> {
            let notices = self.replies.hear();
            let mut words: Vec<Word> = notices.iter().filter_map(word).collect();
            if !seen {
                let queued = self.waiting.as_mut().and_then(Waiting::look);
                words.extend(queued.map(Word::Queued));
                words.extend(self.elsewhere());
            }
            words
        }

        fn orphaned(&mut self, receiver: &Receiver) -> EdgeError {
            // What a process had in its queue dies with it: resuming does not bring it back.
            let reason = format!(
                "process {}, which had the session open, ended before it came to the message",
                receiver.pid
            );
            let evidence = Evidence::new("process", format!("process {} is gone", receiver.pid));
            EdgeError::TurnFailed { reason, evidence }
        }
    }

    impl InboxDoor<'_> {
        /// Whether the process went on to another session before it came to the message, which
        /// `/clear` does, and what became of the message there.
        fn elsewhere(&mut self) -> Option<Word> {
            if self.record.elapsed() < RECORD {
                return None;
            }
            self.record = Instant::now();
            if self.left.is_none() {
                let now = records::session_of(&self.open.inlet.record)?;
                if !now.eq_ignore_ascii_case(self.open.session) {
                    self.left = Some((now, Instant::now()));
                }
            }
            let (other, since) = self.left.as_ref()?;
            let id = self.open.delivery.message_id.to_string();
            let shown = display_safe(other);
            let found = axiowl_model::is_uuid(other)
                .then(|| transcript(self.open.root, other))
                .flatten()
                .filter(|path| verdict::holds(path, &id));
            if let Some(path) = found {
                return Some(misread(&shown, &path));
            }
            (since.elapsed() >= LAG).then(|| Word::Unknown {
                reason: format!(
                    "the session was left for {shown} before the message was read, and neither \
                     of the two transcripts has it"
                ),
            })
        }
    }

    fn misread(other: &str, path: &Path) -> Word {
        let mut evidence = Evidence::new("transcript_record", format!("session {other}"));
        evidence.path = Some(path.display().to_string());
        Word::Elsewhere {
            reason: format!("the session was left for {other}, which read the message"),
            evidence,
        }
    }

    fn word(notice: &Notice) -> Option<Word> {
        let Notice { status, reason } = notice;
        let shown = display_safe(status);
        let evidence = Evidence::new(
            "provider_status",
            format!("peer_message_status {shown}: {reason}"),
        );
        match status.as_str() {
            "held" => Some(Word::Held(evidence)),
            "denied" | "expired" | "dropped" => Some(Word::Declined {
                reason: format!("Claude Code says that it is {shown}: {reason}"),
                evidence,
            }),
            _ => None,
        }
    }
}
