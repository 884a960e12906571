//! Aliases. Those the engine gives follow from a row itself and may coincide between rows;
//! those from free text (a rule's template, a script, a person) must lead nowhere else,
//! or they could divert a message.

use crate::name::{is_clean_name, looks_like_session};
use axiowl_model::{AgentRecord, SessionKey};
use std::collections::HashMap;

/// Adds an alias unless it is blank or there already; says whether it is new.
pub(crate) fn add(row: &mut AgentRecord, alias: &str) -> bool {
    let alias = alias.trim();
    if axiowl_model::is_blank_name(alias) || row.aliases.iter().any(|known| known == alias) {
        return false;
    }
    row.aliases.push(alias.to_owned());
    true
}

/// Adds what the engine itself gives: the display name, `<name> agent`, the session id, and
/// the id without its prefix.
pub(crate) fn add_own(row: &mut AgentRecord) {
    let AgentRecord {
        key, display_name, ..
    } = &*row;
    let mut own = Vec::with_capacity(4);
    if is_clean_name(display_name, key) {
        own.push(display_name.trim().to_owned());
        own.extend(agent_form(display_name));
    }
    own.push(key.session.clone());
    own.push(key.bare_session().to_owned());
    for alias in own {
        add(row, &alias);
    }
}

/// `<name> agent`, unless the name says so already.
pub(crate) fn agent_form(name: &str) -> Option<String> {
    let name = name.trim();
    let tail = name.len().checked_sub(5).and_then(|at| name.get(at..));
    (!tail.is_some_and(|tail| tail.eq_ignore_ascii_case("agent"))).then(|| format!("{name} agent"))
}

/// A row's wish to be found under a free text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Claim {
    pub(crate) by: SessionKey,
    pub(crate) alias: String,
}

/// Settles claims against all rows and against each other. Granted ones are added; for each
/// refused one the answer holds the claim and why.
///
/// A text two rows claim at once is refused to both: whoever comes first in the report
/// must not decide where messages go.
pub(crate) fn settle(rows: &mut [AgentRecord], mut claims: Vec<Claim>) -> Vec<(Claim, String)> {
    claims.sort();
    claims.dedup();
    let mut claimants: HashMap<&str, usize> = HashMap::new();
    for claim in &claims {
        *claimants.entry(&claim.alias).or_default() += 1;
    }
    // For each text, the rows it leads to already, and how. One claimed row is enough to
    // know, besides one other.
    let mut owners: HashMap<&str, Vec<(usize, &'static str)>> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        let mut note = |text: &str, how| {
            if let Some((text, _)) = claimants.get_key_value(text) {
                owners.entry(*text).or_default().push((at, how));
            }
        };
        note(row.display_name.trim(), "the display name");
        note(&row.key.session, "the session id");
        note(row.key.bare_session(), "the session id");
        row.aliases.iter().for_each(|alias| note(alias, "an alias"));
    }
    let mut granted = Vec::new();
    let mut refused = Vec::new();
    for claim in &claims {
        let held = owners
            .get(claim.alias.as_str())
            .map_or(&[][..], Vec::as_slice);
        let other = held.iter().find(|(at, _)| rows[*at].key != claim.by);
        let problem = if held.iter().any(|(at, _)| rows[*at].key == claim.by) {
            continue;
        } else if let Some((at, how)) = other {
            format!("it is {how} of `{}`", rows[*at].agent_id())
        } else if is_full_key_of_another(rows, claim) {
            "it is the full id of another session".into()
        } else if claimants[claim.alias.as_str()] > 1 {
            "another session claims it at the same time".into()
        } else if looks_like_session(&claim.alias) && !claim.alias.contains(claim.by.bare_session())
        {
            "it is shaped like the id of another session".into()
        } else {
            granted.push(claim.clone());
            continue;
        };
        refused.push((claim.clone(), problem));
    }
    for claim in granted {
        if let Some(row) = rows.iter_mut().find(|row| row.key == claim.by) {
            add(row, &claim.alias);
        }
    }
    refused
}

fn is_full_key_of_another(rows: &[AgentRecord], claim: &Claim) -> bool {
    SessionKey::parse(&claim.alias)
        .is_some_and(|key| key != claim.by && rows.iter().any(|row| row.key == key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a13_the_agent_form_is_given_once() {
        assert_eq!(agent_form("Deploy").as_deref(), Some("Deploy agent"));
        assert_eq!(agent_form("结账").as_deref(), Some("结账 agent"));
        assert_eq!(agent_form("Deploy Agent"), None);
        assert_eq!(agent_form(" Deploy AGENT "), None);
    }

    #[test]
    fn a_session_id_as_name_gives_no_agent_form() {
        let mut row = AgentRecord::new(SessionKey::local("some_cli", "some_cli:session:x"), "x");
        add_own(&mut row);
        assert_eq!(row.aliases, ["some_cli:session:x", "x"]);
    }
}
