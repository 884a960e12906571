//! The reference of the command line: the program's own `--help`, command by command.

use crate::program::Axiowl;
use crate::{same, typed};

const HEAD: &str = "# The command line\n\n\
    What `--help` says of every command, written by `AXIOWL_BLESS=1 cargo test --test docs`.\n\
    Exit codes and `--json` are in [first steps](first-steps.md).\n";

/// The help of a command, and of those below it.
fn section(axiowl: &Axiowl, command: &str, out: &mut String, number: &mut usize) {
    let (well, help) = typed(axiowl, &axiowl.home(), &format!("{command} --help"));
    assert!(well, "{command}: {help}");
    *number += 1;
    out.push_str(&format!("\n## {command}\n\n```text\n"));
    for line in help.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push_str("```\n");
    for below in subcommands(&help) {
        section(axiowl, &format!("{command} {below}"), out, number);
    }
}

/// The names under `Commands:`; what a name means goes on further to the right.
fn subcommands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let named = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = named.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").collect()
}

#[test]
fn the_reference_is_the_help_of_every_command() {
    let axiowl = Axiowl::new();
    let (mut out, mut number) = (HEAD.to_owned(), 0);
    section(&axiowl, "axiowl", &mut out, &mut number);
    assert!(number > 30, "only {number} commands");
    same("engine/docs/cli.md", &out);
}
