//! Decides about one row, and records why: kind, name, status, proof, policy, gates.
//!
//! Grants come from the proof ladder alone. Everything after it can only take away.

mod record;

use crate::aliases;
use crate::assemble::{Assembled, fill};
use crate::condition::{Scope, targeted, text, time, value};
use crate::coverage::Coverage;
use crate::folders::Folders;
use crate::naming::{self, Name};
use crate::policy::{Context, Reviewer};
use axiowl_lang::cond::{Cond, Targeted};
use axiowl_lang::load::LoadedRule;
use axiowl_lang::rule::{Grant, Outside};
use axiowl_lang::template::Template;
use axiowl_model::{
    DiscoveredAgent, Issue, Kind, SessionKey, Status, UNTITLED, codes, into_display_safe,
};
use axiowl_sources::World;
use axiowl_sources::read::Tables;
use record::Record;
use std::borrow::Cow;

/// What stays the same for every row of a run.
pub struct Bench<'a> {
    pub loaded: &'a LoadedRule,
    pub tables: &'a Tables,
    pub world: &'a World,
    pub node: &'a str,
    pub home: &'a str,
    pub target: Option<&'a str>,
    pub trace: bool,
    pub coverage: Option<&'a Coverage>,
    pub folders: &'a Folders,
    /// A guarding column is absent, or a part of the rule that decides is not trusted: nothing
    /// of this run may be enrolled.
    pub guard: Option<String>,
}

/// A judged row and what else its judgement brought up.
pub struct Judged {
    pub agent: DiscoveredAgent,
    pub issue: Option<Issue>,
    /// Its version lies outside the tested range.
    pub untested: Option<String>,
}

