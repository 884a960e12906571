//! Providers whose requests name nobody: their hook leaves a marker of the call
//! (`providers/cursor-antigravity-grok.md` C, `providers/opencode-gemini.md` D).

use super::{DIRECTLY, file_name, nearest};
use crate::hooks::{ANTIGRAVITY, CURSOR, GEMINI};
use crate::processes;
use axiowl_model::display_safe;
use axiowl_pipeline::identity::marker::{Markers, Process, digest};
use axiowl_pipeline::identity::{CallContext, Caller, HostProcess, IdentityVerifier};
use axiowl_sources::World;
use std::path::Path;

/// Takes the marker of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HookMarker {
    name: &'static str,
    hook: &'static str,
    providers: &'static [&'static str],
    /// What it is called, for people.
    client: &'static str,
    /// Whether a file is a program of that client, by its path.
    program: fn(&Path) -> bool,
}

/// One for each family of hooks.
pub(crate) const ALL: [HookMarker; 3] = [
    HookMarker {
        name: "antigravity_hook",
        hook: ANTIGRAVITY,
        providers: &["antigravity", "antigravity_cli"],
        client: "Antigravity",
        program: |path| {
            let name = file_name(path);
            is_named(path, &["antigravity", "agy"]) || name.starts_with("language_server")
        },
    },
    HookMarker {
        name: "cursor_hook",
        hook: CURSOR,
        providers: &["cursor", "cursor_cli"],
        client: "Cursor",
        // The CLI is a script of its own Node's, in a folder of that name.
        program: |path| {
            is_named(path, &["cursor", "cursor-agent"]) || is_below(path, &["cursor-agent"])
        },
    },
    HookMarker {
        name: "gemini_hook",
        hook: GEMINI,
        providers: &["gemini_cli"],
        client: "Gemini CLI",
        program: |path| is_named(path, &["gemini"]) || is_below(path, &["@google", "gemini-cli"]),
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
        let taken = markers.take(&digest, &self.hosts(call)?, call.received);
        taken.map(Caller::session).map_err(|why| why.to_string())
    }
}

impl HookMarker {
    /// The processes that may have run the hook: the client that calls, and those above it that
    /// run a program of the same client, since an editor's hooks may be run by its main process.
    /// Anybody else could have run the hook as well, and says nothing.
    fn hosts(&self, call: &CallContext) -> Result<Vec<Process>, String> {
        let is_client = |host: &HostProcess| processes::runs_program(host.pid, self.program);
        let host = nearest(call)?;
        if !is_client(host) {
            return Err(format!(
                "the process that calls, {} ({}), is no program of {}; {DIRECTLY}",
                host.pid,
                display_safe(&host.name),
                self.client
            ));
        }
        let hosts = call.host.iter().filter(|host| is_client(host));
        let hosts = hosts.map(|host| Process {
            pid: host.pid,
            start: host.start.clone(),
        });
        Ok(hosts.collect())
    }
}

/// Whether a file has one of some names, whatever stands behind a dot.
fn is_named(path: &Path, names: &[&str]) -> bool {
    let name = file_name(path).split('.').next().unwrap_or_default();
    names.iter().any(|one| name.eq_ignore_ascii_case(one))
}

/// Whether a file stands below folders that follow each other.
fn is_below(path: &Path, folders: &[&str]) -> bool {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    parts.windows(folders.len()).any(|some| some == folders)
}
