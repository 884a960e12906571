//! What one discovered row changes in the row of the table that stands for its session:
//! name, aliases, facts, and whether it can be sent to.

use super::MergeOptions;
use crate::alias;
use crate::marks::Mark;
use crate::name::is_clean_name;
use axiowl_model::{AgentRecord, Decision, DiscoveredAgent, Kind, MCP_SENDER_SOURCE, Status};

/// Whether a discovered row may create or keep a target: a named proof, sendable, a main
/// conversation, no error, and a state in which a message can arrive.
pub fn is_proven(found: &DiscoveredAgent) -> bool {
    found.has_enrollment_proof
        && found.sendable
        && found.kind == Kind::Main
        && matches!(found.status, Status::Active | Status::Partial)
        && found.last_error.as_ref().is_none_or(String::is_empty)
}

/// Whether an unproven row merely lacks a proof, as against showing why there is none.
fn lacks_proof_only(found: &DiscoveredAgent) -> bool {
    let silent = found.last_error.as_ref().is_none_or(String::is_empty);
    found.kind == Kind::Main
        && match found.status {
            Status::EvidenceOnly => true,
            Status::Active | Status::Partial => silent,
            _ => false,
        }
}

/// Why an unproven row is no target, in one line.
fn objection(found: &DiscoveredAgent) -> String {
    let said = found.last_error.as_deref().filter(|text| !text.is_empty());
    match said.or(Some(found.reason.as_str()).filter(|text| !text.is_empty())) {
        Some(text) => text.to_owned(),
        None if found.kind != Kind::Main => format!("kind is {}", found.kind),
        None if !matches!(found.status, Status::Active | Status::Partial) => {
            format!("status is {}", found.status)
        }
        None if found.source.is_empty() => "no proof".into(),
        None => format!("`{}` is no proof", found.source),
    }
}

/// True for rows that a person or a provider's own proof made: discovery leaves `source`.
pub(super) fn keeps_source(row: &AgentRecord) -> bool {
    row.is_manual() || row.source == MCP_SENDER_SOURCE
}

/// True for rows that somebody made by hand or proof and no discovery has proven: they say
/// which session, not yet in which home.
pub(super) fn is_unplaced(row: &AgentRecord) -> bool {
    keeps_source(row) && row.last_verified_at.is_none()
}

/// Applies a discovered row. `old` says that the table held the row before this merge.
pub(super) fn refresh(
    row: &mut AgentRecord,
    found: &DiscoveredAgent,
    options: &MergeOptions,
    old: bool,
) -> (Decision, String) {
    let renamed = rename(row, found);
    alias::add_own(row);
    for given in &found.aliases {
        alias::add(row, given);
    }
    if is_proven(found) || !is_unplaced(row) {
        row.home.clone_from(&found.home);
    }
    row.last_seen_at = row.last_seen_at.max(found.last_seen_at);
    let cwd = found.cwd.as_ref().filter(|cwd| !cwd.is_empty());
    if let Some(cwd) = cwd.filter(|_| !row.is_manual() || row.cwd.is_empty()) {
        row.cwd.clone_from(cwd);
    }
    if is_proven(found) {
        let never = !keeps_source(row) && row.last_verified_at.is_none() && !row.sendable;
        let fresh = !old || never;
        trust(row, found, options);
        let mut reason = format!("proof `{}`", found.source);
        if let Some(before) = renamed {
            reason.push_str(&format!("; renamed from `{before}`"));
        }
        let decision = if fresh {
            Decision::Enrolled
        } else {
            Decision::Updated
        };
        return (decision, reason);
    }
    let mut reason = objection(found);
    if let Some(kept) = doubt(row, found, options, &reason) {
        reason = format!("{reason}; {kept}");
    }
    let decision = if row.is_manual() {
        Decision::Updated
    } else {
        Decision::Evidence
    };
    (decision, reason)
}

/// Takes over the discovered name where it may, and says which one it replaced.
fn rename(row: &mut AgentRecord, found: &DiscoveredAgent) -> Option<String> {
    let name = found.display_name.as_deref()?.trim();
    if !is_clean_name(name, &row.key) {
        return None;
    }
    if name == row.display_name {
        if !found.weak_name {
            Mark::WeakName.set(row, false);
        }
        return None;
    }
    if row.is_manual() || Mark::PinnedName.on(row) {
        if !found.weak_name {
            alias::add(row, name);
        }
        return None;
    }
    let strong = is_clean_name(&row.display_name, &row.key) && !Mark::WeakName.on(row);
    if strong && found.weak_name {
        return None;
    }
    let before = std::mem::replace(&mut row.display_name, name.to_owned());
    if is_clean_name(&before, &row.key) {
        alias::add(row, &before);
    }
    Mark::WeakName.set(row, found.weak_name);
    Some(before)
}

fn trust(row: &mut AgentRecord, found: &DiscoveredAgent, options: &MergeOptions) {
    let known = row.sendable && row.last_verified_at.is_some() && !Mark::Targeted.on(row);
    Mark::Targeted.set(row, options.targeted && !known && !row.is_manual());
    row.proof.clone_from(&found.source);
    if !keeps_source(row) {
        row.source.clone_from(&found.source);
    }
    if !row.is_manual() {
        row.sendable = true;
    }
    row.last_verified_at = row.last_verified_at.max(Some(options.now));
    row.last_error.clear();
}

/// Applies an unproven row; says so when the row stays a target all the same.
fn doubt(
    row: &mut AgentRecord,
    found: &DiscoveredAgent,
    options: &MergeOptions,
    objection: &str,
) -> Option<&'static str> {
    if row.sendable {
        if !options.complete {
            return Some("kept, since not every source could be read");
        }
        if row.is_manual() {
            row.last_error = objection.to_owned();
            return Some("kept, since a person vouches for it");
        }
        let vouched = Mark::Targeted.on(row) || row.source == MCP_SENDER_SOURCE;
        if vouched && !options.targeted && lacks_proof_only(found) {
            return Some("kept, since a targeted proof enrolled it");
        }
    }
    if !keeps_source(row) && !found.source.is_empty() {
        row.source.clone_from(&found.source);
    }
    distrust(row, objection);
    None
}

/// Makes a row evidence, for a reason.
pub(super) fn distrust(row: &mut AgentRecord, reason: &str) {
    row.sendable = false;
    row.proof.clear();
    row.last_error = reason.to_owned();
    Mark::Targeted.set(row, false);
}
