//! Clients' programs, their versions against what the rules were tested with, whether a login
//! seems to be there, and whether AxiOwl is in their configuration. Never opens a file that
//! may hold a secret.

use super::finding::{Findings, Level};
use crate::exit::Failure;
use crate::install;
use crate::office::Office;
use crate::progress::Progress;
use crate::setup::Setup;
use axiowl_discover::version_within;
use axiowl_install::Records;
use axiowl_pipeline::Surroundings;
use axiowl_pipeline::edge::EdgeContext;
use axiowl_providers::{Client, Login};
use serde_json::json;
use std::time::Duration;

/// A program that does not say its version in this time is hanging.
const PATIENCE: Duration = Duration::from_secs(10);

/// Looks at every client of a wanted provider.
pub fn look(
    setup: &Setup,
    asked: Option<&str>,
    wanted: &dyn Fn(&str) -> bool,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let launch = install::launch(&setup.common)?;
    let clients = axiowl_providers::clients(&setup.world, &launch);
    let clients = clients.into_iter().filter(|client| {
        let program = client
            .programs
            .iter()
            .any(|name| setup.world.executable(name).is_some());
        (program && asked.is_none()) || client.surfaces.iter().any(|surface| wanted(surface))
    });
    let clients: Vec<Client> = clients
        .filter(|client| client.surfaces.iter().any(|s| setup.rules.get(s).is_some()))
        .collect();
    let office = Office::new(setup)?;
    // Each takes up to seconds to start, so all are asked at once.
    let progress = Progress::show("asking programs for their versions");
    let asked: Vec<_> = std::thread::scope(|scope| {
        let office = &office;
        let asking = clients.iter().map(|client| {
            let found = client
                .programs
                .iter()
                .find_map(|name| setup.world.executable(name));
            let context = EdgeContext {
                world: &setup.world,
                state_root: setup.state.clone(),
                axiowl: office.axiowl().to_path_buf(),
                child_env: client
                    .surfaces
                    .iter()
                    .flat_map(|s| office.child_env(s))
                    .collect(),
                provider_home: None,
                experimental: false,
            };
            scope.spawn(move || {
                let said = found.as_ref().map(|program| {
                    axiowl_providers::version_of(
                        &context,
                        program.as_ref(),
                        client.version,
                        PATIENCE,
                    )
                });
                (found, said)
            })
        });
        let asking: Vec<_> = asking.collect();
        asking
            .into_iter()
            .map(|asking| asking.join().unwrap_or((None, None)))
            .collect()
    });
    drop(progress);
    let records = Records::of(&setup.state);
    for (client, (found, said)) in clients.iter().zip(asked) {
        program(setup, client, found.as_deref(), said, findings);
        if found.is_some() {
            login(setup, &office, client, &client.login, findings);
        }
        env_files(&office, client, findings);
        let used = client.surfaces.iter().any(|surface| wanted(surface));
        configuration(client, used, &records, findings);
    }
    Ok(())
}

/// A file with variables for deliveries that gives none of them, or not all.
fn env_files(office: &Office, client: &Client, findings: &mut Findings) {
    let surfaces = client.surfaces.iter();
    for (surface, (path, fault)) in
        surfaces.filter_map(|surface| Some((surface, office.env_file_fault(surface)?)))
    {
        let text = format!("env_file {} {fault}", path.display());
        let hint = format!(
            "mend it, or name another: `providers: {{ {surface}: {{ env_file: … }} }}` in config.yaml"
        );
        findings.add(Level::Attention, client.key, &text, &hint);
    }
}

