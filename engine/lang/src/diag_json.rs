//! A diagnostic in the form for programs.

use crate::diag::{Diagnostic, Label, line_and_column};
use serde_json::{Value, json};

impl Diagnostic {
    /// The form for programs: code, severity, message, file, line, column, end_line,
    /// end_column, key, help, `fix` (place and text) and `related` for the other places. Lines
    /// and columns are one-based, columns count characters, the end is exclusive.
    pub fn to_json(&self) -> Value {
        let place = |label: &Label| {
            let (end_line, end_column) = line_and_column(&label.text, label.span.end);
            json!({
                "file": &*label.file,
                "line": label.line,
                "column": label.column,
                "end_line": end_line,
                "end_column": end_column,
                "label": label.label,
            })
        };
        let mut out = json!({
            "code": self.code,
            "severity": self.severity.as_str(),
            "message": self.message,
        });
        let primary = self.primary();
        let main = primary.map_or_else(|| json!({}), place);
        for field in ["file", "line", "column", "end_line", "end_column", "label"] {
            out[field] = main.get(field).cloned().unwrap_or(Value::Null);
        }
        out["key"] = json!(self.key);
        out["help"] = json!(self.help);
        out["fix"] = self.fix().map_or(Value::Null, |fix| {
            let text = primary.map_or("", |label| &*label.text);
            let (line, column) = line_and_column(text, fix.span.start);
            let (end_line, end_column) = line_and_column(text, fix.span.end);
            json!({
                "file": &*fix.file,
                "line": line,
                "column": column,
                "end_line": end_line,
                "end_column": end_column,
                "text": fix.text,
            })
        });
        out["related"] = self
            .labels
            .iter()
            .filter(|l| primary.is_none_or(|p| !std::ptr::eq(*l, p)))
            .map(place)
            .collect();
        out
    }
}

impl serde::Serialize for Diagnostic {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::SourceText;

    #[test]
    fn the_form_for_programs_has_every_field() {
        let file = SourceText::new("a.yaml", "x: 1\ny: 2\n");
        let mut d = Diagnostic::warning("AX004", "m")
            .also(&file, 0..1, "first")
            .at(&file, 5..6, "here")
            .help("do this");
        d.key = Some("y".into());
        assert_eq!(
            d.to_json().to_string(),
            concat!(
                r#"{"code":"AX004","severity":"warning","message":"m","file":"a.yaml","line":2,"#,
                r#""column":1,"end_line":2,"end_column":2,"label":"here","key":"y","help":"do this","#,
                r#""fix":null,"related":[{"file":"a.yaml","line":1,"column":1,"end_line":1,"end_column":2,"label":"first"}]}"#
            )
        );
        assert_eq!(d.one_line(), "a.yaml:2:1: warning[AX004]: m (at `y`)");
    }
}
