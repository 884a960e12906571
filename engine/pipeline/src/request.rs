//! What a caller asks for and what it gets back: the request to send, and the receipt.

use crate::edge::Target;
use crate::ledger::NewMessage;
use crate::rejection::Why;
use crate::resolve::SenderClaim;
use crate::sender::Sender;
use axiowl_model::{Evidence, MessageId, Stage, StageLine, Timestamp};
use std::time::Duration;

/// Longest target or sender text that is looked up.
const TEXT_BYTES: usize = 4096;

/// A message somebody wants to send.
#[derive(Debug, Clone)]
pub struct SendRequest {
    /// The target: session id, name or alias; `operator` when answering it. May be empty when
    /// `reply_to` is given: then it goes to whom that message came from.
    pub to: String,
    /// The text.
    pub body: String,
    /// Who sends.
    pub from: SenderClaim,
    /// The message it answers.
    pub reply_to: Option<MessageId>,
    /// Only rows of this node.
    pub node: Option<String>,
    /// A name that fits several targets is refused.
    pub strict: bool,
    /// How long it may wait to be handed over; `None` for the configured time.
    pub timeout: Option<Duration>,
    /// Go every step up to the ledger, and stop there.
    pub dry_run: bool,
}

impl SendRequest {
    /// A message from the operator with everything else as usual.
    pub fn new(to: impl Into<String>, body: impl Into<String>) -> Self {
        Self {
            to: to.into(),
            body: body.into(),
            from: SenderClaim::Operator,
            reply_to: None,
            node: None,
            strict: false,
            timeout: None,
            dry_run: false,
        }
    }

    /// What can be said without looking anything up.
    pub(crate) fn check(&self) -> Result<(), Why> {
        let usage = |problem: &str, hint: &str| {
            Err(Why::Usage {
                problem: problem.into(),
                hint: hint.into(),
            })
        };
        if self.to.trim().is_empty() && self.reply_to.is_none() {
            return usage(
                "no target was given",
                "name one; `axiowl list agents` shows them",
            );
        }
        if self.to.len() > TEXT_BYTES {
            return usage(
                "the target is too long to be a name or an id",
                "give a name or an id",
            );
        }
        if self.body.trim().is_empty() {
            return usage(
                "the body is empty",
                "give a text with --body, --body-file or on stdin",
            );
        }
        match &self.from {
            SenderClaim::Text(text) if text.trim().is_empty() => {
                usage("the sender is empty", "leave --from away or give a name")
            }
            SenderClaim::Text(text) if text.len() > TEXT_BYTES => usage(
                "the sender is too long to be a name or an id",
                "give a name or an id",
            ),
            _ => Ok(()),
        }
    }
}

/// A message on its way, or, in a dry run, as it would be.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The receipt. In a dry run its evidence is `dry_run`, and no ledger holds it.
    pub line: StageLine,
    /// Who sends it.
    pub sender: Sender,
    /// The row it is for.
    pub target: Target,
    /// `agent_id` of other rows that the target text fitted; tell the user when not empty.
    pub also_matching: Vec<String>,
    /// `agent_id` of other rows that the sender text fitted.
    pub sender_also: Vec<String>,
    /// What the target will read.
    pub visible_body: String,
    /// The message that counts as answered by this one.
    pub answers: Option<MessageId>,
    /// That message's new line `replied`, where this one proves it.
    pub replied: Option<StageLine>,
    /// The line that says that this answer is only kept in its target's inbox, and why.
    pub kept: Option<StageLine>,
    /// Why no worker could be started now; the next command tries again.
    pub worker_problem: Option<String>,
    /// Nothing was stored.
    pub dry_run: bool,
}

impl Accepted {
    /// What a dry run gives back.
    pub(crate) fn preview(new: NewMessage, at: Timestamp) -> Self {
        let line = StageLine {
            message_id: new.id,
            run_id: new.run_id,
            stage: Stage::Accepted,
            at,
            provider: new.target.key.provider.clone(),
            provider_session_id: new.target.key.session.clone(),
            display_name: new.target.display_name.clone(),
            route: String::new(),
            evidence: Evidence::new("dry_run", "nothing was stored or sent"),
            reason: new.kept.unwrap_or_default(),
            also_matching: new.also_matching.clone(),
        };
        Self {
            line,
            sender: new.sender,
            target: new.target,
            also_matching: new.also_matching,
            sender_also: Vec::new(),
            visible_body: new.visible_body,
            answers: new.reply_to,
            replied: None,
            kept: None,
            worker_problem: None,
            dry_run: true,
        }
    }
}
