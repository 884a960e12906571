//! What the last discovery of each scope said, and what that rests on: a scope of which nothing
//! has changed is not read again.
//!
//! A memo counts only with the same program, rule, configuration and registry, and only where
//! every file and answer it rests on is as it was. One that is damaged, of another kind, or not
//! there costs a discovery and nothing else; it may be deleted at any time, and of two processes
//! that write one the later wins. It holds paths, counts and issues, and no text of a session.

use crate::exit::Failure;
use crate::pass::Pass;
use crate::setup::Setup;
use axiowl_discover::Report;
use axiowl_discover::gaps::Gaps;
use axiowl_lang::fields::REGISTERED_AS;
use axiowl_lang::load::LoadedRule;
use axiowl_model::{DiscoverySummary, Issue, Timestamp, Verdict};
use axiowl_registry::{Changes, create_private_dir, private_file_options};
use axiowl_sources::{Testimony, Witness};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

/// The version of what a memo holds.
const SCHEMA: u32 = 1;

/// The memos of one run of `discover`.
pub struct Memos {
    folder: PathBuf,
    /// Everything but the rule and the registry that an outcome depends on.
    setting: String,
    /// The registry as it was when the run began.
    registry: String,
    recalled: Vec<(String, Memo)>,
    learnt: Vec<Learnt>,
}

/// A scope that was discovered, and what was seen on the way.
struct Learnt {
    provider: String,
    key: String,
    outcome: Outcome,
    witness: Arc<Witness>,
    started: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Memo {
    schema: u32,
    key: String,
    registry: String,
    outcome: Outcome,
    testimony: Testimony,
}

/// What is said of a scope again. Whoever was a new target then is a known one now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Outcome {
    found: usize,
    updated: usize,
    skipped: usize,
    evidence: usize,
    dropped: BTreeMap<String, usize>,
    issues: Vec<Issue>,
    verdict: Verdict,
    gaps: Gaps,
    present: bool,
    at: Timestamp,
}

