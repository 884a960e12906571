//! The clients of the matrix, one driver a file.

mod claude;
mod codex;
mod copilot;
mod opencode;

pub use claude::ClaudeCode;
pub use codex::Codex;
pub use copilot::CopilotCli;
pub use opencode::OpenCode;

use axiowl_test_support::{ClientHome, Terminal};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Opens a terminal with a client in it.
fn terminal(home: &ClientHome, cwd: &Path, program: PathBuf, arguments: &[&str]) -> Terminal {
    let mut words = vec![program.display().to_string()];
    words.extend(arguments.iter().map(|word| (*word).to_owned()));
    Terminal::open(home, cwd, &words).expect("a terminal")
}

/// Whether a record that fits comes after the first one that holds the answer, or the prompt
/// that asked for it.
fn after(records: &[Value], answer: &str, ends: impl Fn(&Value) -> bool) -> bool {
    let at = records
        .iter()
        .position(|record| record.to_string().contains(answer));
    at.is_some_and(|at| records[at..].iter().any(ends))
}

/// The texts of a content: a string, or the texts of its parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
