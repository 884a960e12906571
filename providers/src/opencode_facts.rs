//! What native code can say about OpenCode to the rules: whether the installed one is of
//! version 1.
//!
//! Version 1 and version 2 open only the sessions of their own table
//! (`providers/opencode-gemini.md` A, OpenCode 2.x). Discovery asks, so nothing here starts a
//! program.

use crate::version;
use axiowl_sources::{FactQuery, NativeFacts};
use std::path::Path;

/// An installed OpenCode of version 1.
const VERSION_1: &str = "opencode_1_installed";

/// The native facts about OpenCode.
#[derive(Default)]
pub(crate) struct OpencodeFacts;

impl NativeFacts for OpencodeFacts {
    fn names(&self) -> &'static [&'static str] {
        &[VERSION_1]
    }

    fn of_the_machine(&self, name: &str) -> bool {
        name == VERSION_1
    }

    fn fact(&self, name: &str, query: &FactQuery<'_>) -> Result<bool, String> {
        if name != VERSION_1 {
            return Err(format!("nothing here answers `{name}`"));
        }
        let world = query.world;
        let Some(program) = world.executable("opencode") else {
            return Err("no `opencode` is installed".into());
        };
        let path = world
            .real_path(&program)
            .unwrap_or_else(|| Path::new(&program).to_owned());
        // npm has it as `opencode-ai` and, for each system, `opencode-linux-x64` and so on.
        match version::installed(&path, "opencode", "opencode") {
            Some(version) => Ok(version.major() == 1),
            None => Err(format!("the version of {program} is not known")),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use axiowl_model::Timestamp;
    use axiowl_sources::{Row, World};
    use std::collections::BTreeMap;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn the_installed_generation_is_known_by_the_package_and_nothing_is_run() {
        let home = tempfile::tempdir().unwrap();
        let package = home.path().join("node_modules/opencode-linux-x64");
        let program = package.join("bin/opencode");
        fs::create_dir_all(package.join("bin")).unwrap();
        fs::write(&program, "#!/bin/sh\ntouch \"$0.was-run\"\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let place = program.display().to_string();
        let ask = |executables: BTreeMap<String, String>| {
            let env = BTreeMap::from([("PATH".to_owned(), "/nowhere".to_owned())]);
            let world = World::real(home.path().into(), env, Timestamp::from_millis(0))
                .with_executables(executables);
            let query = FactQuery {
                world: &world,
                roots: &BTreeMap::new(),
                row: &Row::new(),
                session: "x",
            };
            OpencodeFacts.fact(VERSION_1, &query)
        };
        let installed = || ask(BTreeMap::from([("opencode".to_owned(), place.clone())]));
        assert!(installed().unwrap_err().contains("not known"));
        for (version, expected) in [("1.18.34", true), ("2.0.15", false), ("0.15.0", false)] {
            let text = format!(r#"{{"name":"opencode-linux-x64","version":"{version}"}}"#);
            fs::write(package.join("package.json"), text).unwrap();
            assert_eq!(installed(), Ok(expected), "{version}");
        }
        assert!(!package.join("bin/opencode.was-run").exists());
        assert!(ask(BTreeMap::new()).is_err(), "nothing is installed");
    }
}
