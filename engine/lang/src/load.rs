//! From the files of one rule to a checked rule: reading, sharing, compiling, linting.
//!
//! It reads no disk and knows no layers; [`crate::layers`] hands it texts.

use crate::at::Span;
use crate::codes;
use crate::diag::{Diagnostic, SourceText, line_and_column, tidy};
use crate::lint;
use crate::parse;
use crate::policy::CompiledPolicy;
use crate::rule::Rule;
use crate::shares::{self, Shared};
use crate::tree::Tree;
use std::collections::BTreeSet;

pub use crate::folder::{Layer, RuleFolder};

/// A rule that passed every check.
#[derive(Debug, Clone)]
pub struct LoadedRule {
    /// The rule; what it shares is filled in.
    pub rule: Rule,
    /// Its policy, compiled.
    pub policy: Option<CompiledPolicy>,
    /// The files it was made of; [`Span::file`] counts them.
    pub files: Vec<RuleFile>,
    /// Names its content: 12 hexadecimal digits of blake3 over `rule.yaml` with `\n` line
    /// ends, a NUL, and the policy; where it shares a rule, a NUL and that one's `rule.yaml`.
    pub digest: String,
    /// Where it comes from.
    pub layer: Layer,
    /// What is probably not meant.
    pub warnings: Vec<Diagnostic>,
}

/// A file that a rule was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFile {
    /// Shown path.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl LoadedRule {
    /// `file:line` of a place in it, for explanations; empty for a place in no file.
    pub fn place(&self, span: Span) -> String {
        match self.files.get(usize::from(span.file)) {
            Some(file) => {
                let (line, _) = line_and_column(&file.text, span.start as usize);
                format!("{}:{line}", file.name)
            }
            None => String::new(),
        }
    }
}

/// Loads a rule; `sibling` finds the folder of a rule it shares. The error is every
/// diagnostic, warnings too, sorted by place.
pub fn load<'f>(
    folder: &RuleFolder,
    sibling: &dyn Fn(&str) -> Option<&'f RuleFolder>,
) -> Result<LoadedRule, Vec<Diagnostic>> {
    let mut parts = Parts::default();
    match parts.assemble(folder, sibling) {
        Some((rule, policy)) if !parts.found.iter().any(Diagnostic::is_error) => Ok(LoadedRule {
            digest: parts.digest(),
            rule,
            policy,
            layer: folder.layer.clone(),
            warnings: tidy(parts.found),
            files: parts
                .files
                .iter()
                .map(|file| RuleFile {
                    name: file.name.to_string(),
                    text: file.text.to_string(),
                })
                .collect(),
        }),
        _ => Err(tidy(parts.found)),
    }
}

/// The rule that a folder's rule shares, as far as the text can be read.
pub fn shared_name(folder: &RuleFolder) -> Option<String> {
    Some(Tree::of(&folder.rule).scalar(&["shares"])?.to_owned())
}

/// What is gathered while a rule is put together.
#[derive(Default)]
struct Parts {
    files: Vec<SourceText>,
    trees: Vec<Tree>,
    found: Vec<Diagnostic>,
    shared: Option<usize>,
    policy: Option<usize>,
}

impl Parts {
    fn add(&mut self, file: SourceText, tree: Tree) -> u16 {
        self.files.push(file);
        self.trees.push(tree);
        // A rule has three files at most.
        u16::try_from(self.files.len() - 1).unwrap_or(u16::MAX)
    }

