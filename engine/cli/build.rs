//! Embeds `rules/*/rule.yaml`, `rules/*/*.rhai` and `rules/support.yaml`: one binary, no files beside it.
//!
//! Fixtures stay out. Written by hand because the usual embedding crates take whole folders.

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
        }
    }
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
