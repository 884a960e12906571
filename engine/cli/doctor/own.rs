//! AxiOwl's own files: state folder, registry, ledger, rules that cannot be used.

use super::finding::{Findings, Level};
use crate::office;
use crate::setup::Setup;
use axiowl_lang::nearest::suggest;
use std::path::Path;

/// Looks at them.
pub fn look(setup: &Setup, findings: &mut Findings) {
    folder(&setup.state, findings);
    registry(setup, findings);
    ledger(setup, findings);
    for provider in setup.config.providers.keys() {
        if setup.rules.get(provider).is_none() {
            let known = setup.rules.iter().map(|rule| &*rule.rule.provider.value);
            let text = format!("config.yaml sets something for `{provider}`, which no rule is for");
            let hint = suggest(provider, known, "providers");
            findings.add(Level::Attention, "config", &text, &hint);
        }
    }
    for problem in setup.rules.problems() {
        let what = problem.diagnostics.first().map(|one| one.message.as_str());
        let text = format!(
            "{}: {}",
            problem.provider,
            what.unwrap_or("it cannot be used")
        );
        findings.add(Level::Attention, "rules", &text, "axiowl rules check");
    }
}

fn folder(state: &Path, findings: &mut Findings) {
    let shown = state.display().to_string();
    let Ok(meta) = std::fs::metadata(state) else {
        findings.add(
            Level::Note,
            "state",
            &format!("{shown} is not there yet"),
            "axiowl discover all",
        );
        return;
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if meta.permissions().mode() & 0o077 != 0 {
            let hint = format!("chmod go= {shown}");
            findings.add(
                Level::Attention,
                "state",
                &format!("{shown} stands open to others"),
                &hint,
            );
            return;
        }
    }
    match tempfile::tempfile_in(state) {
        Ok(_) if meta.is_dir() => findings.add(Level::Ok, "state", &shown, ""),
        Ok(_) => {}
        Err(error) => findings.add(
            Level::Broken,
            "state",
            &format!("{shown} cannot be written: {error}"),
            "make it writable and have room on its disk",
        ),
    }
}

fn registry(setup: &Setup, findings: &mut Findings) {
    match setup.registry.load() {
        Err(error) => {
            let hint = error.hint().unwrap_or_else(|| "mend it by hand".into());
            findings.add(Level::Broken, "registry", &error.to_string(), &hint);
        }
        Ok(snapshot) => {
            let report = snapshot.check();
            let text = format!("{} rows, {} of them targets", report.rows, report.targets);
            if report.rows == 0 {
                findings.add(Level::Note, "registry", "empty", "axiowl discover all");
            } else if report.is_clean() {
                findings.add(Level::Ok, "registry", &text, "");
            } else {
                let odd = report.damaged.len() + report.refused_aliases.len();
                findings.add(
                    Level::Attention,
                    "registry",
                    &format!("{text}; {odd} lines need a person"),
                    "axiowl registry check",
                );
            }
            if !report.shared_names.is_empty() {
                let text = format!(
                    "{} names belong to several sessions; the newest is taken",
                    report.shared_names.len()
                );
                findings.add(
                    Level::Note,
                    "names",
                    &text,
                    "axiowl registry check; `send --strict` refuses them",
                );
            }
        }
    }
}

fn ledger(setup: &Setup, findings: &mut Findings) {
    if !setup.state.join("messages.db").exists() {
        findings.add(Level::Note, "ledger", "no message was sent yet", "");
        return;
    }
    let open =
        office::ledger(setup).map_err(|failure| (failure.message.clone(), failure.hint.clone()));
    let messages = open.and_then(|ledger| {
        ledger
            .in_flight()
            .map_err(|error| (error.to_string(), error.hint()))
    });
    match messages {
        Err((why, hint)) => findings.add(Level::Broken, "ledger", &why, &hint.unwrap_or_default()),
        Ok(messages) if messages.is_empty() => {
            findings.add(Level::Ok, "ledger", "no message is under way", "")
        }
        Ok(messages) => {
            let text = format!("{} messages under way", messages.len());
            findings.add(
                Level::Note,
                "ledger",
                &text,
                "axiowl list messages; axiowl message <id>",
            );
        }
    }
}
