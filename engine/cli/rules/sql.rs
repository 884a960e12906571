//! The SQL of a rule, compiled by SQLite itself: what the parser of the language cannot know.

use axiowl_lang::at::{At, Span};
use axiowl_lang::codes;
use axiowl_lang::diag::Diagnostic;
use axiowl_lang::load::LoadedRule;
use axiowl_lang::source::{Source, Sqlite};
use axiowl_sources::{SqlProblem, check_sql};

/// What SQLite says about the statements of a rule.
pub fn check(loaded: &LoadedRule) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for (name, source) in &loaded.rule.sources {
        let Source::Sqlite(sqlite) = source else {
            continue;
        };
        for (_, sql) in sqlite.statements() {
            match check_sql(&sql.value) {
                Err(problem) => {
                    let span = place(loaded, sql, &problem);
                    let why = &problem.message;
                    let message = format!("the SQL of `{name}` does not compile: {why}");
                    let help = "mend the statement; SQLite's own words are above";
                    out.extend(finding(loaded, span, message, "SQLite stops here", help));
                }
                Ok(None) => {}
                Ok(Some(given)) => {
                    let absent = absent(sqlite, &given);
                    if !absent.is_empty() {
                        let absent = listed(&absent);
                        let message = format!("the SQL of `{name}` does not give {absent}");
                        let help = format!("it gives {}", listed(&given));
                        out.extend(finding(loaded, sql.span, message, "this statement", &help));
                    }
                }
            }
        }
    }
    out
}

/// Columns that have to be there, and that a statement does not give.
fn absent(sqlite: &Sqlite, given: &[String]) -> Vec<String> {
    let gives = |column: &str| given.iter().any(|g| g.eq_ignore_ascii_case(column));
    let columns = sqlite.columns.iter();
    columns
        .filter(|(column, kind)| !kind.optional && !gives(column))
        .map(|(column, _)| column.clone())
        .collect()
}

fn finding(
    loaded: &LoadedRule,
    span: Span,
    message: String,
    label: &str,
    help: &str,
) -> Option<Diagnostic> {
    let (file, at) = loaded.source_of(span)?;
    let diagnostic = Diagnostic::error(codes::BAD_SQL, message);
    Some(diagnostic.at(&file, at, label).help(help))
}

fn listed(columns: &[String]) -> String {
    let names: Vec<String> = columns.iter().map(|c| format!("`{c}`")).collect();
    names.join(", ")
}

/// The word of the statement that SQLite means, as it stands in the rule's text: quotes and
/// folded lines may stand between the two, so the word itself is looked for.
fn place(loaded: &LoadedRule, sql: &At<String>, problem: &SqlProblem) -> Span {
    let whole = sql.span;
    let found = || {
        let offset = problem.offset?;
        let rest = sql.value.get(offset..)?;
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        let word = &rest[..end.filter(|end| *end > 0).unwrap_or(rest.len().min(1))];
        let before = sql.value[..offset].matches(word).count();
        let text = &loaded.files.get(usize::from(whole.file))?.text;
        let written = text.get(whole.range())?;
        let (at, _) = written.match_indices(word).nth(before)?;
        let start = whole.start + u32::try_from(at).ok()?;
        Some(Span {
            start,
            end: start + u32::try_from(word.len()).ok()?,
            ..whole
        })
    };
    found().unwrap_or(whole)
}
