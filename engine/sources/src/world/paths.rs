//! Paths as recorded, and where they really lie.
//!
//! Knows nothing of what is in a file. A recorded path never leaves its mapped
//! folder lexically: `..` in it leads nowhere.

use std::path::{Path, PathBuf};

/// How recorded paths relate to real ones.
#[derive(Clone)]
pub(super) enum Paths {
    /// They are the same.
    Same,
    /// Recorded folders stand for real ones; nothing outside them exists.
    Mapped(Vec<Mapping>),
}

/// A recorded folder and the real one that stands for it.
#[derive(Clone)]
pub(super) struct Mapping {
    /// Without a separator at the end, unless it is a bare root.
    recorded: String,
    real: PathBuf,
}

impl Paths {
    /// Maps recorded folders to real ones; the longest fitting folder counts.
    pub(super) fn mapped(pairs: impl IntoIterator<Item = (String, PathBuf)>) -> Self {
        let mut list: Vec<Mapping> = pairs
            .into_iter()
            .map(|(recorded, real)| Mapping {
                recorded: plain(&recorded).to_owned(),
                real,
            })
            .collect();
        list.sort_by(|a, b| {
            let longest_first = b.recorded.len().cmp(&a.recorded.len());
            longest_first.then_with(|| a.recorded.cmp(&b.recorded))
        });
        Self::Mapped(list)
    }

    /// Where a recorded path really lies; `None` for a relative one, and for one
    /// outside the maps of a fixture.
    pub(super) fn real(&self, recorded: &str) -> Option<PathBuf> {
        match self {
            Self::Same => {
                let path = Path::new(recorded);
                path.is_absolute().then(|| path.to_path_buf())
            }
            Self::Mapped(list) => list.iter().find_map(|mapping| {
                let rest = below(plain(recorded), &mapping.recorded)?;
                let mut real = mapping.real.clone();
                for part in rest.split(separators(&mapping.recorded)) {
                    match part {
                        "" | "." => {}
                        ".." => return None,
                        part => real.push(part),
                    }
                }
                Some(real)
            }),
        }
    }

    /// Whether a canonical path lies in the world: anywhere on this machine, and below a
    /// mapped folder in a fixture.
    pub(super) fn contain(&self, canonical: &Path) -> bool {
        match self {
            Self::Same => true,
            Self::Mapped(list) => list.iter().any(|mapping| {
                let real = mapping.real.canonicalize();
                real.is_ok_and(|real| canonical.starts_with(real))
            }),
        }
    }

    /// A real path as the examined world would write it.
    pub(super) fn recorded(&self, real: &Path) -> String {
        let Self::Mapped(list) = self else {
            return real.to_string_lossy().into_owned();
        };
        let deepest = list
            .iter()
            .filter_map(|mapping| Some((mapping, real.strip_prefix(&mapping.real).ok()?)))
            .min_by_key(|(_, rest)| rest.components().count());
        let Some((mapping, rest)) = deepest else {
            return real.to_string_lossy().into_owned();
        };
        let mut out = mapping.recorded.clone();
        let separator = if is_windows(&out) { '\\' } else { '/' };
        for part in rest.components() {
            if !out.ends_with(separator) {
                out.push(separator);
            }
            out.push_str(&part.as_os_str().to_string_lossy());
        }
        out
    }
}

/// Without the verbatim prefix some Windows programs record, and without
/// separators at the end.
pub(super) fn plain(path: &str) -> &str {
    let path = path.strip_prefix(r"\\?\").unwrap_or(path);
    let cut = path.trim_end_matches(separators(path));
    if cut.is_empty() { path } else { cut }
}

/// What lies below `folder`: the rest of the path with its separator, or nothing.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(folder)?;
    let whole = rest.is_empty()
        || rest.starts_with(separators(folder))
        || folder.ends_with(separators(folder));
    whole.then_some(rest)
}

fn is_windows(path: &str) -> bool {
    path.as_bytes().get(1) == Some(&b':') || path.starts_with('\\')
}

/// A backslash separates only in a Windows path; elsewhere it is part of a name.
fn separators(path: &str) -> &'static [char] {
    if is_windows(path) {
        &['/', '\\']
    } else {
        &['/']
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maps() -> Paths {
        Paths::mapped([
            ("/home/dev".to_owned(), PathBuf::from("/f/home")),
            ("/home/dev/work/".to_owned(), PathBuf::from("/f/work")),
            (r"C:\Users\dev".to_owned(), PathBuf::from("/f/win")),
        ])
    }

    #[test]
    fn the_longest_folder_counts_and_both_ways_agree() {
        let maps = maps();
        for (recorded, real) in [
            ("/home/dev", "/f/home"),
            ("/home/dev/.x/a b.jsonl", "/f/home/.x/a b.jsonl"),
            ("/home/dev/work/y", "/f/work/y"),
            (r"C:\Users\dev\AppData\z", "/f/win/AppData/z"),
        ] {
            assert_eq!(maps.real(recorded), Some(PathBuf::from(real)), "{recorded}");
            assert_eq!(maps.recorded(Path::new(real)), recorded);
        }
    }

    #[test]
    fn nothing_outside_the_maps_is_there() {
        let maps = maps();
        for recorded in [
            "/etc/passwd",
            "/home/devil/x",
            "/home/dev/../../etc",
            "x",
            "",
        ] {
            assert_eq!(maps.real(recorded), None, "{recorded}");
        }
    }

    #[test]
    fn verbatim_prefixes_and_separators_at_the_end_do_not_matter() {
        let real = maps().real(r"\\?\C:\Users\dev\a\");
        assert_eq!(real, Some(PathBuf::from("/f/win/a")));
        assert_eq!(plain("/"), "/");
        assert_eq!(plain("/a//"), "/a");
    }

    #[test]
    fn a_real_world_takes_absolute_paths_as_they_are() {
        assert_eq!(Paths::Same.real("/a/b"), Some(PathBuf::from("/a/b")));
        assert_eq!(Paths::Same.real("a/b"), None);
    }
}
