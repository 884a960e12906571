//! A login that lies in a variable: a client that is typed has it, one that a delivery starts has
//! it only where the user's configuration names it. No value of one is ever shown.

use crate::office::Office;
use crate::setup::Setup;
use axiowl_pipeline::Surroundings;
use axiowl_providers::Client;

/// The variable of a client's login that is set here, and whether deliveries see it.
pub fn in_variable(
    setup: &Setup,
    office: &Office<'_>,
    client: &Client,
) -> Option<(&'static str, bool)> {
    let mut variables = client.login.variables.iter().copied();
    let name = variables.find(|name| setup.world.env(name).is_some())?;
    let surfaces = client.surfaces.iter();
    let mut seen = surfaces.flat_map(|surface| office.child_env(surface));
    Some((name, seen.any(|(known, _)| known == name)))
}

/// What lets deliveries see it.
pub fn way(client: &Client, name: &str) -> String {
    let surface = client.surfaces.last().unwrap_or(&client.key);
    format!(
        "AxiOwl's deliveries see it only when config.yaml names it: `providers: {{ {surface}: {{ env: [{name}] }} }}`"
    )
}
