//! The support matrix in force: the built-in one, with the user's `support.yaml` over it.

use crate::exit::{Exit, Failure};
use crate::own::Own;
use crate::setup::SUPPORT;
use axiowl_lang::diag::Diagnostic;
use axiowl_lang::support::Support;

/// Reads both.
///
/// # Errors
/// When the user's file is there and cannot be used: a label nobody meant is worse than none.
pub fn load(own: &Own) -> Result<Support, Failure> {
    let built_in = "rules/support.yaml";
    let mut support =
        Support::parse(built_in, SUPPORT).map_err(|found| unusable(built_in, &found))?;
    let path = own.config_dir().join("support.yaml");
    let name = path.display().to_string();
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            support.overlay(Support::parse(&name, &text).map_err(|found| unusable(&name, &found))?);
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(Failure::new(Exit::Failed, format!("{name}: {error}"))),
    }
    Ok(support)
}

fn unusable(name: &str, found: &[Diagnostic]) -> Failure {
    for diagnostic in found {
        anstream::eprintln!("{}", diagnostic.coloured());
    }
    Failure::new(Exit::Failed, format!("{name} cannot be used"))
}
