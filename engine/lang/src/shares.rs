//! `shares:`, by which a rule takes parts from a sibling that reads the same store.

use crate::at::At;
use crate::codes;
use crate::diag::{Diagnostic, SourceText};
use crate::folder::RuleFolder;
use crate::parse;
use crate::rule::{Naming, Rows, Rule};
use crate::tree::Tree;

/// A shared rule, read.
pub(crate) struct Shared<'f> {
    pub from: &'f RuleFolder,
    pub rule: Rule,
    pub file: SourceText,
    pub tree: Tree,
}

/// Finds and reads the rule that `name` shares; `number` is the place its file will have.
pub(crate) fn find<'f>(
    main: &SourceText,
    name: &At<String>,
    sibling: &dyn Fn(&str) -> Option<&'f RuleFolder>,
    number: usize,
) -> Result<Shared<'f>, Box<Diagnostic>> {
    let at = |code, message: String, label: &str| {
        Diagnostic::error(code, message).at(main, name.span.range(), label)
    };
    let Some(from) = sibling(name) else {
        let message = format!("there is no rule `{}` to share", name.value);
        return Err(Box::new(
            at(codes::SHARED_UNKNOWN, message, "no such folder")
                .help("name a sibling folder of this layer or a lower one"),
        ));
    };
    let file = from.main();
    let tree = Tree::of(&file.text);
    let read = parse::read::<Rule>(&file, &tree, u16::try_from(number).unwrap_or(u16::MAX));
    if let Some(first) = read.found.first() {
        let message = format!("the shared rule `{}` is broken", name.value);
        let mut broken = at(codes::SHARED_BROKEN, message, "shared here");
        if let Some(label) = first.primary() {
            broken = broken.also(&file, label.span.clone(), first.message.clone());
        }
        return Err(Box::new(broken.help("mend the shared rule first")));
    }
    let Some(rule) = read.value else {
        let message = format!("the shared rule `{}` is empty", name.value);
        return Err(Box::new(at(codes::SHARED_BROKEN, message, "shared here")));
    };
    if let Some(third) = &rule.shares {
        let message = format!("the shared rule `{}` shares a third one", name.value);
        return Err(Box::new(
            at(codes::SHARED_BROKEN, message, "shared here")
                .also(&file, third.span.range(), "which shares this one")
                .help(format!("share `{}` instead", third.value)),
        ));
    }
    Ok(Shared {
        from,
        rule,
        file,
        tree,
    })
}

/// Fills what a rule does not give from the rule it shares.
pub(crate) fn fill(rule: &mut Rule, shared: Rule) {
    if rule.roots.is_empty() {
        rule.roots = shared.roots;
    }
    if rule.sources.is_empty() {
        rule.sources = shared.sources;
        if rule.beside.is_empty() {
            rule.beside = shared.beside;
        }
        if rule.expects.is_empty() {
            rule.expects = shared.expects;
        }
    }
    if rule.status.is_empty() {
        rule.status = shared.status;
    }
    if rule.evidence.is_empty() {
        rule.evidence = shared.evidence;
    }
    rule.name = match (rule.name.take(), shared.name) {
        (Some(own), Some(shared)) => Some(named(own, shared)),
        (own, shared) => own.or(shared),
    };
    rule.home = rule.home.take().or(shared.home);
    rule.transcript = rule.transcript.take().or(shared.transcript);
    rule.policy = rule.policy.take().or(shared.policy);
    let Rows {
        from,
        session,
        first_of,
        make,
        filter,
        kind,
        seen_at,
        cwd,
        join,
    } = shared.rows;
    let rows = &mut rule.rows;
    rows.from = rows.from.take().or(from);
    rows.session = rows.session.take().or(session);
    rows.first_of = rows.first_of.take().or(first_of);
    rows.make = rows.make.take().or(make);
    rows.filter = rows.filter.take().or(filter);
    rows.kind = rows.kind.take().or(kind);
    rows.seen_at = rows.seen_at.take().or(seen_at);
    rows.cwd = rows.cwd.take().or(cwd);
    rows.join = rows.join.take().or(join);
}

/// The parts of a rule's own naming, and those of the shared one that it leaves out.
fn named(own: Naming, shared: Naming) -> Naming {
    let candidates = match own.candidates.is_empty() {
        true => shared.candidates,
        false => own.candidates,
    };
    Naming {
        candidates,
        reject: own.reject.or(shared.reject),
        session_fallback: own.session_fallback.or(shared.session_fallback),
        untitled_fallback: own.untitled_fallback || shared.untitled_fallback,
    }
}
