//! `axiowl install` and `axiowl uninstall`: the plan first, then the change of one client after
//! the other, each as a whole.
//!
//! Besides what providers' hooks run, these two commands are all of AxiOwl that changes files of
//! a provider. Which entry belongs in which file is not known here.

mod choose;
mod logins;
mod show;

use crate::args::{Common, Install, Uninstall};
use crate::exit::{Exit, Failure, Outcome};
use crate::office::Office;
use crate::output;
use crate::setup::{self, Setup};
use axiowl_install::{Plan, Records};
use axiowl_lang::nearest::suggest;
use axiowl_providers::{Client, Launch};
use choose::Sighting;
pub use logins::{in_variable as login_in_variable, way as login_way};
use serde_json::json;
pub use show::state;
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// What is known of one client.
struct Candidate {
    client: Client,
    sighting: Sighting,
}

/// Installs, or shows what would be.
pub fn run(arguments: &Install, common: &Common) -> Outcome {
    let setup = own_machine(common)?;
    let records = Records::of(&setup.state);
    let launch = launch(common)?;
    let mut candidates = candidates(&setup, &launch)?;
    if arguments.no_approvals {
        for candidate in &mut candidates {
            candidate.client.without_approvals();
        }
    }
    if arguments.status {
        return show::status(&candidates, &records, arguments.json);
    }
    let nothing_named = arguments.clients.is_empty() && !arguments.detected;
    let chosen: Vec<&Candidate> = if arguments.clients.is_empty() {
        candidates
            .iter()
            .filter(|one| one.sighting.chosen())
            .collect()
    } else {
        named(&candidates, &arguments.clients)?
    };
    if arguments.clients.is_empty() && !arguments.json {
        show::choices(&candidates);
    }
    if chosen.is_empty() {
        let message = "no client that AxiOwl can be installed for is in use here";
        return Err(Failure::new(Exit::Failed, message)
            .hint("name one: `axiowl install --help`; `axiowl install` says what was looked for"));
    }
    let _guard = lock(&records)?;
    let mut plans = Vec::new();
    let mut refused = false;
    for one in &chosen {
        let old = records
            .read(one.client.key)
            .map_err(|error| unreadable(&records, &error))?;
        match axiowl_install::plan(&one.client.recipe, old.as_ref()) {
            Ok(plan) => plans.push((&one.client, plan)),
            Err(refusal) => {
                refused = true;
                show::refused(
                    &one.client,
                    &refusal.to_string(),
                    &refusal.hint(),
                    arguments.json,
                );
            }
        }
    }
    for (client, plan) in &plans {
        show::plan(client, plan, arguments.json);
    }
    let dry = arguments.dry_run || nothing_named;
    if nothing_named && !arguments.json {
        crate::output::say!(
            "\nNothing was changed. `axiowl install --detected` makes these changes."
        );
    }
    let quiet = arguments.yes || arguments.json;
    let done = finish(plans, &records, dry, quiet, arguments.json, "installed")?;
    if done > 0 && !arguments.json {
        crate::output::say!(
            "\nThese entries are in the files; nothing more is proven by that. Clients read them\n\
             when they start. `axiowl doctor` shows how far a message would get."
        );
        let office = Office::new(&setup)?;
        for one in &chosen {
            let login = login_in_variable(&setup, &office, &one.client);
            if let Some((name, false)) = login {
                let way = login_way(&one.client, name);
                crate::output::say!("{}: {name} is set here. {way}", one.client.title);
            }
        }
    }
    Ok(if refused { Exit::Failed } else { Exit::Done })
}

/// Uninstalls, or shows what that would do.
pub fn remove(arguments: &Uninstall, common: &Common) -> Outcome {
    let setup = own_machine(common)?;
    let records = Records::of(&setup.state);
    let all = axiowl_providers::clients(&setup.world, &launch(common)?);
    let chosen: Vec<&Client> = if arguments.all {
        all.iter().collect()
    } else {
        let chosen = arguments
            .clients
            .iter()
            .map(|name| by_name(all.iter(), |c| c, name));
        chosen.collect::<Result<_, _>>()?
    };
    // Looking changes nothing, so it takes no lock.
    let _guard = match arguments.dry_run {
        true => None,
        false => Some(lock(&records)?),
    };
    let mut plans = Vec::new();
    let mut refused = false;
    for client in chosen {
        let old = records
            .read(client.key)
            .map_err(|error| unreadable(&records, &error))?;
        let Some(old) = old else {
            if !arguments.all {
                show::nothing(client, arguments.json);
            }
            continue;
        };
        match axiowl_install::plan_removal(client.key, &old, &records) {
            Ok(plan) => {
                show::plan(client, &plan, arguments.json);
                plans.push((client, plan));
            }
            Err(refusal) => {
                refused = true;
                show::refused(
                    client,
                    &refusal.to_string(),
                    &refusal.hint(),
                    arguments.json,
                );
            }
        }
    }
    if arguments.all && !refused && plans.is_empty() && !arguments.json {
        crate::output::say!("nothing of AxiOwl's is installed");
    }
    let quiet = arguments.yes || arguments.json;
    finish(
        plans,
        &records,
        arguments.dry_run,
        quiet,
        arguments.json,
        "uninstalled",
    )?;
    Ok(if refused { Exit::Failed } else { Exit::Done })
}

