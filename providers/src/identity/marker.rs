//! Providers whose requests name nobody: their hook leaves a marker of the call
//! (`providers/cursor-antigravity-grok.md` C, `providers/opencode-gemini.md` D).

use crate::hooks::{ANTIGRAVITY, CURSOR, GEMINI};
use crate::processes;
use axiowl_pipeline::identity::marker::{Markers, Process, digest};
use axiowl_pipeline::identity::{CallContext, Caller, IdentityVerifier};
use axiowl_sources::World;

/// Takes the marker of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HookMarker {
    name: &'static str,
    hook: &'static str,
    providers: &'static [&'static str],
}

/// One for each family of hooks.
pub(crate) const ALL: [HookMarker; 3] = [
    HookMarker {
        name: "antigravity_hook",
        hook: ANTIGRAVITY,
        providers: &["antigravity", "antigravity_cli"],
    },
    HookMarker {
        name: "cursor_hook",
        hook: CURSOR,
        providers: &["cursor", "cursor_cli"],
    },
    HookMarker {
        name: "gemini_hook",
        hook: GEMINI,
        providers: &["gemini_cli"],
    },
];

impl IdentityVerifier for HookMarker {
    fn name(&self) -> &'static str {
        self.name
    }

    fn providers(&self) -> &'static [&'static str] {
        self.providers
    }

    fn verify(
        &self,
        _world: &World,
        call: &CallContext,
        _claimed: Option<&str>,
    ) -> Result<Caller, String> {
        let digest = digest(&call.tool, call.arguments());
        // A hook runs right before its call; how long this server took since says nothing.
        let markers = Markers::at(&call.state, self.hook);
        let taken = markers.take(&digest, &hosts(call), call.received);
        taken.map(Caller::session).map_err(|why| why.to_string())
    }
}

/// The processes that may have run the hook: the one that calls, and those above it that run the
/// same program, since an editor's hooks may be run by its main process.
fn hosts(call: &CallContext) -> Vec<Process> {
    let program = call
        .host
        .first()
        .and_then(|host| processes::program_of(host.pid));
    let mut hosts = call.host.iter().enumerate();
    let same = hosts.by_ref().filter(|(at, host)| {
        *at == 0 || (program.is_some() && processes::program_of(host.pid) == program)
    });
    same.map(|(_, host)| Process {
        pid: host.pid,
        start: host.start.clone(),
    })
    .collect()
}
