//! `axiowl rules show`: the rule in force, as it stands or as it works.

use super::{no_rule, shelf};
use crate::args::Common;
use crate::exit::Exit;
use crate::exit::Outcome;
use crate::output;
use axiowl_lang::effective::EffectiveLine;
use axiowl_lang::layers;
use axiowl_lang::load::{Layer, LoadedRule};
use axiowl_lang::origins::OriginLine;
use axiowl_lang::stack::Stack;
use axiowl_model::display_safe;
use serde_json::json;

/// Prints one rule.
pub fn run(provider: &str, effective: bool, json: bool, common: &Common) -> Outcome {
    let shelf = shelf(common)?;
    let sources = shelf.sources();
    let stack = Stack::open(&sources);
    let rules = layers::load_stack(&stack, sources.trusted, |_| true);
    let Some(loaded) = rules.get(provider) else {
        let known = rules.iter().map(|rule| rule.rule.provider.value.clone());
        return Err(no_rule(provider, known));
    };
    let lines = match effective {
        true => loaded.effective(),
        false => as_written(loaded),
    };
    if json {
        for line in &lines {
            let OriginLine {
                layer,
                file,
                line: number,
            } = &line.origin;
            output::json_line(
                "rule_line",
                json!({ "layer": layer.to_string(), "file": file, "line": number, "text": line.text }),
            );
        }
        return Ok(Exit::Done);
    }
    crate::output::say!("# {provider}: {}", chain(loaded, &stack));
    let mut files: Vec<&OriginLine> = Vec::new();
    for line in &lines {
        if !files.iter().any(|f| f.file == line.origin.file) {
            files.push(&line.origin);
        }
    }
    for file in &files {
        crate::output::say!("# {:<9} {}", word(&file.layer), display_safe(&file.file));
    }
    let several = effective || files.len() > 1;
    let origin =
        |line: &EffectiveLine| format!("{}:{}", short_name(&line.origin, &files), line.origin.line);
    let width = lines.iter().map(|l| origin(l).len()).max().unwrap_or(0);
    for line in &lines {
        let text = display_safe(&line.text);
        match several {
            true => crate::output::say!(
                "{}",
                format!("{:<width$} | {text}", origin(line)).trim_end()
            ),
            false => crate::output::say!("{text}"),
        }
    }
    Ok(Exit::Done)
}

/// The files of the rule's own folder, as they stand on disk.
fn as_written(loaded: &LoadedRule) -> Vec<EffectiveLine> {
    let Some(patched) = &loaded.patched else {
        let own = loaded.files.first();
        let own = own.into_iter().flat_map(|file| file.lines());
        return own
            .map(|(origin, text)| EffectiveLine {
                origin,
                text: text.to_owned(),
            })
            .collect();
    };
    let patch = &patched.patch;
    let lines = patch.rule.lines().zip(1..);
    lines
        .map(|(text, line)| EffectiveLine {
            origin: OriginLine {
                layer: patch.layer.clone(),
                file: format!("{}/rule.yaml", patch.shown),
                line,
            },
            text: text.to_owned(),
        })
        .collect()
}

/// Every layer that has a rule for the provider, the one in force first.
fn chain(loaded: &LoadedRule, stack: &Stack) -> String {
    let mut out = format!("{} {}", loaded.layer, loaded.digest);
    if let Some(patched) = &loaded.patched {
        out += &format!(
            ", a patch of {} {}",
            patched.base.layer,
            patched.base.digest()
        );
    }
    let holders = stack.holders(&loaded.rule.provider);
    let below = holders
        .iter()
        .rev()
        .skip_while(|h| *h.layer != loaded.layer);
    for holder in below.skip(1) {
        let base = loaded.patched.as_ref().map(|p| &p.base.layer);
        if base != Some(holder.layer) {
            out += &format!(", over {}", holder.layer);
        }
    }
    out
}

fn word(layer: &Layer) -> &str {
    layer.as_str()
}

/// The layer, and the file's name where the layer gives several.
fn short_name(line: &OriginLine, files: &[&OriginLine]) -> String {
    let several = files.iter().filter(|f| f.layer == line.layer).count() > 1;
    match several {
        false => word(&line.layer).to_owned(),
        true => {
            let mut parts = line.file.rsplit('/');
            let file = parts.next().unwrap_or_default();
            let folder = parts.next().unwrap_or_default();
            format!("{}:{folder}/{file}", word(&line.layer))
        }
    }
}
