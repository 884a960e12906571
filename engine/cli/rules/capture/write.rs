//! Writes the files of a case, each by what it is.

use super::files::Wanted;
use super::place::Place;
use super::session::Chosen;
use super::tables::{self, Choice};
use super::transcript;
use super::values::Values;
use super::words::Words;
use super::{document, json, text, wire};
use crate::exit::Failure;
use axiowl_lang::load::LoadedRule;
use axiowl_lang::source::{Jsonl, Source};
use axiowl_model::Timestamp;
use axiowl_sources::{Row, World, dump, jsonl, record};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

/// A file of which more is not kept as a whole.
const WHOLE: u64 = 4 << 20;

/// Endings of files whose lines have keys.
const KEYED: [&str; 8] = [
    ".yaml",
    ".yml",
    ".toml",
    ".ini",
    ".conf",
    ".pbtxt",
    ".textproto",
    ".cfg",
];

/// A file that was kept.
#[derive(Debug, Clone)]
pub struct Kept {
    /// Its path in the case.
    pub path: String,
    /// How many bytes.
    pub bytes: u64,
    /// What of it, in words.
    pub what: String,
    /// Why.
    pub why: String,
}

/// Writes files one after the other, so that words become the same tokens in all of them.
pub struct Writer<'a> {
    loaded: &'a LoadedRule,
    world: &'a World,
    ids: Vec<String>,
    literals: Vec<String>,
    /// Where files go.
    pub place: Place,
    /// What becomes of values.
    pub values: Values,
    /// What was kept.
    pub kept: Vec<Kept>,
    /// What was not, and why.
    pub left_out: Vec<(String, String)>,
    /// When each file was last changed, by its path in the case.
    pub mtimes: BTreeMap<String, Timestamp>,
}

/// What a file becomes.
struct Content {
    bytes: Vec<u8>,
    what: String,
    /// The file is kept as text under its name with `.sql` behind it.
    database: bool,
}

impl<'a> Writer<'a> {
    /// For the sessions of a case.
    pub fn new(
        loaded: &'a LoadedRule,
        world: &'a World,
        chosen: &[Chosen],
        place: Place,
        values: Values,
    ) -> Self {
        Self {
            loaded,
            world,
            // Some stores write ids in Base64.
            ids: chosen
                .iter()
                .flat_map(|c| [c.bare.clone(), record::base64_of(&c.bare)])
                .collect(),
            literals: loaded
                .literals()
                .into_iter()
                .map(|(_, text)| text)
                .collect(),
            place,
            values,
            kept: Vec::new(),
            left_out: Vec::new(),
            mtimes: BTreeMap::new(),
        }
    }

    /// Writes one file, or says why it is left out.
    ///
    /// # Errors
    /// When the case cannot be written.
    pub fn file(&mut self, wanted: &Wanted) -> Result<(), Failure> {
        let file = &wanted.file;
        // A fixture can be captured, too; it keeps databases as text.
        let recorded = match dump::is_text(self.world, &file.real) {
            true => file.recorded.trim_end_matches(".sql"),
            false => &file.recorded,
        };
        let content = match self.content(wanted) {
            Ok(content) => content,
            Err(why) => {
                self.left_out.push((file.recorded.clone(), why));
                return Ok(());
            }
        };
        let Some((mut path, called)) = self.place.of(recorded, &mut self.values) else {
            let why = "it lies outside the home and the rule's folders".to_owned();
            self.left_out.push((file.recorded.clone(), why));
            return Ok(());
        };
        if content.database {
            let mut name = path.into_os_string();
            name.push(".sql");
            path = name.into();
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, &content.bytes)?;
        if let Some(modified) = self.changed(recorded, &file.real) {
            self.mtimes.insert(called.clone(), modified);
        }
        self.kept.push(Kept {
            path: called,
            bytes: content.bytes.len() as u64,
            what: content.what,
            why: wanted.why.to_owned(),
        });
        Ok(())
    }

    /// When a file was last changed: in a fixture, when its world says so.
    fn changed(&self, recorded: &str, real: &Path) -> Option<Timestamp> {
        match self.world.recorded_mtime(recorded) {
            Some(millis) => Some(Timestamp::from_millis(millis)),
            None => Some(Timestamp::from(real.metadata().ok()?.modified().ok()?)),
        }
    }

    fn content(&mut self, wanted: &Wanted) -> Result<Content, String> {
        let file = &wanted.file;
        let start = start(&file.real).map_err(|error| error.to_string())?;
        if start.starts_with(b"SQLite format 3\0") || dump::is_text(self.world, &file.real) {
            return self.database(&file.real);
        }
        let name = file.recorded.to_lowercase();
        let lines =
            name.ends_with(".jsonl") || name.ends_with(".jsonl.zst") || name.ends_with(".ndjson");
        if lines {
            return self.lines(wanted).map_err(|error| error.to_string());
        }
        if file.size > WHOLE {
            return Err(format!(
                "it has {} bytes, and is read as a whole",
                file.size
            ));
        }
        let bytes = std::fs::read(&file.real).map_err(|error| error.to_string())?;
        let keyed = file.fits.iter().any(|source| {
            matches!(
                self.loaded.rule.sources.get(source),
                Some(Source::Yaml(_) | Source::Toml(_) | Source::PbText(_))
            )
        });
        let (bytes, what) = self.whole(&name, &bytes, keyed);
        Ok(Content {
            bytes,
            what,
            database: false,
        })
    }

