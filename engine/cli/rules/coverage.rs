//! What of a rule no fixture reaches.

use axiowl_discover::coverage::{Seen, Spot, spot};
use axiowl_lang::at::Span;
use axiowl_lang::cond::Cond;
use axiowl_lang::load::LoadedRule;
use axiowl_lang::source::FILE_FIELDS;

/// A part of a rule that cases can reach.
struct Part {
    what: String,
    at: String,
    reached: bool,
}

/// How much of one rule is reached, and what is not.
pub struct Report {
    /// Parts that can be reached.
    pub total: usize,
    /// What no case reaches, with its place.
    pub never: Vec<(String, String)>,
}

/// Compares a rule with what was reached. Parts it takes from a shared rule belong to that one.
pub fn report(loaded: &LoadedRule, seen: &Seen) -> Report {
    let mut parts = Vec::new();
    entries(loaded, seen, &mut parts);
    conditions(loaded, seen, &mut parts);
    fields(loaded, seen, &mut parts);
    Report {
        total: parts.len(),
        never: parts
            .into_iter()
            .filter(|part| !part.reached)
            .map(|part| (part.what, part.at))
            .collect(),
    }
}

/// The spot of a place, where it stands in the rule's own text.
fn own(loaded: &LoadedRule, span: Span) -> Option<Spot> {
    (span.file == 0).then(|| spot(loaded, span)).flatten()
}

fn entries(loaded: &LoadedRule, seen: &Seen, parts: &mut Vec<Part>) {
    let rule = &loaded.rule;
    let mut add = |what: String, span: Span| {
        if let Some(spot) = own(loaded, span) {
            parts.push(Part {
                what,
                at: loaded.place(span),
                reached: seen.entries.contains(&spot),
            });
        }
    };
    for kind in rule.rows.kind.iter().flatten() {
        add(format!("kind `{}`", kind.is), kind.span);
    }
    for candidate in rule.name.iter().flat_map(|name| &name.candidates) {
        add(
            format!("name candidate `{}`", candidate.label),
            candidate.span,
        );
    }
    for status in &rule.status {
        add(format!("status `{}`", status.is), status.span);
    }
    for rung in &rule.proof {
        add(format!("rung `{}`", rung.source.value), rung.span);
    }
    for say in &rule.evidence {
        add(format!("sentence `{}`", say.say.as_str()), say.span);
    }
}

fn conditions(loaded: &LoadedRule, seen: &Seen, parts: &mut Vec<Part>) {
    let rule = &loaded.rule;
    let when = rule.rows.filter.iter();
    let when = when.chain(
        rule.rows
            .kind
            .iter()
            .flatten()
            .filter_map(|k| k.when.as_ref()),
    );
    let when = when.chain(rule.status.iter().filter_map(|s| s.when.as_ref()));
    let when = when.chain(rule.proof.iter().filter_map(|r| r.when.as_ref()));
    let when = when.chain(rule.evidence.iter().filter_map(|e| e.when.as_ref()));
    for cond in when {
        leaves(cond, &mut |what, span| {
            let Some(spot) = own(loaded, span) else {
                return;
            };
            let (held, failed) = seen.conditions.get(&spot).copied().unwrap_or_default();
            let how = match (held, failed) {
                (true, _) => "",
                (false, true) => "never held",
                (false, false) => "was never asked",
            };
            parts.push(Part {
                what: format!("condition on {what} {how}").trim_end().to_owned(),
                at: loaded.place(span),
                reached: held,
            });
        });
    }
}

fn leaves(cond: &Cond, visit: &mut dyn FnMut(String, Span)) {
    match cond {
        Cond::All(list) | Cond::Any(list) => list.iter().for_each(|c| leaves(c, visit)),
        Cond::Not(inner) => leaves(inner, visit),
        Cond::Fact(name) => visit(format!("the fact `{}`", name.value), name.span),
        Cond::Env(names) | Cond::Executable(names) => {
            for name in names.iter() {
                visit(format!("`{}`", name.value), name.span);
            }
        }
        Cond::Targeted(at) => visit("the target".into(), at.span),
        Cond::Field { name, .. } => visit(format!("`{}`", name.value), name.span),
    }
}

fn fields(loaded: &LoadedRule, seen: &Seen, parts: &mut Vec<Part>) {
    for (name, source) in &loaded.rule.sources {
        let at = source.paths().first().map(|path| path.span);
        if at.is_some_and(|at| at.file != 0) {
            continue;
        }
        let at = at.map_or(String::new(), |at| loaded.place(at));
        let fields = source.fields().into_iter();
        for field in fields.filter(|field| !FILE_FIELDS.contains(field)) {
            let key = (name.clone(), field.to_owned());
            parts.push(Part {
                what: format!("field `{name}.{field}` never had a value"),
                at: at.clone(),
                reached: seen.fields.contains(&key),
            });
        }
    }
}