fn program(
    setup: &Setup,
    client: &Client,
    found: Option<&str>,
    said: Option<Result<String, String>>,
    findings: &mut Findings,
) {
    let name = client.programs[0];
    let (Some(path), Some(said)) = (found, said) else {
        let text = format!("no program {}", client.programs.join(" or "));
        let hint = format!(
            "install it, or name an absolute path: `executables: {{ {name}: /… }}` in config.yaml"
        );
        findings.add_with(
            Level::Attention,
            client.key,
            &text,
            &hint,
            json!({ "program": null, "version": null }),
        );
        return;
    };
    let version = match said {
        Ok(version) => version,
        Err(why) => {
            let text = format!("{path} does not say its version: {why}");
            let hint = format!(
                "run `{path} {}` yourself; an install that is broken delivers nothing",
                client.version.join(" ")
            );
            findings.add_with(
                Level::Attention,
                client.key,
                &text,
                &hint,
                json!({ "program": path, "version": null }),
            );
            return;
        }
    };
    let tested = client
        .surfaces
        .iter()
        .filter_map(|surface| setup.rules.get(surface));
    let tested = tested.filter_map(|rule| rule.rule.tested.as_ref());
    let tested = tested
        .into_iter()
        .find(|tested| client.programs.contains(&tested.program.as_str()));
    let fields = json!({
        "program": path, "version": version, "tested": tested.map(|tested| tested.shown()),
        "auth": "unknown",
    });
    match tested {
        Some(tested) if !covers(&tested.covered(), &version) => {
            let text = format!(
                "{version} at {path}; the rules were tested with {}",
                tested.shown()
            );
            findings.add_with(
                Level::Note,
                client.key,
                &text,
                "look at what discovery says of it; a newer AxiOwl may know it",
                fields,
            );
        }
        _ => findings.add_with(
            Level::Ok,
            client.key,
            &format!("{version} at {path}"),
            "",
            fields,
        ),
    }
}

fn covers(ranges: &[(&str, &str)], version: &str) -> bool {
    ranges
        .iter()
        .any(|(from, to)| version_within(version, from, to))
}

/// Finding a program proves no login: that a variable is set or a file is there is all that is
/// said, and a keychain nobody can look into leaves it unknown.
fn login(
    setup: &Setup,
    office: &Office<'_>,
    client: &Client,
    login: &Login,
    findings: &mut Findings,
) {
    let subject = format!("{} login", client.key);
    let set = install::login_in_variable(setup, office, client);
    let file = login.files.iter().find(|file| file.exists());
    match (set, file) {
        (Some((name, seen)), _) => {
            let text = format!("{name} is set here; whether it is accepted is not known");
            let (level, hint) = match seen {
                true => (Level::Ok, String::new()),
                false => (Level::Note, install::login_way(client, name)),
            };
            findings.add_with(
                level,
                &subject,
                &text,
                &hint,
                json!({ "auth": "present", "deliveries_see_it": seen }),
            );
        }
        (None, Some(file)) => {
            let text = format!(
                "{} is there; whether it is accepted is not known",
                file.display()
            );
            findings.add_with(Level::Ok, &subject, &text, "", json!({ "auth": "present" }));
        }
        (None, None) if login.elsewhere => {
            let text = "unknown: it may lie in the system's keychain";
            findings.add_with(
                Level::Note,
                &subject,
                text,
                "",
                json!({ "auth": "unknown" }),
            );
        }
        (None, None) => {
            let text = "no sign of a login";
            let hint = format!(
                "log in with {}, or name its variable in config.yaml",
                client.programs[0]
            );
            findings.add_with(
                Level::Attention,
                &subject,
                text,
                &hint,
                json!({ "auth": "absent" }),
            );
        }
    }
}

/// What AxiOwl has in a client's configuration. In one that nobody has used it lacks nothing.
fn configuration(client: &Client, used: bool, records: &Records, findings: &mut Findings) {
    let subject = format!("{} tools", client.key);
    let (state, detail) = install::state(client, records);
    let install = format!("axiowl install {}", client.key);
    match state {
        "installed" => findings.add(
            Level::Ok,
            &subject,
            "AxiOwl's MCP server is in its configuration",
            "",
        ),
        "not installed" => findings.add(
            match used {
                true => Level::Attention,
                false => Level::Note,
            },
            &subject,
            "it does not know AxiOwl's tools, so its sessions cannot answer",
            &install,
        ),
        "blocked" => findings.add(
            Level::Attention,
            &subject,
            &detail,
            &format!("mend that, then {install}"),
        ),
        _ => findings.add(
            Level::Attention,
            &subject,
            &format!("{state}: its configuration is not what an install would write"),
            &install,
        ),
    }
}
