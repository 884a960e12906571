//! All rows of a report that show one session, against the one row of the table that stands
//! for it. Decides which of them speaks for the session; what it says is applied elsewhere.

use super::row::{self, is_proven};
use super::{MergeOptions, absent};
use axiowl_model::{AgentRecord, Decision, DiscoveredAgent, Issue, Kind, codes, is_blank_name};
use std::cmp::Reverse;

/// What became of the rows of one session.
#[derive(Default)]
pub(super) struct Settled {
    pub(super) decisions: Vec<(usize, Decision, String)>,
    /// The one that speaks for the session from now on.
    pub(super) speaker: Option<usize>,
    pub(super) issues: Vec<Issue>,
}

/// Adds a bare row for a session the table does not hold; `None` when nobody named it.
pub(super) fn enter(
    rows: &mut Vec<AgentRecord>,
    report: &[DiscoveredAgent],
    group: &[usize],
    options: &MergeOptions,
) -> Option<usize> {
    let named = |at: &&usize| {
        report[**at]
            .display_name
            .as_ref()
            .is_some_and(|name| !is_blank_name(name))
    };
    let first = group
        .iter()
        .filter(named)
        .min_by_key(|at| rank(&report[**at]))?;
    let found = &report[*first];
    let name = found.display_name.as_deref().unwrap_or_default().trim();
    let mut row = AgentRecord::new(found.key.clone(), name);
    row.first_seen_at = Some(options.now);
    row.home.clone_from(&found.home);
    crate::marks::Mark::WeakName.set(&mut row, found.weak_name);
    rows.push(row);
    Some(rows.len() - 1)
}

/// Which of several rows speaks first. A total order over everything a merge reads, so that
/// the order of the report cannot matter.
fn rank(found: &DiscoveredAgent) -> impl Ord + '_ {
    (
        (
            Reverse(is_proven(found)),
            &found.home,
            found.weak_name,
            Reverse(found.last_seen_at),
        ),
        (
            &found.display_name,
            found.kind,
            found.status,
            &found.source,
            &found.cwd,
        ),
        (
            &found.last_error,
            &found.reason,
            &found.aliases,
            &found.guarded_aliases,
        ),
        (found.sendable, found.has_enrollment_proof),
    )
}

/// Lets the group speak to its row. A session that stands in several homes is one row: the
/// home that enrolled it first keeps it for as long as it proves it.
pub(super) fn settle(
    row: &mut AgentRecord,
    old: bool,
    report: &[DiscoveredAgent],
    group: &[usize],
    options: &MergeOptions,
) -> Settled {
    let mut waiting: Vec<usize> = group.to_vec();
    waiting.sort_by_key(|at| rank(&report[*at]));
    let mut out = Settled::default();
    let apply = |row: &mut AgentRecord, at: usize, out: &mut Settled| {
        let (decision, reason) = row::refresh(row, &report[at], options, old);
        out.decisions.push((at, decision, reason));
        out.speaker = Some(at);
    };
    let take = |waiting: &mut Vec<usize>, wanted: &dyn Fn(&DiscoveredAgent) -> bool| {
        let place = waiting.iter().position(|at| wanted(&report[*at]))?;
        Some(waiting.remove(place))
    };

    // A row a person or a provider made says nothing of homes until a discovery proves it.
    let unplaced = old && row.home.is_empty() && row::is_unplaced(row);
    let gone = options.complete && !options.targeted && absent::covers(options, row);
    let home = row.home.clone();
    let own = take(&mut waiting, &|found| !unplaced && found.home == home);
    let first = match own {
        None if unplaced || gone => take(&mut waiting, &|_| true),
        own => own,
    };
    if let Some(at) = first {
        apply(row, at, &mut out);
    }
    if !row.sendable
        && !row.is_manual()
        && let Some(at) = take(&mut waiting, &is_proven)
    {
        apply(row, at, &mut out);
    }
    for at in waiting {
        let found = &report[at];
        let id = row.agent_id();
        let (held, here) = (home_name(&row.home), home_name(&found.home));
        let reason = if found.home == row.home {
            if found.kind != Kind::Copy {
                let message = format!("`{id}` stands twice in {held}");
                out.issues
                    .push(Issue::new(codes::DUPLICATE_SESSION, message));
            }
            "the same session stands in this report already".to_owned()
        } else {
            let message = format!("`{id}` stands in {here} as well as in {held}, which has it");
            out.issues
                .push(Issue::new(codes::DUPLICATE_ACROSS_SOURCES, message));
            format!("{held} holds this session already")
        };
        out.decisions.push((at, Decision::Evidence, reason));
    }
    out
}

fn home_name(home: &str) -> String {
    match home {
        "" => "the default home".into(),
        home => format!("the home `{home}`"),
    }
}
