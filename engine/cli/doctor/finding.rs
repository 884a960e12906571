//! One thing that was looked at, how it is, and what to do.

use crate::output::{json_line, say};
use axiowl_model::display_safe;
use serde_json::json;

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing; nothing has to be done.
    Note,
    /// Something will not work until somebody does something.
    Attention,
    /// AxiOwl itself cannot work.
    Broken,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Attention => "attention",
            Self::Broken => "broken",
        }
    }

    fn mark(self) -> &'static str {
        match self {
            Self::Ok => "\u{1b}[32m+\u{1b}[0m",
            Self::Note => "-",
            Self::Attention => "\u{1b}[33m!\u{1b}[0m",
            Self::Broken => "\u{1b}[31mx\u{1b}[0m",
        }
    }
}

/// What was found so far; each is shown at once.
pub struct Findings {
    as_json: bool,
    area: &'static str,
    worst: Level,
}

impl Findings {
    pub fn new(as_json: bool) -> Self {
        Self {
            as_json,
            area: "",
            worst: Level::Ok,
        }
    }

    /// Begins another area.
    pub fn head(&mut self, area: &'static str) {
        self.area = area;
        if !self.as_json {
            let title = match area {
                "programs" => "Programs, logins, configuration",
                "stores" => "Stores",
                "own" => "AxiOwl's own files",
                _ => "Doors",
            };
            say!("\n{title}");
        }
    }

    /// Shows one finding; `hint` is what to do, empty where nothing is.
    pub fn add(&mut self, level: Level, subject: &str, text: &str, hint: &str) {
        self.add_with(level, subject, text, hint, json!({}));
    }

    /// The same with further fields for programs.
    pub fn add_with(
        &mut self,
        level: Level,
        subject: &str,
        text: &str,
        hint: &str,
        more: serde_json::Value,
    ) {
        self.worst = self.worst.max(level);
        if self.as_json {
            let mut fields = json!({
                "area": self.area, "subject": subject, "level": level.word(), "finding": text, "hint": hint,
            });
            if let (Some(fields), serde_json::Value::Object(mut more)) =
                (fields.as_object_mut(), more)
            {
                fields.append(&mut more);
            }
            json_line("doctor_finding", fields);
            return;
        }
        say!("{} {subject:<22} {}", level.mark(), display_safe(text));
        if !hint.is_empty() {
            say!("  {:<22} -> {}", "", display_safe(hint));
        }
    }

    /// The worst of all.
    pub fn worst(&self) -> Level {
        self.worst
    }
}
