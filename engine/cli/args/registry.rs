//! `axiowl registry`: what a person may change by hand.

use clap::{Args, Subcommand};

/// Options of `registry`.
#[derive(Debug, Args)]
pub struct Registry {
    /// What to change.
    #[command(subcommand)]
    pub change: RegistryChange,
}

/// What to change in the registry.
#[derive(Debug, Subcommand)]
pub enum RegistryChange {
    /// Add a session by hand; discovery will not rename or demote it
    AddAgent {
        /// Provider key
        #[arg(long)]
        provider: String,
        /// Provider session id
        #[arg(long)]
        session: String,
        /// Display name
        #[arg(long)]
        name: String,
        /// Further names
        #[arg(long)]
        alias: Vec<String>,
        /// Folder it works in
        #[arg(long, default_value = "")]
        cwd: String,
        /// Do not allow sending
        #[arg(long)]
        not_sendable: bool,
    },
    /// Give a row another display name; the old one stays as an alias
    Rename {
        /// Which row
        target: String,
        /// The new name
        name: String,
    },
    /// Add an alias, or remove one
    Alias {
        /// Which row
        target: String,
        /// The alias
        alias: String,
        /// Remove it
        #[arg(long)]
        remove: bool,
    },
    /// Switch a row on
    Enable {
        /// Which row
        target: String,
    },
    /// Switch a row off
    Disable {
        /// Which row
        target: String,
    },
    /// Forget a row
    Remove {
        /// Which row
        target: String,
    },
    /// Look for damaged lines and shared names
    Check,
    /// Show the home, folders and variables that the registry was begun with
    Ground {
        /// Make them what is seen now
        #[arg(long)]
        set: bool,
    },
}
