//! From the files of one rule to a checked rule: reading, sharing, compiling, linting.
//!
//! It reads no disk and knows no layers; [`crate::layers`] hands it texts.

use crate::at::Span;
use crate::codes;
use crate::compiled_in;
use crate::diag::{Diagnostic, SourceText, line_and_column, tidy};
use crate::folder;
use crate::lint;
use crate::origins::{OriginLine, Origins};
use crate::parse;
use crate::patch::Patched;
use crate::policy::CompiledPolicy;
use crate::rule::Rule;
use crate::shares::{self, Shared};
use crate::tree::Tree;
use crate::trust::Withheld;
use std::collections::BTreeSet;
use std::sync::Arc;

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
    /// Of a patched rule, the text that the patch makes counts.
    pub digest: String,
    /// Where it comes from.
    pub layer: Layer,
    /// What is probably not meant.
    pub warnings: Vec<Diagnostic>,
    /// The patch and its base, where it was made of them.
    pub patched: Option<Patched>,
    /// The folder its policy stands in: layer and hash.
    pub policy_home: Option<(Layer, String)>,
    /// The folders whose texts it was made of: layer and hash.
    pub made_of: Vec<(Layer, String)>,
    /// Parts that could run and are not trusted.
    pub withheld: Vec<Withheld>,
}

/// A file that a rule was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFile {
    /// Shown path; of a patched rule, no file has this name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// The layer it stands in.
    pub layer: Layer,
    /// Where each byte comes from, where that is more than one file.
    pub origins: Option<Arc<Origins>>,
}

impl RuleFile {
    /// The file and line that a byte of the text comes from.
    pub fn line_of(&self, byte: usize) -> OriginLine {
        match &self.origins {
            Some(origins) => origins.line(byte),
            None => OriginLine {
                layer: self.layer.clone(),
                file: self.name.clone(),
                line: line_and_column(&self.text, byte).0,
            },
        }
    }

    /// Its lines with the file and line each comes from: its first byte that shows.
    pub fn lines(&self) -> impl Iterator<Item = (OriginLine, &str)> {
        let mut at = 0;
        self.text.split_inclusive('\n').map(move |line| {
            let lead = line.len() - line.trim_start().len();
            let shown = if lead == line.len() { 0 } else { lead };
            let origin = self.line_of(at + shown);
            at += line.len();
            (origin, line.trim_end_matches(['\n', '\r']))
        })
    }
}

impl LoadedRule {
    /// The file a person can open and the bytes in it that a place stands for: at most to the
    /// end of its first line.
    pub fn source_of(&self, span: Span) -> Option<(SourceText, std::ops::Range<usize>)> {
        let file = self.files.get(usize::from(span.file))?;
        let range = match span.range() {
            // The reader gives a mapping no end.
            range if range.len() <= 1 => {
                let whole = Tree::of(&file.text).collection_from(range.start);
                parse::first_line(&file.text, whole.unwrap_or(range))
            }
            range => parse::first_line(&file.text, range),
        };
        let mut label = Diagnostic::warning(codes::WIDENS, "").at(
            &SourceText::new(&file.name, &file.text),
            range,
            "",
        );
        if let Some(origins) = &file.origins {
            origins.lead_back(&file.name, &mut label);
        }
        let label = label.primary()?;
        let source = SourceText::new(&label.file, &label.text);
        Some((source, label.span.clone()))
    }

