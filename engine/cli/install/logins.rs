//! A login that lies in a variable: a client that is typed has it, one that a delivery starts has
//! it only where the user's configuration names it. No value of one is ever shown.

use crate::office::Office;
use crate::setup::Setup;
use axiowl_pipeline::Surroundings;
use axiowl_providers::Client;

/// The variable of a client's login that is set here or in the file that config.yaml names, and
/// whether deliveries see it.
pub fn in_variable(
    setup: &Setup,
    office: &Office<'_>,
    client: &Client,
) -> Option<(&'static str, bool)> {
    let surfaces = client.surfaces.iter();
    let given: Vec<String> = surfaces
        .flat_map(|surface| office.child_env(surface))
        .map(|(name, _)| name)
        .collect();
    let is_given = |name: &str| given.iter().any(|known| known == name);
    let variables = client.login.variables.iter().copied();
    // A file that config.yaml names gives it whatever is set here.
    let mut set = variables.filter(|name| is_given(name) || setup.world.env(name).is_some());
    let name = set
        .clone()
        .find(|name| is_given(name))
        .or_else(|| set.next())?;
    Some((name, is_given(name)))
}

/// What lets deliveries see it.
pub fn way(client: &Client, name: &str) -> String {
    let surface = client.surfaces.last().unwrap_or(&client.key);
    format!(
        "AxiOwl's deliveries see it only when config.yaml gives it: `providers: {{ {surface}: {{ env_file: ~/FILE }} }}` with a line `{name}=…` in that file, or `env: [{name}]` for what is sent from here alone"
    )
}
