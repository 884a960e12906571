//! Patches: an override that changes parts of the rule below it and takes over the rest.
//!
//! The changed rule is a text again, with the origin of each byte; everything after this
//! module (reading, sharing, linting) sees a rule like any other.

mod apply;
mod edit;
mod path;
mod problem;
mod render;

use crate::at::At;
use crate::codes;
use crate::diag::{Diagnostic, Help, SourceText, tidy};
use crate::folder::{Layer, RuleFolder};
use crate::nearest::correct;
use crate::parse;
use crate::tree::Tree;
use apply::Work;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The word of `extends` for the rule that is compiled in.
pub const BUILT_IN: &str = "builtin";
/// As many digits of a digest tell one rule from another.
const LEAST_DIGITS: usize = 8;

/// A patch: `rules/<provider>/rule.yaml` with `extends`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// Language version; a newer one than the engine's is refused.
    pub axiowl: At<u32>,
    /// Provider key, equal to the folder's name.
    pub provider: At<String>,
    /// `builtin`, or the name of the pack whose rule is changed.
    pub extends: At<String>,
    /// Digest of the rule it was written against. When that rule changes, a warning says so.
    pub base: At<String>,
    /// Key path → verbs: `name.reject`, `proof[codex_desktop_thread_state].grants`, `.` for
    /// the whole rule. They are applied in the order they stand in.
    #[serde(rename = "override")]
    pub overrides: Option<BTreeMap<String, Verbs>>,
}

/// What is done at a key path.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verbs {
    /// Items put behind those of a list, or entries of a mapping under keys that are new.
    pub append: Option<serde_json::Value>,
    /// With `append`: the element of the list in front of which the items go.
    pub before: Option<At<String>>,
    /// The value put in place of the one that stands there.
    pub replace: Option<serde_json::Value>,
    /// `true` takes out what stands there; a list of names takes those out of it.
    pub remove: Option<serde_json::Value>,
}

/// What a patched rule was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patched {
    /// The patch as it stands on disk.
    pub patch: Box<RuleFolder>,
    /// The rule it changes.
    pub base: Box<RuleFolder>,
    /// The digest the patch was written against.
    pub written_for: String,
    /// What is worth a warning.
    pub warnings: Vec<Diagnostic>,
}

/// Whether a text is a patch.
pub fn is_patch(text: &str) -> bool {
    Tree::of(text).key(&["extends"]).is_some()
}

/// The rule a patch makes of its base; `base` finds the folder that `extends` names. The error
/// is everything that is wrong with the patch.
pub(crate) fn apply<'f>(
    folder: &RuleFolder,
    base: &dyn Fn(&str) -> Option<&'f RuleFolder>,
    bases: &[String],
) -> Result<RuleFolder, Vec<Diagnostic>> {
    let file = folder.main();
    let tree = Tree::of(&file.text);
    if let Some(stop) = crate::load::newer_language(&file, &tree) {
        return Err(vec![stop]);
    }
    let read = parse::read::<Patch>(&file, &tree, 0);
    let mut found = read.found;
    let Some(patch) = read.value else {
        return Err(tidy(found));
    };
    found.extend(name_differs(folder, &file, &patch));
    if tree.entangled {
        let message = "a patch has no anchors, aliases, tags or merge keys";
        found.push(
            Diagnostic::error(codes::VALUE, message)
                .at(&file, 0..0, "in this file")
                .help("write the values out"),
        );
    }
    let Some(below) = base(&patch.extends) else {
        found.push(no_base(folder, &file, &patch, bases));
        return Err(tidy(found));
    };
    let mut work = Work::new(folder, below, &file, &tree);
    work.run();
    found.append(&mut work.found);
    if found.iter().any(Diagnostic::is_error) {
        return Err(tidy(found));
    }
    found.extend(drifted(&file, &patch, below));
    Ok(work.finish(&patch, found))
}

fn name_differs(folder: &RuleFolder, file: &SourceText, patch: &Patch) -> Option<Diagnostic> {
    (*patch.provider != folder.provider).then(|| {
        let message = format!(
            "the patch is for `{}` and stands in the folder `{}`",
            patch.provider.value, folder.provider
        );
        Diagnostic::error(codes::PROVIDER_NAME, message)
            .at(file, patch.provider.span.range(), "not the folder's name")
            .help(format!(
                "write `provider: {}`, or rename the folder",
                folder.provider
            ))
    })
}

fn no_base(folder: &RuleFolder, file: &SourceText, patch: &Patch, bases: &[String]) -> Diagnostic {
    let message = match patch.extends.as_str() {
        BUILT_IN => format!("there is no built-in rule `{}` to change", folder.provider),
        other => format!(
            "no layer below is called `{other}`, or it has no rule `{}`",
            folder.provider
        ),
    };
    let known = bases.iter().map(String::as_str);
    let help = match bases.is_empty() {
        true => Help::from("write a whole rule instead: `axiowl rules new <provider>` makes one"),
        false => correct(&patch.extends, known, "what can be extended here"),
    };
    Diagnostic::error(codes::PATCH_BASE, message)
        .at(file, patch.extends.span.range(), "nothing to change")
        .help(help)
}

/// The base is another one than the patch was written against.
fn drifted(file: &SourceText, patch: &Patch, below: &RuleFolder) -> Option<Diagnostic> {
    let now = below.digest();
    let written = patch.base.trim();
    if written.len() >= LEAST_DIGITS && now.starts_with(written) {
        return None;
    }
    let message = format!(
        "the {} rule `{}` is {now} now; this patch was written against {written}",
        below.layer, below.provider
    );
    Some(
        Diagnostic::warning(codes::PATCH_DRIFT, message)
            .at(file, patch.base.span.range(), "another rule by now")
            .help(format!(
                "`axiowl rules diff {}` shows what changed; `--accept` with it keeps the patch \
                 and moves `base`",
                below.provider
            )),
    )
}

/// Applies a patch to a rule given directly, whatever the patch extends; for looking at what
/// it made of an older one.
///
/// # Errors
/// Everything that is wrong with the patch.
pub fn apply_to(patch: &RuleFolder, base: &RuleFolder) -> Result<RuleFolder, Vec<Diagnostic>> {
    apply(patch, &|_| Some(base), &[])
}

/// A patch's text with another `base`; none when it has none.
pub fn with_base(text: &str, digest: &str) -> Option<String> {
    let at = Tree::of(text).value(&["base"])?;
    let mut out = text.to_owned();
    out.replace_range(at, digest);
    Some(out)
}

/// The layers a patch may extend, by the word that names them, the highest first.
pub(crate) fn base_word(layer: &Layer) -> String {
    match layer {
        Layer::BuiltIn => BUILT_IN.to_owned(),
        Layer::Pack(name) => name.clone(),
        Layer::User | Layer::Disk => String::new(),
    }
}
