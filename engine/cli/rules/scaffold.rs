//! `axiowl rules new`: a rule that works on the first day, to be made into the real one.

use super::case::{self, Case};
use super::eject::{rules_folder, write_schemas};
use super::{edited, shelf, short};
use crate::args::Common;
use crate::exit::{Exit, Failure, Outcome};
use axiowl_lang::stack::Stack;
use std::path::Path;

/// What the skeleton is made of; `PROVIDER` stands for the provider's key.
const FILES: [(&str, &str); 3] = [
    ("rule.yaml", include_str!("scaffold/rule.yaml")),
    (
        "fixtures/example/world.yaml",
        include_str!("scaffold/world.yaml"),
    ),
    (
        "fixtures/example/home/.PROVIDER/sessions/0192b1c0-0000-7000-8000-000000000001.jsonl",
        include_str!("scaffold/session.jsonl"),
    ),
];

/// Writes the skeleton, and the expectation of its case from a run.
pub fn run(provider: &str, out: Option<&Path>, common: &Common) -> Outcome {
    let starts = provider.starts_with(|c: char| c.is_ascii_lowercase());
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !starts || !provider.chars().all(word) {
        return Err(
            Failure::new(Exit::Usage, format!("`{provider}` is no provider key"))
                .hint("use lower-case letters, digits and `_`, and start with a letter"),
        );
    }
    let shelf = shelf(common)?;
    let sources = shelf.sources();
    let stack = Stack::open(&sources);
    if stack.providers().into_iter().any(|known| known == provider) {
        return Err(Failure::new(
            Exit::Failed,
            format!("there is a rule for `{provider}` already"),
        )
        .hint(format!(
            "`axiowl rules eject {provider} --patch` changes parts of it; for another \
                     provider, take another key"
        )));
    }
    let rules = rules_folder(out, &shelf)?;
    let dir = rules.join(provider);
    if dir.exists() {
        return Err(
            Failure::new(Exit::Failed, format!("{} is there already", dir.display()))
                .hint("take another key, or remove the folder"),
        );
    }
    for (name, text) in FILES {
        let path = dir.join(name.replace("PROVIDER", provider));
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, text.replace("PROVIDER", provider))?;
    }
    write_schemas(&rules)?;
    let rule = edited::load(&dir, provider, &shelf)?;
    let case = Case {
        name: "example".into(),
        dir: dir.join("fixtures/example"),
    };
    let outcome = case::run(&rule, &case, None)?;
    let text = serde_json::to_string_pretty(&outcome).map_err(|error| Failure::caused(&error))?;
    std::fs::write(case.expected(), text + "\n")?;
    let shown = short(&dir);
    let shown = shown.display();
    crate::output::say!("wrote     {shown}/rule.yaml, with a case in fixtures/example");
    crate::output::say!("next      edit it: every part says what it is for");
    crate::output::say!("          axiowl rules check {shown}");
    crate::output::say!("          axiowl rules test {provider}");
    crate::output::say!("          axiowl rules capture {provider}");
    Ok(Exit::Done)
}
