//! The reference corpus: six stores as their programs write them, at the size of a machine
//! that has been used for a year.
//!
//! Every store has a random sequence of its own, so that a change of one leaves the bytes of
//! the others alone. Texts are made of one stock of words; nothing was recorded anywhere.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod opencode;

use crate::Failure;
use fastrand::Rng;
use jiff::Timestamp;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Sizes of a corpus.
pub struct Plan {
    seed: u64,
    codex: usize,
    /// Transcripts of 50 MB among those of Codex.
    large: usize,
    claude: usize,
    subagents: usize,
    opencode: usize,
    copilot: usize,
    gemini: usize,
    /// Bytes of an ordinary transcript, on average.
    bytes: u64,
    /// Bytes of a large one.
    large_bytes: u64,
}

/// Files of the reference, about.
pub const FILES: usize = 6_500;

impl Plan {
    /// The reference: 6,500 files, 1.3 GB; with other numbers of sessions or lengths.
    pub fn reference(seed: u64, sessions: f64, length: f64) -> Self {
        let times = |n: f64| (n * sessions).round().max(1.0) as usize;
        Self {
            seed,
            codex: times(2_000.0),
            large: if sessions < 1.0 { 0 } else { 4 },
            claude: times(2_000.0),
            subagents: times(855.0),
            opencode: times(2_000.0),
            copilot: times(300.0),
            gemini: times(200.0),
            bytes: (220_000.0 * length) as u64,
            large_bytes: (50_000_000.0 * length) as u64,
        }
    }

    /// Only threads of Codex, and short ones.
    pub fn codex_only(threads: usize) -> Self {
        Self {
            codex: threads,
            large: 0,
            claude: 0,
            subagents: 0,
            opencode: 0,
            copilot: 0,
            gemini: 0,
            ..Self::reference(2, 1.0, 0.05)
        }
    }

    fn rng(&self, store: u64) -> Rng {
        Rng::with_seed(self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ store)
    }
}

/// Writes a corpus into a new folder. A folder of that name appears when it is whole, so
/// that a corpus that was not finished is never measured.
pub fn write(home: &Path, plan: &Plan) -> Result<(), Failure> {
    if home.exists() {
        return Err(format!("{} exists", home.display()).into());
    }
    let home = &std::path::absolute(home)?;
    let started = home.with_extension("new");
    if started.exists() {
        fs::remove_dir_all(&started)?;
    }
    fs::create_dir_all(&started)?;
    stores(&started, home, plan)?;
    Ok(fs::rename(&started, home)?)
}

/// Writes the stores below `at`, as of a home that will be called `home`.
fn stores(at: &Path, home: &Path, plan: &Plan) -> Result<(), Failure> {
    for project in 0..PROJECTS {
        fs::create_dir_all(at.join(format!("projects/p{project}")))?;
    }
    codex::write(at, home, plan)?;
    claude::write(at, home, plan)?;
    opencode::write(at, home, plan)?;
    copilot::write(at, home, plan)?;
    gemini::write(at, home, plan)
}

/// Folders that sessions work in.
const PROJECTS: usize = 40;
/// 2026-01-01, in milliseconds.
const START_MS: i64 = 1_767_225_600_000;
/// Sessions are spread over this long.
const SPAN_MS: i64 = 300 * 24 * 3_600_000;

const WORDS: [&str; 32] = [
    "review", "the", "checkout", "flow", "pricing", "agent", "cache", "a", "failing", "test",
    "release", "notes", "for", "login", "page", "index", "slow", "query", "retry", "queue", "and",
    "refactor", "parser", "of", "invoice", "export", "build", "warning", "upload", "timeout", "in",
    "search",
];

/// So many words in a row.
fn words(rng: &mut Rng, count: usize) -> String {
    let mut out = String::new();
    for _ in 0..count {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(WORDS[rng.usize(..WORDS.len())]);
    }
    out
}

/// Text of about so many bytes. Long texts repeat a passage: only their length matters.
fn text(rng: &mut Rng, bytes: usize) -> String {
    let passage = words(rng, 24);
    let mut out = String::with_capacity(bytes + passage.len() + 1);
    while out.len() < bytes {
        out.push_str(&passage);
        out.push(' ');
    }
    out
}

fn uuid(rng: &mut Rng) -> String {
    let bits = rng.u128(..);
    let hex = format!("{bits:032x}");
    format!(
        "{}-{}-4{}-8{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..]
    )
}

fn moment(rng: &mut Rng) -> i64 {
    START_MS + rng.i64(0..SPAN_MS)
}

fn rfc3339(ms: i64) -> Result<String, Failure> {
    Ok(format!("{:.3}", Timestamp::from_millisecond(ms)?))
}

fn project(home: &Path, rng: &mut Rng) -> String {
    let number = rng.usize(..PROJECTS);
    home.join(format!("projects/p{number}"))
        .display()
        .to_string()
}

/// A few bytes to twenty times the average; most are short.
fn length(rng: &mut Rng, mean: u64) -> u64 {
    let steep = rng.f64().powi(4) * 5.0;
    (mean as f64 * steep) as u64 + 2_000
}

/// Writes lines until a file has its length.
struct Lines {
    out: BufWriter<fs::File>,
    written: u64,
    line: String,
}

impl Lines {
    fn create(path: &Path) -> Result<Self, Failure> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(Self {
            out: BufWriter::with_capacity(1 << 20, fs::File::create(path)?),
            written: 0,
            line: String::new(),
        })
    }

    fn push(&mut self, value: &serde_json::Value) -> Result<(), Failure> {
        self.line.clear();
        writeln!(self.line, "{value}")?;
        self.again()
    }

    /// Writes the last line once more.
    fn again(&mut self) -> Result<(), Failure> {
        self.out.write_all(self.line.as_bytes())?;
        self.written += self.line.len() as u64;
        Ok(())
    }

    fn finish(mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}

fn sqlite(path: &Path, schema: &str) -> Result<rusqlite::Connection, Failure> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let db = rusqlite::Connection::open(path)?;
    db.execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; BEGIN;")?;
    db.execute_batch(schema)?;
    Ok(db)
}
