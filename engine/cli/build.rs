//! Embeds `rules/*/rule.yaml`, `rules/*/*.rhai` and `rules/support.yaml`: one binary, no files beside it.
//! Each rule is also read here, once, so that the program need not read its text at every start.
//!
//! Fixtures stay out. Written by hand because the usual embedding crates take whole folders.

use axiowl_lang::prepared::prepare;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    let rules = Path::new(&root).join("rules");
    println!("cargo::rerun-if-changed={}", rules.display());
    let mut table = String::from(
        "/// (provider, file name, text), sorted.\npub const EMBEDDED: &[(&str, &str, &str)] = &[\n",
    );
    let mut prepared = String::from(
        "/// What was made of each rule: provider, bytes.\npub const PREPARED: &[(&str, &[u8])] = &[\n",
    );
    let mut providers: Vec<_> = fs::read_dir(&rules)?.collect::<Result<_, _>>()?;
    providers.sort_by_key(|entry| entry.file_name());
    for provider in providers.iter().filter(|entry| entry.path().is_dir()) {
        let mut files: Vec<_> = fs::read_dir(provider.path())?.collect::<Result<_, _>>()?;
        files.sort_by_key(|entry| entry.file_name());
        for file in files {
            let name = file.file_name().to_string_lossy().into_owned();
            if name != "rule.yaml" && !name.ends_with(".rhai") {
                continue;
            }
            println!("cargo::rerun-if-changed={}", file.path().display());
            let key = provider.file_name().to_string_lossy().into_owned();
            writeln!(
                table,
                "    ({key:?}, {name:?}, include_str!({:?})),",
                file.path()
            )
            .map_err(io::Error::other)?;
            if name == "rule.yaml" {
                let shown = format!("rules/{key}/{name}");
                let bytes = prepare(&shown, &fs::read_to_string(file.path())?);
                let made = Path::new(&out).join(format!("{key}.rule"));
                fs::write(&made, bytes.map_err(io::Error::other)?)?;
                writeln!(prepared, "    ({key:?}, include_bytes!({made:?})),")
                    .map_err(io::Error::other)?;
            }
        }
    }
    table.push_str("];\n");
    table.push_str(&prepared);
    table.push_str("];\n");
    let support = rules.join("support.yaml");
    println!("cargo::rerun-if-changed={}", support.display());
    writeln!(
        table,
        "/// The support matrix.\npub const SUPPORT: &str = include_str!({support:?});"
    )
    .map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("embedded_rules.rs"), table)
}
