//! Where AxiOwl keeps its state. The only source of that folder; everything else joins
//! paths to it. Pure: the environment comes in as a function, so it must not read it.

use std::path::{Path, PathBuf};

/// Which conventions name the state folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// XDG, else a dot folder in the home.
    Unix,
    /// Local application data.
    Windows,
}

impl Platform {
    /// The platform this program was built for.
    pub fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else {
            Self::Unix
        }
    }
}

/// The state folder for an environment, a home folder and a platform.
///
/// An empty or relative `XDG_STATE_HOME` is ignored, as the XDG rules demand: a relative
/// one would make the registry depend on the folder a command is run in. The same holds
/// for `LOCALAPPDATA`, whose default place under the home is used instead.
pub fn state_root(
    env: &dyn Fn(&str) -> Option<String>,
    home: &Path,
    platform: Platform,
) -> PathBuf {
    match platform {
        Platform::Unix => match env("XDG_STATE_HOME").filter(|dir| dir.starts_with('/')) {
            Some(dir) => Path::new(&dir).join("axiowl"),
            None => home.join(".axiowl"),
        },
        // Joined as text, so that the answer is the same whatever system asks.
        Platform::Windows => {
            let base = env("LOCALAPPDATA")
                .filter(|dir| is_absolute_on_windows(dir))
                .unwrap_or_else(|| format!(r"{}\AppData\Local", home.display()));
            PathBuf::from(format!(r"{}\AxiOwl", base.trim_end_matches(['\\', '/'])))
        }
    }
}

fn is_absolute_on_windows(dir: &str) -> bool {
    let bytes = dir.as_bytes();
    let drive = bytes.len() >= 3
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'\\' | b'/');
    drive || dir.starts_with(r"\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(vars: &[(&str, &str)], platform: Platform) -> PathBuf {
        let home = match platform {
            Platform::Unix => "/home/dev",
            Platform::Windows => r"C:\Users\dev",
        };
        let env = |name: &str| {
            let found = vars.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        state_root(&env, Path::new(home), platform)
    }

    #[test]
    fn c005_c006_xdg_state_home_comes_first_with_the_folder_under_it() {
        let vars = [("XDG_STATE_HOME", "/var/state"), ("LOCALAPPDATA", r"C:\L")];
        assert_eq!(root(&vars, Platform::Unix), Path::new("/var/state/axiowl"));
    }

    #[test]
    fn c007_without_it_the_dot_folder_in_the_home() {
        assert_eq!(root(&[], Platform::Unix), Path::new("/home/dev/.axiowl"));
    }

    #[test]
    fn a2_an_empty_or_relative_xdg_state_home_is_ignored() {
        for value in ["", "state", "./state", "~/state"] {
            let root = root(&[("XDG_STATE_HOME", value)], Platform::Unix);
            assert_eq!(root, Path::new("/home/dev/.axiowl"), "{value:?}");
        }
    }

    #[test]
    fn c003_local_app_data_on_windows_and_never_xdg() {
        let vars = [("LOCALAPPDATA", r"D:\Local"), ("XDG_STATE_HOME", "/x")];
        assert_eq!(
            root(&vars, Platform::Windows).to_str(),
            Some(r"D:\Local\AxiOwl")
        );
        for value in ["", "Local"] {
            let root = root(&[("LOCALAPPDATA", value)], Platform::Windows);
            assert_eq!(
                root.to_str(),
                Some(r"C:\Users\dev\AppData\Local\AxiOwl"),
                "{value:?}"
            );
        }
    }
}
