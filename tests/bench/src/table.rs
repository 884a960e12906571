//! Registries of a given size.

use crate::Failure;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// A registry that can be put back.
pub struct Table {
    file: PathBuf,
    text: String,
}

impl Table {
    /// Makes the registry of a state folder, with so many rows.
    pub fn make(state: &Path, rows: usize) -> Result<Self, Failure> {
        let mut text = String::from(
            "agent_id\tdisplay_name\taliases\tprovider\tprovider_session_id\tnode_id\tenabled\t\
             sendable\tsource\tproof\thome\tcwd\tfirst_seen_at\tlast_seen_at\tlast_verified_at\t\
             last_error\n",
        );
        for row in 0..rows {
            let id = session(row);
            let stamp = "2026-05-01T10:00:00.000Z";
            writeln!(
                text,
                "claude_code_cli:local:{id}\tSession {row} of the table\t\
                 [\"Session {row} of the table agent\",\"{id}\"]\tclaude_code_cli\t{id}\tlocal\t\
                 true\ttrue\tclaude_code_cli_session_file\tproof text\t/home/dev/.claude\t\
                 /home/dev/projects/p{}\t{stamp}\t{stamp}\t{stamp}\t",
                row % 40
            )?;
        }
        let file = state.join("registry/agents.tsv");
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        let table = Self { file, text };
        table.reset()?;
        Ok(table)
    }

    /// The rows it was made with, and no others.
    pub fn reset(&self) -> Result<(), Failure> {
        Ok(fs::write(&self.file, &self.text)?)
    }
}

/// The session of a row.
pub fn session(row: usize) -> String {
    format!("claude_code_cli:session:00000000-0000-4000-8000-{row:012}")
}
