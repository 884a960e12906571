//! Temporary: measures reading a home by a rule.
use axiowl_lang::load::{Layer, RuleFolder, load};
use axiowl_sources::{ReadOptions, World, read_all};
use std::collections::BTreeMap;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let folder = |p: &str| RuleFolder {
        provider: p.into(),
        layer: Layer::Disk,
        shown: p.into(),
        rule: std::fs::read_to_string(format!("{}/{p}/rule.yaml", args[1])).unwrap(),
        scripts: std::fs::read_to_string(format!("{}/{p}/policy.rhai", args[1]))
            .map(|t| [("policy.rhai".to_string(), t)].into())
            .unwrap_or_default(),
    };
    let f = folder(&args[2]);
    let rule = match load(&f, &|_| None) {
        Ok(r) => r,
        Err(e) => {
            for d in e {
                eprintln!("{d}");
            }
            std::process::exit(1)
        }
    };
    let mut strong = std::collections::BTreeSet::new();
    for c in rule.rule.name.iter().flat_map(|n| &n.candidates) {
        if !c.weak {
            for s in rule.rule.sources.keys() {
                strong.insert((s.clone(), c.from.value.clone()));
            }
        }
    }
    let world = World::real(
        args[3].clone().into(),
        BTreeMap::new(),
        std::time::SystemTime::now().into(),
    );
    let options = ReadOptions {
        strong_fields: strong,
        threads: args.get(4).map(|n| n.parse().unwrap()),
        ..ReadOptions::default()
    };
    let cpu = || {
        let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
    };
    for _ in 0..3 {
        let (c, w) = (cpu(), std::time::Instant::now());
        let t = read_all(&rule, &world, &options);
        eprintln!("cpu {:.3} wall {:.3}", cpu() - c, w.elapsed().as_secs_f64());
        for (n, t) in &t.tables {
            eprintln!(
                "  {n}: rows {} matched {} read {} incomplete {} strange {}",
                t.rows.len(),
                t.files_matched,
                t.files_read,
                t.incomplete,
                t.not_understood.len()
            );
        }
        eprintln!("  issues {}", t.issues.len());
        if std::env::var_os("SHOW").is_some() {
            for i in &t.issues {
                eprintln!("{i:?}");
            }
            for (n, t) in &t.tables {
                for r in &t.rows {
                    println!("{n} {}", serde_json::to_string(r).unwrap());
                }
            }
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    eprintln!(
        "{}",
        status.lines().find(|l| l.starts_with("VmHWM")).unwrap()
    );
}
