//! The files of one rule, as text, before anything is understood of them.

use crate::codes;
use crate::diag::{Diagnostic, SourceText};
use crate::origins::Origins;
use crate::patch::Patched;
use crate::policy::MAX_SCRIPT_BYTES;
use crate::tree::Tree;
use crate::yaml::MAX_RULE_BYTES;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// The file every rule stands in.
const RULE_FILE: &str = "rule.yaml";

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
    /// The name of the rule's file.
    pub file: String,
    /// The text of `rule.yaml`; of a patch that was applied, the text it makes.
    pub rule: String,
    /// Scripts: file name to text.
    pub scripts: BTreeMap<String, String>,
    /// Where each byte of `rule` comes from, where that is more than one file.
    pub origins: Option<Arc<Origins>>,
    /// The patch and its base, where `rule` was made of them.
    pub patched: Option<Patched>,
    /// Fixture cases beside the rule; none where that is not known.
    pub cases: Option<usize>,
    /// What the build made of the text, where it is compiled into the program.
    pub prepared: Option<Cow<'static, [u8]>>,
}

impl RuleFolder {
    /// A folder out of texts.
    pub fn new(provider: &str, layer: Layer, shown: &str, rule: &str) -> Self {
        Self {
            provider: provider.into(),
            layer,
            shown: shown.into(),
            file: RULE_FILE.into(),
            rule: rule.into(),
            scripts: BTreeMap::new(),
            origins: None,
            patched: None,
            cases: None,
            prepared: None,
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
        Self::read_file(&dir.join(RULE_FILE), &provider, layer)
    }

    /// Reads a rule under another name or in another place, and every `.rhai` file beside it.
    pub fn read_file(file: &Path, provider: &str, layer: Layer) -> Result<Self, Diagnostic> {
        let dir = file.parent().unwrap_or(Path::new("."));
        let shown = dir.to_string_lossy();
        let rule = read_text(file, MAX_RULE_BYTES)?;
        let mut folder = Self::new(provider, layer, &shown, &rule);
        folder.file = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        folder.cases = Some(cases(dir));
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

    /// A script with its path to show, and the layer it stands in.
    pub(crate) fn script_source(&self, file: &str) -> Option<(SourceText, &Self)> {
        let text = self.scripts.get(file)?;
        let mut holder = self;
        while let Some(patched) = &holder.patched {
            holder = match patched.patch.scripts.contains_key(file) {
                true => &patched.patch,
                false => &patched.base,
            };
        }
        let source = SourceText::new(&format!("{}/{file}", holder.shown), text);
        Some((source, holder))
    }

    /// The layers whose folders made this rule, with the hash of each.
    pub(crate) fn made_of(&self) -> Vec<(Layer, String)> {
        match &self.patched {
            None => vec![(self.layer.clone(), self.hash())],
            Some(patched) => {
                let mut out = patched.patch.made_of();
                out.extend(patched.base.made_of());
                out
            }
        }
    }

    /// The text of `rule.yaml` under the path to show.
    pub(crate) fn main(&self) -> SourceText {
        let note = match &self.origins {
            // No file has this name: places in it are led back to the files it is made of.
            Some(_) => " (patched)",
            None => "",
        };
        let (folder, file) = (&self.shown, &self.file);
        SourceText::new(&format!("{folder}/{file}{note}"), &self.rule)
    }

    /// Names the content of the folder for people: the first 12 hexadecimal digits of
    /// [`RuleFolder::hash`]. A patch's `base` compares it.
    pub fn digest(&self) -> String {
        self.hash()[..DIGEST].to_owned()
    }

    /// What trust compares: all hexadecimal digits of blake3 over `rule.yaml` with `\n` line
    /// ends, a NUL, and the policy. Two contents with the same short digest can be made on
    /// purpose within minutes.
    pub fn hash(&self) -> String {
        // A patch may bring a script that its own text does not name.
        let all = || self.scripts.values().cloned().collect::<String>();
        let policy = if self.scripts.len() < 2 {
            all()
        } else {
            let tree = Tree::of(&self.rule);
            let named = tree.scalar(&["policy"]).and_then(|p| self.scripts.get(p));
            named.cloned().unwrap_or_else(all)
        };
        hash([self.rule.as_str(), policy.as_str()])
    }
}

/// Digits of a digest.
const DIGEST: usize = 12;

/// The first digits of [`hash`].
pub(crate) fn digest<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    hash(texts)[..DIGEST].to_owned()
}

/// The hexadecimal digits of blake3 over texts with `\n` line ends, NULs between them.
fn hash<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut hasher = blake3::Hasher::new();
    for (i, text) in texts.into_iter().enumerate() {
        if i > 0 {
            hasher.update(&[0]);
        }
        hasher.update(text.replace("\r\n", "\n").as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Fixture cases of a rule folder: folders with a `world.yaml`.
fn cases(dir: &Path) -> usize {
    let entries = std::fs::read_dir(dir.join("fixtures"));
    let entries = entries.into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.path().join("world.yaml").is_file())
        .count()
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
