//! Mends what can be mended without doubt, and touches nothing else of a file.

use crate::exit::{Exit, Failure};
use axiowl_lang::diag::{Diagnostic, Fix};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

/// Makes the changes that the findings carry, in files below `dir`; one line a change.
///
/// # Errors
/// When a file cannot be written; files before it have been mended.
pub fn apply(found: &[Diagnostic], dir: &Path) -> Result<Vec<String>, Failure> {
    let mut by_file: BTreeMap<&str, Vec<(&Fix, &Diagnostic)>> = BTreeMap::new();
    for diagnostic in found {
        if let Some(fix) = diagnostic.fix().filter(|f| lies_below(&f.file, dir)) {
            by_file
                .entry(&fix.file)
                .or_default()
                .push((fix, diagnostic));
        }
    }
    let mut done = Vec::new();
    for (file, mut fixes) in by_file {
        // From the end, so that places before stay true.
        fixes.sort_by_key(|(fix, _)| std::cmp::Reverse((fix.span.start, fix.span.end)));
        let cannot = |error: std::io::Error| Failure::new(Exit::Failed, format!("{file}: {error}"));
        let mut text = std::fs::read_to_string(file).map_err(cannot)?;
        let mut end = usize::MAX;
        let mut lines = Vec::new();
        for (fix, diagnostic) in fixes {
            // The file may have been changed since it was read.
            let same = diagnostic.primary().is_some_and(|label| {
                label.text.get(fix.span.clone()) == text.get(fix.span.clone())
            });
            if fix.span.end > end || !same {
                continue;
            }
            end = fix.span.start;
            let (line, column) = axiowl_lang::diag::line_and_column(&text, fix.span.start);
            lines.push(format!(
                "{file}:{line}:{column}: `{}` -> `{}`",
                &text[fix.span.clone()],
                fix.text
            ));
            text.replace_range(fix.span.clone(), &fix.text);
        }
        if !lines.is_empty() {
            write(Path::new(file), &text).map_err(cannot)?;
        }
        done.extend(lines.into_iter().rev());
    }
    Ok(done)
}

/// Whether a file lies below a folder; each may be written from here on, or in full.
fn lies_below(file: &str, dir: &Path) -> bool {
    match (std::path::absolute(file), std::path::absolute(dir)) {
        (Ok(file), Ok(dir)) => file.starts_with(dir),
        _ => false,
    }
}

/// Replaces a file as a whole, through a link to where it really lies.
pub fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
    fresh.write_all(text.as_bytes())?;
    if let Ok(metadata) = path.metadata() {
        fresh.as_file().set_permissions(metadata.permissions())?;
    }
    fresh.persist(&path)?;
    Ok(())
}