    fn assemble<'f>(
        &mut self,
        folder: &RuleFolder,
        sibling: &dyn Fn(&str) -> Option<&'f RuleFolder>,
    ) -> Option<(Rule, Option<CompiledPolicy>)> {
        let main = folder.main();
        let tree = Tree::of(&main.text);
        if let Some(stop) = not_for_this_engine(&main, &tree) {
            self.found.push(stop);
            return None;
        }
        let number = self.add(main.clone(), tree);
        let read = parse::read::<Rule>(&main, &self.trees[0], number);
        self.found.extend(read.found);
        let mut rule = read.value?;
        let mut scripts = folder;
        if let Some(name) = rule.shares.clone() {
            match shares::find(&main, &name, sibling, self.files.len()) {
                Ok(Shared {
                    from,
                    rule: given,
                    file,
                    tree,
                }) => {
                    self.shared = Some(usize::from(self.add(file, tree)));
                    if rule.policy.is_none() && given.policy.is_some() {
                        scripts = from;
                    }
                    shares::fill(&mut rule, given);
                }
                Err(diagnostic) => {
                    self.found.push(*diagnostic);
                    return Some((rule, None));
                }
            }
        }
        let policy = self.compile(&rule, scripts);
        if lintable(&read.damaged) {
            let mut lints = lint::all(&lint::Subject {
                folder,
                rule: &rule,
                policy: policy.as_ref(),
                files: &self.files,
                trees: &self.trees,
            });
            // What stands in a damaged part may be a consequence of the damage.
            lints.retain(|d| !self.is_damaged(d, &read.damaged));
            self.found.extend(lints);
        }
        for diagnostic in &mut self.found {
            if diagnostic.key.is_none()
                && let Some(label) = diagnostic.primary()
                && let Some(at) = self.files.iter().position(|f| f.name == label.file)
            {
                diagnostic.key = self.trees[at].path_at(label.span.start);
            }
        }
        Some((rule, policy))
    }

    fn is_damaged(&self, lint: &Diagnostic, damaged: &BTreeSet<String>) -> bool {
        let Some(label) = lint.primary() else {
            return false;
        };
        label.file == self.files[0].name
            && self.trees[0]
                .section_at(label.span.start)
                .is_some_and(|section| damaged.contains(&section))
    }

    fn compile(&mut self, rule: &Rule, folder: &RuleFolder) -> Option<CompiledPolicy> {
        let named = rule.policy.as_ref()?;
        let place = usize::from(named.span.file);
        let Some(text) = folder.scripts.get(named.as_str()) else {
            let message = format!("there is no policy `{}` beside the rule", named.value);
            let mut diagnostic = Diagnostic::error(codes::POLICY_MISSING, message).at(
                self.files.get(place).unwrap_or(&self.files[0]),
                named.span.range(),
                "named here",
            );
            let present: Vec<&str> = folder.scripts.keys().map(String::as_str).collect();
            diagnostic = diagnostic.help(match present.as_slice() {
                [] => "add the file to the folder, or leave `policy` out".to_owned(),
                names => format!("the folder has `{}`", names.join("`, `")),
            });
            self.found.push(diagnostic);
            return None;
        };
        let source = folder.named(named, text);
        let number = self.add(source.clone(), Tree::default());
        self.policy = Some(usize::from(number));
        match CompiledPolicy::compile(&source, number) {
            Ok(policy) => Some(policy),
            Err(diagnostic) => {
                self.found.push(diagnostic);
                None
            }
        }
    }

    fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let text = |at: usize| self.files.get(at).map_or("", |f| &*f.text);
        hasher.update(text(0).replace("\r\n", "\n").as_bytes());
        hasher.update(&[0]);
        hasher.update(
            self.policy
                .map_or("", text)
                .replace("\r\n", "\n")
                .as_bytes(),
        );
        if let Some(shared) = self.shared {
            hasher.update(&[0]);
            hasher.update(text(shared).replace("\r\n", "\n").as_bytes());
        }
        hasher.finalize().to_hex()[..12].to_owned()
    }
}

/// Errors in these parts do not change what other parts may name.
fn lintable(damaged: &BTreeSet<String>) -> bool {
    const LEAVES: [&str; 8] = [
        "name",
        "status",
        "proof",
        "evidence",
        "aliases",
        "identity",
        "transcript",
        "tested",
    ];
    damaged
        .iter()
        .all(|section| LEAVES.contains(&section.as_str()))
}

/// A newer language, or a patch: nothing else in the file would make sense.
fn not_for_this_engine(file: &SourceText, tree: &Tree) -> Option<Diagnostic> {
    let at = |key: &str| tree.value(&[key]).unwrap_or(0..0);
    if let Some(version) = tree.scalar(&["axiowl"]).and_then(|v| v.parse::<u64>().ok())
        && version > u64::from(crate::LANGUAGE_VERSION)
    {
        let message = format!(
            "the rule is written in language {version}; this engine knows {}",
            crate::LANGUAGE_VERSION
        );
        return Some(
            Diagnostic::error(codes::NEWER_LANGUAGE, message)
                .at(file, at("axiowl"), "a newer language")
                .help("update AxiOwl, or remove this override to use the built-in rule"),
        );
    }
    tree.key(&["extends"]).map(|key| {
        let message = "patches of built-in rules are not supported by this version";
        let provider = tree.scalar(&["provider"]).unwrap_or("<provider>");
        Diagnostic::error(codes::PATCH_UNSUPPORTED, message)
            .at(file, key, "makes this folder a patch")
            .help(format!(
                "run `axiowl rules eject {provider}` and change the whole rule instead"
            ))
    })
}