    /// `file:line` of a place in it, for explanations; empty for a place in no file.
    pub fn place(&self, span: Span) -> String {
        match self.files.get(usize::from(span.file)) {
            Some(file) => {
                let origin = file.line_of(span.start as usize);
                format!("{}:{}", origin.file, origin.line)
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
    if let Some(loaded) = compiled_in::load(folder, sibling) {
        return Ok(loaded);
    }
    let mut parts = Parts::default();
    let assembled = parts.assemble(folder, sibling);
    parts.lead_back(folder);
    match assembled {
        Some((rule, policy)) if !parts.found.iter().any(Diagnostic::is_error) => Ok(LoadedRule {
            digest: parts.digest(),
            rule,
            policy,
            layer: folder.layer.clone(),
            warnings: tidy(parts.found),
            patched: folder.patched.clone(),
            policy_home: parts.policy_home,
            made_of: parts.made_of,
            withheld: Vec::new(),
            files: parts
                .files
                .iter()
                .zip(parts.homes)
                .map(|(file, (layer, origins))| RuleFile {
                    name: file.name.to_string(),
                    text: file.text.to_string(),
                    layer,
                    origins,
                })
                .collect(),
        }),
        _ => Err(tidy(parts.found)),
    }
}

/// The rule that a folder's rule shares, as far as the text can be read.
pub fn shared_name(folder: &RuleFolder) -> Option<String> {
    // Most rules share none, and this is asked at every start.
    if !folder.rule.contains("shares") {
        return None;
    }
    Some(Tree::of(&folder.rule).scalar(&["shares"])?.to_owned())
}

/// What is gathered while a rule is put together.
#[derive(Default)]
struct Parts {
    files: Vec<SourceText>,
    trees: Vec<Tree>,
    /// The layer of each file, and where its bytes come from.
    homes: Vec<(Layer, Option<Arc<Origins>>)>,
    found: Vec<Diagnostic>,
    shared: Option<usize>,
    policy: Option<usize>,
    policy_home: Option<(Layer, String)>,
    made_of: Vec<(Layer, String)>,
}

impl Parts {
    fn add(&mut self, file: SourceText, tree: Tree, holder: &RuleFolder, whole: bool) -> u16 {
        self.files.push(file);
        self.trees.push(tree);
        let origins = holder.origins.clone().filter(|_| whole);
        if whole {
            self.made_of.extend(holder.made_of());
        }
        self.homes.push((holder.layer.clone(), origins));
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
        if let Some(stop) = newer_language(&main, &tree).or_else(|| lost_patch(&main, &tree)) {
            self.found.push(stop);
            return None;
        }
        self.found
            .extend(folder.patched.iter().flat_map(|p| p.warnings.clone()));
        let number = self.add(main.clone(), tree, folder, true);
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
                    self.shared = Some(usize::from(self.add(file, tree, from, true)));
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
        self.found.extend(untested(folder, &main, &self.trees[0]));
        for diagnostic in &mut self.found {
            if diagnostic.key.is_none()
                && let Some(label) = diagnostic.primary()
                && let Some(at) = self.files.iter().position(|f| f.name == label.file)
            {
                diagnostic.key = self.trees[at].path_at(label.span.start).map(Into::into);
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
        let Some((source, holder)) = folder.script_source(named.as_str()) else {
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
        let number = self.add(source.clone(), Tree::default(), holder, false);
        self.policy_home = Some((holder.layer.clone(), holder.hash()));
        self.policy = Some(usize::from(number));
        match CompiledPolicy::compile(&source, number) {
            Ok(policy) => Some(policy),
            Err(diagnostic) => {
                self.found.push(diagnostic);
                None
            }
        }
    }

    /// Leads places in patched texts back to the files they come from.
    fn lead_back(&mut self, folder: &RuleFolder) {
        for (file, (_, origins)) in self.files.iter().zip(&self.homes) {
            let Some(origins) = origins else { continue };
            for diagnostic in &mut self.found {
                let consequence = origins.lead_back(&file.name, diagnostic);
                let patch = folder.patched.as_ref().map(|p| p.patch.main());
                if let Some(patch) = patch.filter(|_| consequence && diagnostic.is_error()) {
                    let at = Tree::of(&patch.text).key(&["override"]).unwrap_or(0..0);
                    diagnostic.explain(&patch, at, "after the changes of this patch");
                }
            }
        }
    }

    fn digest(&self) -> String {
        let text = |at: usize| self.files.get(at).map_or("", |f| &*f.text);
        let own = [text(0), self.policy.map_or("", text)];
        folder::digest(own.into_iter().chain(self.shared.map(text)))
    }
}

/// A rule on disk has a case that shows what it does.
fn untested(folder: &RuleFolder, file: &SourceText, tree: &Tree) -> Option<Diagnostic> {
    if folder.cases != Some(0) {
        return None;
    }
    // Of a patch, the patch is what no case tests.
    let (file, at) = match &folder.patched {
        Some(patched) => {
            let file = patched.patch.main();
            let at = Tree::of(&file.text).key(&["provider"]);
            (file, at)
        }
        None => (file.clone(), tree.key(&["provider"])),
    };
    let provider = &folder.provider;
    let shown = &folder.shown;
    let message = format!("the rule `{provider}` has no fixture");
    Some(
        Diagnostic::warning(codes::UNTESTED, message)
            .at(&file, at.unwrap_or(0..0), "untested")
            .help(format!(
                "`axiowl rules capture {provider} --out {shown}/fixtures/<case>` makes one out of \
                 real files"
            )),
    )
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

/// A newer language: nothing else in the file would make sense.
pub(crate) fn newer_language(file: &SourceText, tree: &Tree) -> Option<Diagnostic> {
    let version = tree.scalar(&["axiowl"])?.parse::<u64>().ok()?;
    if version <= u64::from(crate::LANGUAGE_VERSION) {
        return None;
    }
    let message = format!(
        "the rule is written in language {version}; this engine knows {}",
        crate::LANGUAGE_VERSION
    );
    let at = tree.value(&["axiowl"]).unwrap_or(0..0);
    Some(
        Diagnostic::error(codes::NEWER_LANGUAGE, message)
            .at(file, at, "a newer language")
            .help("update AxiOwl, or remove this override to use the built-in rule"),
    )
}

/// A patch that was not applied, because no layers were asked.
fn lost_patch(file: &SourceText, tree: &Tree) -> Option<Diagnostic> {
    tree.key(&["extends"]).map(|key| {
        let message = "this is a patch, and there is no layer below it here";
        Diagnostic::error(codes::PATCH_BASE, message)
            .at(file, key, "makes this folder a patch")
            .help("a patch works in your own rules, in a pack, or with `axiowl rules check`")
    })
}
