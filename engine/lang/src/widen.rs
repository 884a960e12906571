//! Whether an override may enrol sessions that the rule below it keeps out.
//!
//! Only what is plainly as strict as before passes; what cannot be told is reported, since a
//! person then looks. A report is a warning: widening may be what is meant.

mod imply;

use crate::at::Span;
use crate::codes;
use crate::cond::Cond;
use crate::diag::{Diagnostic, SourceText};
use crate::guard::guards;
use crate::load::LoadedRule;
use crate::rule::{IdentityRule, Outside, Rule, Rung, SessionFallback};
use crate::source::Source;
use crate::tree::Tree;
use axiowl_model::{Kind, Status};
use imply::implies;

/// Something that an override gives or no longer takes.
struct Widening {
    what: String,
    /// Where the override says so.
    new: Option<Span>,
    /// Where the rule below said otherwise.
    old: Option<Span>,
}

/// A warning for each way in which `new` may enrol more than `below`.
pub fn warnings(below: &LoadedRule, new: &LoadedRule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    proof(&below.rule, &new.rule, &mut found);
    statuses(&below.rule, &new.rule, &mut found);
    kinds(&below.rule, &new.rule, &mut found);
    filters(&below.rule, &new.rule, &mut found);
    columns(&below.rule, &new.rule, &mut found);
    others(below, new, &mut found);
    found.into_iter().map(|w| describe(w, below, new)).collect()
}

fn describe(widening: Widening, below: &LoadedRule, new: &LoadedRule) -> Diagnostic {
    let message = format!("widens enrolment: {}", widening.what);
    let diagnostic = Diagnostic::warning(codes::WIDENS, message);
    let diagnostic = match widening.new.and_then(|span| new.source_of(span)) {
        Some((file, at)) => diagnostic.at(&file, at, "here"),
        None => {
            let (file, at) = whole(new);
            diagnostic.at(&file, at, "in this override")
        }
    };
    let diagnostic = match widening.old.and_then(|span| below.source_of(span)) {
        Some((file, at)) => diagnostic.also(&file, at, "the rule below says this"),
        None => diagnostic,
    };
    diagnostic.help("keep it if it is meant; `axiowl rules try` shows which sessions it concerns")
}

/// The place of an override as a whole: the changes of a patch, or the head of a rule.
fn whole(new: &LoadedRule) -> (SourceText, std::ops::Range<usize>) {
    let file = match &new.patched {
        Some(patched) => patched.patch.main(),
        None => new.files.first().map_or(SourceText::new("", ""), |file| {
            SourceText::new(&file.name, &file.text)
        }),
    };
    let tree = Tree::of(&file.text);
    let at = tree.key(&["override"]).or_else(|| tree.key(&["provider"]));
    (file, at.unwrap_or(0..0))
}

fn proof(below: &Rule, new: &Rule, found: &mut Vec<Widening>) {
    for rung in new.proof.iter().filter(|rung| !rung.grants.is_empty()) {
        let name = &rung.source.value;
        let Some(old) = below.proof.iter().find(|r| r.source.value == *name) else {
            found.push(Widening {
                what: format!("the rung `{name}` is new, and grants"),
                new: Some(rung.source.span),
                old: None,
            });
            continue;
        };
        let more = rung.grants.iter().any(|grant| !old.grants.contains(grant));
        let what = if more {
            format!("the rung `{name}` grants more")
        } else if !stricter(old.when.as_ref(), rung.when.as_ref()) {
            format!("the granting rung `{name}` asks for something else")
        } else {
            continue;
        };
        found.push(Widening {
            what,
            new: Some(rung.source.span),
            old: Some(old.source.span),
        });
    }
    // A rung that grants nothing keeps its rows from the granting ones behind it.
    for (at, stop) in below.proof.iter().enumerate() {
        let behind: Vec<&Rung> = below.proof[at..]
            .iter()
            .filter(|rung| !rung.grants.is_empty())
            .map(|rung| &rung.value)
            .collect();
        if !stop.grants.is_empty() || behind.is_empty() {
            continue;
        }
        let place = |name: &str| new.proof.iter().position(|r| r.source.value == name);
        let kept = place(&stop.source).filter(|at| {
            let now = &new.proof[*at];
            now.grants.is_empty() && stricter(now.when.as_ref(), stop.when.as_ref())
        });
        let stands = kept.is_some_and(|at| {
            let mut later = behind.iter().filter_map(|rung| place(&rung.source));
            later.all(|granting| at < granting)
        });
        if !stands {
            found.push(Widening {
                what: format!(
                    "the rung `{}` no longer stops its rows before a granting one",
                    stop.source.value
                ),
                new: place(&stop.source).map(|at| new.proof[at].source.span),
                old: Some(stop.source.span),
            });
        }
    }
}

/// An entry of an ordered list of which some bar: whether it does, what it is, when, where.
struct Entry<'r> {
    bars: bool,
    is: &'static str,
    when: Option<&'r Cond>,
    span: Span,
}

fn statuses(below: &Rule, new: &Rule, found: &mut Vec<Widening>) {
    fn entries(rule: &Rule) -> Vec<Entry<'_>> {
        let status = rule.status.iter();
        status
            .map(|s| Entry {
                bars: s.is != Status::Active || s.error.is_some(),
                is: s.is.as_str(),
                when: s.when.as_ref(),
                span: s.span,
            })
            .collect()
    }
    ordered("status", &entries(below), &entries(new), found);
}

fn kinds(below: &Rule, new: &Rule, found: &mut Vec<Widening>) {
    fn entries(rule: &Rule) -> Vec<Entry<'_>> {
        let kinds = rule.rows.kind.iter().flatten();
        kinds
            .map(|k| Entry {
                bars: k.is != Kind::Main,
                is: k.is.as_str(),
                when: k.when.as_ref(),
                span: k.span,
            })
            .collect()
    }
    ordered("kind", &entries(below), &entries(new), found);
}