impl Memos {
    /// The memos of a state folder.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub fn open(setup: &Setup) -> Result<Self, Failure> {
        Ok(Self {
            folder: setup.state.join("cache"),
            setting: setting(setup),
            registry: setup.registry.digest()?,
            recalled: Vec::new(),
            learnt: Vec::new(),
        })
    }

    /// What a rule's last discovery said, where nothing it rests on has changed; else why it
    /// has to be discovered anew.
    ///
    /// # Errors
    /// The reason.
    pub fn recall(&mut self, setup: &Setup, rule: &LoadedRule) -> Result<Pass, String> {
        let provider = &rule.rule.provider.value;
        let memo = read(&self.file(provider)).ok_or("nothing is known of it")?;
        if memo.schema != SCHEMA || memo.key != self.key(rule) {
            return Err("another program, rule or configuration made it".into());
        }
        if memo.registry != self.registry {
            return Err("the registry changed".into());
        }
        memo.testimony.holds(&setup.world)?;
        let pass = again(setup, provider, &memo.outcome);
        // The decisions themselves stand in the log already; of nothing there were none.
        if memo.outcome.present {
            setup.evidence.record(
                "discovery_unchanged",
                json!({
                    "provider": provider,
                    "found": memo.outcome.found,
                    "paths": memo.testimony.paths(),
                    "decided_at": memo.outcome.at,
                }),
            );
        }
        self.recalled.push((provider.clone(), memo));
        Ok(pass)
    }

    /// Keeps what a discovery said, to be written at the end of the run.
    pub fn learn(&mut self, rule: &LoadedRule, pass: &Pass, witness: Arc<Witness>, started: i64) {
        let (report, summary) = (&pass.report, &pass.summary);
        // What could not be read, or collides in the registry, is looked at every time.
        let settled = report.complete && pass.merged.issues.is_empty();
        if !settled || !can_be_kept(rule) {
            let provider = &summary.provider;
            tracing::debug!(
                provider,
                "not all of it is settled; not kept for the next run"
            );
            return;
        }
        self.learnt.push(Learnt {
            provider: summary.provider.clone(),
            key: self.key(rule),
            outcome: Outcome {
                found: summary.found,
                updated: summary.enrolled + summary.updated,
                skipped: summary.skipped,
                evidence: summary.evidence,
                dropped: report.dropped.clone(),
                issues: summary.issues.clone(),
                verdict: summary.verdict,
                gaps: report.gaps.clone(),
                present: report.present,
                at: Timestamp::from_millis(started),
            },
            witness,
            started,
        });
    }

    /// Writes what was learnt, with the registry as this run left it. Where somebody else wrote
    /// the registry meanwhile, nothing is kept: the next run looks again.
    ///
    /// # Errors
    /// When a memo cannot be written, or the registry not be read.
    pub fn keep(self, setup: &Setup) -> Result<(), Failure> {
        if self.learnt.is_empty() {
            return Ok(());
        }
        let now = setup.registry.digest()?;
        let ours = match setup.registry.changes() {
            Some(Changes { met, left }) => met == self.registry && left == now,
            // Nothing was changed at all.
            None => self.registry == now,
        };
        if !ours {
            return Ok(());
        }
        let registered = registered(setup, &self.learnt)?;
        let stands = |session: &str, provider: &str| {
            registered.contains(&(session.to_owned(), provider.to_owned()))
        };
        let clock = Timestamp::from(SystemTime::now()).as_millis();
        let mut memos: Vec<(&str, Memo)> = Vec::new();
        for learnt in &self.learnt {
            match learnt.witness.testimony(learnt.started, clock, stands) {
                Ok(testimony) => memos.push((
                    &learnt.provider,
                    Memo {
                        schema: SCHEMA,
                        key: learnt.key.clone(),
                        registry: now.clone(),
                        outcome: learnt.outcome.clone(),
                        testimony,
                    },
                )),
                Err(why) => {
                    tracing::debug!(provider = learnt.provider, why, "not kept for the next run");
                }
            }
        }
        // Their rows are as they were; only the rows of others changed.
        let others = self.recalled.iter().filter(|_| now != self.registry);
        memos.extend(others.map(|(provider, memo)| {
            let registry = now.clone();
            let memo = memo.clone();
            (provider.as_str(), Memo { registry, ..memo })
        }));
        for (provider, memo) in memos {
            let file = self.file(provider);
            write(&file, &memo).map_err(|error| {
                let path = file.display();
                Failure::new(crate::exit::Exit::Failed, format!("{path}: {error}"))
            })?;
        }
        Ok(())
    }

    fn file(&self, provider: &str) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = provider.chars().map(plain).collect();
        self.folder.join(format!("{name}.json"))
    }

    /// Names the rule, every byte of it, and the setting.
    fn key(&self, rule: &LoadedRule) -> String {
        let mut hash = blake3::Hasher::new();
        let mut add = |text: &str| {
            hash.update(&(text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        add(&self.setting);
        add(&rule.rule.provider.value);
        for file in &rule.files {
            add(&file.text);
        }
        add(rule.policy.as_ref().map_or("", |policy| &policy.text));
        hash.finalize().to_hex().to_string()
    }
}

/// Whether what a rule says depends only on what a witness sees.
fn can_be_kept(rule: &LoadedRule) -> bool {
    // A script is given the field, and what it does with it leaves no trace.
    let policy = rule.policy.as_ref();
    let asks = policy.is_some_and(|policy| policy.text.contains(REGISTERED_AS));
    // Outside a condition, too.
    let mut uses = rule.files.iter().flat_map(|file| {
        let places = file.text.match_indices(REGISTERED_AS);
        places.map(|(at, word)| file.text[at + word.len()..].trim_start())
    });
    let elsewhere = uses.any(|behind| !behind.starts_with(':'));
    !asks && !elsewhere && rule.withheld.is_empty()
}

/// The program, the user's configuration and the machine's fixed facts.
fn setting(setup: &Setup) -> String {
    let program = std::env::current_exe().and_then(|path| {
        let metadata = path.metadata()?;
        let changed = metadata.modified()?;
        Ok((path, metadata.len(), changed))
    });
    let world = &setup.world;
    format!(
        "{} {program:?} {:?} {:?} {:?} {:?}",
        env!("CARGO_PKG_VERSION"),
        setup.config,
        world.home(),
        world.platform(),
        world.state(),
    )
}

/// Which sessions of the registry stand under which provider key, if any rule asked.
fn registered(setup: &Setup, learnt: &[Learnt]) -> Result<HashSet<(String, String)>, Failure> {
    if !learnt.iter().any(|learnt| learnt.witness.asks_registry()) {
        return Ok(HashSet::new());
    }
    let mut pairs = HashSet::new();
    setup.registry.each_key(|key| {
        pairs.insert((key.bare_session().to_owned(), key.provider.clone()));
    })?;
    Ok(pairs)
}

/// A pass that says what the last one said.
fn again(setup: &Setup, provider: &str, outcome: &Outcome) -> Pass {
    let node = setup.config.node.as_str().to_owned();
    let outcome = outcome.clone();
    Pass {
        report: Report {
            gaps: outcome.gaps,
            present: outcome.present,
            ..Report::of_before(provider, &node, outcome.dropped, outcome.verdict)
        },
        merged: axiowl_registry::MergeReport::default(),
        summary: DiscoverySummary {
            provider: provider.to_owned(),
            node_id: node,
            found: outcome.found,
            enrolled: 0,
            updated: outcome.updated,
            skipped: outcome.skipped,
            evidence: outcome.evidence,
            pruned: 0,
            issues: outcome.issues,
            verdict: outcome.verdict,
            registry: setup.registry.path().display().to_string(),
        },
        after: Vec::new(),
    }
}

/// The memo in a file: its digest on the first line, then the memo itself.
fn read(file: &std::path::Path) -> Option<Memo> {
    let bytes = std::fs::read(file).ok()?;
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (digest, memo) = (&bytes[..end], &bytes[end + 1..]);
    let whole = blake3::hash(memo).to_hex();
    (whole.as_bytes() == digest)
        .then(|| serde_json::from_slice(memo).ok())
        .flatten()
}

fn write(file: &std::path::Path, memo: &Memo) -> io::Result<()> {
    let folder = file.parent().unwrap_or(file);
    create_private_dir(folder)?;
    let text = serde_json::to_vec(memo)?;
    // A name of its own for each process: the last rename wins, and no half file is read.
    let fresh = file.with_extension(format!("{}.new", std::process::id()));
    let mut options = private_file_options();
    let mut out = options
        .write(true)
        .create(true)
        .truncate(true)
        .open(&fresh)?;
    let written = writeln!(out, "{}", blake3::hash(&text).to_hex())
        .and_then(|()| out.write_all(&text))
        .and_then(|()| std::fs::rename(&fresh, file));
    if written.is_err() {
        // What is half there is of no use; that it stays is worth no second error.
        let _ = std::fs::remove_file(&fresh);
    }
    written
}