impl Bench<'_> {
    /// Judges one row. `copies` is how many rows of the run have its session id.
    pub fn judge(
        &self,
        assembled: &Assembled,
        copies: usize,
        reviewer: Option<&Reviewer>,
    ) -> Judged {
        let rule = &self.loaded.rule;
        let row = &assembled.row;
        let session = assembled.session.as_str();
        let key = SessionKey {
            provider: rule.provider.value.clone(),
            node: self.node.into(),
            session: session.into(),
        };
        let full = self.target.map_or_else(String::new, |_| key.to_string());
        let mut record = Record::new(self.loaded, self.coverage, self.trace);
        let mut scope = Scope {
            row,
            world: self.world,
            roots: &self.tables.roots,
            session,
            targeted: targeted(self.target, session, &full, &[]),
            words: self.trace,
            coverage: self.coverage.map(|coverage| (self.loaded, coverage)),
            folders: Some(self.folders),
            looked: Default::default(),
        };

        let (kind, said) = self.kind(&scope, &mut record);
        let name = rule.name.as_ref().and_then(|naming| {
            naming::choose(naming, &scope, &mut |ok, words, span| {
                record.note("name", ok, || words, span);
            })
        });
        if let Some(name) = &name {
            scope.targeted = targeted(self.target, session, &full, &[&name.text]);
        }
        let (mut status, mut error) = self.status(&scope, &mut record);
        let untested = self.untested(row);
        if untested.is_some() && status == Status::Active && self.partial_outside() {
            status = Status::Partial;
            record.note(
                "status",
                true,
                "partial: written by an untested version",
                None,
            );
        }
        let rung = self.rung(&scope, &mut record);

        let mut evidence = self.evidence(&scope);
        let (mut enroll, mut send) = (rung.enroll, rung.send);
        let mut demoted = None;
        let mut free_aliases = Vec::new();
        let mut issue = None;
        let barred = self.gate(
            kind,
            &name,
            session,
            status,
            error.as_deref(),
            untested.as_deref(),
        );
        if let Some(reviewer) = reviewer.filter(|_| (enroll || send) && barred.is_none()) {
            let context = Context {
                name: name.as_ref().map(|name| name.text.as_str()),
                source: &rung.source,
                copies,
                targeted: scope.targeted != Targeted::None,
            };
            match reviewer.review(row, &context) {
                Ok(opinion) => {
                    if let Some(veto) = opinion.veto {
                        record.note("policy", false, || format!("veto: {veto}"), None);
                        error.get_or_insert(veto);
                        (enroll, send) = (false, false);
                    }
                    if let Some(demote) = opinion.demote {
                        record.note("policy", false, || format!("demote: {demote}"), None);
                        demoted = Some(demote);
                        (enroll, send) = (false, false);
                    }
                    for note in &opinion.notes {
                        record.note("policy", true, || format!("note: {note}"), None);
                    }
                    if enroll || send {
                        record.note("policy", true, "no objection", None);
                    }
                    evidence.extend(opinion.notes);
                    free_aliases = opinion.aliases;
                }
                Err(why) => {
                    record.note("policy", false, || format!("failed: {why}"), None);
                    issue = Some(Issue::new(
                        codes::POLICY_FAILED,
                        format!("{session}: the policy failed, the row is evidence only: {why}"),
                    ));
                    error.get_or_insert(format!("policy failed: {why}"));
                    (enroll, send) = (false, false);
                }
            }
        }
        if let Some(bar) = &barred {
            record.note("gate", false, || bar.clone(), None);
            (enroll, send) = (false, false);
        } else if enroll || send {
            record.note("gate", true, "every engine gate passes", None);
        }
        if enroll && scope.targeted == Targeted::Exact {
            evidence.push("this session was the target".into());
        }

        let reason = if enroll && send {
            String::new()
        } else {
            (kind != Kind::Main)
                .then(|| said.unwrap_or_else(|| format!("it is a {kind} session")))
                .or_else(|| error.clone())
                .or(demoted)
                .or(barred)
                .or(rung.missing)
                .unwrap_or_else(|| format!("{} proves no route", rung.source))
        };
        if status == Status::Active && kind == Kind::Main && !enroll {
            status = Status::EvidenceOnly;
        }
        let (aliases, guarded_aliases) =
            aliases::of(rule, row, session, name.as_ref(), free_aliases);
        let cwd_field = rule
            .rows
            .cwd
            .as_ref()
            .map_or("cwd", |field| field.value.as_str());
        let seen = rule.rows.seen_at.iter().flat_map(|fields| fields.iter());
        let untitled = self.untitled();
        let agent = DiscoveredAgent {
            key,
            weak_name: name.as_ref().map_or(untitled.is_some(), |name| name.weak),
            display_name: name.map(|name| name.text).or(untitled),
            status,
            kind,
            sendable: send,
            has_enrollment_proof: enroll,
            source: rung.source,
            evidence,
            aliases,
            guarded_aliases,
            last_seen_at: time(row, seen.map(|field| field.value.as_str())),
            last_error: error,
            cwd: text(value(row, cwd_field)).map(Cow::into_owned),
            home: self.home.into(),
            reason,
            trace: record.into_steps(),
        };
        Judged {
            agent,
            issue,
            untested,
        }
    }

    fn when(&self, scope: &Scope, cond: Option<&Cond>) -> (bool, String) {
        match cond {
            None => (true, "otherwise".into()),
            Some(cond) => {
                let outcome = scope.eval(cond);
                (outcome.holds, outcome.why)
            }
        }
    }

    fn kind(&self, scope: &Scope, record: &mut Record) -> (Kind, Option<String>) {
        for rule in self.loaded.rule.rows.kind.iter().flatten() {
            let (holds, why) = self.when(scope, rule.when.as_ref());
            record.note(
                "kind",
                holds,
                || format!("{}: {why}", rule.is),
                Some(rule.span),
            );
            if holds {
                let said = rule.say.as_ref().and_then(|say| self.filled(say, scope));
                return (rule.is, said);
            }
        }
        record.note("kind", true, "main: otherwise", None);
        (Kind::Main, None)
    }

    fn status(&self, scope: &Scope, record: &mut Record) -> (Status, Option<String>) {
        for rule in &self.loaded.rule.status {
            let (holds, why) = self.when(scope, rule.when.as_ref());
            record.note(
                "status",
                holds,
                || format!("{}: {why}", rule.is),
                Some(rule.span),
            );
            if holds {
                let error = rule.error.as_ref().map(|error| {
                    self.filled(error, scope)
                        .unwrap_or_else(|| error.as_str().to_owned())
                });
                return (rule.is, error);
            }
        }
        (Status::Active, None)
    }

    fn rung(&self, scope: &Scope, record: &mut Record) -> Held {
        for rung in &self.loaded.rule.proof {
            let (holds, why) = self.when(scope, rung.when.as_ref());
            record.note(
                "proof",
                holds,
                || format!("{}: {why}", rung.source.value),
                Some(rung.span),
            );
            if holds {
                return Held {
                    source: rung.source.value.clone(),
                    enroll: rung.grants.contains(&Grant::Enroll),
                    send: rung.grants.contains(&Grant::Send),
                    missing: rung
                        .missing
                        .as_ref()
                        .map(|missing| format!("missing: {missing}")),
                };
            }
        }
        record.note("proof", false, "no rung holds", None);
        Held {
            source: "unproven".into(),
            enroll: false,
            send: false,
            missing: None,
        }
    }

    /// The gates no rule can lift; the first that bars, in words.
    fn gate(
        &self,
        kind: Kind,
        name: &Option<Name>,
        session: &str,
        status: Status,
        error: Option<&str>,
        untested: Option<&str>,
    ) -> Option<String> {
        if session.trim().is_empty() {
            return Some("it has no session id".into());
        }
        if kind != Kind::Main {
            return Some(format!("a {kind} session is never a target"));
        }
        if name.is_none() {
            return Some("no usable name".into());
        }
        if let Some(error) = error {
            return Some(error.to_owned());
        }
        if let Some(tested) = self.loaded.rule.tested.as_ref()
            && let (Status::Partial, Some(version), true) =
                (status, untested, self.partial_outside())
        {
            let (program, ranges) = (&tested.program, tested.shown());
            return Some(format!(
                "written by {program} {version}; only {ranges} are reviewed"
            ));
        }
        if matches!(
            status,
            Status::Archived
                | Status::Partial
                | Status::Unhealthy
                | Status::AuthUnproven
                | Status::Stale
                | Status::Unsupported
                | Status::OutOfScope
                | Status::EvidenceOnly
        ) {
            return Some(format!("its status is {status}"));
        }
        if untested.is_some() && self.partial_outside() {
            return Some("written by an untested version".into());
        }
        self.guard.clone()
    }

    /// What a session without a usable name is shown as, where the rule wants it shown.
    fn untitled(&self) -> Option<String> {
        let naming = self.loaded.rule.name.as_ref()?;
        naming.untitled_fallback.then(|| UNTITLED.to_owned())
    }

    fn partial_outside(&self) -> bool {
        self.loaded
            .rule
            .tested
            .as_ref()
            .is_some_and(|t| t.outside == Outside::Partial)
    }

    fn untested(&self, row: &axiowl_sources::Row) -> Option<String> {
        let tested = self.loaded.rule.tested.as_ref()?;
        let version = text(value(row, &tested.field.as_ref()?.value));
        let Some(version) = version.filter(|version| !version.trim().is_empty()) else {
            // Nobody knows what wrote it; only where that matters is it unreviewed.
            return self.partial_outside().then(|| "(no version)".to_owned());
        };
        let covers = |(from, to)| crate::drift::within(&version, from, to);
        (!tested.covered().into_iter().any(covers)).then(|| version.into_owned())
    }

    fn evidence(&self, scope: &Scope) -> Vec<String> {
        let rules = self.loaded.rule.evidence.iter();
        rules
            .filter(|say| self.when(scope, say.when.as_ref()).0)
            .filter_map(|say| {
                let text = self.filled(&say.say, scope)?;
                if let Some(coverage) = self.coverage {
                    coverage.entry(self.loaded, say.span);
                }
                Some(text)
            })
            .map(into_display_safe)
            .collect()
    }

    fn filled(&self, template: &Template, scope: &Scope) -> Option<String> {
        fill(template, scope.row, self.tables, self.world)
    }
}

/// The rung that held.
struct Held {
    source: String,
    enroll: bool,
    send: bool,
    missing: Option<String>,
}
