//! `axiowl list`: what can be sent to, which providers have rules, what was sent.

use crate::args::{Common, List, Listed};
use crate::exit::{Exit, Outcome};
use crate::output;
use crate::setup::{self, Setup};
use axiowl_model::{AgentRecord, Timestamp, display_safe};
use serde_json::json;
use std::time::SystemTime;

/// Lists one kind of thing.
pub fn run(arguments: &List, common: &Common) -> Outcome {
    match arguments.what {
        // The registry alone answers: no rule is loaded for a list.
        Listed::Agents => agents(&setup::open_where(common, |_| false)?, arguments),
        Listed::Providers => providers(&setup::open(common)?, arguments),
        Listed::Messages => crate::message::list(&setup::open_where(common, |_| false)?, arguments),
    }
}

fn agents(setup: &Setup, arguments: &List) -> Outcome {
    let snapshot = setup.registry.load()?;
    for issue in snapshot.issues() {
        anstream::eprintln!("warning: {}", display_safe(&issue.message));
    }
    let mut rows: Vec<&AgentRecord> = snapshot
        .agents()
        .iter()
        .filter(|row| arguments.all || row.is_target())
        .collect();
    rows.sort_by(|a, b| {
        b.last_seen_at
            .cmp(&a.last_seen_at)
            .then_with(|| a.key.cmp(&b.key))
    });
    if arguments.json {
        for row in &rows {
            output::json_line("agent", output::agent(row));
        }
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        let hidden = snapshot.agents().len();
        if hidden == 0 {
            anstream::println!("No agents are known yet. Run `axiowl discover all`.");
        } else {
            anstream::println!(
                "None of {hidden} known sessions can be sent to. `axiowl list agents --all` says why."
            );
        }
        return Ok(Exit::Done);
    }
    let now = Timestamp::from(SystemTime::now());
    let mut head = vec!["NAME", "PROVIDER", "SESSION", "SEEN", "FOLDER"];
    if arguments.all {
        head.push("REASON");
    }
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let mut cells = vec![
                axiowl_model::clip(&display_safe(&row.display_name), 48),
                row.key.provider.clone(),
                row.key.session.clone(),
                output::ago(row.last_seen_at, now),
                display_safe(&row.cwd),
            ];
            if arguments.all {
                cells.push(reason(row));
            }
            cells
        })
        .collect();
    output::table(&head, &cells);
    Ok(Exit::Done)
}

fn reason(row: &AgentRecord) -> String {
    if !row.enabled {
        "disabled".into()
    } else if row.sendable {
        String::new()
    } else if row.last_error.is_empty() {
        "not proven".into()
    } else {
        display_safe(&row.last_error)
    }
}

fn providers(setup: &Setup, arguments: &List) -> Outcome {
    let snapshot = setup.registry.load()?;
    let mut cells = Vec::new();
    for rule in setup.rules.iter() {
        let provider = rule.rule.provider.value.as_str();
        let rows = snapshot
            .agents()
            .iter()
            .filter(|row| row.key.provider == provider);
        let (known, targets) = rows.fold((0, 0), |(known, targets), row| {
            (known + 1, targets + usize::from(row.is_target()))
        });
        let delivery = axiowl_providers::serves(provider);
        if arguments.json {
            output::json_line(
                "provider",
                json!({
                    "provider": provider, "title": rule.rule.title, "layer": rule.layer.to_string(),
                    "known": known, "sendable": targets, "delivery": delivery,
                }),
            );
            continue;
        }
        let delivery = if delivery { "yes" } else { "no" };
        cells.push(vec![
            provider.to_owned(),
            rule.layer.to_string(),
            known.to_string(),
            targets.to_string(),
            delivery.to_owned(),
            rule.rule.title.clone(),
        ]);
    }
    if !arguments.json {
        output::table(
            &["PROVIDER", "RULE", "KNOWN", "SENDABLE", "DELIVERY", "WHAT"],
            &cells,
        );
    }
    Ok(Exit::Done)
}
