//! The chain of decisions as a person reads it: one line a decision.

use axiowl_model::{DiscoveredAgent, display_safe};
use std::fmt::Write;

/// The decisions about one row, in order, with the rule's file and line for each. `deliverable`
/// says whether anything delivers to its provider: proof alone does not.
pub fn chain(agent: &DiscoveredAgent, deliverable: bool) -> String {
    let mut out = String::new();
    let name = agent
        .display_name
        .as_deref()
        .map_or("(no name)".into(), display_safe);
    let verdict = match (agent.has_enrollment_proof, agent.sendable) {
        (true, true) if deliverable => "can be sent to".to_owned(),
        (true, true) => "proven, but nothing can deliver to it yet".to_owned(),
        (true, false) => "enrols, cannot be sent to".to_owned(),
        _ => format!("evidence only: {}", display_safe(&agent.reason)),
    };
    let _ = writeln!(out, "{name}  {}", display_safe(&agent.key.to_string()));
    let _ = writeln!(out, "  {verdict}");
    let _ = writeln!(
        out,
        "  proof source {}, status {}, kind {}",
        agent.source, agent.status, agent.kind
    );
    let mut stage = "";
    for step in &agent.trace {
        let head = if step.stage == stage { "" } else { &step.stage };
        let mark = if step.ok { '✓' } else { '✗' };
        let _ = write!(out, "  {head:<8}{mark} {}", display_safe(&step.text));
        if step.at.is_empty() {
            out.push('\n');
        } else {
            let _ = writeln!(out, "  [{}]", step.at);
        }
        stage = &step.stage;
    }
    for sentence in &agent.evidence {
        let _ = writeln!(out, "  evidence  {sentence}");
    }
    if let Some(error) = &agent.last_error {
        let _ = writeln!(out, "  error     {}", display_safe(error));
    }
    out
}
