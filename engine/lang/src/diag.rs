//! A diagnostic: a code, a message, the places it is about, and a way out.
//!
//! Used for rules, `config.yaml` and `world.yaml` alike. It knows texts and byte
//! ranges; it does not know YAML, scripts or what a rule means.

pub(crate) use crate::place::byte_at;
pub use crate::place::line_and_column;
use crate::place::within;
use crate::render;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A text a person wrote, under the name it is shown with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceText {
    /// Shown path.
    pub name: Arc<str>,
    /// The text.
    pub text: Arc<str>,
}

impl SourceText {
    /// A named text.
    pub fn new(name: &str, text: &str) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
        }
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// It can be used, and probably does not do what was meant.
    Warning,
}

impl Severity {
    /// The word used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One place a diagnostic is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Shown path.
    pub file: Arc<str>,
    /// The whole text of that file, for the excerpt.
    pub text: Arc<str>,
    /// Bytes of the text; always within it and on character boundaries.
    pub span: Range<usize>,
    /// One-based line of the first byte.
    pub line: usize,
    /// One-based column of the first byte, in characters.
    pub column: usize,
    /// What is wrong here, in a few words.
    pub label: String,
    /// The place itself, as opposed to one that explains it.
    pub primary: bool,
}

/// A change of a text that a program may make: the word that was meant in place of a mistyped one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// Shown path.
    pub file: Arc<str>,
    /// Bytes of the text.
    pub span: Range<usize>,
    /// What belongs there.
    pub text: String,
}

/// A way out, and where there is only one, the word that was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Help {
    /// What to do.
    pub text: String,
    /// The mistyped word and the one that was meant.
    pub meant: Option<Box<(String, String)>>,
}

impl<T: Into<String>> From<T> for Help {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            meant: None,
        }
    }
}

/// One thing that is wrong with a file, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// A stable code out of [`crate::codes::ALL`].
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, with the value found.
    pub message: String,
    /// Where; the primary place first.
    pub labels: Vec<Label>,
    /// What to do.
    pub help: Option<String>,
    /// The key it is about, as a path (`proof[1].grants`), where there is one.
    pub key: Option<Box<str>>,
    /// What was mistyped, and the change that mends it.
    mend: Option<Box<Mend>>,
}

/// A mistyped word.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mend {
    wrong: String,
    right: String,
    /// Where the place is known, and nothing else can be meant.
    fix: Option<Fix>,
}

impl Label {
    /// Moves it to a place in another text.
    pub(crate) fn move_to(&mut self, source: &SourceText, span: Range<usize>) {
        let span = within(&source.text, span);
        (self.line, self.column) = line_and_column(&source.text, span.start);
        self.file = source.name.clone();
        self.text = source.text.clone();
        self.span = span;
    }
}

