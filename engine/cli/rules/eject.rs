//! `axiowl rules eject`: a built-in rule becomes one that can be changed.

use super::{PATCH_SCHEMA, RULE_SCHEMA, base, no_rule, shelf, short};
use crate::args::Common;
use crate::exit::{Exit, Failure, Outcome};
use crate::shelf::Shelf;
use axiowl_lang::load::{Layer, LoadedRule, RuleFolder};
use axiowl_lang::stack::Stack;
use axiowl_lang::{layers, patch};
use std::path::{Path, PathBuf};

/// Writes a copy of a rule, or the skeleton of a patch of it.
pub fn run(provider: &str, as_patch: bool, out: Option<&Path>, common: &Common) -> Outcome {
    let shelf = shelf(common)?;
    let sources = shelf.sources();
    let stack = Stack::open(&sources);
    let Some(folder) = below(&stack, provider) else {
        let known = stack.providers().into_iter().map(str::to_owned);
        return Err(no_rule(provider, known));
    };
    let rules = rules_folder(out, &shelf)?;
    let dir = rules.join(provider);
    let file = dir.join("rule.yaml");
    if file.exists() {
        return Err(Failure::new(
            Exit::Failed,
            format!("{} is there already", file.display()),
        )
        .hint(format!(
            "`axiowl rules diff {provider}` compares it with the built-in one; remove it to start anew"
        )));
    }
    std::fs::create_dir_all(&dir)?;
    match as_patch {
        true => {
            let loaded = layers::load_folder(folder, &stack).ok();
            std::fs::write(&file, skeleton(folder, loaded.as_ref()))?;
        }
        false => {
            std::fs::write(&file, &folder.rule)?;
            for (name, text) in &folder.scripts {
                std::fs::write(dir.join(name), text)?;
            }
        }
    }
    base::keep(&dir, folder)?;
    write_schemas(&rules)?;
    let shown = short(&file);
    crate::output::say!("wrote     {}", shown.display());
    crate::output::say!(
        "copied    from the {} rule, {}",
        folder.layer,
        folder.digest()
    );
    let folder = shown.parent().unwrap_or(Path::new("."));
    crate::output::say!("next      edit it; axiowl rules check {}", folder.display());
    Ok(Exit::Done)
}

/// The rule that an override of the user stands over: that of the highest layer below the
/// user's own. With `--rules`, which leaves out every other layer, the built-in one, else the
/// one that lies there.
fn below<'s>(stack: &'s Stack, provider: &str) -> Option<&'s RuleFolder> {
    let holders = stack.holders(provider);
    let good = |own: bool| {
        let mut good = holders.iter().rev().filter_map(|holder| holder.folder.ok());
        good.find(|folder| own || !matches!(folder.layer, Layer::User | Layer::Disk))
    };
    let with_disk = || good(true).filter(|folder| folder.layer == Layer::Disk);
    good(false)
        .or_else(|| stack.built_in(provider))
        .or_else(with_disk)
}

/// The folder of rules to write into: the one that was named, else the user's own.
pub fn rules_folder(out: Option<&Path>, shelf: &Shelf) -> Result<PathBuf, Failure> {
    Ok(match out {
        Some(dir) => std::path::absolute(dir)?,
        None => shelf.user().to_path_buf(),
    })
}

/// The schemas that the first line of a rule points an editor to.
pub fn write_schemas(rules: &Path) -> Result<(), Failure> {
    for (name, schema) in [
        ("rule.schema.json", RULE_SCHEMA),
        ("patch.schema.json", PATCH_SCHEMA),
    ] {
        std::fs::write(rules.join(name), schema)?;
    }
    Ok(())
}

/// A patch that changes nothing yet, with examples out of the rule itself.
fn skeleton(folder: &RuleFolder, loaded: Option<&LoadedRule>) -> String {
    let provider = &folder.provider;
    let word = match &folder.layer {
        Layer::Pack(name) => name.clone(),
        _ => patch::BUILT_IN.to_owned(),
    };
    let rule = loaded.map(|loaded| &loaded.rule);
    let rung = rule.and_then(|rule| rule.proof.first());
    let rung = rung.map_or("a_rung", |rung| rung.source.value.as_str());
    let source = rule.and_then(|rule| rule.sources.iter().next());
    let place = source.map_or("sources.a.json".to_owned(), |(name, source)| {
        format!("sources.{name}.{}", source.reader())
    });
    let label = rule.and_then(|rule| rule.name.as_ref()?.candidates.first());
    let label = label.map_or("a name", |candidate| candidate.label.as_str());
    let own = |key: &str| loaded.is_none_or(|loaded| loaded.has_own(key));
    let examples = [
        ("sources", format!("{place}.path: {{ replace: \"…\" }}")),
        (
            "name.reject",
            "name.reject: { append: [untitled] }".to_owned(),
        ),
        (
            "name.candidates",
            format!(
                "name.candidates: {{ append: {{ from: title, label: new title }}, before: {label} }}"
            ),
        ),
        ("proof", format!("proof[{rung}]: {{ remove: true }}")),
    ];
    let examples: String = examples
        .into_iter()
        .filter(|(key, _)| own(key))
        .map(|(_, example)| format!("  #   {example}\n"))
        .collect();
    let shared = rule.and_then(|rule| rule.shares.as_ref()).map(|shared| {
        format!(
            "  #\n  # What it shares from `{shared}` is changed there: axiowl rules eject {shared} \
             --patch\n",
            shared = shared.value
        )
    });
    let shared = shared.unwrap_or_default();
    format!(
        "# yaml-language-server: $schema=../patch.schema.json\n\
         #\n\
         # Changes parts of the {layer} rule `{provider}`. Everything else stays as it is there, and\n\
         # follows its updates. `axiowl rules show --effective {provider}` prints the result with the\n\
         # origin of each line.\n\
         axiowl: 1\n\
         provider: {provider}\n\
         extends: {word}\n\
         base: {digest}   # the rule this was written against; a warning says when it has changed\n\
         \n\
         override:\n\
         \x20 # A path leads to something that stands in the rule; elements of a list are called by\n\
         \x20 # what tells them apart. Three verbs:\n\
         \x20 #\n\
         {examples}{shared}",
        layer = folder.layer,
        digest = folder.digest(),
    )
}
