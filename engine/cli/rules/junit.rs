//! Test results as JUnit XML, as CI services read them.

use std::fmt::Write as _;
use std::time::Duration;

/// How one case went.
#[derive(Debug, Clone)]
pub struct Result {
    /// The rule.
    pub provider: String,
    /// The case.
    pub case: String,
    /// How long it took.
    pub took: Duration,
    /// What was different; empty when it passed.
    pub failures: Vec<String>,
}

/// The document for all results; a suite a rule.
pub fn document(results: &[Result]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let failed = |list: &[&Result]| list.iter().filter(|r| !r.failures.is_empty()).count();
    let time = |list: &[&Result]| list.iter().map(|r| r.took.as_secs_f64()).sum::<f64>();
    let all: Vec<&Result> = results.iter().collect();
    let _ = writeln!(
        out,
        "<testsuites name=\"axiowl rules\" tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"{:.3}\">",
        all.len(),
        failed(&all),
        time(&all)
    );
    let mut providers: Vec<&str> = results.iter().map(|r| r.provider.as_str()).collect();
    providers.dedup();
    for provider in providers {
        let suite: Vec<&Result> = results.iter().filter(|r| r.provider == provider).collect();
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\" time=\"{:.3}\">",
            escaped(provider),
            suite.len(),
            failed(&suite),
            time(&suite)
        );
        for result in suite {
            let _ = write!(
                out,
                "    <testcase classname=\"rules.{}\" name=\"{}\" time=\"{:.3}\"",
                escaped(provider),
                escaped(&result.case),
                result.took.as_secs_f64()
            );
            let Some(first) = result.failures.first() else {
                out.push_str("/>\n");
                continue;
            };
            let first = first.lines().next().unwrap_or_default();
            let _ = writeln!(
                out,
                ">\n      <failure message=\"{}\" type=\"difference\">{}</failure>\n    </testcase>",
                escaped(first),
                escaped(&result.failures.join("\n"))
            );
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// Text for XML; characters that XML does not have become a question mark.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_count_their_cases_and_texts_are_escaped() {
        let result = |provider: &str, case: &str, failures: &[&str]| Result {
            provider: provider.into(),
            case: case.into(),
            took: Duration::from_millis(1_500),
            failures: failures.iter().map(|f| (*f).to_owned()).collect(),
        };
        let document = document(&[
            result("a", "one", &[]),
            result("a", "two", &["- \"x\" <y>\u{1}\nmore", "z"]),
            result("b", "three", &[]),
        ]);
        assert!(document.contains("tests=\"3\" failures=\"1\" errors=\"0\" time=\"4.500\""));
        assert!(document.contains("<testsuite name=\"a\" tests=\"2\" failures=\"1\""));
        assert!(document.contains("name=\"one\" time=\"1.500\"/>"));
        assert!(document.contains("message=\"- &quot;x&quot; &lt;y&gt;?\""));
        assert!(document.contains("more\nz</failure>"));
    }
}
