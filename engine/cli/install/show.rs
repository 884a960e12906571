//! Plans, results and the state of installations, for people and for programs.

use super::{Candidate, line};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{self, say};
use axiowl_install::{Plan, Records, Step, What};
use axiowl_model::display_safe;
use axiowl_providers::Client;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Which clients are chosen when nobody names one, and why.
pub fn choices(candidates: &[Candidate]) {
    for one in candidates {
        let mark = if one.sighting.chosen() { "[x]" } else { "[ ]" };
        say!(
            "{mark} {:<12} {}",
            one.client.key,
            display_safe(&one.sighting.reason())
        );
    }
    say!();
}

/// What would happen to a client's files.
pub fn plan(client: &Client, plan: &Plan, as_json: bool) {
    if as_json {
        let steps: Vec<_> = plan.steps.iter().map(step).collect();
        let files: Vec<_> = plan
            .changes()
            .map(|(path, there)| json!({ "path": path, "there": there }))
            .collect();
        line(
            "install_plan",
            client,
            json!({ "changes": files, "steps": steps, "notes": client.notes }),
        );
        return;
    }
    say!("{}", client.title);
    let mut last: Option<&Path> = None;
    for step in &plan.steps {
        if last != Some(step.path.as_path()) {
            say!("  {}", display_safe(&step.path.display().to_string()));
            last = Some(&step.path);
        }
        say!(
            "    {} {:<11} {}",
            sign(step.what),
            step.entry.part,
            display_safe(&step.entry.shown())
        );
        if matches!(step.what, What::Adds | What::Renews) {
            say!("      {}", value(&step.entry.value));
        }
    }
    for note in client.notes {
        say!("  note: {note}");
    }
}

/// What is written, in a line; of a whole file how long it is.
fn value(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) if text.contains('\n') => {
            format!(
                "{} (all of it with --json)",
                count(text.lines().count(), "line")
            )
        }
        serde_json::Value::String(text) => display_safe(text),
        other => display_safe(&other.to_string()),
    }
}

fn step(step: &Step) -> serde_json::Value {
    json!({
        "path": step.path, "entry": step.entry.shown(), "part": step.entry.part,
        "value": step.entry.value, "what": word(step.what),
    })
}

fn sign(what: What) -> &'static str {
    match what {
        What::Keeps => "=",
        What::Adds => "+",
        What::Renews => "~",
        What::TakesOut | What::TakesOutChanged => "-",
        What::IsGone | What::LeavesForeign => " ",
    }
}

fn word(what: What) -> &'static str {
    match what {
        What::Keeps => "keeps",
        What::Adds => "adds",
        What::Renews => "renews",
        What::TakesOut => "takes_out",
        What::TakesOutChanged => "takes_out_changed",
        What::IsGone => "is_gone",
        What::LeavesForeign => "leaves_foreign",
    }
}

/// A client that is left as it is.
pub fn refused(client: &Client, why: &str, hint: &str, as_json: bool) {
    if as_json {
        line(
            "install_result",
            client,
            json!({ "result": "refused", "reason": why, "hint": hint }),
        );
        return;
    }
    let failure = Failure::new(
        Exit::Failed,
        format!("{} is left as it is: {why}", client.title),
    );
    anstream::eprintln!("{}", failure.hint(hint));
}

/// A client nothing was installed for.
pub fn nothing(client: &Client, as_json: bool) {
    if as_json {
        line(
            "install_result",
            client,
            json!({ "result": "nothing_installed" }),
        );
    } else {
        say!("Nothing of AxiOwl is on record for {}.", client.title);
    }
}

/// A client whose files were changed and read back.
pub fn done(client: &Client, word: &str, files: &[PathBuf], as_json: bool) {
    if as_json {
        line(
            "install_result",
            client,
            json!({ "result": word, "changed": files }),
        );
    } else {
        say!(
            "{}: {word}, {} changed",
            client.title,
            count(files.len(), "file")
        );
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// What is installed where.
pub fn status(candidates: &[Candidate], records: &Records, as_json: bool) -> Outcome {
    let mut cells = Vec::new();
    for Candidate { client, sighting } in candidates {
        let (state, detail) = state(client, records);
        let files: Vec<&Path> = client
            .recipe
            .files
            .iter()
            .map(|f| f.path.as_path())
            .collect();
        if as_json {
            let fields = json!({ "state": state, "detail": detail, "files": files, "here": sighting.seen() });
            line("install_status", client, fields);
            continue;
        }
        if !sighting.seen() && state == "not installed" {
            continue;
        }
        let file = files
            .first()
            .map(|file| display_safe(&file.display().to_string()));
        let shown = if detail.is_empty() {
            file.unwrap_or_default()
        } else {
            detail
        };
        cells.push(vec![client.key.to_owned(), state.to_owned(), shown]);
    }
    if !as_json {
        if cells.is_empty() {
            say!("no client that AxiOwl can be installed for is here");
        } else {
            output::table(&["CLIENT", "STATE", "WHERE"], &cells);
        }
    }
    Ok(Exit::Done)
}

/// How a client's files compare with what an install would make of them.
pub fn state(client: &Client, records: &Records) -> (&'static str, String) {
    let old = match records.read(client.key) {
        Ok(old) => old,
        Err(error) => return ("unknown", format!("its record cannot be read: {error}")),
    };
    match axiowl_install::plan(&client.recipe, old.as_ref()) {
        Err(refusal) => ("blocked", refusal.to_string()),
        Ok(plan) => {
            let has = |what: What| plan.steps.iter().any(|step| step.what == what);
            let state = if plan.is_empty() {
                "installed"
            } else if has(What::Renews) {
                "outdated"
            } else if old.is_some() {
                "incomplete"
            } else {
                "not installed"
            };
            (state, String::new())
        }
    }
}