/// Makes the planned changes; how many clients were changed. One that fails is as it was, and
/// ends the others.
fn finish(
    plans: Vec<(&Client, Plan)>,
    records: &Records,
    dry: bool,
    quiet: bool,
    as_json: bool,
    word: &str,
) -> Result<usize, Failure> {
    let removing = word == "uninstalled";
    let work = plans.iter().any(|(_, plan)| removing || !plan.is_empty());
    if dry || !work {
        if !as_json && !dry && !plans.is_empty() {
            crate::output::say!("Everything is as it should be; nothing was changed.");
        }
        return Ok(0);
    }
    if !quiet && !agreed()? {
        return Err(Failure::new(Exit::Failed, "nothing was changed"));
    }
    let mut done = 0;
    for (client, plan) in plans {
        if plan.is_empty() && !removing {
            show::done(client, "unchanged", &[], as_json);
            continue;
        }
        let files: Vec<PathBuf> = plan.changes().map(|(path, _)| path.to_owned()).collect();
        plan.apply(records).map_err(|error| {
            let hint = error.hint();
            Failure::new(Exit::Failed, format!("{}: {error}", client.title)).hint(hint)
        })?;
        show::done(client, word, &files, as_json);
        done += 1;
    }
    Ok(done)
}

/// Asks, where somebody is there to answer.
fn agreed() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(true);
    }
    let mut out = std::io::stderr().lock();
    write!(out, "Make these changes? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// This user's own machine: nobody else's configuration is ever written.
fn own_machine(common: &Common) -> Result<Setup, Failure> {
    if common.home.is_some() || common.world.is_some() {
        let message = "clients are set up in your own home only, not in an examined one";
        return Err(Failure::new(Exit::Usage, message).hint("leave `--home` and `--world` out"));
    }
    setup::open(common)
}

/// How clients are to start AxiOwl: the name on PATH that leads to this program, else the
/// program itself.
pub fn launch(common: &Common) -> Result<Launch, Failure> {
    let own = std::env::current_exe()?;
    let real = own.canonicalize().unwrap_or_else(|_| own.clone());
    let name = own.file_name().unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::split_paths(&path).filter(|dir| dir.is_absolute());
    let mut named = named.map(|dir| dir.join(name));
    let program = named.find(|file| file.canonicalize().is_ok_and(|file| file == real));
    let options = setup::child_flags(common).into_iter();
    let options = options
        .map(|word| text(Path::new(&word)))
        .collect::<Result<_, _>>()?;
    Ok(Launch {
        program: text(&program.unwrap_or(own))?,
        options,
    })
}

fn text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::new(Exit::Failed, format!("{} is no text", path.display())))
}

fn candidates(setup: &Setup, launch: &Launch) -> Result<Vec<Candidate>, Failure> {
    let support = crate::support::load(&crate::own::Own::of_process()?)?;
    let clients = axiowl_providers::clients(&setup.world, launch).into_iter();
    clients
        .map(|client| {
            let sighting = Sighting::of(setup, &support, &client)?;
            Ok(Candidate { client, sighting })
        })
        .collect()
}

/// The clients a user named, each once. One that nothing is seen of is refused.
fn named<'c>(candidates: &'c [Candidate], names: &[String]) -> Result<Vec<&'c Candidate>, Failure> {
    let mut out: Vec<&Candidate> = Vec::new();
    for name in names {
        let one = by_name(candidates.iter(), |one| &one.client, name)?;
        if !one.sighting.seen() {
            let message = format!("nothing of {} is here", one.client.title);
            return Err(Failure::new(Exit::Failed, message)
                .detail(one.sighting.looked_for(&one.client))
                .hint("install it first; where it lies elsewhere, name it under `executables` in config.yaml"));
        }
        if !out.iter().any(|has| has.client.key == one.client.key) {
            out.push(one);
        }
    }
    Ok(out)
}

/// A client by its own name, or by a provider that reads its configuration.
fn by_name<T>(
    mut all: impl Iterator<Item = T> + Clone,
    client: impl Fn(&T) -> &Client,
    name: &str,
) -> Result<T, Failure> {
    let known: Vec<&str> = all.clone().map(|one| client(&one).key).collect();
    let key = name.replace('-', "_");
    let fits = |client: &Client| client.key == name || client.surfaces.contains(&key.as_str());
    all.find(|one| fits(client(one))).ok_or_else(|| {
        Failure::new(Exit::Usage, format!("there is no client `{name}`"))
            .hint(suggest(name, known, "clients"))
    })
}

fn lock(records: &Records) -> Result<std::fs::File, Failure> {
    records.lock().map_err(|error| {
        let folder = records.folder().display();
        Failure::new(Exit::Failed, format!("{folder}: {error}"))
    })
}

fn unreadable(records: &Records, error: &std::io::Error) -> Failure {
    let folder = records.folder().display();
    Failure::new(Exit::Failed, format!("{folder}: a record cannot be read: {error}"))
        .hint("what was added is not known without it; mend it, or move it away and take the entries out by hand")
}

/// A line for programs.
fn line(kind: &str, client: &Client, mut fields: serde_json::Value) {
    let mut out = json!({ "client": client.key, "surfaces": client.surfaces });
    if let (Some(out), Some(fields)) = (out.as_object_mut(), fields.as_object_mut()) {
        out.append(fields);
    }
    output::json_line(kind, out);
}
