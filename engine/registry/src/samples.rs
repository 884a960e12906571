//! What the tests of this crate are written with: a proven row, a report, a time.

use crate::{MergeOptions, MergeReport, Registry};
use axiowl_model::{AgentRecord, DiscoveredAgent, Kind, SessionKey, Status, Timestamp};

pub(crate) const UUID_A: &str = "01a22cbd-4a74-7c92-bbd7-ad9fc007bfa2";
pub(crate) const UUID_B: &str = "01b22cbd-4a74-7c92-bbd7-ad9fc007bfb3";

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_796_000_000_000 + seconds * 1000)
}

/// A row with everything it takes to enrol.
pub(crate) fn proven(provider: &str, session: &str, name: &str) -> DiscoveredAgent {
    DiscoveredAgent {
        key: SessionKey::local(provider, session),
        display_name: Some(name.to_owned()),
        weak_name: false,
        status: Status::Active,
        kind: Kind::Main,
        sendable: true,
        has_enrollment_proof: true,
        source: format!("{provider}_proof"),
        evidence: Vec::new(),
        aliases: Vec::new(),
        guarded_aliases: Vec::new(),
        last_seen_at: Some(at(0)),
        last_error: None,
        cwd: Some("/home/dev/shop".into()),
        home: String::new(),
        reason: String::new(),
        trace: Vec::new(),
    }
}

/// A row that was seen and proves nothing.
pub(crate) fn evidence(provider: &str, session: &str, name: &str) -> DiscoveredAgent {
    DiscoveredAgent {
        status: Status::EvidenceOnly,
        sendable: false,
        has_enrollment_proof: false,
        source: format!("{provider}_seen"),
        reason: "no live owner".into(),
        ..proven(provider, session, name)
    }
}

/// A complete, ordinary run over every home of a provider.
pub(crate) fn ordinary(provider: &str) -> MergeOptions {
    MergeOptions {
        provider: provider.to_owned(),
        node: "local".into(),
        home: None,
        now: at(1000),
        targeted: false,
        prune: false,
        complete: true,
    }
}

pub(crate) fn targeted(provider: &str) -> MergeOptions {
    MergeOptions {
        targeted: true,
        ..ordinary(provider)
    }
}

/// A row of the table, enabled and sendable.
pub(crate) fn agent(provider: &str, session: &str, name: &str, seen: i64) -> AgentRecord {
    let mut row = AgentRecord::new(SessionKey::local(provider, session), name);
    row.sendable = true;
    row.source = format!("{provider}_proof");
    row.proof.clone_from(&row.source);
    row.first_seen_at = Some(at(seen));
    row.last_seen_at = Some(at(seen));
    row.last_verified_at = Some(at(seen));
    row.aliases = vec![name.to_owned()];
    row
}

/// A registry in a folder of its own, which goes when the guard goes.
pub(crate) fn registry(rows: Vec<AgentRecord>) -> (tempfile::TempDir, Registry) {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::at(dir.path());
    if !rows.is_empty() {
        registry
            .update(|table| {
                table.rows = rows;
                Ok(())
            })
            .unwrap();
    }
    (dir, registry)
}

/// What the table holds now.
pub(crate) fn rows(registry: &Registry) -> Vec<AgentRecord> {
    registry.load().unwrap().into_agents()
}

/// The row of a session.
pub(crate) fn row(registry: &Registry, session: &str) -> AgentRecord {
    rows(registry)
        .into_iter()
        .find(|row| row.key.session == session)
        .unwrap()
}

/// Enrolled, updated, evidence, skipped.
pub(crate) fn counts(report: &MergeReport) -> [usize; 4] {
    [
        report.enrolled,
        report.updated,
        report.evidence,
        report.skipped,
    ]
}

/// The codes of its issues.
pub(crate) fn codes(report: &MergeReport) -> Vec<&str> {
    report
        .issues
        .iter()
        .map(|issue| issue.code.as_str())
        .collect()
}
