//! A throw-away home with one root `r`, for the readers' own tests.

use crate::read::{ReadOptions, Tables, read_sources};
use crate::{Row, World};
use axiowl_lang::rule::Rule;
use axiowl_model::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

pub(crate) struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(home.path("r")).unwrap();
        home
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    /// Writes a file below the root.
    pub(crate) fn write(&self, below: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path("r").join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn world(&self) -> World {
        World::real(self.path(""), BTreeMap::new(), Timestamp::from_millis(0))
    }

    /// Reads sources given as the YAML of the `sources` key.
    pub(crate) fn read(&self, sources: &str) -> Tables {
        self.read_with(sources, &ReadOptions::default())
    }

    pub(crate) fn read_with(&self, sources: &str, options: &ReadOptions) -> Tables {
        read_sources(&rule(sources), &self.world(), options)
    }
}

pub(crate) fn rule(sources: &str) -> Rule {
    let text =
        format!("axiowl: 1\nprovider: p\ntitle: t\nroots: {{ r: ~/r }}\nsources:\n{sources}");
    serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Options under which a field of source `s` is a strong name.
pub(crate) fn strong(field: &str) -> ReadOptions {
    ReadOptions {
        strong_fields: [("s".to_owned(), field.to_owned())].into(),
        ..ReadOptions::default()
    }
}

/// Some fields of each row of source `s`.
pub(crate) fn columns(tables: &Tables, fields: &[&str]) -> Vec<Vec<Value>> {
    let value = |row: &Row, field: &&str| row.get(field).cloned().unwrap_or("absent".into());
    let row = |row: &Row| fields.iter().map(|field| value(row, field)).collect();
    tables.tables["s"].rows.iter().map(row).collect()
}

/// Code and line of each issue.
pub(crate) fn issues(tables: &Tables) -> Vec<(&str, Option<u64>)> {
    tables
        .issues
        .iter()
        .map(|issue| (issue.code.as_str(), issue.line))
        .collect()
}