fn ordered(what: &str, below: &[Entry], new: &[Entry], found: &mut Vec<Widening>) {
    for (at, old) in below.iter().enumerate().filter(|(_, entry)| entry.bars) {
        let covers = |n: &&Entry| n.bars && stricter(n.when, old.when);
        let same_word = |n: &&Entry| n.bars && n.is == old.is;
        let Some(now) = new.iter().find(covers) else {
            let changed = new
                .iter()
                .find(|n| same_word(n) && !below.iter().any(|b| b.when == n.when));
            found.push(Widening {
                what: match changed {
                    Some(_) => format!("the {what} `{}` bars in other cases", old.is),
                    None => format!("the {what} `{}` no longer bars", old.is),
                },
                new: changed.map(|n| n.span),
                old: Some(old.span),
            });
            continue;
        };
        let position = new.iter().position(|n| std::ptr::eq(n, now)).unwrap_or(0);
        let free = |n: &&Entry| !n.bars && !below[..at].iter().any(|b| !b.bars && b.when == n.when);
        if let Some(earlier) = new[..position].iter().find(free) {
            found.push(Widening {
                what: format!("a {what} that bars nothing comes before `{}`", old.is),
                new: Some(earlier.span),
                old: Some(old.span),
            });
        }
    }
}

fn filters(below: &Rule, new: &Rule, found: &mut Vec<Widening>) {
    let (old, now) = (below.rows.filter.as_ref(), new.rows.filter.as_ref());
    if !stricter(old, now) {
        let first = |cond: Option<&Cond>| {
            let mut span = None;
            cond?.each_field(&mut |name, _| {
                span.get_or_insert(name.span);
            });
            span
        };
        found.push(Widening {
            what: match now {
                Some(_) => "`rows.where` keeps other rows".into(),
                None => "`rows.where` is gone".into(),
            },
            new: first(now),
            old: first(old),
        });
    }
    let rejects = |rule: &Rule| {
        let naming = rule.name.iter();
        let words = naming.flat_map(|n| n.reject.iter().flatten().cloned());
        words.collect::<Vec<_>>()
    };
    let now = rejects(new);
    for word in rejects(below) {
        if !now.contains(&word) {
            found.push(Widening {
                what: format!("names are no longer rejected as {}", shown(&word.value)),
                new: None,
                old: Some(word.span),
            });
        }
    }
    let fallback = |rule: &Rule| match rule.name.as_ref().and_then(|n| n.session_fallback) {
        None | Some(SessionFallback::Never) => 0,
        Some(SessionFallback::Targeted) => 1,
        Some(SessionFallback::Accepted) => 2,
    };
    if fallback(new) > fallback(below) {
        found.push(Widening {
            what: "the session id may stand in for a name".into(),
            new: None,
            old: None,
        });
    }
}

fn shown(word: &impl std::fmt::Debug) -> String {
    let name = format!("{word:?}");
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    format!("`{out}`")
}

/// Columns that something barring reads, and that may now be missing without a word.
fn columns(below: &Rule, new: &Rule, found: &mut Vec<Widening>) {
    let optional = |rule: &Rule, source: &str, column: &str| match rule.sources.get(source) {
        Some(Source::Sqlite(sqlite)) => sqlite.columns.get(column).map(|kind| kind.optional),
        _ => None,
    };
    for guard in guards(below) {
        for (source, column) in &guard.any_of {
            let was = optional(below, source, column) == Some(false);
            if was && optional(new, source, column) == Some(true) {
                found.push(Widening {
                    what: format!(
                        "`{source}.{column}` may be missing, and `{}` keeps sessions out by it",
                        guard.field
                    ),
                    new: None,
                    old: Some(guard.at),
                });
            }
        }
    }
}

fn others(below: &LoadedRule, new: &LoadedRule, found: &mut Vec<Widening>) {
    let partial = |rule: &Rule| rule.tested.as_ref().map(|t| t.outside) == Some(Outside::Partial);
    if partial(&below.rule) && below.rule.tested != new.rule.tested {
        found.push(Widening {
            what: "sessions of versions that were kept out are let in".into(),
            new: new.rule.tested.as_ref().map(|t| t.span),
            old: below.rule.tested.as_ref().map(|t| t.span),
        });
    }
    let script = |loaded: &LoadedRule| loaded.policy.as_ref().map(|p| p.text.replace("\r\n", "\n"));
    if let Some(old) = script(below) {
        let what = match script(new) {
            None => "the policy is gone, which could only take away",
            Some(now) if now != old => "the policy is another one, which could only take away",
            Some(_) => return identities(&below.rule, &new.rule, found),
        };
        found.push(Widening {
            what: what.into(),
            new: new.rule.policy.as_ref().map(|p| p.span),
            old: below.rule.policy.as_ref().map(|p| p.span),
        });
    }
    identities(&below.rule, &new.rule, found);
}

fn identities(below: &Rule, new: &Rule, found: &mut Vec<Widening>) {
    for entry in new.identity.iter().filter(|e| !below.identity.contains(e)) {
        found.push(Widening {
            what: format!("callers of `{}` are proven another way", clients(entry)),
            new: Some(entry.span),
            old: None,
        });
    }
}

fn clients(entry: &IdentityRule) -> String {
    let names = entry.client.iter().map(|name| name.as_str());
    names.collect::<Vec<_>>().join(", ")
}

/// Whether `now` holds in no case in which `old` does not; no condition always holds.
fn stricter(old: Option<&Cond>, now: Option<&Cond>) -> bool {
    match (old, now) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(old), Some(now)) => implies(now, old),
    }
}
