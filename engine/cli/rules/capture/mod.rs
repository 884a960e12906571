//! `axiowl rules capture`: a small case out of real files, with the words of its texts
//! replaced. Numbers, words of closed sets, dates and addresses made of plain short words, and
//! the SQL of schemas stay.
//!
//! It reads what discovery reads and writes into the case folder alone. What it made is run at
//! once: the sessions in it have to be decided as the real ones are, and no word that was
//! replaced may stand anywhere in it.

mod document;
mod files;
mod json;
mod pieces;
mod place;
mod session;
mod tables;
mod text;
mod transcript;
mod values;
mod wire;
mod words;
mod world;
mod write;

use super::args::Capture;
use super::case::{self, Case};
use super::{no_rule, shelf, short};
use crate::args::Common;
use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use crate::setup;
use axiowl_discover::{Options, discover};
use axiowl_lang::cond::Test;
use axiowl_lang::load::LoadedRule;
use axiowl_model::{Verdict, display_safe};
use axiowl_sources::survey::survey;
use axiowl_sources::{World, record};
use place::Place;
use serde_json::json;
use session::Chosen;
use std::path::{Path, PathBuf};
use values::Values;
use write::{Kept, Writer};

/// Makes a case.
pub fn run(arguments: &Capture, common: &Common) -> Outcome {
    let setup = setup::open(common)?;
    let provider = arguments.provider.as_str();
    let Some(loaded) = setup.rules.get(provider).cloned() else {
        let known = setup
            .rules
            .iter()
            .map(|rule| rule.rule.provider.value.clone());
        return Err(no_rule(provider, known));
    };
    let options = Options {
        copy_bytes: setup.config.limits.live_store.0,
        ..Options::default()
    };
    let report = discover(&loaded, &setup.world, &options);
    if !report.present {
        return Err(Failure::new(
            Exit::Failed,
            format!("{provider} is not here: none of its folders exists"),
        ));
    }
    let chosen = session::choose(&loaded, &setup.world, &report, &arguments.session, &options)?;
    let drifted = matches!(report.verdict, Verdict::Drift | Verdict::Blind);
    let agents = report.agents.iter();
    let folders: Vec<&str> = agents.filter_map(|agent| agent.cwd.as_deref()).collect();
    let kept = |id: &str| chosen.iter().any(|chosen| chosen.bare == id);
    let others = report.agents.iter().map(|agent| agent.key.bare_session());
    let people = People {
        folders,
        others: others.filter(|id| !kept(id)).collect(),
    };
    let out = match &arguments.out {
        Some(out) => claim(&std::path::absolute(out)?)?,
        None => fresh(&shelf(common)?.user().join(provider).join("fixtures"))?,
    };
    let made = make(&loaded, &setup.world, &chosen, &people, drifted, &out)?;
    if made.kept.is_empty() {
        std::fs::remove_dir_all(&out)?;
        return Err(Failure::new(
            Exit::Failed,
            format!("{provider} has no file that the rule reads or could mistake"),
        )
        .hint(format!(
            "`axiowl discover {}` shows what is there",
            loaded.rule.scope_word()
        )));
    }
    let leaked = write::leaks(&out, &made.values.words)?;
    if !leaked.is_empty() {
        std::fs::remove_dir_all(&out)?;
        return Err(Failure::new(
            Exit::Failed,
            format!("{} words would have stayed; nothing was kept", leaked.len()),
        )
        .detail("this is a mistake in capture itself; please report it, without the words"));
    }
    let replayed = replay(&loaded, &chosen, drifted, &made, &out)?;
    match arguments.json {
        true => print_json(&made, &replayed, &out),
        false => print(&made, &replayed, &chosen, loaded.sources_holder(), &out),
    }
    Ok(match replayed.different.is_empty() {
        true => Exit::Done,
        false => Exit::Failed,
    })
}

/// Makes the next free folder for a case.
fn fresh(cases: &Path) -> Result<PathBuf, Failure> {
    for number in 1_u32.. {
        let name = match number {
            1 => "captured".to_owned(),
            number => format!("captured-{number}"),
        };
        if let Some(out) = made(&cases.join(name))? {
            return Ok(out);
        }
    }
    Err(Failure::new(
        Exit::Failed,
        format!("{} is full", cases.display()),
    ))
}

