//! Answers that cannot be handed over. Whoever was proven to ask has a right to its answer even
//! while no way to its session is proven: the answer is kept in its inbox, which it reads itself,
//! and is handed to nobody. Knows no registry and no edge.

use crate::edge::Target;
use crate::ledger::Message;
use crate::rejection::Why;
use crate::reply;
use crate::sender::{Sender, SenderKind};
use axiowl_model::display_safe;

/// An answer for its asker's inbox only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Who asked.
    pub target: Target,
    /// Why it is not handed over, and where it is.
    pub reason: String,
}

/// What becomes of an answer whose way `why` bars; `None` where it answers nothing, or nobody
/// proven asked. What a person switched off stays off.
pub(crate) fn kept<'a>(
    why: &Why,
    text: &str,
    sender: &Sender,
    causes: impl IntoIterator<Item = &'a Message>,
) -> Option<Kept> {
    let asked = |asker: &Sender| match why {
        Why::NotSendable { row, .. } => {
            !row.disabled
                && asker.key.as_ref().map(ToString::to_string).as_ref() == Some(&row.agent_id)
        }
        Why::NoSuchTarget { .. } => {
            asker
                .key
                .as_ref()
                .is_some_and(|key| key.to_string() == text)
                || asker.is_called(text)
        }
        _ => false,
    };
    let fits = |question: &&Message| {
        question.sender.kind == SenderKind::Proven
            && asked(&question.sender)
            && reply::settles(question, sender).is_ok()
    };
    let question = causes.into_iter().find(fits)?;
    let asker = &question.sender;
    Some(Kept {
        target: Target {
            key: asker.key.clone()?,
            display_name: match why {
                Why::NotSendable { row, .. } => row.display_name.clone(),
                _ => asker.name.clone(),
            },
            cwd: String::new(),
            home: String::new(),
        },
        reason: format!(
            "{why}; the answer is kept in the inbox of {}, which reads it with axiowl_inbox",
            display_safe(&asker.name)
        ),
    })
}
