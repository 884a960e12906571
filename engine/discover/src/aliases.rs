//! Other names that lead to a row, by the rule's templates and its script.

use crate::condition::{text, value};
use crate::naming::Name;
use axiowl_lang::rule::Rule;
use axiowl_sources::Row;

/// Aliases: the engine's own session forms, and those with free text, which the registry
/// refuses where they would divert somebody else's name.
pub fn of(
    rule: &Rule,
    row: &Row,
    session: &str,
    name: Option<&Name>,
    from_script: Vec<String>,
) -> (Vec<String>, Vec<String>) {
    let bare = session.rsplit_once(':').map_or(session, |(_, bare)| bare);
    let named = name
        .filter(|name| !name.is_session_id)
        .map(|name| name.text.as_str());
    let (mut own, mut guarded) = (Vec::new(), from_script);
    for template in &rule.aliases {
        let filled = template.fill(
            |field| match field {
                "name" => named.map(Into::into),
                "session" => Some(session.into()),
                field => text(value(row, field)),
            },
            |_| None,
        );
        let Some(alias) = filled.filter(|alias| Some(alias.as_str()) != named) else {
            continue;
        };
        let agent_form = named.is_some_and(|name| alias.strip_suffix(" agent") == Some(name));
        if agent_form && named.is_some_and(says_agent) {
            continue;
        }
        // A short id may stand in any word, so it has to be the whole of what follows a colon.
        let rest = alias.strip_suffix(bare);
        let session_form = rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(':'));
        let list = if agent_form || session_form {
            &mut own
        } else {
            &mut guarded
        };
        if !list.contains(&alias) {
            list.push(alias);
        }
    }
    (own, guarded)
}

/// Whether a name ends with the word already.
fn says_agent(name: &str) -> bool {
    let tail = name.len().checked_sub(5).and_then(|at| name.get(at..));
    tail.is_some_and(|tail| tail.eq_ignore_ascii_case("agent"))
}
