//! What keeps agents from talking in circles. Each guard looks at one message that is about
//! to be accepted and either lets it pass or says why not; none changes anything.

use crate::ledger::{Ledger, Message};
use crate::limits::Limits;
use crate::rejection::Why;
use crate::sender::{Hop, Sender};
use axiowl_model::{SessionKey, display_safe};
use std::time::Duration;

/// A guard that stopped a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Guard {
    /// The body is too large.
    #[error("the body has {bytes} bytes, and at most {limit} are sent")]
    BodyTooLarge {
        /// Its size.
        bytes: usize,
        /// The cap.
        limit: usize,
    },
    /// Sender and target are one session.
    #[error("{agent_id} would send to itself")]
    SelfSend {
        /// The session.
        agent_id: String,
    },
    /// The message would come back to a station it came through.
    #[error("the message would go in a circle: {}", chain.join(" > "))]
    Circle {
        /// The stations, the target last.
        chain: Vec<String>,
    },
    /// The chain of messages behind it is too long.
    #[error(
        "{} messages led to this one, and at most {limit} may: {}",
        chain.len(),
        chain.join(" > ")
    )]
    TooManyHops {
        /// The stations, oldest first.
        chain: Vec<String>,
        /// The cap.
        limit: usize,
    },
    /// Too many messages between the same two.
    #[error(
        "at most {limit} messages within {} go from {sender} to {target}; the next one may go in {}",
        shown(*window),
        shown(*wait)
    )]
    PairRate {
        /// The sender's name.
        sender: String,
        /// The target's `agent_id`.
        target: String,
        /// The cap.
        limit: usize,
        /// The window.
        window: Duration,
        /// How long until there is room again.
        wait: Duration,
    },
    /// Too many messages to one target, whoever sent them.
    #[error(
        "at most {limit} messages within {} go to {target}; the next one may go in {}",
        shown(*window),
        shown(*wait)
    )]
    TargetRate {
        /// The target's `agent_id`.
        target: String,
        /// The cap.
        limit: usize,
        /// The window.
        window: Duration,
        /// How long until there is room again.
        wait: Duration,
    },
}

impl Guard {
    /// A stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BodyTooLarge { .. } => "body_too_large",
            Self::SelfSend { .. } => "self_send",
            Self::Circle { .. } => "hop_circle",
            Self::TooManyHops { .. } => "hop_limit",
            Self::PairRate { .. } => "rate_limit",
            Self::TargetRate { .. } => "target_rate_limit",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::BodyTooLarge { .. } => {
                "send less, or put the text into a file and send its path; `limits.body` in \
                 config.yaml holds the cap"
                    .into()
            }
            Self::SelfSend { .. } => "name another agent as the target".into(),
            Self::Circle { .. } => {
                "answer the message you got (reply_to) instead of passing it on".into()
            }
            Self::TooManyHops { .. } => {
                "end the exchange, or let a person start a new one; `limits.hops` in config.yaml \
                 holds the cap"
                    .into()
            }
            Self::PairRate { wait, .. } => format!(
                "send it again in {}; `limits.pair_per_minute` in config.yaml holds the cap",
                shown(*wait)
            ),
            Self::TargetRate { wait, .. } => format!(
                "send it again in {}; `limits.target_per_minute` in config.yaml holds the cap",
                shown(*wait)
            ),
        }
    }
}

/// The body's size, before anything else is looked at.
pub(crate) fn body(body: &str, limits: &Limits) -> Result<(), Guard> {
    if body.len() > limits.body_bytes {
        return Err(Guard::BodyTooLarge {
            bytes: body.len(),
            limit: limits.body_bytes,
        });
    }
    Ok(())
}

/// The stations behind a message whose sender acts on `cause`.
pub(crate) fn hops(cause: Option<&Message>) -> Vec<Hop> {
    cause.map_or_else(Vec::new, |cause| {
        let mut hops = cause.hops.clone();
        hops.push(cause.sender.hop());
        hops
    })
}

/// Everything that depends on sender, target and the messages before. `answer` says that the
/// message goes back to whom its cause came from, which is no circle.
pub(crate) fn route(
    ledger: &Ledger,
    limits: &Limits,
    sender: &Sender,
    target: &SessionKey,
    hops: &[Hop],
    answer: bool,
) -> Result<(), Why> {
    let agent_id = target.to_string();
    if sender.key.as_ref() == Some(target) {
        return Err(Guard::SelfSend { agent_id }.into());
    }
    let been_there = hops.iter().any(|hop| hop.agent.as_ref() == Some(&agent_id));
    let mut chain: Vec<_> = hops.iter().map(|hop| display_safe(&hop.name)).collect();
    if been_there && !answer {
        chain.push(display_safe(&sender.name));
        chain.push(agent_id);
        return Err(Guard::Circle { chain }.into());
    }
    if hops.len() > limits.hops {
        let limit = limits.hops;
        return Err(Guard::TooManyHops { chain, limit }.into());
    }
    Ok(ledger.rates(limits, sender, target)??)
}

/// A time as a person says it. A wait is never shown as shorter than it is.
fn shown(time: Duration) -> String {
    let seconds = time.as_millis().div_ceil(1000);
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}
