//! The laws of the merge on arbitrary tables and reports: twice is once, order is nothing,
//! evidence never enrols, and what a person made stays.

use super::*;
use crate::samples::{agent, at, proven};
use axiowl_model::{Kind, MANUAL_SOURCE, MCP_SENDER_SOURCE, Status};
use proptest::prelude::*;
use proptest::sample::select;

const SESSIONS: [&str; 4] = [
    "s1",
    "p:session:s1",
    "p:session:s2",
    "01a22cbd-4a74-7c92-bbd7-ad9fc007bfa2",
];
const NAMES: [&str; 6] = [
    "A",
    "B",
    "A agent",
    "s1",
    "",
    "01b22cbd-4a74-7c92-bbd7-ad9fc007bfb3",
];
const HOMES: [&str; 3] = ["", "h1", "h2"];

prop_compose! {
    fn any_found()(
        provider in select(&["p", "p", "p", "q", ""][..]), session in select(&SESSIONS[..]),
        name in prop::option::weighted(0.9, select(&NAMES[..])), home in select(&HOMES[..]),
        (weak, sendable, proof, fails) in (any::<bool>(), prop::bool::weighted(0.8),
            prop::bool::weighted(0.8), prop::bool::weighted(0.1)),
        status in prop_oneof![3 => Just(Status::Active), 1 => select(Status::ALL)],
        kind in prop_oneof![4 => Just(Kind::Main), 1 => select(Kind::ALL)],
        guarded in prop::collection::vec(select(&["x", "A", "B", "s1", "s2"][..]), 0..3),
        given in prop::collection::vec(select(&["x", "B", "y"][..]), 0..2),
        seen in prop::option::of(0..5_i64), cwd in prop::option::of(select(&["/a", "/b"][..])),
    ) -> DiscoveredAgent {
        DiscoveredAgent {
            display_name: name.map(str::to_owned),
            weak_name: weak,
            status,
            kind,
            sendable,
            has_enrollment_proof: proof,
            aliases: given.into_iter().map(str::to_owned).collect(),
            guarded_aliases: guarded.into_iter().map(str::to_owned).collect(),
            last_seen_at: seen.map(at),
            last_error: fails.then(|| "broken".to_owned()),
            cwd: cwd.map(str::to_owned),
            home: home.to_owned(),
            ..proven(provider, session, "")
        }
    }
}

prop_compose! {
    fn any_options()(
        home in prop::option::of(select(&HOMES[..])), targeted in any::<bool>(), prune in any::<bool>(),
        complete in prop::bool::weighted(0.8), now in 0..10_i64,
    ) -> MergeOptions {
        MergeOptions {
            provider: "p".into(), node: "local".into(), home: home.map(str::to_owned),
            now: at(now), targeted, prune, complete,
        }
    }
}

prop_compose! {
    /// A table as some merges leave it, with rows of a person and a sender among them.
    fn any_table()(
        reports in prop::collection::vec((prop::collection::vec(any_found(), 0..6), any_options()), 0..3),
        special in prop::option::of((select(&SESSIONS[..]), select(&[MANUAL_SOURCE, MCP_SENDER_SOURCE][..]), any::<bool>(), any::<bool>())),
    ) -> Vec<AgentRecord> {
        let mut rows = Vec::new();
        if let Some((session, source, sendable, verified)) = special {
            let mut row = agent("p", session, "Mine", 0);
            row.source = source.into();
            row.sendable = sendable;
            row.last_verified_at = row.last_verified_at.filter(|_| verified);
            rows.push(row);
        }
        for (report, options) in reports {
            merge(&mut rows, &report, &options);
        }
        rows
    }
}

fn sorted(mut rows: Vec<AgentRecord>) -> Vec<AgentRecord> {
    rows.sort_by(|a, b| a.key.cmp(&b.key));
    rows
}

