//! Runs a rule's script over one row. A script can only take away: whatever it
//! returns, nothing here grants, and a script that fails fails closed.

mod limit;

pub use limit::Spent;

use axiowl_lang::policy::{CompiledPolicy, MAX_TEXT_BYTES, ROW_TIME, RUN_TIME, limited_engine};
use axiowl_sources::{Field, Name, Row};
use limit::Limit;
use rhai::serde::to_dynamic;
use rhai::{Dynamic, Engine, EvalAltResult, Map, Scope};
use serde_json::Value;
use std::sync::Arc;

/// A text of a row that is longer than this goes into the script without its end.
const TEXT_IN: usize = 4 << 10;
/// All texts of a row together, so that a script can still add to any of them.
const ROW_TEXT_IN: usize = MAX_TEXT_BYTES / 4 * 3;

/// What a script may say about a row.
#[derive(Debug, Default, PartialEq)]
pub struct Opinion {
    pub veto: Option<String>,
    pub demote: Option<String>,
    pub notes: Vec<String>,
    pub aliases: Vec<String>,
}

/// What a script is told besides the row.
pub struct Context<'a> {
    pub name: Option<&'a str>,
    pub source: &'a str,
    pub copies: usize,
    pub targeted: bool,
}

/// One engine for one thread: a shared one does not scale (design measurement).
pub struct Reviewer<'p> {
    engine: Engine,
    policy: &'p CompiledPolicy,
    names: &'p Names,
    limit: Arc<Limit>,
    spent: &'p Spent,
}

impl<'p> Reviewer<'p> {
    /// A reviewer of one run; `spent` is what all reviewers of the run share.
    pub fn new(policy: &'p CompiledPolicy, names: &'p Names, spent: &'p Spent) -> Self {
        let mut engine = limited_engine();
        let limit = Arc::new(Limit::new());
        let asked = Arc::clone(&limit);
        engine.on_progress(move |_| asked.over().then_some(Dynamic::UNIT));
        Self {
            engine,
            policy,
            names,
            limit,
            spent,
        }
    }

    /// The script's opinion; the error names the script's line where there is one.
    pub fn review(&self, row: &Row, context: &Context) -> Result<Opinion, String> {
        if self.spent.all() {
            return Err(format!(
                "it took longer than {} s in this run, which is its limit, and was not asked about the remaining rows",
                RUN_TIME.as_secs()
            ));
        }
        let row = self.names.map(row).map_err(|error| error.to_string())?;
        let mut ctx = Map::new();
        let count = i64::try_from(context.copies).unwrap_or(i64::MAX);
        ctx.insert(
            "name".into(),
            context.name.map_or(Dynamic::UNIT, Into::into),
        );
        ctx.insert("source".into(), context.source.into());
        ctx.insert("copies".into(), count.into());
        ctx.insert("targeted".into(), context.targeted.into());
        let script = self.policy.ast()?;
        self.limit.begin();
        let answer =
            self.engine
                .call_fn::<Dynamic>(&mut Scope::new(), script, "review", (row, ctx));
        self.spent.add(self.limit.took());
        opinion(answer.map_err(|error| failure(&error, &self.policy.text))?)
    }
}

/// Which fields a script gets. It sees every field that the rule knows, nothing for an absent
/// one, so that only a mistyped name is a mistake.
pub struct Names {
    known: Vec<Name>,
    /// The only ones it reads, where its text tells.
    read: Option<Vec<Name>>,
}

impl Names {
    /// The names that a rule's rows may have, with those the script reads.
    pub fn new(policy: &CompiledPolicy, known: Vec<Name>) -> Self {
        let read = policy.fields();
        Self {
            known,
            read: read.map(|read| read.iter().map(Name::from).collect()),
        }
    }

    /// The row as a script gets it: no text, and not all of them together, longer than a script
    /// may hold, or the first function called on the row would fail. Most rows go in as they are.
    fn map(&self, row: &Row) -> Result<Map, Box<EvalAltResult>> {
        let mut most = TEXT_IN;
        // Hidden fields only make the row seem larger.
        let small = sizes(row.everything(), usize::MAX) <= ROW_TEXT_IN;
        if (small || row_size(row, usize::MAX) <= ROW_TEXT_IN) && row_fits(row, most) {
            return self.of(row);
        }
        while most > 1 && row_size(row, most) > ROW_TEXT_IN {
            most /= 2;
        }
        let mut row = row.clone();
        row.values_mut().for_each(|value| clip(value, most));
        self.of(&row)
    }

