//! The surfaces that AxiOwl knows and cannot deliver to yet, each with what is missing.
//!
//! A table: a surface leaves it when its edge comes. Until then its key has an edge of its own
//! that refuses, so that no other surface's edge can ever stand in for it (conformance C213,
//! C224, C225).

use axiowl_pipeline::edge::{
    Delivery, Edge, EdgeContext, EdgeError, Finding, Liveness, Progress, Target,
};

/// A surface without a route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoRoute {
    provider: &'static str,
    missing: &'static str,
}

const fn surface(provider: &'static str, missing: &'static str) -> NoRoute {
    NoRoute { provider, missing }
}

/// All of them, by provider key.
pub(crate) const NO_ROUTES: [NoRoute; 4] = [
    // `providers/cursor-antigravity-grok.md` B: the app's own server answers for the id.
    surface(
        "antigravity",
        "a bridge into the running Antigravity app that answers for this conversation",
    ),
    // `providers/cursor-antigravity-grok.md` B, conformance C300.
    surface(
        "cursor",
        "a bridge extension in the Cursor window that owns this composer",
    ),
    // `providers/copilot-vscode.md` C1 and C2.
    surface(
        "vscode_copilot_backed",
        "a bridge extension in the VS Code window that owns this Copilot session",
    ),
    // `providers/copilot-vscode.md` C2, conformance C277.
    surface(
        "vscode_native",
        "a bridge extension in the VS Code window that owns this chat",
    ),
];

impl NoRoute {
    fn reason(&self) -> String {
        format!(
            "AxiOwl cannot deliver to {} yet; what is missing: {}",
            self.provider, self.missing
        )
    }
}

impl Edge for NoRoute {
    fn provider(&self) -> &'static str {
        self.provider
    }

    fn probe(&self, _context: &EdgeContext<'_>, _target: &Target) -> Liveness {
        Liveness::Unavailable {
            reason: self.reason(),
        }
    }

    fn submit(
        &self,
        _context: &EdgeContext<'_>,
        _delivery: &Delivery<'_>,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EdgeError> {
        Err(EdgeError::Refused {
            reason: self.reason(),
        })
    }

    /// Another AxiOwl may have handed it over.
    fn find(&self, _context: &EdgeContext<'_>, _delivery: &Delivery<'_>) -> Finding {
        Finding::Unknown {
            reason: self.reason(),
        }
    }
}
