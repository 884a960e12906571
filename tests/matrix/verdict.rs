//! Compares what AxiOwl reported of one message with what stands in the sessions and with what
//! the model was asked.
//!
//! Pure: facts in, faults out. Knows no client.

use crate::situation::Situation;
use serde_json::Value;
use std::fmt;

/// What is known of one message at the end of a cell.
#[derive(Debug, Default, Clone)]
pub struct Facts {
    /// The stage lines of `send --json`.
    pub lines: Vec<Value>,
    /// Its exit code.
    pub code: i32,
    /// How often the message stands in the session it was meant for, as a user's.
    pub in_target: usize,
    /// How often it stands in others.
    pub elsewhere: usize,
    /// Turns for which the model was asked with it.
    pub asked: usize,
    /// How often the answer stands in the session it was meant for.
    pub answered: usize,
    /// Whether the window that has the session open shows it; nothing without one.
    pub shown: Option<bool>,
    /// What a cell itself found wrong.
    pub further: Vec<String>,
}

impl Facts {
    /// The names of the stages that were reached.
    pub fn stages(&self) -> Vec<&str> {
        let lines = self.lines.iter();
        lines.filter_map(|line| line["stage"].as_str()).collect()
    }

    fn claims(&self, stage: &str) -> bool {
        self.stages().contains(&stage)
    }

    /// The last stage.
    pub fn last(&self) -> &str {
        self.stages().last().copied().unwrap_or("none")
    }

    /// The route of the last line that has one.
    pub fn route(&self) -> &str {
        let mut routes = self.lines.iter().rev();
        let route = routes.find_map(|line| line["route"].as_str().filter(|text| !text.is_empty()));
        route.unwrap_or_default()
    }

    /// The reason of the last line.
    pub fn reason(&self) -> &str {
        let last = self.lines.last();
        last.and_then(|line| line["reason"].as_str())
            .unwrap_or_default()
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (exit {}), {} in its session, {} elsewhere, the model asked {} times, {} answers, \
             {:?}",
            self.stages().join(", "),
            self.code,
            self.in_target,
            self.elsewhere,
            self.asked,
            self.answered,
            self.lines.last()
        )
    }
}

/// Everything that is wrong.
pub fn faults(facts: &Facts, situation: Situation) -> Vec<String> {
    let mut out = facts.further.clone();
    let mut fault = |is: bool, text: &str| {
        if is {
            out.push(format!("{text}: {facts}"));
        }
    };
    let last = facts.last();
    let arrived = facts.in_target + facts.elsewhere;
    fault(facts.elsewhere > 0, "it stands in another session");
    fault(facts.in_target > 1, "it stands in its session twice");
    fault(
        ["seen", "turn_done", "replied"]
            .iter()
            .any(|stage| facts.claims(stage))
            && facts.in_target == 0,
        "overstated: it is called seen and does not stand in its session",
    );
    fault(
        facts.claims("turn_done") && facts.answered == 0,
        "overstated: its turn is called done and there is no answer",
    );
    fault(
        last == "misdelivered" && facts.elsewhere == 0,
        "it is called misdelivered and stands in no other session",
    );
    fault(
        matches!(last, "refused" | "none") && (arrived > 0 || facts.asked > 0),
        "understated: it was refused and arrived",
    );
    fault(
        last == "failed" && facts.answered > 0,
        "understated: it was called failed and was answered",
    );
    let may_be_missing = [
        "none",
        "refused",
        "failed",
        "expired",
        "uncertain",
        "held",
        "queued",
    ];
    fault(
        facts.in_target == 0 && !may_be_missing.contains(&last),
        "lost: it does not stand in its session, and nothing says so",
    );
    fault(
        facts.asked > 1 && !situation.fails_the_model(),
        "doubled: the model was asked more than once",
    );
    fault(
        facts.in_target > 0 && facts.shown == Some(false),
        "the window that has the session open does not show it",
    );
    let codes: &[i32] = match last {
        "turn_done" | "replied" => &[0],
        "refused" if situation == Situation::UnknownId => &[3],
        "refused" => &[5],
        "failed" => &[7],
        "uncertain" => &[8],
        "expired" => &[9],
        "none" => &[2],
        // Waiting was given up; the message goes on.
        _ => &[0, 9],
    };
    fault(!codes.contains(&facts.code), "the exit code is another");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn facts(stages: &[&str], code: i32) -> Facts {
        let line = |stage: &&str| json!({ "stage": stage });
        Facts {
            lines: stages.iter().map(line).collect(),
            code,
            ..Facts::default()
        }
    }

    fn wrong(facts: &Facts) -> bool {
        !faults(facts, Situation::Idle).is_empty()
    }

    #[test]
    fn what_is_proven_is_no_fault_and_more_or_less_is() {
        let done = Facts {
            in_target: 1,
            asked: 1,
            answered: 1,
            ..facts(&["accepted_by_axiowl", "seen", "turn_done"], 0)
        };
        assert!(!wrong(&done), "{:?}", faults(&done, Situation::Idle));
        let change = |change: fn(&mut Facts)| {
            let mut changed = done.clone();
            change(&mut changed);
            wrong(&changed)
        };
        assert!(change(|facts| facts.in_target = 2));
        assert!(change(|facts| facts.in_target = 0));
        assert!(change(|facts| facts.elsewhere = 1));
        assert!(change(|facts| facts.answered = 0));
        assert!(change(|facts| facts.asked = 2));
        assert!(change(|facts| facts.shown = Some(false)));
        assert!(change(|facts| facts.code = 7));
        assert!(change(|facts| facts.further.push("x".into())));
        let refused = facts(&["accepted_by_axiowl", "refused"], 5);
        assert!(!wrong(&refused));
        assert!(wrong(&Facts {
            in_target: 1,
            ..refused.clone()
        }));
        assert!(wrong(&Facts {
            asked: 1,
            ..refused
        }));
        assert!(
            wrong(&facts(&["accepted_by_axiowl", "submitted"], 9)),
            "lost"
        );
        assert!(!wrong(&facts(&["accepted_by_axiowl", "queued"], 9)));
        let failed = facts(&["accepted_by_axiowl", "seen", "failed"], 7);
        assert!(
            wrong(&failed)
                && !wrong(&Facts {
                    in_target: 1,
                    ..failed
                })
        );
        assert!(wrong(&facts(&[], 3)) && wrong(&facts(&["refused"], 3)));
        let unknown = faults(&facts(&["refused"], 3), Situation::UnknownId);
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn a_failing_model_may_be_asked_more_than_once_for_one_turn() {
        let failed = Facts {
            in_target: 1,
            asked: 3,
            ..facts(&["accepted_by_axiowl", "seen", "failed"], 7)
        };
        assert!(faults(&failed, Situation::ModelError(500)).is_empty());
        assert!(!faults(&failed, Situation::Idle).is_empty());
    }
}