    fn of(&self, row: &Row) -> Result<Map, Box<EvalAltResult>> {
        let mut out = Map::new();
        let mut put = |name: Name| {
            let value = match row.joined(&name) {
                Some(joined) => to_dynamic(joined)?,
                None => to_dynamic(&row[&*name])?,
            };
            out.insert(name.as_str().into(), value);
            Ok::<(), Box<EvalAltResult>>(())
        };
        match &self.read {
            Some(read) => {
                let there = |name: &&Name| self.known.contains(name) || row.contains_key(name);
                read.iter().filter(there).try_for_each(|name| put(*name))?;
            }
            None => {
                self.known.iter().try_for_each(|name| put(*name))?;
                row.fields().try_for_each(|(name, _)| put(name))?;
            }
        }
        Ok(out)
    }
}

/// Bytes of the texts in a row, each counted up to `most`.
fn row_size(row: &Row, most: usize) -> usize {
    sizes(row.fields().map(|(_, field)| field), most)
}

fn sizes<'r>(fields: impl Iterator<Item = Field<'r>>, most: usize) -> usize {
    let sizes = fields.map(|field| match field {
        Field::Value(value) => size(value, most),
        Field::Row(joined) => row_size(joined, most),
    });
    sizes.sum()
}

fn row_fits(row: &Row, most: usize) -> bool {
    let field_fits = |field| match field {
        Field::Value(value) => fits(value, most),
        Field::Row(joined) => row_fits(joined, most),
    };
    row.everything().all(field_fits) || row.fields().all(|(_, field)| field_fits(field))
}

/// Bytes of the texts in a value, each counted up to `most`.
fn size(value: &Value, most: usize) -> usize {
    match value {
        Value::String(text) => text.len().min(most),
        Value::Array(items) => items.iter().map(|item| size(item, most)).sum(),
        Value::Object(map) => map.values().map(|item| size(item, most)).sum(),
        _ => 0,
    }
}

fn fits(value: &Value, most: usize) -> bool {
    match value {
        Value::String(text) => text.len() <= most,
        Value::Array(items) => items.iter().all(|item| fits(item, most)),
        Value::Object(map) => map.values().all(|item| fits(item, most)),
        _ => true,
    }
}

fn clip(value: &mut Value, most: usize) {
    match value {
        Value::String(text) => text.truncate(text.floor_char_boundary(most)),
        Value::Array(items) => items.iter_mut().for_each(|item| clip(item, most)),
        Value::Object(map) => map.values_mut().for_each(|item| clip(item, most)),
        _ => {}
    }
}

/// The script's own error, with its line in front instead of behind. One without a place, as of
/// an empty loop, is said of the function.
fn failure(error: &EvalAltResult, script: &str) -> String {
    let innermost = match error {
        EvalAltResult::ErrorInFunctionCall(_, _, inner, _) => inner,
        error => error,
    };
    let text = match error.unwrap_inner() {
        EvalAltResult::ErrorTerminated(..) => format!(
            "it takes longer than {} ms for a row, which is the limit",
            ROW_TIME.as_millis()
        ),
        _ => innermost.to_string(),
    };
    let message = text
        .rfind(" (line ")
        .map_or(text.as_str(), |at| &text[..at]);
    let entry = || {
        let mut lines = script.lines();
        lines
            .position(|line| line.contains("fn review"))
            .map(|at| at + 1)
    };
    match innermost.position().line().or_else(entry) {
        Some(line) => format!("line {line}: {message}"),
        None => message.to_owned(),
    }
}

fn opinion(answer: Dynamic) -> Result<Opinion, String> {
    if answer.is_unit() {
        return Ok(Opinion::default());
    }
    let kind = answer.type_name();
    let map = answer
        .try_cast::<Map>()
        .ok_or_else(|| format!("review() must return nothing or a map, it returned {kind}"))?;
    let mut out = Opinion::default();
    for (key, value) in map {
        match key.as_str() {
            "veto" => out.veto = sentence(&key, value)?,
            "demote" => out.demote = sentence(&key, value)?,
            "notes" => out.notes = sentences(&key, value)?,
            "aliases" => out.aliases = sentences(&key, value)?,
            other => {
                return Err(format!(
                    "review() returned the key `{other}`; it may return veto, demote, notes and aliases"
                ));
            }
        }
    }
    Ok(out)
}

fn sentence(key: &str, value: Dynamic) -> Result<Option<String>, String> {
    if value.is_unit() {
        return Ok(None);
    }
    let kind = value.type_name();
    value
        .into_string()
        .map(Some)
        .map_err(|_| format!("`{key}` must be a text, it is {kind}"))
}

fn sentences(key: &str, value: Dynamic) -> Result<Vec<String>, String> {
    let kind = value.type_name();
    let list = value
        .into_array()
        .map_err(|_| format!("`{key}` must be a list of texts, it is {kind}"))?;
    list.into_iter()
        .map(|item| {
            item.into_string()
                .map_err(|kind| format!("`{key}` must hold texts, it holds {kind}"))
        })
        .collect()
}
