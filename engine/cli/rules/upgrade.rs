//! `axiowl rules diff`: what a newer rule below would change for an override of it.

use super::lines::{self, Line};
use super::{base, fix, no_rule, shelf};
use crate::args::Common;
use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use axiowl_lang::diag::Diagnostic;
use axiowl_lang::layers;
use axiowl_lang::load::{Layer, RuleFolder};
use axiowl_lang::patch::{self, Patched};
use axiowl_lang::stack::Stack;
use axiowl_model::display_safe;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Compares an override with the rule it stands over.
pub fn run(provider: &str, accept: bool, json: bool, common: &Common) -> Outcome {
    let shelf = shelf(common)?;
    let sources = shelf.sources();
    let stack = Stack::open(&sources);
    let holders = stack.holders(provider);
    let Some(top) = holders.last() else {
        let known = stack.providers().into_iter().map(str::to_owned);
        return Err(no_rule(provider, known));
    };
    let over = match top.folder {
        Ok(folder) => folder,
        Err(diagnostics) => {
            for diagnostic in diagnostics.iter().filter(|d| d.is_error()) {
                anstream::eprintln!("{}", diagnostic.coloured());
            }
            return Err(Failure::new(
                Exit::Failed,
                format!("the {} rule for {provider} is broken", top.layer),
            )
            .hint("`axiowl rules check` names every mistake"));
        }
    };
    let below = match &over.patched {
        Some(patched) => Some(&*patched.base),
        None => {
            let lower = holders.iter().rev().skip(1).find_map(|h| h.folder.ok());
            lower.or_else(|| stack.built_in(provider).filter(|f| f.layer != over.layer))
        }
    };
    let Some(below) = below else {
        crate::output::say!("{provider} is {}; no override stands over it", over.layer);
        return Ok(Exit::Done);
    };
    let view = View::new(over, below, &stack);
    match json {
        true => view.print_json(),
        false => view.print(),
    }
    if accept {
        view.accept()?;
        if !json {
            crate::output::say!(
                "accepted  the override counts as written against {} {}",
                below.layer,
                below.digest()
            );
        }
    }
    Ok(Exit::Done)
}

/// An override, the rule below, and what is known of the one it was made of.
struct View<'a> {
    over: &'a RuleFolder,
    below: &'a RuleFolder,
    dir: PathBuf,
    /// The rule it was made of, when it was kept.
    old: Option<RuleFolder>,
    /// What the update changes in the override's result: of a patch only.
    result: Option<Result<Vec<String>, Vec<Diagnostic>>>,
}

impl<'a> View<'a> {
    fn new(over: &'a RuleFolder, below: &'a RuleFolder, stack: &Stack) -> Self {
        let dir = PathBuf::from(match &over.patched {
            Some(patched) => &patched.patch.shown,
            None => &over.shown,
        });
        let old = base::kept(&dir, &over.provider);
        let result = over.patched.as_ref().map(|patched| {
            let old = old.as_ref();
            let before = old.and_then(|old| patch::apply_to(&patched.patch, old).ok());
            layers::load_folder(over, stack)?;
            let before = before.map_or(String::new(), |folder| folder.rule);
            Ok(lines::unified(&lines::between(&before, &over.rule)))
        });
        Self {
            over,
            below,
            dir,
            old,
            result,
        }
    }

    /// The digest the override was written against.
    fn written_for(&self) -> Option<String> {
        let kept = || self.old.as_ref().map(RuleFolder::digest);
        match &self.over.patched {
            Some(Patched { written_for, .. }) => Some(written_for.clone()),
            None => kept(),
        }
    }

    /// Whether the rule below is another one by now.
    fn moved(&self) -> bool {
        let now = self.below.digest();
        self.written_for().is_some_and(|old| !now.starts_with(&old))
    }

    /// What changed in the rule below since.
    fn update(&self) -> Option<Vec<String>> {
        let old = self.old.as_ref()?;
        let mut out = lines::unified(&lines::between(&old.rule, &self.below.rule));
        let names = old.scripts.keys().chain(self.below.scripts.keys());
        let mut names: Vec<&String> = names.collect();
        names.sort();
        names.dedup();
        for name in names {
            let text = |folder: &RuleFolder| folder.scripts.get(name).cloned().unwrap_or_default();
            let (before, after) = (text(old), text(self.below));
            let changed = lines::unified(&lines::between(&before, &after));
            if !changed.is_empty() {
                out.push(format!("{name}:"));
                out.extend(changed);
            }
        }
        Some(out)
    }

