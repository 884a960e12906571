//! When a message counts as the answer to another: its sender is proven to be the very
//! session the other was for. Nobody else's word settles anything.

use crate::ledger::Message;
use crate::sender::{Sender, SenderKind};

/// Whether a message from `sender` in answer to `original` proves that the target answered;
/// the error says why not.
pub(crate) fn settles(original: &Message, sender: &Sender) -> Result<(), String> {
    let Some(key) = sender
        .key
        .as_ref()
        .filter(|_| sender.kind == SenderKind::Proven)
    else {
        return Err(format!("its sender is {}, not proven", sender.kind));
    };
    if *key != original.target.key {
        return Err(format!(
            "it comes from {key}, and the message was for {}",
            original.target.key
        ));
    }
    Ok(())
}

/// Whether a message to `target` goes back to whom `original` came from.
pub(crate) fn goes_back(original: &Message, target: &axiowl_model::SessionKey) -> bool {
    original.sender.return_address().as_ref() == Some(target)
}
