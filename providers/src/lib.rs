//! Delivery edges and native probes: one file or folder a provider.
//!
//! [`edges`] hands messages over, [`native_facts`] answers what rules ask native code,
//! [`verifiers`] confirm who calls over MCP, [`clients`] says where each client's own
//! configuration wants AxiOwl named. This crate implements the seams of
//! `axiowl-pipeline` and `axiowl-sources` and never sees a rule: what a provider's files mean
//! for discovery is data elsewhere. It reads the providers' stores and writes none of them.
#![warn(missing_docs)]
#![allow(
    clippy::result_large_err,
    reason = "the seam's error carries its evidence, and is made once a delivery"
)]

mod antigravity_cli;
mod asked;
mod child;
mod claude_code_cli;
mod codex;
mod codex_facts;
mod codex_ipc;
mod codex_store;
mod copilot_cli;
mod cursor_cli;
mod echo;
mod environment;
mod facts;
mod follow;
mod gemini_cli;
mod grok;
mod ground;
mod hooks;
mod identity;
mod in_flight;
mod install;
#[cfg(target_os = "linux")]
mod local_socket;
mod loopback;
mod no_route;
mod one_turn;
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "no doors there yet")
)]
mod open_session;
mod opencode_cli;
mod opencode_facts;
mod processes;
mod resume;
mod version;

pub use asked::version_of;
use axiowl_pipeline::edge::Edge;
use axiowl_pipeline::identity::IdentityVerifier;
use axiowl_sources::NativeFacts;
pub use hooks::{Heard, hear};
pub use identity::host_processes;
pub use install::{Client, Launch, Login, clients};
use resume::Resuming;
use std::sync::Arc;

/// The delivery edges of this build, for the pipeline's edge table: those that deliver, and
/// one for each known surface without a route, which says what is missing.
pub fn edges() -> Vec<Box<dyn Edge>> {
    let mut edges = delivering();
    edges.extend(no_route::NO_ROUTES.map(|surface| Box::new(surface) as Box<dyn Edge>));
    edges
}

/// Whether an edge delivers to a provider's sessions.
pub fn serves(provider: &str) -> bool {
    delivering().iter().any(|edge| edge.provider() == provider)
}

fn delivering() -> Vec<Box<dyn Edge>> {
    vec![
        Box::new(Resuming(antigravity_cli::AntigravityCli)),
        Box::new(Resuming(claude_code_cli::ClaudeCodeCli)),
        Box::new(Resuming(codex::Codex::CLI)),
        Box::new(Resuming(codex::Codex::AGENTS)),
        Box::new(copilot_cli::CopilotCli),
        Box::new(Resuming(cursor_cli::CursorCli)),
        Box::new(echo::Echo),
        Box::new(Resuming(gemini_cli::GeminiCli)),
        Box::new(Resuming(grok::Grok)),
        Box::new(opencode_cli::OpencodeCli),
    ]
}

/// The text of the extension by which an open session of Copilot CLI takes messages; its place is
/// `extensions/axiowl/extension.mjs` in Copilot's folder, and Copilot runs it where
/// its `settings.json` switches extensions on, or all experiments (`providers/copilot-vscode.md` C1c).
pub const COPILOT_EXTENSION: &str = copilot_cli::door::EXTENSION;

/// What native code answers to rules.
pub fn native_facts() -> Arc<dyn NativeFacts> {
    Arc::new(facts::Facts::default())
}

/// What confirms the callers that a rule's `identity` names.
pub fn verifiers() -> Vec<Box<dyn IdentityVerifier>> {
    let mut out = identity::verifiers();
    out.push(Box::new(echo::EchoTranscript));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_provider_has_one_edge() {
        let keys: Vec<_> = edges().iter().map(|edge| edge.provider()).collect();
        let distinct: BTreeSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
        assert!(serves("codex_cli") && serves("codex") && serves("echo"));
        assert!(serves("claude_code_cli") && !serves("remote") && !serves(""));
        assert!(serves("opencode_cli"));
        assert!(serves("copilot_cli") && serves("gemini_cli"));
        assert!(serves("grok") && serves("antigravity_cli") && serves("cursor_cli"));
        assert!(!serves("cursor") && keys.contains(&"cursor"));
    }
}
