//! Rows that a complete, untargeted report does not list. Called for no other report.

use super::row::{distrust, is_unplaced};
use super::{MergeOptions, MergeReport};
use axiowl_model::{AgentRecord, MCP_SENDER_SOURCE, SessionKey};

/// `last_error` of a row whose session was not there any more.
pub(super) const NOT_FOUND: &str = "not found by the last discovery";

/// True when the report would have listed the row, were its session still there.
pub(super) fn covers(options: &MergeOptions, row: &AgentRecord) -> bool {
    row.key.provider == options.provider
        && row.key.node == options.node
        && options.home.as_ref().is_none_or(|home| *home == row.home)
}

/// Switches off, or with [`MergeOptions::prune`] removes, what the report covers and does
/// not list. Rows a person made stay as they are, and so do senders that no discovery ever
/// saw; a sender it did see is switched off, never removed.
pub(super) fn settle(
    rows: &mut Vec<AgentRecord>,
    listed: impl Fn(&SessionKey) -> bool,
    options: &MergeOptions,
    out: &mut MergeReport,
) {
    rows.retain_mut(|row| {
        let sender = row.source == MCP_SENDER_SOURCE;
        let protected = row.is_manual() || is_unplaced(row);
        if protected || !covers(options, row) || listed(&row.key) {
            return true;
        }
        if options.prune && !sender {
            out.pruned.push(row.key.clone());
            return false;
        }
        if row.sendable {
            distrust(row, NOT_FOUND);
            out.demoted.push(row.key.clone());
        }
        true
    });
}
