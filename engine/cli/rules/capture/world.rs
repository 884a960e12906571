//! `world.yaml` of a case: what the rule asks the machine, as the machine answered.

use super::place::Place;
use super::session::Chosen;
use super::values::Values;
use axiowl_lang::cond::{Cond, Ops, Test};
use axiowl_lang::load::LoadedRule;
use axiowl_lang::template::Piece;
use axiowl_lang::world_spec::Platform;
use axiowl_model::Timestamp;
use axiowl_sources::{FactQuery, Row, World};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// What this file says in words of its own.
const OWN_WORDS: &str =
    "home maps dirs env executables locks pids facts registered mtimes usr local bin";

/// What is asked of the machine.
#[derive(Default)]
struct Asked {
    folders: BTreeSet<String>,
    files: BTreeSet<String>,
    locks: BTreeSet<String>,
    pids: BTreeSet<String>,
    facts: BTreeSet<String>,
    variables: BTreeSet<String>,
    programs: BTreeSet<String>,
}

/// The text of the file. `mtimes` are those of the captured files, by their new paths.
pub fn text(
    loaded: &LoadedRule,
    world: &World,
    chosen: &[Chosen],
    place: &Place,
    mtimes: &BTreeMap<String, Timestamp>,
    values: &mut Values,
) -> String {
    let asked = asked(loaded);
    let mut out = format!(
        "# Captured from real files by `axiowl rules capture {}`; texts are replaced, piece by piece.\n\
         # Kept are numbers, terms of closed sets, dates, one or two letters, addresses made of plain\n\
         # short terms, and the SQL of schemas. Read it before you share it.\n",
        loaded.rule.provider.value
    );
    let _ = writeln!(out, "now: {}", world.now());
    let platform = match world.platform() {
        Platform::Linux => "linux",
        Platform::Macos => "macos",
        Platform::Windows => "windows",
    };
    let _ = writeln!(out, "platform: {platform}");
    // What was written so far is said by us; names of the rule are its own.
    values.words.keep(&out);
    values.words.keep(OWN_WORDS);
    for names in [&asked.variables, &asked.programs, &asked.facts] {
        names.iter().for_each(|name| values.words.keep(name));
    }
    let _ = writeln!(out, "home: {}", quoted(place.home()));
    mapping(&mut out, "maps", place.maps());
    let dirs = folders(&asked, world, chosen, place, values);
    list(&mut out, "dirs", &dirs);
    let env = asked.variables.iter().filter_map(|name| {
        let value = world.env(name)?;
        Some((name.clone(), values.words.text(value)))
    });
    let env: Vec<(String, String)> = env.collect();
    mapping(&mut out, "env", env);
    let programs = asked
        .programs
        .iter()
        .filter(|name| world.executable(name).is_some());
    mapping(
        &mut out,
        "executables",
        programs.map(|name| (name.clone(), format!("/usr/local/bin/{name}"))),
    );
    let rows = |names: &BTreeSet<String>| -> BTreeSet<String> {
        let rows = chosen.iter().map(|chosen| &chosen.row);
        rows.flat_map(|row| names.iter().filter_map(|name| text_of(row, name)))
            .collect()
    };
    let locks = rows(&asked.locks).into_iter();
    let held = locks.filter(|path| world.lock_held(path) == Some(true));
    let held: Vec<String> = held.map(|path| values.words.text(&path)).collect();
    list(&mut out, "locks", &held);
    let pids = rows(&asked.pids)
        .into_iter()
        .filter_map(|pid| pid.parse::<u32>().ok());
    let living: Vec<u32> = pids.filter(|pid| world.pid_alive(*pid, None)).collect();
    if !living.is_empty() {
        out.push_str("pids:\n");
        for pid in living {
            let _ = writeln!(out, "  {pid}: \"1\"");
        }
    }
    facts(&mut out, &asked, world, chosen, values);
    registered(&mut out, world, chosen, values);
    if !mtimes.is_empty() {
        out.push_str("mtimes:\n");
        for (path, at) in mtimes {
            let _ = writeln!(out, "  {}: {at}", quoted(path));
        }
    }
    out
}

fn asked(loaded: &LoadedRule) -> Asked {
    let mut out = Asked::default();
    let rule = &loaded.rule;
    rule.each_condition(&mut |cond| gather(cond, &mut out));
    for root in rule.roots.values() {
        for candidate in root.iter() {
            for piece in candidate.pieces() {
                if let Piece::Variable(name) = piece {
                    out.variables.insert(name.clone());
                }
            }
        }
    }
    out.programs
        .extend(rule.tested.iter().map(|t| t.program.clone()));
    let cwd = rule.rows.cwd.as_ref().map_or("cwd", |field| field.as_str());
    out.folders.insert(cwd.to_owned());
    out
}