    /// A file that is read as a whole, by what it looks like.
    fn whole(&mut self, name: &str, bytes: &[u8], keyed: bool) -> (Vec<u8>, String) {
        let values = &mut self.values;
        let Ok(content) = std::str::from_utf8(bytes) else {
            return (wire::replace(bytes, values), "texts of a message".into());
        };
        let json = content.trim_start().starts_with(['{', '[']);
        if name.ends_with(".json") || json {
            let trimmed = document::trimmed(content, &self.ids);
            let what = match &trimmed {
                Some(_) => "a few of its elements",
                None => "all of it",
            };
            let content = trimmed.as_deref().unwrap_or(content);
            return (json::replace(content.as_bytes(), values), what.into());
        }
        let replaced = match name.ends_with(".tsv") {
            true => text::replace_table(content, values),
            false => {
                let keyed = KEYED.iter().any(|ending| name.ends_with(ending)) || keyed;
                text::replace(content, keyed, values)
            }
        };
        (replaced.into_bytes(), "all of it".into())
    }

    fn lines(&mut self, wanted: &Wanted) -> io::Result<Content> {
        let file = &wanted.file;
        let (rules, whole) = readers(self.loaded, &file.fits);
        let (real, size) = (&file.real, file.size);
        let name = real.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.split('.').next().unwrap_or_default();
        let mut fields = Row::new();
        fields.insert("stem".into(), stem.into());
        let folder = real.parent().and_then(Path::file_name).unwrap_or_default();
        fields.insert("folder".into(), folder.to_string_lossy().as_ref().into());
        let kept = transcript::choose(real, size, &rules, whole, &fields, &self.ids)?;
        let mut bytes = Vec::new();
        self.values.paths = whole;
        for (at, line) in kept.lines.iter().enumerate() {
            if at > 0 {
                bytes.push(b'\n');
            }
            bytes.extend(json::replace(line, &mut self.values));
        }
        self.values.paths = false;
        if kept.ended && !bytes.is_empty() {
            bytes.push(b'\n');
        }
        if name.ends_with(".zst") {
            bytes = jsonl::compressed(&bytes);
        }
        Ok(Content {
            bytes,
            what: format!("{} of {} lines", kept.lines.len(), kept.all),
            database: false,
        })
    }

    fn database(&mut self, real: &Path) -> Result<Content, String> {
        let statements = statements(self.loaded);
        let reads = |table: &str| statements.iter().any(|sql| sql.contains(table));
        let choice = Choice {
            world: self.world,
            ids: &self.ids,
            literals: &self.literals,
            reads: &reads,
        };
        let captured = tables::capture(real, &choice, &mut self.values)?;
        let kept = captured.kept.iter().filter(|(_, kept, _)| *kept > 0);
        let what: Vec<String> = kept
            .map(|(table, kept, all)| format!("{table}: {kept} of {all} rows"))
            .collect();
        Ok(Content {
            bytes: captured.sql.into_bytes(),
            what: match what.is_empty() {
                true => format!("{} tables without rows", captured.kept.len()),
                false => what.join(", "),
            },
            database: true,
        })
    }
}

/// The JSON Lines sources that read a file, and whether all its lines count. A file that only
/// rows name is read by the sources that follow rows.
fn readers<'r>(loaded: &'r LoadedRule, fits: &BTreeSet<String>) -> (Vec<&'r Jsonl>, bool) {
    let mut rules = Vec::new();
    let mut whole = false;
    for (name, source) in &loaded.rule.sources {
        let follows = axiowl_lang::fields::followed_source(source).is_some();
        match source {
            Source::Jsonl(jsonl) if fits.contains(name) || follows => rules.push(jsonl),
            Source::MutationLog(_) if fits.contains(name) => whole = true,
            _ => {}
        }
    }
    (rules, whole)
}

/// The statements and tables that a rule reads.
fn statements(loaded: &LoadedRule) -> Vec<String> {
    let mut out = Vec::new();
    for source in loaded.rule.sources.values() {
        if let Source::Sqlite(sqlite) = source {
            out.extend(sqlite.statements().map(|(_, sql)| sql.value.clone()));
            out.extend(sqlite.key_value.iter().map(|keys| keys.table.value.clone()));
        }
    }
    out
}

fn start(path: &Path) -> io::Result<Vec<u8>> {
    use io::Read;
    let mut out = Vec::new();
    std::fs::File::open(path)?.take(16).read_to_end(&mut out)?;
    Ok(out)
}

/// Words that were replaced and stand in the case all the same.
///
/// # Errors
/// When the case cannot be read.
pub fn leaks(out: &Path, words: &Words) -> Result<Vec<String>, Failure> {
    let replaced: BTreeSet<&str> = words.replaced().filter(|word| word.len() > 3).collect();
    let mut found = BTreeSet::new();
    let mut open = vec![out.to_path_buf()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                open.push(entry?.path());
            }
        }
        let name = path
            .strip_prefix(out)
            .unwrap_or(&path)
            .to_string_lossy()
            .into_owned();
        let content = match path.is_file() {
            true => String::from_utf8_lossy(&std::fs::read(&path)?).into_owned(),
            false => String::new(),
        };
        for text in [name, content] {
            let split = |c: char| !c.is_alphanumeric();
            let in_text = text.split(split).filter(|word| replaced.contains(word));
            found.extend(in_text.map(str::to_owned));
        }
    }
    Ok(found.into_iter().collect())
}
