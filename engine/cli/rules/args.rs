//! The command line of `axiowl rules`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Options of `rules`.
#[derive(Debug, Args)]
pub struct Rules {
    /// What to do with rules.
    #[command(subcommand)]
    pub action: Action,
}

/// What to do with rules.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// List rules: provider, layer, tested versions, cases, last verdict
    List {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Print the rule in force
    Show {
        /// Provider
        provider: String,
        /// With patches applied and shared parts filled in, and the origin of each line
        #[arg(long)]
        effective: bool,
        /// One JSON object a line of the rule
        #[arg(long)]
        json: bool,
    },
    /// Check rules and name every mistake
    Check(Check),
    /// Run every fixture and compare with what is expected
    Test(Test),
    /// Run a rule on real data against the rule now in force; nothing is written
    Try(Try),
    /// Show why a session is, or is not, a target, under an edited rule
    Explain {
        /// Provider
        provider: String,
        /// A name, session id or `provider:node:session`
        session: String,
        /// The edited rule file or folder; the rule in force when left out
        #[arg(long, value_name = "FILE")]
        rule: Option<PathBuf>,
        /// JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a small fixture out of real files, with the words of its texts replaced
    Capture(Capture),
    /// Write the skeleton of a rule for a new provider, with a case that passes
    New {
        /// Provider key: lower-case letters, digits and `_`
        provider: String,
        /// The folder of rules to put it in; your own when left out
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Copy the rule below your own to your rules, to change it there
    Eject {
        /// Provider
        provider: String,
        /// Write a patch that changes parts of it, in place of a whole copy
        #[arg(long)]
        patch: bool,
        /// The folder of rules to put it in; your own when left out
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Show what a newer built-in rule would change for your override
    Diff {
        /// Provider
        provider: String,
        /// Keep the override and count it as written against the rule of today
        #[arg(long)]
        accept: bool,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Trust the scripts and commands of a rule folder or pack, as they are now
    Trust {
        /// A rule folder, or a folder of rule folders; with --revoke also a digest of --list
        folder: Option<PathBuf>,
        /// Take back every trust that was given for the folder, also when it is gone
        #[arg(long)]
        revoke: bool,
        /// Show what is trusted
        #[arg(long, conflicts_with_all = ["folder", "revoke"])]
        list: bool,
    },
    /// Print the JSON Schema of the rule language, for editors
    Schema {
        /// The schema of patches
        #[arg(long)]
        patch: bool,
    },
}

/// Options of `rules check`.
#[derive(Debug, Args)]
pub struct Check {
    /// A rule folder, a rule file, or a folder of rule folders; all rules when left out
    pub path: Option<PathBuf>,
    /// How findings are written
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// One JSON object a line; the same as `--format json`
    #[arg(long)]
    pub json: bool,
    /// Mend what can be mended without doubt: misspelt keys, fields and words
    #[arg(long)]
    pub fix: bool,
    /// Explain an error code
    #[arg(long, value_name = "CODE")]
    pub explain: Option<String>,
}

/// How findings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// As a person reads them
    Text,
    /// One JSON object a line
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
}

/// Options of `rules test`.
#[derive(Debug, Args)]
pub struct Test {
    /// Only this provider
    pub provider: Option<String>,
    /// Only this case
    #[arg(long, value_name = "CASE")]
    pub case: Option<String>,
    /// Keep what was found as the new expectation, asking about each change
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "ask")]
    pub update: Option<Update>,
    /// Answer every question with yes
    #[arg(long, requires = "update")]
    pub yes: bool,
    /// Name what no case reaches: candidates, statuses, kinds, rungs, conditions, fields
    #[arg(long)]
    pub coverage: bool,
    /// Write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// How expectations are updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Update {
    /// Ask about each change; answers are lines: y, n, a (all of the case), q (stop)
    Ask,
    /// Take every change
    All,
}

/// Options of `rules try`.
#[derive(Debug, Args)]
pub struct Try {
    /// Provider
    pub provider: String,
    /// A home to run on; yours when left out
    #[arg(long, value_name = "DIR")]
    pub against: Option<PathBuf>,
    /// The edited rule file or folder; the user layer's when left out
    #[arg(long, value_name = "FILE")]
    pub rule: Option<PathBuf>,
    /// Run again each time a file of the rule is saved, until interrupted
    #[arg(long)]
    pub watch: bool,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// Options of `rules capture`.
#[derive(Debug, Args)]
pub struct Capture {
    /// Provider
    pub provider: String,
    /// A session to keep; may be given several times. A few of each sort when left out
    #[arg(long, value_name = "ID")]
    pub session: Vec<String>,
    /// The case folder to make; a new one among the cases of your own rule when left out
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}