fn gather(cond: &Cond, out: &mut Asked) {
    match cond {
        Cond::All(list) | Cond::Any(list) => list.iter().for_each(|c| gather(c, out)),
        Cond::Not(inner) => gather(inner, out),
        Cond::Fact(name) => drop(out.facts.insert(name.value.clone())),
        Cond::Targeted(_) => {}
        Cond::Env(names) => out.variables.extend(names.iter().map(|n| n.value.clone())),
        Cond::Executable(names) => out.programs.extend(names.iter().map(|n| n.value.clone())),
        Cond::Field { name, test } => {
            if let Test::Ops(ops) = &test.value {
                let Ops {
                    exists,
                    dir_exists,
                    lock_held,
                    pid_alive,
                    ..
                } = &**ops;
                for (asks, names) in [
                    (dir_exists.is_some(), &mut out.folders),
                    (exists.is_some(), &mut out.files),
                    (lock_held.is_some(), &mut out.locks),
                    (pid_alive.is_some(), &mut out.pids),
                ] {
                    if asks {
                        names.insert(name.value.clone());
                    }
                }
            }
        }
    }
}

/// Folders that exist, and files that exist and are not captured: for the rule, being there is
/// all there is to them.
fn folders(
    asked: &Asked,
    world: &World,
    chosen: &[Chosen],
    place: &Place,
    values: &mut Values,
) -> Vec<String> {
    let mut out = BTreeSet::new();
    for Chosen { row, .. } in chosen {
        for path in asked.folders.iter().filter_map(|name| text_of(row, name)) {
            if !path.is_empty() && world.dir_exists(&path) {
                out.insert(values.words.text(&path));
            }
        }
        for path in asked.files.iter().filter_map(|name| text_of(row, name)) {
            if !path.is_empty() && world.exists(&path) && !place.holds(&path) {
                out.insert(values.words.text(&path));
            }
        }
    }
    out.into_iter().collect()
}

fn facts(out: &mut String, asked: &Asked, world: &World, chosen: &[Chosen], values: &mut Values) {
    let mut lines = String::new();
    for name in &asked.facts {
        let answers: Vec<(String, Result<bool, String>)> = chosen
            .iter()
            .map(|chosen| {
                let query = FactQuery {
                    world,
                    roots: &chosen.roots,
                    row: &chosen.row,
                    session: &chosen.agent.key.session,
                };
                (values.words.text(&chosen.bare), world.fact(name, &query))
            })
            .collect();
        if answers.iter().all(|(_, answer)| answer.is_err()) {
            continue;
        }
        let held = answers.iter().filter(|(_, answer)| *answer == Ok(true));
        let held: Vec<String> = held.map(|(id, _)| quoted(id)).collect();
        let _ = writeln!(lines, "  {name}: [{}]", held.join(", "));
    }
    if !lines.is_empty() {
        let _ = write!(out, "facts:\n{lines}");
    }
}

fn registered(out: &mut String, world: &World, chosen: &[Chosen], values: &mut Values) {
    let known = chosen
        .iter()
        .map(|c| (&c.bare, world.registered_as(&c.bare)));
    let known: Vec<(&String, Vec<String>)> = known.filter(|(_, keys)| !keys.is_empty()).collect();
    if known.is_empty() {
        return;
    }
    out.push_str("registered:\n");
    for (id, keys) in known {
        let id = quoted(&values.words.text(id));
        let _ = writeln!(out, "  {id}: [{}]", keys.join(", "));
    }
}

/// The text of a field of a row, or of one of a joined record.
pub fn text_of(row: &Row, name: &str) -> Option<String> {
    let direct = row.get(name);
    let value = direct.or_else(|| {
        let (first, rest) = name.split_once('.')?;
        match row.joined(first) {
            Some(joined) => joined.get(rest),
            None => row.get(first)?.get(rest),
        }
    })?;
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn list(out: &mut String, key: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "{key}:");
    for item in items {
        let _ = writeln!(out, "  - {}", quoted(item));
    }
}

fn mapping(out: &mut String, key: &str, items: impl IntoIterator<Item = (String, String)>) {
    let mut items = items.into_iter().peekable();
    if items.peek().is_none() {
        return;
    }
    let _ = writeln!(out, "{key}:");
    for (name, value) in items {
        let _ = writeln!(out, "  {}: {}", quoted(&name), quoted(&value));
    }
}
