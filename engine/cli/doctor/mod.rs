//! `axiowl doctor`: what stands between a message and its target on this machine, and what to
//! do about each thing. It changes nothing of the user's; the only programs it starts are
//! providers' own for their version, and AxiOwl itself.

mod doors;
mod finding;
mod own;
mod programs;
mod rules;
mod stores;

use crate::args::{Common, Doctor};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::say;
use crate::setup;
use axiowl_lang::nearest::suggest;
use finding::{Findings, Level};

/// Looks at everything, or at what concerns one provider.
pub fn run(arguments: &Doctor, common: &Common) -> Outcome {
    let mut setup = setup::open_unasked(common)?;
    // A registry that cannot be read is one of the findings, and hinders no other.
    if let Err(failure) = setup.know_registered() {
        tracing::debug!(why = %failure, "rules may ask nothing about the registry");
    }
    let asked = arguments.provider.as_deref();
    let rules: Vec<_> = setup
        .rules
        .iter()
        .filter(|rule| {
            asked.is_none_or(|asked| {
                asked == rule.rule.provider.value || asked == rule.rule.scope_word()
            })
        })
        .collect();
    if rules.is_empty() {
        let known: Vec<&str> = setup
            .rules
            .iter()
            .map(|rule| &*rule.rule.provider.value)
            .collect();
        let asked = asked.unwrap_or_default();
        return Err(
            Failure::new(Exit::Usage, format!("there is no rule for `{asked}`")).hint(suggest(
                asked,
                known,
                "providers",
            )),
        );
    }
    let fit = rules::judge(&setup, arguments, &rules)?;
    let mut findings = Findings::new(arguments.json);
    let wanted = |provider: &str| {
        rules
            .iter()
            .any(|rule| rule.rule.provider.value == provider)
            && (asked.is_some() || fit.present.contains(provider))
    };
    // Programs of this machine say nothing about a recorded one.
    if !setup.world.is_fixture() {
        findings.head("programs");
        programs::look(&setup, asked, &wanted, &mut findings)?;
    }
    if !fit.readings.is_empty() {
        findings.head("stores");
        stores::look(&fit.readings, &mut findings);
    }
    findings.head("own");
    own::look(&setup, &mut findings);
    findings.head("doors");
    // The built-in agent stands for AxiOwl's own part of the way, not for one provider.
    if asked.is_none() {
        doors::echo(&mut findings);
    }
    doors::look(&setup, &wanted, &mut findings)?;
    if !arguments.json {
        let worst = findings.worst();
        say!();
        say!(
            "{}",
            match worst {
                Level::Ok | Level::Note => "Nothing stands in the way.",
                Level::Attention => "Something needs attention: see the lines marked `!`.",
                Level::Broken => "Something is broken: see the lines marked `x`.",
            }
        );
    }
    let broken = findings.worst() == Level::Broken;
    Ok(if arguments.strict && (!fit.fits || broken) {
        Exit::Failed
    } else {
        Exit::Done
    })
}
