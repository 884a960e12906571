//! Every diagnostic, as a person sees it: one folder a case under `tests/diagnostics/`,
//! named after its code. `AXIOWL_BLESS=1` rewrites the expected texts.
//!
//! A case is a rule folder called `demo` (`rule.yaml`, scripts), with sibling rules under
//! `siblings/<provider>/`, or a `config.yaml`, or a `world.yaml`. A `bytes` file says how
//! many bytes of comment to put after the rule. A case about layers has a folder a layer:
//! `built-in`, `pack`, `user`.

use axiowl_lang::codes;
use axiowl_lang::config::Config;
use axiowl_lang::diag::Diagnostic;
use axiowl_lang::layers::{Sources, load_all};
use axiowl_lang::load::{Layer, RuleFolder, load};
use axiowl_lang::world_spec::WorldSpec;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn cases() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics");
    let mut out: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    out.sort();
    out
}

fn folder(dir: &Path, provider: &str) -> RuleFolder {
    let mut folder = RuleFolder::read(dir, Layer::User).unwrap();
    folder.provider = provider.into();
    folder.cases = None;
    folder.shown = format!("rules/{provider}");
    if let Ok(bytes) = std::fs::read_to_string(dir.join("bytes")) {
        folder
            .rule
            .push_str(&"#".repeat(bytes.trim().parse().unwrap()));
    }
    folder
}

fn diagnose(case: &Path) -> Vec<Diagnostic> {
    let read = |name: &str| std::fs::read_to_string(case.join(name)).ok();
    if let Some(text) = read("config.yaml") {
        return Config::parse("config.yaml", &text).unwrap_err();
    }
    if let Some(text) = read("world.yaml") {
        return vec![WorldSpec::parse("world.yaml", &text).unwrap_err()];
    }
    if ["built-in", "pack", "user"]
        .iter()
        .any(|layer| case.join(layer).is_dir())
    {
        return of_layers(case);
    }
    let siblings: BTreeMap<String, RuleFolder> = std::fs::read_dir(case.join("siblings"))
        .map(|entries| {
            entries
                .map(|entry| {
                    let path = entry.unwrap().path();
                    let name = path.file_name().unwrap().to_string_lossy().into_owned();
                    (name.clone(), folder(&path, &name))
                })
                .collect()
        })
        .unwrap_or_default();
    match load(&folder(case, "demo"), &|name| siblings.get(name)) {
        Ok(loaded) => loaded.warnings,
        Err(errors) => errors,
    }
}

/// A case about layers: its paths differ from machine to machine.
fn of_layers(case: &Path) -> Vec<Diagnostic> {
    let mut files = Vec::new();
    for provider in std::fs::read_dir(case.join("built-in"))
        .into_iter()
        .flatten()
    {
        let dir = provider.unwrap().path();
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        let rule = std::fs::read_to_string(dir.join("rule.yaml")).unwrap();
        files.push((name, rule));
    }
    let built_in: Vec<(&str, &str, &str)> = files
        .iter()
        .map(|(name, rule)| (name.as_str(), "rule.yaml", rule.as_str()))
        .collect();
    let packs: Vec<PathBuf> = [case.join("pack")]
        .into_iter()
        .filter(|p| p.is_dir())
        .collect();
    let set = load_all(&Sources {
        built_in: &built_in,
        packs: &packs,
        user: Some(&case.join("user")),
        ..Sources::default()
    });
    let broken = set.problems().iter().flat_map(|p| p.diagnostics.clone());
    let warned = set.iter().flat_map(|loaded| loaded.warnings.clone());
    let mut out: Vec<Diagnostic> = broken.chain(warned).collect();
    let said = set.notices().iter().filter(|d| !out.contains(d)).cloned();
    let said: Vec<Diagnostic> = said.collect();
    out.extend(said);
    let here = format!("{}/", case.display());
    for diagnostic in &mut out {
        diagnostic.message = diagnostic.message.replace(&here, "");
        diagnostic.help = diagnostic.help.take().map(|help| help.replace(&here, ""));
        for label in &mut diagnostic.labels {
            label.file = label.file.replace(&here, "").into();
        }
    }
    out
}

#[test]
fn every_case_says_what_is_expected() {
    let bless = std::env::var_os("AXIOWL_BLESS").is_some();
    let mut wrong = Vec::new();
    for case in cases() {
        let found = diagnose(&case);
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let code = name.split('-').next().unwrap();
        assert!(
            found.iter().any(|d| d.code == code),
            "{name}: no {code} among {found:#?}"
        );
        let text: String = found.iter().map(|d| format!("{d}\n\n")).collect();
        let path = case.join("expected.txt");
        if bless {
            std::fs::write(&path, &text).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        if text != expected {
            wrong.push(format!(
                "== {name}\n-- expected\n{expected}-- found\n{text}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_code_has_a_case() {
    let with_case: BTreeSet<String> = cases()
        .iter()
        .map(|case| {
            let name = case.file_name().unwrap().to_string_lossy().into_owned();
            name.split('-').next().unwrap().to_owned()
        })
        .collect();
    let known: BTreeSet<String> = codes::ALL
        .iter()
        .map(|(code, ..)| (*code).to_owned())
        .collect();
    assert_eq!(with_case, known);
}

#[test]
fn every_diagnostic_says_where_and_what_to_do() {
    for case in cases() {
        for diagnostic in diagnose(&case) {
            let line = diagnostic.one_line();
            assert!(diagnostic.primary().is_some(), "{line}");
            assert!(diagnostic.help.is_some(), "{line}");
            let json = diagnostic.to_json();
            for field in ["code", "severity", "message", "file", "help"] {
                assert!(json[field].is_string(), "{field} of {line}");
            }
            for field in ["line", "column", "end_line", "end_column"] {
                assert!(json[field].is_u64(), "{field} of {line}");
            }
            assert!(!diagnostic.coloured().is_empty());
        }
    }
}
