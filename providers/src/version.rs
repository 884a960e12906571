//! Versions of installed programs, read from the files they were installed with.
//!
//! Runs nothing: discovery asks these questions too, and it starts no program.

use serde_json::Value;
use std::fmt;
use std::fs;
use std::path::{Component, Path};

/// A package description is small.
const LARGEST: u64 = 1024 * 1024;
/// Folders above an executable that may hold its package description.
const LEVELS: usize = 8;

/// The three numbers of a version; what follows them (`-linux-x64`, `-alpha.1`) is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u32, u32, u32);

impl Version {
    /// A version.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self(major, minor, patch)
    }

    /// The first number.
    pub const fn major(self) -> u32 {
        self.0
    }

    /// Reads `1.2.3`, with anything behind a `-` or `+`.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers = text.trim().split(['-', '+']).next()?;
        let mut parts = numbers.split('.').map(|part| part.parse::<u32>().ok());
        let version = Self(parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then_some(version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// The version of an installed program: by the `package.json` of the npm package its real path
/// lies in (npm's platform packages bear the same name, `providers/codex.md` A and
/// `providers/claude-code.md` G), else by a folder or file of its path that is named like one
/// (`…/claude/versions/2.1.332`, `…/Caskroom/codex/0.171.0/codex`).
pub(crate) fn installed(executable: &Path, program: &str, package: &str) -> Option<Version> {
    let real = executable.canonicalize().ok()?;
    let by_package = real.ancestors().skip(1).take(LEVELS).find_map(|folder| {
        let file = folder.join("package.json");
        let small = fs::metadata(&file).is_ok_and(|meta| meta.len() <= LARGEST);
        let text = small.then(|| fs::read_to_string(&file).ok())??;
        let description: Value = serde_json::from_str(&text).ok()?;
        let name = description["name"].as_str()?;
        let ours = name == package || name.strip_prefix(package)?.starts_with('-');
        ours.then(|| Version::parse(description["version"].as_str()?))
            .flatten()
    });
    by_package.or_else(|| by_path(&real, program))
}

fn by_path(real: &Path, program: &str) -> Option<Version> {
    let parts: Vec<&str> = real
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let below = parts.iter().position(|part| *part == program)?;
    parts[below + 1..]
        .iter()
        .find_map(|part| Version::parse(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_three_numbers_and_what_follows_is_left_out() {
        assert_eq!(
            Version::parse("0.171.0-linux-x64"),
            Some(Version::new(0, 171, 0))
        );
        assert_eq!(Version::parse(" 2.1.332\n"), Some(Version::new(2, 1, 332)));
        for text in ["", "2.1", "2.1.x", "2.1.3.4", "v2.1.3", "2..1"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
        assert!(Version::new(0, 149, 0) < Version::new(0, 171, 0));
        assert_eq!(Version::new(1, 2, 3).to_string(), "1.2.3");
    }

    #[cfg(unix)]
    #[test]
    fn an_npm_package_is_found_behind_its_link_and_others_are_not_taken_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("node_modules/@openai/codex");
        fs::create_dir_all(package.join("bin")).unwrap();
        fs::create_dir_all(folder.path().join("bin")).unwrap();
        fs::write(package.join("bin/codex.js"), "").unwrap();
        let link = folder.path().join("bin/codex");
        std::os::unix::fs::symlink(package.join("bin/codex.js"), &link).unwrap();
        let describe = |text: &str| fs::write(package.join("package.json"), text).unwrap();
        let asked = || installed(&link, "codex", "@openai/codex");
        assert_eq!(asked(), None);
        describe(r#"{"name":"@openai/codex","version":"0.171.0"}"#);
        assert_eq!(asked(), Some(Version::new(0, 171, 0)));
        describe(r#"{"name":"@openai/codex-linux-x64","version":"0.150.0-linux-x64"}"#);
        assert_eq!(asked(), Some(Version::new(0, 150, 0)));
        for other in [
            r#"{"name":"@openai/codexes","version":"9.9.9"}"#,
            r#"{"name":"codex","version":"9.9.9"}"#,
            r#"{"name":"@openai/codex"}"#,
            "{",
        ] {
            describe(other);
            assert_eq!(asked(), None, "{other}");
        }
        assert_eq!(
            installed(&folder.path().join("none"), "codex", "@openai/codex"),
            None
        );
    }

    #[test]
    fn a_native_install_names_its_version_in_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let versions = folder.path().join("claude/versions");
        fs::create_dir_all(&versions).unwrap();
        let file = versions.join("2.1.332");
        fs::write(&file, "").unwrap();
        let package = "@anthropic-ai/claude-code";
        assert_eq!(
            installed(&file, "claude", package),
            Some(Version::new(2, 1, 332))
        );
        assert_eq!(installed(&file, "codex", package), None);
    }
}