impl Diagnostic {
    /// An error without a place yet.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            labels: Vec::new(),
            help: None,
            key: None,
            mend: None,
        }
    }

    /// A warning without a place yet.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, message)
        }
    }

    /// Names the place.
    pub fn at(self, file: &SourceText, span: Range<usize>, label: impl Into<String>) -> Self {
        self.place(file, span, label.into(), true)
    }

    /// Names a place that explains the first one.
    pub fn also(self, file: &SourceText, span: Range<usize>, label: impl Into<String>) -> Self {
        self.place(file, span, label.into(), false)
    }

    /// Adds a place that explains the first one, unless it is there already.
    pub(crate) fn explain(&mut self, file: &SourceText, span: Range<usize>, label: &str) {
        if !self.labels.iter().any(|l| l.file == file.name) {
            let with = self.clone().also(file, span, label);
            *self = with;
        }
    }

    fn place(
        mut self,
        file: &SourceText,
        span: Range<usize>,
        label: String,
        primary: bool,
    ) -> Self {
        let span = within(&file.text, span);
        let (line, column) = line_and_column(&file.text, span.start);
        self.labels.push(Label {
            file: file.name.clone(),
            text: file.text.clone(),
            span,
            line,
            column,
            label,
            primary,
        });
        self.find_fix();
        self
    }

    /// Says what to do.
    pub fn help(mut self, help: impl Into<Help>) -> Self {
        let Help { text, meant } = help.into();
        self.help = Some(text);
        if let Some(meant) = meant {
            let (wrong, right) = *meant;
            let fix = None;
            self.mend = Some(Box::new(Mend { wrong, right, fix }));
        }
        self.find_fix();
        self
    }

    /// The change that mends it, where there is one that cannot be wrong.
    pub fn fix(&self) -> Option<&Fix> {
        self.mend.as_ref()?.fix.as_ref()
    }

    /// Moves the change to another text, or takes it back.
    pub(crate) fn move_fix(&mut self, to: impl FnOnce(&Fix) -> Option<Fix>) {
        if let Some(mend) = &mut self.mend {
            mend.fix = mend.fix.as_ref().and_then(to);
        }
    }

    /// Looks for the mistyped word in the place, once both are known. Only where it stands
    /// there exactly once can nothing else be meant.
    fn find_fix(&mut self) {
        let (Some(mend), Some(label)) = (&self.mend, self.primary()) else {
            return;
        };
        let Mend { wrong, right, .. } = &**mend;
        // Of `join.field`, a place may cover the field alone.
        let pairs = match (wrong.rsplit_once('.'), right.rsplit_once('.')) {
            (Some((a, wrong)), Some((b, right))) if a == b => Some((wrong, right)),
            _ => None,
        };
        let covered = &label.text[label.span.clone()];
        let found = std::iter::once((wrong.as_str(), right.as_str()))
            .chain(pairs)
            .find_map(|(wrong, right)| {
                let mut places = covered.match_indices(wrong);
                let (at, _) = places.next()?;
                places.next().is_none().then(|| Fix {
                    file: label.file.clone(),
                    span: label.span.start + at..label.span.start + at + wrong.len(),
                    text: right.to_owned(),
                })
            });
        if let Some(mend) = &mut self.mend {
            mend.fix = found;
        }
    }

    /// The place itself.
    pub fn primary(&self) -> Option<&Label> {
        self.labels
            .iter()
            .find(|l| l.primary)
            .or(self.labels.first())
    }

    /// Whether the file cannot be used.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Rendered like a compiler error, without colour.
    pub fn plain(&self) -> String {
        render::plain(self)
    }

    /// Rendered like a compiler error, with colour.
    pub fn coloured(&self) -> String {
        render::coloured(self)
    }

    /// `file:line:column: error[AX003]: message`, for logs and issue lists.
    pub fn one_line(&self) -> String {
        let place = self.primary().map_or(String::new(), |l| {
            format!("{}:{}:{}: ", l.file, l.line, l.column)
        });
        let key = self
            .key
            .as_deref()
            .map_or(String::new(), |k| format!(" (at `{k}`)"));
        let severity = self.severity.as_str();
        format!("{place}{severity}[{}]: {}{key}", self.code, self.message)
    }

    /// What diagnostics are sorted by: file, place, code.
    pub fn order(&self) -> (Arc<str>, usize, usize, &'static str, String) {
        match self.primary() {
            Some(l) => (
                l.file.clone(),
                l.span.start,
                l.span.end,
                self.code,
                self.message.clone(),
            ),
            None => ("".into(), 0, 0, self.code, self.message.clone()),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plain())
    }
}

impl std::error::Error for Diagnostic {}

/// Sorted by place, the same thing said once.
pub(crate) fn tidy(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    found.sort_by_cached_key(Diagnostic::order);
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_characters_and_stay_in_the_text() {
        let file = SourceText::new("a.yaml", "x: 1\nÄö: é\n");
        let d = Diagnostic::error("AX004", "m").at(&file, 9..999, "here");
        assert_eq!((d.labels[0].line, d.labels[0].column), (2, 3));
        assert_eq!(d.labels[0].span, 9..13);
        assert_eq!(byte_at(&file.text, 2, 3), 9);
        assert_eq!(byte_at(&file.text, 99, 1), file.text.len());
        // Inside a character.
        let d = Diagnostic::error("AX004", "m").at(&file, 6..6, "here");
        assert_eq!(d.labels[0].span, 5..5);
    }
}
