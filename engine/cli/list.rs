//! `axiowl list`: which sessions are proven, which providers have rules, what was sent.

use crate::args::{Common, List, Listed};
use crate::exit::{Exit, Outcome};
use crate::output;
use crate::setup::{self, Setup};
use axiowl_lang::support::{Label, Standing, Surface};
use axiowl_model::{AgentRecord, Timestamp, display_safe};
use serde_json::json;
use std::time::SystemTime;

/// Lists one kind of thing.
pub fn run(arguments: &List, common: &Common) -> Outcome {
    match arguments.what {
        // The registry alone answers: no rule is loaded for a list.
        Listed::Agents => agents(&setup::open_without_rules(common)?, arguments),
        Listed::Providers => providers(&setup::open(common)?, arguments),
        Listed::Messages => crate::message::list(&setup::open_without_rules(common)?, arguments),
    }
}

fn agents(setup: &Setup, arguments: &List) -> Outcome {
    let snapshot = setup.registry.load()?;
    for issue in snapshot.issues() {
        anstream::eprintln!("warning: {}", output::issue(issue));
    }
    let mut rows: Vec<&AgentRecord> = snapshot
        .agents()
        .iter()
        .filter(|row| arguments.all || row.is_target())
        .collect();
    // A file we wrote is in the order of identities, and identities are alike for long.
    if !rows.is_sorted_by_key(|row| &row.key) {
        rows.sort_by(|a, b| a.key.cmp(&b.key));
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.last_seen_at));
    if arguments.json {
        let lines = rows
            .iter()
            .map(|row| output::agent_line(row).with_route(has_route(row)));
        output::json_lines("agent", lines);
        end(snapshot);
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        let hidden = snapshot.agents().len();
        if hidden == 0 {
            crate::output::say!("No agents are known yet. Run `axiowl discover all`.");
        } else {
            crate::output::say!(
                "None of {hidden} known sessions can be sent to. `axiowl list agents --all` says why."
            );
        }
        return Ok(Exit::Done);
    }
    let now = Timestamp::from(SystemTime::now());
    let mut head = vec!["NAME", "PROVIDER", "SESSION", "SEEN", "FOLDER"];
    let reasons = arguments.all || !rows.iter().copied().all(has_route);
    if reasons {
        head.push("REASON");
    }
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let mut cells = vec![
                axiowl_model::clip(&display_safe(&row.display_name), 48),
                row.key.provider.clone(),
                axiowl_model::clip(&display_safe(&row.key.session), 80),
                output::ago(row.last_seen_at, now),
                display_safe(&setup.below_home(&row.cwd)),
            ];
            if reasons {
                cells.push(reason(row));
            }
            cells
        })
        .collect();
    output::table(&head, &cells);
    end((cells, snapshot));
    Ok(Exit::Done)
}

/// The process ends here: giving back tens of thousands of texts one by one would take as long as
/// reading them.
fn end<T>(last: T) {
    std::mem::forget(last);
}

/// Whether anything delivers to the provider of a row. Proof that a session is there is none.
fn has_route(row: &AgentRecord) -> bool {
    axiowl_providers::serves(&row.key.provider)
}

fn reason(row: &AgentRecord) -> String {
    if !row.enabled {
        "disabled".into()
    } else if row.sendable && !has_route(row) {
        "no delivery edge yet".into()
    } else if row.sendable {
        String::new()
    } else if row.last_error.is_empty() {
        "not proven".into()
    } else {
        display_safe(&row.last_error)
    }
}

/// Rules, registry and the support matrix side by side. A surface without a rule is shown too:
/// that it is known says nothing about support, and neither does a rule.
fn providers(setup: &Setup, arguments: &List) -> Outcome {
    let snapshot = setup.registry.load()?;
    let support = crate::support::load(&crate::own::Own::of_process()?)?;
    let mut keys: Vec<&str> = setup
        .rules
        .iter()
        .map(|rule| rule.rule.provider.value.as_str())
        .collect();
    for surface in &support.surfaces {
        let key = surface.surface.value.as_str();
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let mut cells = Vec::new();
    for key in keys {
        let rule = setup.rules.get(key);
        let surface = support.get(key);
        let rows = snapshot
            .agents()
            .iter()
            .filter(|row| row.key.provider == key);
        let (known, targets) = rows.fold((0, 0), |(known, targets), row| {
            (known + 1, targets + usize::from(row.is_target()))
        });
        let layer = rule.map(|rule| rule.layer.to_string());
        let title = rule.map(|rule| rule.rule.title.as_str());
        let title = title
            .or(surface.map(|surface| surface.title.as_str()))
            .unwrap_or_default();
        if arguments.json {
            output::json_line(
                "provider",
                json!({
                    "provider": key, "title": title, "layer": layer,
                    "known": known, "sendable": targets,
                    "delivery": axiowl_providers::serves(key),
                    "seed": surface.map(|surface| surface.seed),
                    "proven": surface.map(Surface::proven),
                    "extension": surface.is_some_and(|surface| surface.extension),
                    "note": surface.map(|surface| surface.note.as_str()),
                    "operations": surface.map(operations),
                }),
            );
            continue;
        }
        let label = |of: fn(&Surface) -> Label| {
            surface.map_or_else(|| "-".to_owned(), |surface| of(surface).to_string())
        };
        cells.push(vec![
            key.to_owned(),
            layer.unwrap_or_else(|| "-".into()),
            known.to_string(),
            targets.to_string(),
            label(|surface| surface.seed),
            label(Surface::proven),
            label(|surface| surface.discover.proven.value),
            label(|surface| surface.send.proven.value),
            label(|surface| surface.reply.proven.value),
            label(|surface| surface.install.proven.value),
            title.to_owned(),
        ]);
    }
    if !arguments.json {
        let head = [
            "PROVIDER", "RULE", "KNOWN", "SENDABLE", "SEED", "PROVEN", "DISCOVER", "SEND", "REPLY",
            "INSTALL", "WHAT",
        ];
        let spare = ["WHAT", "RULE", "SEED", "PROVEN", "KNOWN"];
        crate::table::print(&head, &cells, &spare);
    }
    Ok(Exit::Done)
}

/// One entry an operation: the two labels and what shows the second.
fn operations(surface: &Surface) -> Vec<serde_json::Value> {
    let entry = |(operation, standing): (&str, &Standing)| {
        json!({
            "operation": operation, "seed": surface.seed, "proven": standing.proven.value,
            "evidence": standing.evidence, "tests": standing.tests,
        })
    };
    surface.operations().map(entry).to_vec()
}
