//! Runs a rule's script over one row. A script can only take away: whatever it
//! returns, nothing here grants, and a script that fails fails closed.

use axiowl_lang::policy::{CompiledPolicy, limited_engine};
use axiowl_sources::Row;
use rhai::{Dynamic, Engine, EvalAltResult, Map, Scope};

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
}

impl<'p> Reviewer<'p> {
    pub fn new(policy: &'p CompiledPolicy) -> Self {
        Self {
            engine: limited_engine(),
            policy,
        }
    }

    /// The script's opinion; the error names the script's line where there is one.
    pub fn review(&self, row: &Row, context: &Context) -> Result<Opinion, String> {
        let row = rhai::serde::to_dynamic(row).map_err(|error| error.to_string())?;
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
        let answer: Dynamic = self
            .engine
            .call_fn(&mut Scope::new(), script, "review", (row, ctx))
            .map_err(|error| failure(&error, &self.policy.text))?;
        opinion(answer)
    }
}

/// The script's own error, with its line in front instead of behind. One without a place, as of
/// an empty loop, is said of the function.
fn failure(error: &EvalAltResult, script: &str) -> String {
    let innermost = match error {
        EvalAltResult::ErrorInFunctionCall(_, _, inner, _) => inner,
        error => error,
    };
    let text = innermost.to_string();
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
