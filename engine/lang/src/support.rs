//! `support.yaml`: what each surface is said to support, and what tests show of it.
//!
//! Data only. That discovery code exists says nothing here, and no surface takes anything from
//! another one: each gives its own label for every operation. Who shows it is not known here.

use crate::at::At;
use crate::codes;
use crate::diag::{Diagnostic, SourceText, tidy};
use crate::parse;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A support label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// Works, and a test with a response shows it.
    Supported,
    /// Works in part, or in tests without the real client.
    Experimental,
    /// Meant to work; nothing shows it yet.
    Target,
    /// Does not work.
    Unsupported,
}

impl Label {
    /// The word in files and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Experimental => "experimental",
            Self::Target => "target",
            Self::Unsupported => "unsupported",
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What tests show of one operation of a surface.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// The label the evidence carries.
    pub proven: At<Label>,
    /// What shows it, or what is missing.
    pub evidence: String,
    /// The tests that show it; `supported` needs one.
    #[serde(default)]
    pub tests: Vec<String>,
}

/// A surface with its four operations.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surface {
    /// Its provider key.
    pub surface: At<String>,
    /// What it is, for people.
    pub title: String,
    /// The label of the source documents.
    pub seed: Label,
    /// Not in the source documents: an extension of ours.
    #[serde(default)]
    pub extension: bool,
    /// What has to be known with the label.
    #[serde(default)]
    pub note: String,
    /// Finding its sessions.
    pub discover: Standing,
    /// Sending into a named session, with a receipt.
    pub send: Standing,
    /// A reply over MCP whose sender the provider proves.
    pub reply: Standing,
    /// Registering AxiOwl in the provider's own configuration.
    pub install: Standing,
}

impl Surface {
    /// The operations by name, in the order of a message's life.
    pub fn operations(&self) -> [(&'static str, &Standing); 4] {
        [
            ("discover", &self.discover),
            ("send", &self.send),
            ("reply", &self.reply),
            ("install", &self.install),
        ]
    }

    /// The surface as a whole: the full bar is every operation, so that neither a process that
    /// starts nor a file that was written makes it supported. Below the bar it is experimental
    /// where each operation goes some way, and a target where one of them does not.
    pub fn proven(&self) -> Label {
        let labels = self.operations().map(|(_, standing)| standing.proven.value);
        let all = |label: Label| labels.iter().all(|l| *l == label);
        if all(Label::Supported) {
            Label::Supported
        } else if all(Label::Unsupported) {
            Label::Unsupported
        } else if labels.contains(&Label::Target) || labels.contains(&Label::Unsupported) {
            Label::Target
        } else {
            Label::Experimental
        }
    }
}

/// All surfaces.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Support {
    /// In the order they are shown.
    pub surfaces: Vec<Surface>,
}

impl Support {
    /// Reads a `support.yaml`; `name` is the path to show.
    pub fn parse(name: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let file = SourceText::new(name, text);
        let support: Self = parse::whole(&file, 0)?;
        let found = support.check(&file);
        if found.is_empty() {
            Ok(support)
        } else {
            Err(tidy(found))
        }
    }

    fn check(&self, file: &SourceText) -> Vec<Diagnostic> {
        let mut out = Vec::new();
        let mut seen: BTreeMap<&str, ()> = BTreeMap::new();
        for surface in &self.surfaces {
            let key = &surface.surface;
            if seen.insert(key.value.as_str(), ()).is_some() {
                out.push(
                    Diagnostic::error(
                        codes::CONFIG_VALUE,
                        format!("the surface `{}` stands twice", key.value),
                    )
                    .at(file, key.span.range(), "here")
                    .help("one entry a surface"),
                );
            }
            for (operation, standing) in surface.operations() {
                if standing.proven.value == Label::Supported && standing.tests.is_empty() {
                    out.push(
                        Diagnostic::error(
                            codes::CONFIG_VALUE,
                            format!("nothing proves `{operation}` of `{}`", key.value),
                        )
                        .at(file, standing.proven.span.range(), "no test is named")
                        .help("name the tests that show it, or say `experimental` or `target`"),
                    );
                }
            }
        }
        out
    }

    /// The surface with that key.
    pub fn get(&self, key: &str) -> Option<&Surface> {
        self.surfaces
            .iter()
            .find(|surface| surface.surface.value == key)
    }

    /// Replaces whole surfaces by those of a higher layer and adds the new ones.
    pub fn overlay(&mut self, higher: Self) {
        for surface in higher.surfaces {
            let same = |known: &&mut Surface| known.surface.value == surface.surface.value;
            match self.surfaces.iter_mut().find(same) {
                Some(known) => *known = surface,
                None => self.surfaces.push(surface),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surface(key: &str, labels: [&str; 4]) -> String {
        let mut out = format!("- surface: {key}\n  title: A desk\n  seed: target\n");
        for (operation, label) in ["discover", "send", "reply", "install"].iter().zip(labels) {
            out.push_str(&format!(
                "  {operation}: {{ proven: {label}, evidence: x, tests: [t] }}\n"
            ));
        }
        out
    }

    fn read(surfaces: &[String]) -> Support {
        let text = format!("surfaces:\n{}", surfaces.concat());
        Support::parse("support.yaml", &text).unwrap()
    }

    /// C338 and C339: the full bar is every operation.
    #[test]
    fn c338_c339_a_surface_is_supported_only_when_every_operation_is() {
        for (labels, whole) in [
            (["supported"; 4], Label::Supported),
            (
                ["supported", "supported", "target", "supported"],
                Label::Target,
            ),
            (
                ["supported", "supported", "supported", "unsupported"],
                Label::Target,
            ),
            (["target", "target", "target", "supported"], Label::Target),
            (
                ["supported", "experimental", "supported", "supported"],
                Label::Experimental,
            ),
            (["unsupported"; 4], Label::Unsupported),
        ] {
            let support = read(&[surface("desk", labels)]);
            assert_eq!(support.surfaces[0].proven(), whole, "{labels:?}");
        }
    }

    /// C337: a surface that leaves an operation out takes it from nowhere.
    #[test]
    fn c337_nothing_is_inherited_and_nothing_is_supported_without_a_test() {
        let whole = surface("desk", ["target"; 4]);
        let without: String = whole
            .lines()
            .filter(|l| !l.contains("reply"))
            .map(|l| format!("{l}\n"))
            .collect();
        let errors = Support::parse("support.yaml", &format!("surfaces:\n{without}")).unwrap_err();
        assert!(errors[0].message.contains("`reply`"), "{errors:?}");

        let bare = surface("desk", ["supported"; 4]).replace(", tests: [t]", "");
        let text = format!("surfaces:\n{bare}{}", surface("desk", ["target"; 4]));
        let errors = Support::parse("support.yaml", &text).unwrap_err();
        assert_eq!(errors.len(), 5, "{errors:?}");
        assert!(errors.iter().any(|e| e.message.contains("stands twice")));
    }

    #[test]
    fn a_higher_layer_replaces_a_surface_as_a_whole() {
        let mut support = read(&[
            surface("desk", ["target"; 4]),
            surface("other", ["target"; 4]),
        ]);
        support.overlay(read(&[
            surface("desk", ["unsupported"; 4]),
            surface("new", ["target"; 4]),
        ]));
        let keys: Vec<&str> = support
            .surfaces
            .iter()
            .map(|s| s.surface.value.as_str())
            .collect();
        assert_eq!(keys, ["desk", "other", "new"]);
        assert_eq!(support.get("desk").unwrap().proven(), Label::Unsupported);
        assert_eq!(support.get("nobody"), None);
    }
}
