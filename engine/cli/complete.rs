//! `axiowl completions` and `axiowl man`: what shells and readers want of the command line,
//! made of its own definition.

use crate::args::{Cli, Completions, Man};
use crate::exit::{Exit, Failure, Outcome};
use clap::CommandFactory;
use std::io::Write;

/// Prints the completions for a shell.
pub fn completions(arguments: &Completions) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "axiowl", &mut script);
    print(&script)
}

/// Prints the manual page, or writes the pages of all commands into a folder.
pub fn man(arguments: &Man) -> Outcome {
    match &arguments.dir {
        Some(dir) => clap_mangen::generate_to(Cli::command(), dir).map_err(|error| {
            Failure::new(Exit::Failed, format!("{}: {error}", dir.display()))
                .hint("name a folder that is there and can be written")
        })?,
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            return print(&page);
        }
    }
    Ok(Exit::Done)
}

/// As it is: no terminal is to take colours out of a script.
fn print(bytes: &[u8]) -> Outcome {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(Exit::Done),
    }
}
