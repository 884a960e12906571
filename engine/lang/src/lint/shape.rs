//! The rule as a whole: its key, its scope, what every rule needs.

use super::Lint;
use super::paths::known_root;
use crate::at::At;
use crate::codes;
use crate::rule::Tested;

/// Words of `discover <scope>` that belong to the engine.
const RESERVED_SCOPES: [&str; 2] = ["all", "remote"];

pub(super) fn check(lint: &mut Lint) {
    provider(lint);
    scope(lint);
    needs(lint);
    let rule = lint.rule;
    if let Some(tested) = &rule.tested {
        versions(lint, tested);
    }
    for root in rule.home.iter().flat_map(|home| home.iter()) {
        known_root(lint, root);
    }
}

fn provider(lint: &mut Lint) {
    let key = &lint.rule.provider;
    let folder = lint.folder.provider.as_str();
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let good = key.starts_with(|c: char| c.is_ascii_lowercase()) && key.chars().all(word);
    let at = lint.place(key.span);
    if !good {
        let message = format!("`{}` is no provider key", key.value);
        let help = "use lower-case letters, digits and `_`, and start with a letter";
        lint.error(codes::PROVIDER_NAME, at, "not a key", message, help.into());
    } else if key.as_str() != folder {
        let message = format!("the folder `{folder}` holds a rule for `{}`", key.value);
        let help = format!("write `provider: {folder}`, or rename the folder");
        lint.error(
            codes::PROVIDER_NAME,
            at,
            "not the folder's name",
            message,
            help,
        );
    }
}

fn scope(lint: &mut Lint) {
    let word = lint.rule.scope_word();
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let at = lint.key(&["scope"]);
    if RESERVED_SCOPES.contains(&word.as_str()) {
        let message = format!("the scope `{word}` belongs to the engine");
        let help = "give the rule another `scope`".into();
        lint.error(codes::RESERVED_NAME, at, "reserved", message, help);
    } else if lint.rule.scope.is_some() && (word.is_empty() || !word.chars().all(good)) {
        let message = format!("`{word}` is no word for `discover <scope>`");
        let help = "use lower-case letters, digits and `-`".into();
        lint.error(codes::VALUE, at, "not a word", message, help);
    }
}

fn needs(lint: &mut Lint) {
    let rule = lint.rule;
    let candidates = rule.name.as_ref().is_some_and(|n| !n.candidates.is_empty());
    let parts: [(bool, &[&str], &str); 6] = [
        (!rule.roots.is_empty(), &["roots"], "roots"),
        (!rule.sources.is_empty(), &["sources"], "sources"),
        (
            rule.rows.from.as_ref().is_some_and(|f| !f.is_empty()),
            &["rows"],
            "rows.from",
        ),
        (rule.rows.session.is_some(), &["rows"], "rows.session"),
        (candidates, &["name"], "name.candidates"),
        (!rule.proof.is_empty(), &["proof"], "proof"),
    ];
    for (present, section, name) in parts {
        if !present {
            let at = lint.key(section);
            let message = format!("the rule has no `{name}`");
            let help = match &rule.shares {
                Some(shared) => format!("add `{name}`; `{}` does not give it", shared.value),
                None => format!("add `{name}`"),
            };
            lint.error(codes::INCOMPLETE, at, "in this rule", message, help);
        }
    }
}

fn versions(lint: &mut Lint, tested: &At<Tested>) {
    let mut ranges: Vec<(&At<String>, &At<String>)> = Vec::new();
    match (&tested.from, &tested.to) {
        (Some(from), Some(to)) => ranges.push((from, to)),
        (None, None) if !tested.ranges.is_empty() => {}
        _ => {
            let at = lint.key(&["tested"]);
            let message = "`tested` names no range of versions".into();
            let help = "give `from` and `to`, or `ranges: [{ from: …, to: … }]`".into();
            lint.error(codes::BAD_VERSION_RANGE, at, "no range", message, help);
        }
    }
    ranges.extend(tested.ranges.iter().map(|range| (&range.from, &range.to)));
    for (from, to) in ranges {
        range(lint, from, to);
    }
}

fn range(lint: &mut Lint, from: &At<String>, to: &At<String>) {
    let mut numbers = Vec::new();
    for version in [from, to] {
        match version_numbers(version) {
            Some(parts) => numbers.push(parts),
            None => {
                let message = format!("`{}` is no version", version.value);
                let at = lint.place(version.span);
                let help = "write numbers and dots, such as `1.2.3`".into();
                lint.error(codes::BAD_VERSION_RANGE, at, "not a version", message, help);
            }
        }
    }
    if let [oldest, newest] = numbers.as_slice()
        && oldest > newest
    {
        let message = format!("no version lies between {} and {}", from.value, to.value);
        let at = lint.place(from.span);
        let help = "`from` is the oldest tested version, `to` the newest".into();
        lint.error(
            codes::BAD_VERSION_RANGE,
            at,
            "later than `to`",
            message,
            help,
        );
    }
}

/// The numbers of `1.2.3` or `v1.2.3-beta.1`; what follows a dash or plus does not order.
fn version_numbers(text: &str) -> Option<Vec<u64>> {
    let core = text.strip_prefix('v').unwrap_or(text);
    let core = core.split(['-', '+']).next().unwrap_or(core);
    let mut parts: Vec<u64> = core
        .split('.')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    while parts.last() == Some(&0) {
        parts.pop();
    }
    Some(parts)
}
