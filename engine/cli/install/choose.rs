//! Which clients are in use on this machine: what discovery finds now, programs, folders and
//! the support matrix; never what an earlier run remembered.

use crate::exit::Failure;
use crate::pass::{self, PassOptions};
use crate::setup::Setup;
use axiowl_lang::support::{Label, Support};
use axiowl_providers::Client;

/// What was seen of a client.
pub struct Sighting {
    /// Where its program is.
    pub program: Option<String>,
    /// Whether a folder it makes itself is there.
    pub folder: bool,
    /// Sessions discovery finds, for each of its surfaces that has any.
    pub sessions: Vec<(&'static str, u64)>,
    /// Whether a surface that was seen is more than unsupported.
    pub supported: bool,
}

impl Sighting {
    /// Looks for a client.
    pub fn of(setup: &Setup, support: &Support, client: &Client) -> Result<Self, Failure> {
        let look = PassOptions {
            dry_run: true,
            ..PassOptions::default()
        };
        let mut sessions = Vec::new();
        for surface in client.surfaces.iter().copied() {
            let Some(rule) = setup.rules.get(surface) else {
                continue;
            };
            let pass = pass::run(setup, rule, &look)?;
            if pass.summary.found > 0 {
                sessions.push((surface, pass.summary.found as u64));
            }
        }
        // Without any session of any surface, each of them counts.
        let seen =
            |surface: &str| sessions.is_empty() || sessions.iter().any(|(has, _)| *has == surface);
        let supported = client.surfaces.iter().any(|surface| {
            let label = support.get(surface).map(|surface| surface.seed);
            seen(surface) && label.is_some_and(|label| label != Label::Unsupported)
        });
        Ok(Self {
            program: client
                .programs
                .iter()
                .find_map(|name| setup.world.executable(name)),
            folder: client.folders.iter().any(|folder| folder.exists()),
            sessions,
            supported,
        })
    }

    /// Whether anything of it is here.
    pub fn seen(&self) -> bool {
        self.program.is_some() || self.folder || !self.sessions.is_empty()
    }

    /// Whether it is chosen when nobody names it: it is here, its own folders are there, and it
    /// is no surface that nothing supports.
    pub fn chosen(&self) -> bool {
        (self.program.is_some() || !self.sessions.is_empty()) && self.folder && self.supported
    }

    /// What was seen, or why it is not chosen.
    pub fn reason(&self) -> String {
        if !self.seen() {
            return "not here".into();
        }
        let mut parts = Vec::new();
        if let Some(program) = &self.program {
            parts.push(program.clone());
        }
        for (surface, found) in &self.sessions {
            parts.push(format!(
                "{found} session{} of {surface}",
                if *found == 1 { "" } else { "s" }
            ));
        }
        if !self.folder {
            parts.push("never used here".into());
        } else if !self.supported {
            parts.push("not supported; name it to install it all the same".into());
        } else if !self.chosen() {
            parts.push("its folder is here, but no program and no session".into());
        }
        parts.join(", ")
    }

    /// What was looked for, for a client that is not here.
    pub fn looked_for(&self, client: &Client) -> String {
        let folders: Vec<String> = client
            .folders
            .iter()
            .map(|f| f.display().to_string())
            .collect();
        format!(
            "looked for {} and for {}",
            client.programs.join(", "),
            folders.join(", ")
        )
    }
}