/// Makes the folder that was asked for.
fn claim(out: &Path) -> Result<PathBuf, Failure> {
    made(out)?.ok_or_else(|| {
        Failure::new(Exit::Failed, format!("{} is there already", out.display()))
            .hint("name a folder that does not exist yet")
    })
}

/// Makes a folder; none where it was there. Making it is what says so: of two captures at once,
/// one gets it, and none takes away what another one made.
fn made(out: &Path) -> Result<Option<PathBuf>, Failure> {
    let failed =
        |error: std::io::Error| Failure::new(Exit::Failed, format!("{}: {error}", out.display()));
    if let Some(parent) = out.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    match std::fs::create_dir(out) {
        Ok(()) => Ok(Some(out.to_path_buf())),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// What is known of all sessions, those that are not kept too.
struct People<'a> {
    /// Their folders, whose names are the user's own words.
    folders: Vec<&'a str>,
    /// The ids of those that are not kept.
    others: Vec<&'a str>,
}

/// What was made.
struct Made {
    kept: Vec<Kept>,
    left_out: Vec<(String, String)>,
    values: Values,
    bytes: u64,
    of: u64,
    new_ids: Vec<String>,
}

fn make(
    loaded: &LoadedRule,
    world: &World,
    chosen: &[Chosen],
    people: &People,
    drifted: bool,
    out: &Path,
) -> Result<Made, Failure> {
    let survey = survey(loaded, world);
    let wanted = files::choose(loaded, &survey, chosen, &people.others, drifted);
    let mut values = Values::of(loaded);
    // Ids first: files are called after parts of them.
    for chosen in chosen {
        let new = values.words.text(&chosen.bare);
        let [old, new] = [&*chosen.bare, &new].map(record::base64_of);
        values.words.become_(&old, &new);
    }
    values.is_private(world.home());
    for folder in &people.folders {
        values.is_private(folder);
    }
    let place = Place::new(out, world, &survey, &mut values);
    digests(loaded, chosen, &mut values);
    let mut writer = Writer::new(loaded, world, chosen, place, values);
    for wanted in &wanted {
        writer.file(wanted)?;
    }
    let Writer {
        place,
        mut values,
        kept,
        left_out,
        mtimes,
        ..
    } = writer;
    let text = world::text(loaded, world, chosen, &place, &mtimes, &mut values);
    std::fs::create_dir_all(out)?;
    std::fs::write(out.join("world.yaml"), text)?;
    // What stands before the provider's own id is the rule's.
    let new_id = |c: &Chosen| {
        let prefix = c
            .agent
            .key
            .session
            .strip_suffix(&c.bare)
            .unwrap_or_default();
        format!("{prefix}{}", values.words.text(&c.bare))
    };
    Ok(Made {
        new_ids: chosen.iter().map(new_id).collect(),
        bytes: kept.iter().map(|kept| kept.bytes).sum(),
        of: wanted.iter().map(|wanted| wanted.file.size).sum(),
        kept,
        left_out,
        values,
    })
}

/// Where a rule asks whether a name is the MD5 of a text, the new name is that of the new text.
fn digests(loaded: &LoadedRule, chosen: &[Chosen], values: &mut Values) {
    let mut names = Vec::new();
    loaded.rule.each_condition(&mut |cond| {
        cond.each_field(&mut |name, test| {
            if matches!(&test.value, Test::Ops(ops) if ops.md5_of.is_some()) {
                names.push(name.value.clone());
            }
        });
    });
    for chosen in chosen {
        for text in names
            .iter()
            .filter_map(|name| world::text_of(&chosen.row, name))
        {
            let new = values.words.text(&text);
            values
                .words
                .become_(&record::md5_hex(&text), &record::md5_hex(&new));
        }
    }
}

/// How the sessions of the case are decided.
struct Replayed {
    same: usize,
    /// Session and what is different.
    different: Vec<String>,
    /// The expectation was written.
    expected: bool,
}

fn replay(
    loaded: &LoadedRule,
    chosen: &[Chosen],
    drifted: bool,
    made: &Made,
    out: &Path,
) -> Result<Replayed, Failure> {
    let case = Case {
        name: out
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        dir: out.to_path_buf(),
    };
    let outcome = case::run(loaded, &case, None)?;
    let mut replayed = Replayed {
        same: 0,
        different: Vec::new(),
        expected: false,
    };
    for (Chosen { agent, .. }, id) in chosen.iter().zip(&made.new_ids) {
        let mut rows = outcome["rows"].as_array().into_iter().flatten();
        let Some(row) = rows.find(|row| row["provider_session_id"] == id.as_str()) else {
            replayed.different.push(format!("{id}: it is not found"));
            continue;
        };
        let before = json!({
            "kind": agent.kind, "status": agent.status, "source": agent.source,
            "sendable": agent.sendable, "has_enrollment_proof": agent.has_enrollment_proof,
            "weak_name": agent.weak_name, "named": agent.display_name.is_some(),
        });
        let mut after = row.clone();
        after["named"] = row["display_name"].is_string().into();
        let fields = before.as_object().into_iter().flatten();
        let changed: Vec<String> = fields
            .filter(|(key, value)| after[key.as_str()] != **value)
            .map(|(key, value)| format!("{key} was {value}, is {}", after[key.as_str()]))
            .collect();
        match changed.is_empty() {
            true => replayed.same += 1,
            false => replayed
                .different
                .push(format!("{id}: {}", changed.join(", "))),
        }
    }
    // What a rule makes of files that it does not fit is nothing to expect.
    if !drifted && replayed.different.is_empty() {
        let text =
            serde_json::to_string_pretty(&outcome).map_err(|error| Failure::caused(&error))?;
        std::fs::write(case.expected(), text + "\n")?;
        replayed.expected = true;
    }
    Ok(replayed)
}

fn print(made: &Made, replayed: &Replayed, chosen: &[Chosen], holder: &str, out: &Path) {
    let kib = |bytes: u64| format!("{:.1} KiB", bytes as f64 / 1024.0);
    crate::output::say!(
        "kept      {} files, {} of {}, in {}",
        made.kept.len(),
        kib(made.bytes),
        kib(made.of),
        display_safe(&short(out).display().to_string())
    );
    for kept in &made.kept {
        crate::output::say!(
            "  {}  {} ({})",
            display_safe(&kept.path),
            kept.what,
            kept.why
        );
    }
    for (path, why) in &made.left_out {
        crate::output::say!("left out  {}: {why}", display_safe(path));
    }
    let values = &made.values;
    crate::output::say!(
        "replaced  {} words; {} secrets dropped, {} long texts cut",
        values.words.count(),
        values.dropped,
        values.cut
    );
    crate::output::say!(
        "replay    {} of {} sessions are decided as the real ones",
        replayed.same,
        chosen.len()
    );
    for different in &replayed.different {
        crate::output::say!("  different: {}", display_safe(different));
    }
    match replayed.expected {
        true => crate::output::say!("next      read it before you share it"),
        false => {
            crate::output::say!("next      read it before you share it, then mend the rule:");
            crate::output::say!("          axiowl rules eject {holder} --patch");
        }
    }
}

fn print_json(made: &Made, replayed: &Replayed, out: &Path) {
    for kept in &made.kept {
        output::json_line(
            "captured_file",
            json!({ "path": kept.path, "bytes": kept.bytes, "kept": kept.what, "why": kept.why }),
        );
    }
    output::json_line(
        "capture",
        json!({
            "out": out.display().to_string(), "files": made.kept.len(), "bytes": made.bytes,
            "of_bytes": made.of, "sessions": made.new_ids, "words": made.values.words.count(),
            "secrets_dropped": made.values.dropped, "texts_cut": made.values.cut,
            "left_out": made.left_out.iter().map(|(path, why)| json!({ "path": path, "why": why })).collect::<Vec<_>>(),
            "same": replayed.same, "different": replayed.different, "expected": replayed.expected,
        }),
    );
}