    /// Lines that both the update and the user changed, by the line of the old rule.
    fn both(&self) -> Vec<String> {
        let Some(old) = self.old.as_ref().filter(|_| self.over.patched.is_none()) else {
            return Vec::new();
        };
        let gone = |new: &str| -> Vec<(usize, String)> {
            let mut at = 0;
            let mut out = Vec::new();
            for line in lines::between(&old.rule, new) {
                at += usize::from(!matches!(line, Line::New(_)));
                if let Line::Gone(text) = line {
                    out.push((at, text.to_owned()));
                }
            }
            out
        };
        let (theirs, mine) = (gone(&self.below.rule), gone(&self.over.rule));
        let both = theirs.into_iter().filter(|line| mine.contains(line));
        both.map(|(at, text)| format!("line {at}: {}", text.trim()))
            .collect()
    }

    fn print(&self) {
        let Self { over, below, .. } = self;
        let kind = match over.patched {
            Some(_) => "a patch",
            None => "a copy",
        };
        crate::output::say!(
            "override  {} {} in {}",
            over.layer,
            kind,
            display_safe(&self.dir.display().to_string())
        );
        match (self.written_for(), self.moved()) {
            (Some(old), true) => crate::output::say!(
                "below     {} {}; it was {old} when the override was written",
                below.layer,
                below.digest()
            ),
            (Some(_), false) => crate::output::say!(
                "below     {} {}, as when the override was written",
                below.layer,
                below.digest()
            ),
            (None, _) => crate::output::say!("below     {} {}", below.layer, below.digest()),
        }
        if self.moved() {
            self.print_update();
        }
        let own = match &over.patched {
            Some(patched) => lines::unified(&lines::between(&patched.base.rule, &over.rule)),
            None => lines::unified(&lines::between(&below.rule, &over.rule)),
        };
        section("what the override changes in the rule of today", &own);
    }

    fn print_update(&self) {
        match self.update() {
            Some(update) => section("what changed below", &update),
            None => crate::output::say!(
                "\nwhat changed below is not known: the rule the override was written against was \
                 not kept in {}/base",
                display_safe(&self.dir.display().to_string())
            ),
        }
        match &self.result {
            Some(Ok(result)) if self.old.is_some() => {
                section("what that changes in the patched rule", result);
            }
            Some(Err(diagnostics)) => {
                crate::output::say!("\nthe patch no longer fits:");
                for diagnostic in diagnostics.iter().filter(|d| d.is_error()) {
                    crate::output::say!("  {}", display_safe(&diagnostic.one_line()));
                }
            }
            _ => {}
        }
        let both = self.both();
        if !both.is_empty() {
            section("changed below and in the override", &both);
        }
        if self.over.patched.is_none() {
            crate::output::say!(
                "\na copy gets none of it by itself: take over by hand what is wanted, then \
                 `axiowl rules diff {} --accept`",
                self.over.provider
            );
        }
    }

    fn print_json(&self) {
        output::json_line(
            "rule_diff",
            json!({
                "provider": self.over.provider,
                "layer": self.over.layer.to_string(),
                "patch": self.over.patched.is_some(),
                "below": self.below.layer.to_string(),
                "digest": self.below.digest(),
                "written_for": self.written_for(),
                "moved": self.moved(),
                "update": self.update().filter(|_| self.moved()),
                "result": self.result.as_ref().and_then(|r| r.as_ref().ok()).filter(|_| self.moved() && self.old.is_some()),
                "both": self.both(),
            }),
        );
    }

    /// Moves the override on to the rule of today.
    fn accept(&self) -> Result<(), Failure> {
        if self.over.layer == Layer::BuiltIn {
            return Err(Failure::new(Exit::Failed, "a built-in rule is no override"));
        }
        if let Some(patched) = &self.over.patched {
            let file = Path::new(&patched.patch.shown).join(&patched.patch.file);
            let text = std::fs::read_to_string(&file)?;
            let moved = patch::with_base(&text, &self.below.digest()).ok_or_else(|| {
                Failure::new(Exit::Failed, format!("{} has no `base:`", file.display()))
            })?;
            fix::write(&file, &moved)?;
        }
        base::keep(&self.dir, self.below)
    }
}

fn section(title: &str, lines: &[String]) {
    if lines.is_empty() {
        crate::output::say!("\n{title}: nothing");
        return;
    }
    crate::output::say!("\n{title}:");
    for line in lines {
        crate::output::say!("  {}", display_safe(line));
    }
}
