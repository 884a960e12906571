//! One session, several files: which one is the session, and what becomes of the others.

use crate::judge::Judged;
use axiowl_model::{DiscoveredAgent, Issue, Kind, Status, Step, codes};
use axiowl_sources::Row;
use std::collections::{HashMap, HashSet};

/// How many rows each session id has of which there is more than one.
pub fn count<'a>(sessions: impl Iterator<Item = &'a str>) -> HashMap<String, usize> {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut out = HashMap::new();
    for session in sessions {
        if !seen.insert(session) {
            *out.entry(session.to_owned()).or_insert(1) += 1;
        }
    }
    out
}

/// A judged row, its fields where they are wanted, and the file it was read from.
pub struct Candidate {
    pub judged: Judged,
    pub path: Option<String>,
    pub row: Row,
}

/// Leaves one row a session. The only one that proves itself wins; where several do, none can
/// be told from a stranger's copy and the session is not sendable; where none does, the one
/// seen last stands for it.
pub fn settle(candidates: Vec<Candidate>, trace: bool, issues: &mut Vec<Issue>) -> Vec<Candidate> {
    let mut known = HashSet::with_capacity(candidates.len());
    let mut sessions = candidates
        .iter()
        .map(|c| c.judged.agent.key.session.as_str());
    if sessions.all(|session| known.insert(session)) {
        return candidates;
    }
    let mut order = Vec::new();
    let mut groups: HashMap<String, Vec<Candidate>> = HashMap::new();
    for candidate in candidates {
        let session = candidate.judged.agent.key.session.clone();
        let group = groups.entry(session.clone()).or_default();
        if group.is_empty() {
            order.push(session);
        }
        group.push(candidate);
    }
    order
        .into_iter()
        .filter_map(|session| {
            let mut group = groups.remove(&session)?;
            if group.len() == 1 {
                return group.pop();
            }
            group.sort_by(|a, b| {
                rank(&b.judged.agent)
                    .cmp(&rank(&a.judged.agent))
                    .then_with(|| a.path.cmp(&b.path))
            });
            let proven = group
                .iter()
                .filter(|c| c.judged.agent.has_enrollment_proof)
                .count();
            let mut losers = group.split_off(1);
            let mut winner = group.pop()?;
            losers
                .iter_mut()
                .for_each(|loser| loser.judged.agent.kind = Kind::Copy);
            let agent = &mut winner.judged.agent;
            let others: Vec<String> = losers
                .iter()
                .filter_map(|loser| loser.path.clone())
                .collect();
            if proven > 1 {
                let reason = format!(
                    "{} files prove this session equally: {}",
                    proven,
                    others.join(", ")
                );
                agent.sendable = false;
                agent.has_enrollment_proof = false;
                agent.status = Status::EvidenceOnly;
                agent.last_error = Some(reason.clone());
                agent.reason = reason;
            }
            if trace {
                let text = format!(
                    "stands for {} files of this session; not: {}",
                    losers.len() + 1,
                    others.join(", ")
                );
                agent.trace.push(Step {
                    stage: "copies".into(),
                    ok: proven <= 1,
                    text,
                    at: String::new(),
                });
            }
            for loser in &losers {
                let kept = winner.path.as_deref().unwrap_or("another row");
                let why = &loser.judged.agent.reason;
                let mut issue = Issue::new(
                    codes::DUPLICATE_SESSION,
                    format!(
                        "session {session} also stands here; {kept} is used{}",
                        if why.is_empty() {
                            String::new()
                        } else {
                            format!(" ({why})")
                        }
                    ),
                );
                issue.path = loser.path.clone();
                issues.push(issue);
            }
            Some(winner)
        })
        .collect()
}

fn rank(agent: &DiscoveredAgent) -> (bool, bool, Option<axiowl_model::Timestamp>) {
    (
        agent.has_enrollment_proof,
        agent.kind == Kind::Main,
        agent.last_seen_at,
    )
}
