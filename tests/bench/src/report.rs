//! Measures AxiOwl beside the scanner and writes a table.

use crate::Failure;
use crate::corpus::{self, Plan};
use crate::measure::{Cost, Job, in_turn};
use crate::table::{self, Table};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Runs every measurement.
pub fn run(axiowl: &Path, work: &Path, rounds: usize) -> Result<String, Failure> {
    let mut out = String::new();
    let bench = Bench {
        axiowl,
        own: std::env::current_exe()?,
        work,
        rounds,
    };
    bench.reference(&mut out)?;
    bench.length(&mut out)?;
    bench.registry(&mut out, &[100, 10_000])?;
    Ok(out)
}

struct Bench<'a> {
    axiowl: &'a Path,
    own: PathBuf,
    work: &'a Path,
    rounds: usize,
}

impl Bench<'_> {
    fn home(&self, name: &str, plan: &Plan) -> Result<PathBuf, Failure> {
        let home = self.work.join(name);
        if !home.exists() {
            corpus::write(&home, plan)?;
        }
        Ok(home)
    }

    /// With no state of its own from before.
    fn discover(&self, home: &Path) -> Result<Cost, Failure> {
        let own = tempfile::tempdir()?;
        self.discover_in(home, own.path())
    }

    fn discover_in(&self, home: &Path, own: &Path) -> Result<Cost, Failure> {
        // With --json every row is told, and looked at again.
        let mut args = vec!["discover".to_owned(), "all".to_owned()];
        args.extend(["--home".to_owned(), home.display().to_string()]);
        Job {
            program: self.axiowl,
            args,
            own,
        }
        .run()
    }

    fn scan(&self, home: &Path) -> Result<Cost, Failure> {
        let args = vec!["scan".to_owned(), home.display().to_string()];
        Job {
            program: &self.own,
            args,
            own: self.work,
        }
        .run()
    }

    fn reference(&self, out: &mut String) -> Result<(), Failure> {
        let home = self.home("reference", &Plan::reference(1, 1.0, 1.0))?;
        let kept = tempfile::tempdir()?;
        let costs = in_turn(
            &mut [
                &mut || self.scan(&home),
                &mut || self.discover(&home),
                &mut || self.discover_in(&home, kept.path()),
                &mut || {
                    Job {
                        program: self.axiowl,
                        args: vec!["--version".into()],
                        own: kept.path(),
                    }
                    .run()
                },
            ],
            self.rounds,
        )?;
        writeln!(
            out,
            "reference corpus, median of {} runs in turn\n",
            self.rounds
        )?;
        writeln!(
            out,
            "| command | CPU ms | peak MB | CPU against the scanner |\n|---|---|---|---|"
        )?;
        let scanner = costs[0].cpu;
        let names = [
            "hand-written scanner",
            "`discover all`, for the first time",
            "`discover all`, nothing changed",
            "`--version`",
        ];
        for (name, cost) in names.iter().zip(&costs) {
            let Cost { cpu, peak } = cost;
            let ratio = cpu / scanner;
            writeln!(
                out,
                "| {name} | {:.0} | {peak:.1} | {ratio:.2} |",
                cpu * 1e3
            )?;
        }
        Ok(writeln!(out)?)
    }

    /// The cost must not depend on how long transcripts are.
    fn length(&self, out: &mut String) -> Result<(), Failure> {
        // Few files: eight times the length is eight times the disk.
        let short = self.home("few", &Plan::reference(1, 0.05, 1.0))?;
        let long = self.home("long", &Plan::reference(1, 0.05, 8.0))?;
        let costs = in_turn(
            &mut [&mut || self.discover(&short), &mut || self.discover(&long)],
            self.rounds,
        )?;
        writeln!(
            out,
            "325 files, transcripts of one length and of eight times that: {:.0} and {:.0} ms CPU, {:.1} and {:.1} MB\n",
            costs[0].cpu * 1e3,
            costs[1].cpu * 1e3,
            costs[0].peak,
            costs[1].peak
        )?;
        Ok(())
    }

    /// Commands on the registry by its rows.
    fn registry(&self, out: &mut String, sizes: &[usize]) -> Result<(), Failure> {
        writeln!(
            out,
            "| rows | `list agents` ms | `send --dry-run` by id ms | discovery that adds 1 % ms | peak MB |\n|---|---|---|---|---|"
        )?;
        let mut plot = Vec::new();
        for &rows in sizes {
            let state = self.work.join(format!("registry{rows}"));
            let table = Table::make(&state, rows)?;
            // So many sessions are new to the table.
            let new = format!("new{rows}");
            let home = self.home(&new, &Plan::codex_only(rows.div_ceil(100)))?;
            let job = |args: &[&str]| -> Result<Cost, Failure> {
                let mut args: Vec<String> = args.iter().map(|&a| a.to_owned()).collect();
                args.extend(["--state".to_owned(), state.display().to_string()]);
                Job {
                    program: self.axiowl,
                    args,
                    own: &state,
                }
                .run()
            };
            let middle = table::session(rows / 2);
            let home = home.display().to_string();
            let costs = in_turn(
                &mut [
                    &mut || job(&["list", "agents", "--json"]),
                    &mut || {
                        job(&[
                            "send",
                            "--to",
                            &middle,
                            "--body",
                            "x",
                            "--dry-run",
                            "--json",
                            "--home",
                            &home,
                        ])
                    },
                    &mut || {
                        table.reset()?;
                        job(&["discover", "codex-cli", "--json", "--home", &home])
                    },
                ],
                self.rounds.min(5),
            )?;
            let peak = costs.iter().map(|c| c.peak).fold(0.0, f64::max);
            writeln!(
                out,
                "| {rows} | {:.0} | {:.0} | {:.0} | {peak:.1} |",
                costs[0].cpu * 1e3,
                costs[1].cpu * 1e3,
                costs[2].cpu * 1e3
            )?;
            plot.push((rows.to_string(), costs[2].cpu));
        }
        writeln!(out)?;
        bars(out, "merge CPU by rows", &plot)
    }
}

/// A bar a figure, the longest one 50 characters.
fn bars(out: &mut String, title: &str, figures: &[(String, f64)]) -> Result<(), Failure> {
    let most = figures
        .iter()
        .map(|(_, f)| *f)
        .fold(f64::MIN_POSITIVE, f64::max);
    writeln!(out, "{title}\n\n```text")?;
    for (name, figure) in figures {
        let length = (figure / most * 50.0).ceil() as usize;
        writeln!(
            out,
            "{name:>7} {} {:.0} ms",
            "#".repeat(length),
            figure * 1e3
        )?;
    }
    Ok(writeln!(out, "```\n")?)
}
