//! Where a program is installed: PATH first, then the folders that version
//! managers and package managers use without telling PATH of a service.
//!
//! It runs nothing, and knows programs only by the name it is asked for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The first executable file of that name.
pub(super) fn find(name: &str, home: &Path, env: &BTreeMap<String, String>) -> Option<PathBuf> {
    if name.is_empty() || name.contains(['/', '\\']) || name == ".." {
        return None;
    }
    let path = env.get("PATH").map(String::as_str).unwrap_or_default();
    let on_path = std::env::split_paths(path).filter(|dir| dir.is_absolute());
    on_path
        .chain(other_folders(home, env))
        .flat_map(|dir| forms(name).map(move |form| dir.join(form)))
        .find(|file| is_executable(file))
}

/// Folders beside PATH, in the order they are tried.
fn other_folders(home: &Path, env: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let set = |name: &str| {
        let value = env.get(name).filter(|value| !value.is_empty())?;
        Some(PathBuf::from(value)).filter(|path| path.is_absolute())
    };
    let or_home = |name: &str, rest: &str| set(name).unwrap_or_else(|| home.join(rest));
    let mut dirs = vec![home.join(".local/bin"), home.join("bin")];
    dirs.extend(versions(
        &or_home("NVM_DIR", ".nvm").join("versions/node"),
        "bin",
    ));
    for fnm in [
        set("FNM_DIR"),
        Some(home.join(".local/share/fnm")),
        Some(home.join(".fnm")),
    ]
    .into_iter()
    .flatten()
    {
        dirs.extend(versions(&fnm.join("node-versions"), "installation/bin"));
    }
    dirs.push(or_home("VOLTA_HOME", ".volta").join("bin"));
    dirs.push(or_home("MISE_DATA_DIR", ".local/share/mise").join("shims"));
    dirs.push(or_home("ASDF_DATA_DIR", ".asdf").join("shims"));
    dirs.push(or_home("BUN_INSTALL", ".bun").join("bin"));
    dirs.push(or_home("PNPM_HOME", ".local/share/pnpm"));
    for prefix in [".npm-global", ".npm-packages", ".npm"] {
        dirs.push(home.join(prefix).join("bin"));
    }
    dirs.extend(set("npm_config_prefix").map(|prefix| prefix.join("bin")));
    dirs.extend(set("APPDATA").map(|appdata| appdata.join("npm")));
    dirs.extend(["/usr/local/bin", "/opt/homebrew/bin"].map(PathBuf::from));
    dirs
}

/// `<root>/<version>/<rest>`, newest version first.
fn versions(root: &Path, rest: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut found: Vec<(Vec<u64>, PathBuf)> = entries
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let numbers = name.split(|c: char| !c.is_ascii_digit());
            let key = numbers.filter_map(|digits| digits.parse().ok()).collect();
            (key, entry.path().join(rest))
        })
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}

#[cfg(unix)]
fn forms(name: &str) -> impl Iterator<Item = String> + use<> {
    std::iter::once(name.to_owned())
}

#[cfg(not(unix))]
fn forms(name: &str) -> impl Iterator<Item = String> + use<> {
    let name = name.to_owned();
    ["", ".exe", ".cmd", ".bat"]
        .into_iter()
        .map(move |end| format!("{name}{end}"))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn program(path: PathBuf, mode: u32) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn path_goes_first_then_the_newest_managed_version() {
        let home = tempfile::tempdir().unwrap();
        let node = home.path().join(".nvm/versions/node");
        program(node.join("v9.1.0/bin/tool"), 0o755);
        program(node.join("v20.2.0/bin/tool"), 0o755);
        program(home.path().join("on-path/plain"), 0o644);
        let mut env = BTreeMap::new();
        let found = find("tool", home.path(), &env);
        assert_eq!(found, Some(node.join("v20.2.0/bin/tool")));

        let on_path = home.path().join("on-path");
        env.insert("PATH".into(), on_path.to_string_lossy().into_owned());
        assert_eq!(find("plain", home.path(), &env), None, "no X bit");
        program(on_path.join("tool"), 0o755);
        assert_eq!(find("tool", home.path(), &env), Some(on_path.join("tool")));
        assert_eq!(find("../tool", home.path(), &env), None);
        assert_eq!(find("", home.path(), &env), None);
    }
}
