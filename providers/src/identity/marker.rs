//! Providers whose requests name nobody: their hook leaves a marker of the call
//! (`providers/cursor-antigravity-grok.md` C, `providers/opencode-gemini.md` D).

use crate::hooks::{ANTIGRAVITY, CURSOR, GEMINI};
use axiowl_pipeline::identity::marker::{Markers, digest};
use axiowl_pipeline::identity::{CallContext, Caller, IdentityVerifier};
use axiowl_sources::World;

/// Takes the marker of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HookMarker {
    name: &'static str,
    hook: &'static str,
}

/// One for each family of hooks.
pub(crate) const ALL: [HookMarker; 3] = [
    HookMarker {
        name: "antigravity_hook",
        hook: ANTIGRAVITY,
    },
    HookMarker {
        name: "cursor_hook",
        hook: CURSOR,
    },
    HookMarker {
        name: "gemini_hook",
        hook: GEMINI,
    },
];

impl IdentityVerifier for HookMarker {
    fn name(&self) -> &'static str {
        self.name
    }

    fn verify(
        &self,
        _world: &World,
        call: &CallContext,
        _claimed: Option<&str>,
    ) -> Result<Caller, String> {
        let digest = digest(&call.tool, call.arguments());
        // A hook runs right before its call; how long this server took since says nothing.
        let taken = Markers::at(&call.state, self.hook).take(&digest, call.received);
        taken.map(Caller::session).map_err(|why| why.to_string())
    }
}
