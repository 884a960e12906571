//! Chooses a name: the first candidate that is usable, and why the others were not.

use crate::condition::{Scope, text, value};
use axiowl_lang::at::Span;
use axiowl_lang::cond::Targeted;
use axiowl_lang::rule::{Candidate, Naming, Reject, SessionFallback};
use axiowl_model::{clip, display_safe, is_blank_name, is_uuid};
use std::borrow::Cow;

/// The name that won.
pub struct Name {
    pub text: String,
    pub weak: bool,
    /// The session's own id stands in for a name.
    pub is_session_id: bool,
}

/// A name longer than this is cut: a registry is no place for a whole prompt.
const LONGEST: usize = 200;

/// Tries the candidates in order; `note(won, words, place)` hears about each.
pub fn choose(
    naming: &Naming,
    scope: &Scope,
    note: &mut dyn FnMut(bool, String, Option<Span>),
) -> Option<Name> {
    let Scope {
        row,
        session,
        targeted,
        ..
    } = *scope;
    for (place, candidate) in naming.candidates.iter().enumerate() {
        let label = &candidate.label;
        let from = &candidate.from.value;
        let barred = candidate.when.as_ref().map(|when| scope.eval(when));
        if let Some(outcome) = barred.filter(|outcome| !outcome.holds) {
            let words = scope.say(|| format!("{label} ({from}): not here, {}", outcome.why));
            note(false, words, Some(candidate.span));
            continue;
        }
        let Some(raw) = text(value(row, from)) else {
            note(
                false,
                scope.say(|| format!("{label} ({from}): absent")),
                Some(candidate.span),
            );
            continue;
        };
        match usable(candidate, &raw, naming, session) {
            Ok(text) => {
                let weak = if candidate.weak { ", weak" } else { "" };
                note(
                    true,
                    scope.say(|| format!("{label} ({from}): {text:?}{weak}")),
                    Some(candidate.span),
                );
                for later in naming.candidates.iter().skip(place + 1) {
                    let words = scope.say(|| {
                        let seen = self::text(value(row, &later.from.value))
                            .map_or("absent".into(), |raw| {
                                format!("saw {:?}", clip(&display_safe(&raw), 60))
                            });
                        format!("{} ({}): not needed, {seen}", later.label, later.from.value)
                    });
                    note(false, words, Some(later.span));
                }
                return Some(Name {
                    text,
                    weak: candidate.weak,
                    is_session_id: false,
                });
            }
            Err(why) => {
                let words = scope.say(|| {
                    let seen = clip(&display_safe(&raw), 60);
                    format!("{label} ({from}): {why}, saw {seen:?}")
                });
                note(false, words, Some(candidate.span));
            }
        }
    }
    let allowed = match naming.session_fallback.unwrap_or_default() {
        SessionFallback::Never => false,
        SessionFallback::Targeted => targeted == Targeted::Exact,
        SessionFallback::Accepted => true,
    };
    if allowed {
        let bare = session.rsplit_once(':').map_or(session, |(_, bare)| bare);
        note(
            true,
            scope.say(|| format!("session id in place of a name: {bare:?}, weak")),
            None,
        );
        return Some(Name {
            text: bare.to_owned(),
            weak: true,
            is_session_id: true,
        });
    }
    None
}

fn usable(
    candidate: &Candidate,
    raw: &str,
    naming: &Naming,
    session: &str,
) -> Result<String, &'static str> {
    let mut text = Cow::Borrowed(raw);
    for pattern in &candidate.strip {
        if let Cow::Owned(cut) = pattern.regex().replace_all(&text, "") {
            text = Cow::Owned(cut);
        }
    }
    let mut text = text.trim();
    if candidate.first_line {
        text = text
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default();
    }
    if candidate.basename {
        text = text
            .trim_end_matches(['/', '\\'])
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or_default();
    }
    if is_blank_name(text) {
        return Err("blank");
    }
    for reject in naming.reject.iter().flatten() {
        if let Some(why) = rejected(reject.value, text, session) {
            return Err(why);
        }
    }
    let text = clip(text, candidate.clip.unwrap_or(LONGEST).min(LONGEST));
    Ok(match &candidate.prefix {
        Some(prefix) => format!("{prefix}{text}"),
        None => text,
    })
}

fn rejected(reject: Reject, text: &str, session: &str) -> Option<&'static str> {
    let lower = || text.to_lowercase();
    let bare = session.rsplit_once(':').map_or(session, |(_, bare)| bare);
    let hit = match reject {
        Reject::Blank => false,
        Reject::Unknown => lower() == "unknown",
        Reject::Untitled => {
            let lower = lower();
            lower == "untitled" || lower.starts_with("untitled ")
        }
        Reject::Multiline => text.contains(['\n', '\r', '\u{2028}', '\u{2029}']),
        Reject::Uuid => is_uuid(text),
        Reject::SessionId => text == session || text == bare,
    };
    hit.then_some(match reject {
        Reject::Blank => "blank",
        Reject::Unknown => "says \"unknown\"",
        Reject::Untitled => "says \"untitled\"",
        Reject::Multiline => "has more than one line",
        Reject::Uuid => "is a UUID",
        Reject::SessionId => "is the session id",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiowl_lang::at::At;
    use axiowl_lang::cond::{Cond, Test};
    use axiowl_model::Timestamp;
    use axiowl_sources::World;
    use serde_json::json;
    use std::collections::BTreeMap;

    #[test]
    fn a_candidate_counts_only_where_its_condition_holds_and_says_why_not() {
        let chosen = Cond::Field {
            name: At::unplaced("chosen".into()),
            test: At::unplaced(Test::Equals(true.into())),
        };
        let candidate = |label: &str, weak, when| {
            At::unplaced(Candidate {
                from: At::unplaced("name".into()),
                label: label.into(),
                weak,
                clip: None,
                basename: false,
                first_line: false,
                prefix: None,
                when,
                strip: Vec::new(),
            })
        };
        let naming = Naming {
            candidates: vec![
                candidate("chosen", false, Some(chosen)),
                candidate("made", true, None),
            ],
            reject: None,
            session_fallback: None,
            untitled_fallback: false,
        };
        let now = Timestamp::from_millis(0);
        let world = World::real("/h".into(), BTreeMap::new(), now);
        let roots = BTreeMap::new();
        let named = |chosen: bool| {
            let row = json!({ "name": "Design Review", "chosen": chosen });
            let scope = Scope {
                row: &row.as_object().unwrap().clone().into(),
                world: &world,
                roots: &roots,
                session: "s1",
                targeted: Targeted::None,
                words: true,
                coverage: None,
                folders: None,
                looked: Default::default(),
            };
            let mut notes = Vec::new();
            let name = choose(&naming, &scope, &mut |won, words, _| {
                notes.push((won, words))
            });
            (name.unwrap(), notes)
        };
        let (name, notes) = named(true);
        assert_eq!((name.text.as_str(), name.weak), ("Design Review", false));
        assert!(
            notes[0].0 && !notes[1].0,
            "the winner first, then what it beat: {notes:?}"
        );
        let (name, notes) = named(false);
        assert_eq!((name.text.as_str(), name.weak), ("Design Review", true));
        assert!(
            notes[0].1.contains("chosen is true, saw false"),
            "{}",
            notes[0].1
        );
    }
}
