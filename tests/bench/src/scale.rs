//! What grows with the number of sessions, and how: registries and homes of three sizes, a
//! decade apart each.
//!
//! Work that is linear costs ten times as much for ten times as many, and a little less where
//! a start-up is part of it. The table says how much it is, and where a bar of the quality
//! document is passed; the plot shows it on logarithmic axes, where linear growth is a line.

use crate::Failure;
use crate::corpus::{self, Plan};
use crate::measure::{Cost, Job, in_turn};
use crate::plot::{self, Line};
use crate::table::{self, Table};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Rows of a registry.
const ROWS: [usize; 3] = [1_000, 10_000, 100_000];
/// Session files of a home.
const FILES: [usize; 3] = [500, 5_000, 50_000];
/// Nothing is concluded from files that changed this shortly before they were read.
const OLD: Duration = Duration::from_secs(3);
/// A decade that costs this many times the one before is no longer linear.
const LINEAR: f64 = 12.0;

/// One kind of work at each size.
struct Series {
    name: &'static str,
    sizes: [usize; 3],
    costs: Vec<Cost>,
    /// CPU milliseconds at 10,000, where the quality document has a bar.
    bar: Option<f64>,
}

/// Measures, and writes `scale.md` and `scale.svg` into a folder.
pub fn run(axiowl: &Path, work: &Path, out: &Path, rounds: usize) -> Result<String, Failure> {
    let bench = Bench {
        axiowl,
        work,
        rounds,
    };
    let mut all = bench.registries()?;
    all.extend(bench.homes()?);
    let small = bench.small()?;
    let text = report(&all, &small)?;
    fs::create_dir_all(out)?;
    fs::write(out.join("scale.md"), &text)?;
    let lines: Vec<Line<'_>> = all
        .iter()
        .map(|series| Line {
            name: series.name,
            points: series
                .sizes
                .iter()
                .zip(&series.costs)
                .map(|(size, cost)| (*size as f64, cost.cpu * 1e3))
                .collect(),
        })
        .collect();
    let title = "CPU by the number of rows or files";
    fs::write(
        out.join("scale.svg"),
        plot::svg(title, "rows or files", "CPU ms", &lines),
    )?;
    Ok(text)
}

struct Bench<'a> {
    axiowl: &'a Path,
    work: &'a Path,
    rounds: usize,
}

