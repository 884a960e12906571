//! x
use axiowl_lang::layers::*;
use axiowl_lang::{policy::*, yaml};
use std::time::Instant;
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    s.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e6
}
fn time(what: &str, mut f: impl FnMut()) {
    let n = 40;
    f();
    let t = cpu();
    let w = Instant::now();
    for _ in 0..n {
        f()
    }
    println!(
        "{what}: {:.3} ms cpu {:.3} wall",
        (cpu() - t) / n as f64,
        w.elapsed().as_secs_f64() * 1e3 / n as f64
    );
}
fn main() {
    let dir = std::path::PathBuf::from(std::env::args().nth(1).unwrap());
    let t = cpu();
    load_all(&Sources {
        disk: Some(&dir),
        ..Default::default()
    });
    println!("first {}", cpu() - t);
    time("all", || {
        load_all(&Sources {
            disk: Some(&dir),
            ..Default::default()
        });
    });
    for p in ["codex", "codex_cli", "claude_code_cli", "echo"] {
        time(p, || {
            load_where(
                &Sources {
                    disk: Some(&dir),
                    ..Default::default()
                },
                |x| x == p,
            );
        });
    }
    let text = std::fs::read_to_string(dir.join("codex/rule.yaml")).unwrap();
    time("json", || {
        yaml::to_json(&text, 32).unwrap();
    });
    let pol = std::fs::read_to_string(dir.join("codex/policy.rhai")).unwrap();
    time("policy", || {
        CompiledPolicy::compile(&axiowl_lang::diag::SourceText::new("x", &pol), 0).unwrap();
    });
    time("engine", || {
        limited_engine();
    });
    for r in [
        r"(?s)\A\s*# AGENTS\.md instructions for .*\z",
        r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        r"(?s)<environment_context>.*?</environment_context>\s*",
    ] {
        time(r, || {
            regex::RegexBuilder::new(r)
                .size_limit(1 << 20)
                .build()
                .unwrap();
        });
    }
}
