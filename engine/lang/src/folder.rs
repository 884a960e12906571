//! The files of one rule, as text, before anything is understood of them.

use crate::codes;
use crate::diag::{Diagnostic, SourceText};
use crate::policy::MAX_SCRIPT_BYTES;
use crate::yaml::MAX_RULE_BYTES;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// Where a rule comes from. A later one overrides an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Compiled into the program.
    BuiltIn,
    /// A folder named in the configuration, by its name.
    Pack(String),
    /// The user's own overrides.
    User,
    /// A folder given with `--rules`, in place of the built-in rules.
    Disk,
}

impl Layer {
    /// The word used in output.
    pub fn as_str(&self) -> &str {
        match self {
            Self::BuiltIn => "built-in",
            Self::Pack(_) => "pack",
            Self::User => "user",
            Self::Disk => "disk",
        }
    }
}

impl std::fmt::Display for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pack(name) => write!(f, "pack {name}"),
            layer => f.write_str(layer.as_str()),
        }
    }
}

/// The files of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFolder {
    /// The folder's name.
    pub provider: String,
    /// Where it comes from.
    pub layer: Layer,
    /// The path to show before file names, without a slash at its end.
    pub shown: String,
    /// The text of `rule.yaml`.
    pub rule: String,
    /// Scripts: file name to text.
    pub scripts: BTreeMap<String, String>,
}

impl RuleFolder {
    /// A folder out of texts.
    pub fn new(provider: &str, layer: Layer, shown: &str, rule: &str) -> Self {
        Self {
            provider: provider.into(),
            layer,
            shown: shown.into(),
            rule: rule.into(),
            scripts: BTreeMap::new(),
        }
    }

    /// Adds a script.
    pub fn script(mut self, name: &str, text: &str) -> Self {
        self.scripts.insert(name.into(), text.into());
        self
    }

    /// Reads a folder from disk: `rule.yaml` and every `.rhai` file beside it.
    pub fn read(dir: &Path, layer: Layer) -> Result<Self, Diagnostic> {
        let provider = dir.file_name().unwrap_or_default().to_string_lossy();
        let shown = dir.to_string_lossy();
        let rule = read_text(&dir.join("rule.yaml"), MAX_RULE_BYTES)?;
        let mut folder = Self::new(&provider, layer, &shown, &rule);
        let entries = std::fs::read_dir(dir).map_err(|e| unreadable(dir, &e.to_string()))?;
        for entry in entries {
            let path = entry.map_err(|e| unreadable(dir, &e.to_string()))?.path();
            if path.extension().is_some_and(|e| e == "rhai") {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let text = read_text(&path, MAX_SCRIPT_BYTES)?;
                folder.scripts.insert(name.into_owned(), text);
            }
        }
        Ok(folder)
    }

    /// A file of the folder under the path to show.
    pub(crate) fn named(&self, file: &str, text: &str) -> SourceText {
        SourceText::new(&format!("{}/{file}", self.shown), text)
    }

    /// The text of `rule.yaml` under the path to show.
    pub(crate) fn main(&self) -> SourceText {
        self.named("rule.yaml", &self.rule)
    }
}

fn unreadable(path: &Path, why: &str) -> Diagnostic {
    let message = format!("{}: {why}", path.display());
    Diagnostic::error(codes::UNREADABLE, message)
        .at(&SourceText::new(&path.to_string_lossy(), ""), 0..0, "")
        .help("the next lower layer is used until the file can be read, or its folder is gone")
}

/// A file's text; a little more than `max` bytes when it is larger, so that the loader sees it.
fn read_text(path: &Path, max: usize) -> Result<String, Diagnostic> {
    let fail = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => unreadable(path, "there is no such file"),
        _ => unreadable(path, &e.to_string()),
    };
    // Opening a pipe would wait for somebody to write into it.
    if !std::fs::metadata(path).map_err(fail)?.is_file() {
        return Err(unreadable(path, "it is no regular file"));
    }
    let file = std::fs::File::open(path).map_err(fail)?;
    let mut bytes = Vec::new();
    file.take(max as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    let cut = bytes.len() > max;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) if cut && error.utf8_error().error_len().is_none() => {
            Ok(String::from_utf8_lossy(error.as_bytes()).into_owned())
        }
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Err(unreadable(path, &format!("byte {at} is no UTF-8 text")))
        }
    }
}