impl Bench<'_> {
    fn job(&self, own: &Path, args: &[&str]) -> Result<Cost, Failure> {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        let program = self.axiowl;
        Job { program, args, own }.run()
    }

    /// Commands on registries.
    fn registries(&self) -> Result<Vec<Series>, Failure> {
        let names = [
            ("list agents", Some(30.0)),
            ("list agents --json", Some(30.0)),
            ("exact resolve", Some(25.0)),
            ("merge of 1 %", Some(60.0)),
        ];
        let mut all = Vec::from(names.map(|(name, bar)| Series {
            name,
            sizes: ROWS,
            costs: Vec::new(),
            bar,
        }));
        for rows in ROWS {
            let folder = tempfile::tempdir_in(self.work)?;
            let state = folder.path().join("state");
            let table = Table::make(&state, rows)?;
            let home = folder.path().join("home");
            corpus::write(&home, &Plan::codex_only(rows.div_ceil(100)))?;
            let (state, home) = (state.display().to_string(), home.display().to_string());
            let middle = table::session(rows / 2);
            let own = folder.path();
            let merge = ["discover", "codex-cli", "--home", &home, "--state", &state];
            // A second look at an empty registry costs what the discovery costs without a merge
            // into many rows.
            let alone = own.join("alone").display().to_string();
            let without = ["discover", "codex-cli", "--home", &home, "--state", &alone];
            let costs = in_turn(
                &mut [
                    &mut || self.job(own, &["list", "agents", "--state", &state]),
                    &mut || self.job(own, &["list", "agents", "--json", "--state", &state]),
                    &mut || {
                        let to = ["send", "--to", &middle, "--body", "x", "--dry-run"];
                        self.job(
                            own,
                            &[&to[..], &["--home", &home, "--state", &state]].concat(),
                        )
                    },
                    &mut || {
                        table.reset()?;
                        self.job(own, &merge)
                    },
                    &mut || {
                        let cost = self.job(own, &without);
                        fs::remove_dir_all(own.join("alone"))?;
                        cost
                    },
                ],
                self.rounds,
            )?;
            for (series, cost) in all.iter_mut().zip(&costs) {
                series.costs.push(*cost);
            }
            let merged = &mut all[3].costs;
            if let Some(last) = merged.last_mut() {
                last.cpu = (last.cpu - costs[4].cpu).max(0.0);
            }
        }
        Ok(all)
    }

    /// Discovery of homes.
    fn homes(&self) -> Result<Vec<Series>, Failure> {
        let mut all = Vec::from(
            ["discover, first", "discover, unchanged"].map(|name| Series {
                name,
                sizes: FILES,
                costs: Vec::new(),
                bar: None,
            }),
        );
        for files in FILES {
            let folder = tempfile::tempdir_in(self.work)?;
            let home: PathBuf = folder.path().join("home");
            // Short transcripts: their length does not matter, the disk does.
            let times = files as f64 / corpus::FILES as f64;
            corpus::write(&home, &Plan::reference(1, times, 0.02))?;
            std::thread::sleep(OLD);
            let home = home.display().to_string();
            let own = folder.path();
            let (first, kept) = (own.join("first"), own.join("kept"));
            let (fresh, known) = (first.display().to_string(), kept.display().to_string());
            let discover = |state: &str| {
                self.job(
                    own,
                    // With --json every row is told, and looked at again.
                    &["discover", "all", "--home", &home, "--state", state],
                )
            };
            let costs = in_turn(
                &mut [
                    &mut || {
                        let cost = discover(&fresh);
                        fs::remove_dir_all(&first)?;
                        cost
                    },
                    &mut || discover(&known),
                ],
                self.rounds,
            )?;
            for (series, cost) in all.iter_mut().zip(costs) {
                series.costs.push(cost);
            }
        }
        Ok(all)
    }

    /// Commands that have to be small: name, cost.
    fn small(&self) -> Result<Vec<(&'static str, Cost)>, Failure> {
        let folder = tempfile::tempdir_in(self.work)?;
        let own = folder.path();
        let state = own.join("state");
        Table::make(&state, 100)?;
        let state = state.display().to_string();
        let costs = in_turn(
            &mut [&mut || self.job(own, &["--version"]), &mut || {
                self.job(own, &["list", "agents", "--state", &state])
            }],
            self.rounds,
        )?;
        let names = ["`--version`", "`list agents`, 100 rows"];
        Ok(names.into_iter().zip(costs).collect())
    }
}

fn report(all: &[Series], small: &[(&str, Cost)]) -> Result<String, Failure> {
    let mut out = String::from(
        "| work | size | CPU ms | peak MB | times the decade before | bar |\n|---|---|---|---|---|---|\n",
    );
    for series in all {
        let mut before: Option<f64> = None;
        for (size, cost) in series.sizes.iter().zip(&series.costs) {
            let ratio = before.map(|before| cost.cpu / before);
            let growth = match ratio {
                None => String::new(),
                Some(ratio) if ratio > LINEAR => format!("**{ratio:.1}**"),
                Some(ratio) => format!("{ratio:.1}"),
            };
            let most = series.bar.filter(|_| *size >= 10_000);
            let most = most.map(|bar| bar * (*size as f64 / 1e4));
            let bar = match most {
                None => String::new(),
                Some(most) if cost.cpu * 1e3 > most => format!("**over {most:.0}**"),
                Some(most) => format!("within {most:.0}"),
            };
            writeln!(
                out,
                "| {} | {size} | {:.1} | {:.1} | {growth} | {bar} |",
                series.name,
                cost.cpu * 1e3,
                cost.peak
            )?;
            before = Some(cost.cpu);
        }
    }
    for (name, cost) in small {
        let within = cost.cpu * 1e3 <= 10.0 && cost.peak <= 12.0;
        let bar = if within { "within" } else { "**over**" };
        let (cpu, peak) = (cost.cpu * 1e3, cost.peak);
        writeln!(
            out,
            "| {name} |  | {cpu:.1} | {peak:.1} |  | {bar} 10 ms, 12 MB |"
        )?;
    }
    Ok(out)
}
