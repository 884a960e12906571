//! `axiowl hook <provider>`: called by a provider's hook right before one of our tools. Leaves
//! who is calling for the MCP server.
//!
//! A host waits for this and takes errors for decisions, so nothing here reads rules, nothing is
//! printed but the answer, and it always ends well. What goes wrong stands in the evidence log.

use crate::args::{Common, Hook};
use crate::exit::{Exit, Outcome};
use crate::own::Own;
use axiowl_pipeline::EvidenceLog;
use axiowl_pipeline::identity::marker::{Marker, Markers, Process};
use axiowl_pipeline::identity::{Door, HostProcess};
use serde_json::json;
use std::io::{Read, Write};
use std::path::Path;
use std::time::SystemTime;

/// Payloads hold whole files; one that is larger than this is not read to its end.
const LARGEST: u64 = 64 << 20;

/// Hears the hook out and answers it.
pub fn run(arguments: &Hook, common: &Common) -> Outcome {
    let mut payload = Vec::new();
    let read = std::io::stdin()
        .lock()
        .take(LARGEST)
        .read_to_end(&mut payload);
    let provider = arguments.provider.as_deref().unwrap_or_default();
    let heard = axiowl_providers::hear(provider, &payload);
    let state = Own::of_process().and_then(|own| own.state(common));
    if let Ok(state) = &state {
        if let Err(error) = read {
            note(state, provider, &error);
        }
        if let Some((family, marker)) = &heard.marker {
            leave(state, family, marker.clone());
        }
    }
    // A host that has closed the pipe wants no answer.
    let _ = writeln!(std::io::stdout().lock(), "{}", heard.answer);
    Ok(Exit::Done)
}

/// Leaves the marker with the processes that this one descends from: the host is one of them.
fn leave(state: &Path, family: &str, mut marker: Marker) {
    match axiowl_providers::host_processes(Door::Pipes) {
        Ok(above) => {
            let above = above.into_iter();
            let process = |one: HostProcess| Process {
                pid: one.pid,
                start: one.start,
            };
            marker.hosts = above.map(process).collect();
        }
        Err(error) => note(state, family, &error),
    }
    if let Err(error) = Markers::at(state, family).leave(&marker, SystemTime::now()) {
        note(state, family, &error);
    }
}

fn note(state: &Path, hook: &str, error: &dyn std::fmt::Display) {
    let fields = json!({ "hook": hook, "reason": error.to_string() });
    EvidenceLog::at(state).record("hook_failed", fields);
}
