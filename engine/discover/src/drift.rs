//! Says how well a rule still fits what it read.

use axiowl_model::{Issue, Verdict, codes};
use axiowl_sources::read::Tables;

/// What a run found out about its own understanding.
pub struct Fit {
    pub verdict: Verdict,
    pub issues: Vec<Issue>,
}

/// Judges a run by what it read, kept, dropped and did not understand.
pub fn judge(
    tables: &Tables,
    missing: &[String],
    bases: &[&str],
    kept: usize,
    dropped: usize,
    untested: &[String],
    tested: Option<(&str, String)>,
) -> Fit {
    let mut issues = Vec::new();
    let mut verdict = Verdict::Verified;
    if let (Some(first), Some((program, range))) = (untested.first(), tested) {
        verdict = Verdict::UnverifiedVersion;
        let mut versions: Vec<&str> = untested.iter().map(String::as_str).collect();
        versions.sort_unstable();
        versions.dedup();
        let shown = if versions.len() == 1 {
            first.clone()
        } else {
            versions.join(", ")
        };
        issues.push(Issue::new(
            codes::UNVERIFIED_VERSION,
            format!(
                "{} rows were written by {program} {shown}; this rule was tested with {range}",
                untested.len()
            ),
        ));
    }
    if !missing.is_empty() {
        verdict = Verdict::Drift;
        issues.push(Issue::new(
            codes::DRIFT,
            format!("expected columns are absent: {}", missing.join(", ")),
        ));
    }
    for (path, line, what) in tables
        .tables
        .values()
        .flat_map(|table| &table.not_understood)
    {
        verdict = Verdict::Drift;
        let issue = Issue::new(codes::DRIFT, what.clone()).at(path.clone());
        issues.push(if *line > 0 { issue.line(*line) } else { issue });
    }
    let based = || bases.iter().filter_map(|name| tables.tables.get(*name));
    let matched: usize = based().map(|table| table.files_matched).sum();
    // What could not be read is said by its own issue; the rule cannot be said to fit it.
    if based().any(|table| table.incomplete) {
        verdict = Verdict::Drift;
    }
    let unfit: usize = based().map(|table| table.not_understood.len()).sum();
    if matched > 0 && unfit >= matched {
        verdict = Verdict::Blind;
        issues.push(Issue::new(
            codes::BLIND,
            format!("no record of any of {matched} files was understood"),
        ));
    }
    let present = based().any(|table| table.root_exists);
    if kept == 0 && dropped == 0 && present {
        if matched > 0 {
            verdict = Verdict::Blind;
            issues.push(Issue::new(
                codes::BLIND,
                format!("{matched} files are there and no session was understood"),
            ));
        } else if tables.unread_files == 0 {
            verdict = verdict.max(Verdict::Drift);
            issues.push(Issue::new(
                codes::DRIFT,
                "the provider's folder is there and no file in it is one this rule knows",
            ));
        }
    }
    Fit { verdict, issues }
}

/// Whether a dotted version lies in an inclusive range. What cannot be compared is outside.
pub fn within(version: &str, from: &str, to: &str) -> bool {
    match (numbers(version), numbers(from), numbers(to)) {
        (Some(version), Some(from), Some(to)) => version >= from && version <= to,
        _ => false,
    }
}

fn numbers(version: &str) -> Option<[u64; 3]> {
    let core = version
        .trim()
        .trim_start_matches('v')
        .split(['-', '+'])
        .next()?;
    let mut out = [0; 3];
    let mut parts = core.split('.');
    for slot in &mut out {
        match parts.next() {
            Some(part) => *slot = part.parse().ok()?,
            None => break,
        }
    }
    parts.next().is_none().then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert!(within("0.171.0", "0.100.0", "0.171.0"));
        assert!(within("0.9.0", "0.1", "0.10.0"));
        assert!(!within("0.172.0", "0.100.0", "0.171.0"));
        assert!(!within("nightly", "0.100.0", "0.171.0"));
    }
}