/// A file with the rows of several providers, in order or out of it.
fn file(own: Vec<AgentRecord>, others: Vec<AgentRecord>, harm: usize) -> Vec<u8> {
    let mut table = crate::table::Table::default();
    table.rows = own;
    for provider in ["a", "p-x", "p_x", "q"] {
        let renamed = others.iter().cloned().map(|mut row| {
            row.key.provider = provider.to_owned();
            row
        });
        table
            .rows
            .extend(renamed.filter(|row| provider != "q" || row.sendable));
    }
    table.sort();
    let text = table.render();
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let last = lines.len() - 1;
    match harm {
        1 => lines[last] = lines[last].trim_end(),
        2 if last > 1 => lines.swap(1, last),
        3 => lines.push("p:local:\tno row\n"),
        4 => lines.push("a line of nobody\n"),
        5 if last > 0 => lines.push(lines[last]),
        // The last columns are missing, as in the file of an older release.
        6 => {
            let short = text.lines().map(|line| {
                let fields: Vec<&str> = line.split('\t').take(15).collect();
                fields.join("\t") + "\n"
            });
            return short.collect::<String>().into_bytes();
        }
        _ => {}
    }
    lines.concat().into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A merge reads the rows of its provider alone where it can; nobody can tell from the file.
    #[test]
    fn the_file_is_that_of_a_merge_into_the_whole_table(
        own in any_table(), others in any_table(), harm in 0..9_usize,
        reports in prop::collection::vec((prop::collection::vec(any_found(), 1..6), any_options()), 1..4),
        meanwhile in prop::option::of(0..3_usize),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let registry = crate::Registry::at(dir.path());
        std::fs::create_dir(dir.path().join("registry")).unwrap();
        std::fs::write(registry.path(), file(own, others.clone(), harm)).unwrap();
        for (number, (report, options)) in reports.iter().enumerate() {
            if meanwhile == Some(number) {
                // Somebody else wrote it.
                std::fs::write(registry.path(), file(Vec::new(), others.clone(), harm)).unwrap();
            }
            let before = std::fs::read(registry.path()).unwrap();
            let mut whole = crate::Snapshot::parse(registry.path(), &before).unwrap();
            let said = whole.merge(report, options);
            let would = registry.would_merge(report, options).unwrap();
            prop_assert_eq!(&would, &said);
            let merged = registry.merge(report, options).unwrap();
            prop_assert_eq!(&merged.decisions, &said.decisions);
            prop_assert_eq!((&merged.pruned, &merged.demoted), (&said.pruned, &said.demoted));
            let after = std::fs::read_to_string(registry.path()).unwrap();
            prop_assert_eq!(after, whole.to_tsv());
            let mut keys = Vec::new();
            registry.each_key(|key| keys.push(key.clone())).unwrap();
            let rows: Vec<_> = whole.agents().iter().map(|row| row.key.clone()).collect();
            prop_assert_eq!(keys, rows);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn merging_the_same_report_twice_is_merging_it_once(
        rows in any_table(), report in prop::collection::vec(any_found(), 0..8), options in any_options(),
    ) {
        let mut once = rows;
        merge(&mut once, &report, &options);
        let mut twice = once.clone();
        let again = merge(&mut twice, &report, &options);
        prop_assert_eq!(&twice, &once);
        prop_assert_eq!((again.enrolled, again.pruned.len(), again.demoted.len()), (0, 0, 0));
        prop_assert_eq!(again.decisions.len(), report.len());
    }

    #[test]
    fn the_order_of_the_report_does_not_matter(
        rows in any_table(), options in any_options(),
        (report, shuffled) in prop::collection::vec(any_found(), 0..8)
            .prop_flat_map(|report| (Just(report.clone()), Just(report).prop_shuffle())),
    ) {
        let (mut one, mut two) = (rows.clone(), rows);
        let first = merge(&mut one, &report, &options);
        let second = merge(&mut two, &shuffled, &options);
        prop_assert_eq!(sorted(one), sorted(two));
        prop_assert_eq!(&first.issues, &second.issues);
        // What was decided follows the row, not its place. Equal rows may swap.
        let said = |merged: &MergeReport, report: &[DiscoveredAgent]| {
            let line = |d: &RowDecision| format!("{:?} {:?} {}", report[d.index], d.decision, d.reason);
            let mut lines: Vec<_> = merged.decisions.iter().map(line).collect();
            lines.sort();
            lines
        };
        prop_assert_eq!(said(&first, &report), said(&second, &shuffled));
    }

    #[test]
    fn only_proof_makes_targets_and_protected_rows_stay(
        rows in any_table(), report in prop::collection::vec(any_found(), 0..8), options in any_options(),
    ) {
        let mut after = rows.clone();
        let merged = merge(&mut after, &report, &options);
        for row in after.iter().filter(|row| row.sendable) {
            let was = rows.iter().any(|old| old.key == row.key && old.sendable);
            let proof = report.iter().any(|found| found.key == row.key && is_proven(found));
            prop_assert!(was || proof, "{row:?}");
        }
        for old in rows.iter().filter(|row| row.is_manual()) {
            let now = after.iter().find(|row| row.key == old.key).unwrap();
            prop_assert_eq!(
                (&now.display_name, now.sendable, &now.source),
                (&old.display_name, old.sendable, &old.source)
            );
        }
        for old in &rows {
            let now = after.iter().find(|row| row.key == old.key);
            prop_assert!(now.is_some() || merged.pruned.contains(&old.key));
            let Some(now) = now else { continue };
            prop_assert_eq!(now.first_seen_at, old.first_seen_at);
            prop_assert!(now.last_seen_at >= old.last_seen_at);
            prop_assert!(old.aliases.iter().all(|alias| now.aliases.contains(alias)));
            prop_assert!(now.source == MCP_SENDER_SOURCE || old.source != MCP_SENDER_SOURCE);
        }
        let mut keys: Vec<_> = after.iter().map(|row| &row.key).collect();
        keys.sort();
        prop_assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "one row a session");
    }

    #[test]
    fn leaving_rows_out_of_the_report_never_makes_more_targets(
        rows in any_table(), report in prop::collection::vec(any_found(), 1..8),
        gone in any::<prop::sample::Index>(), options in any_options(),
    ) {
        let targets = |report: &[DiscoveredAgent]| {
            let mut rows = rows.clone();
            merge(&mut rows, report, &options);
            let mut keys: Vec<_> = rows.into_iter().filter(|r| r.sendable).map(|r| r.key).collect();
            keys.sort();
            keys
        };
        let mut fewer = report.clone();
        let dropped = fewer.remove(gone.index(report.len()));
        let all = targets(&report);
        for key in targets(&fewer) {
            // A row that was trusted before stays so when what spoke against it is dropped.
            let was = rows.iter().any(|row| row.key == key && row.sendable);
            prop_assert!(all.contains(&key) || (was && dropped.key == key), "{key}");
        }
    }
}
