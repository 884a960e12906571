//! Whether Gemini's clean-up of old sessions is certainly off
//! (`providers/opencode-gemini.md` C, Gemini: data loss).
//!
//! Every resume leaves a second file of the session behind, and the clean-up, which is on by
//! default and runs at the next start, takes that for damage and deletes all of the session.

use axiowl_sources::World;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A settings file is small.
const LARGEST: u64 = 1024 * 1024;
const SYSTEM: [&str; 3] = [
    "/etc/gemini-cli",
    "/Library/Application Support/GeminiCli",
    "C:\\ProgramData\\gemini-cli",
];
const WHY: &str = "with session retention on, Gemini deletes a resumed session at its next start";

/// Makes sure that resuming a session of a project does not cost it.
///
/// # Errors
/// Why that is not certain, and what to set.
pub(super) fn keep_sessions(world: &World, root: &str, project: &Path) -> Result<(), String> {
    let user = format!("{root}/settings.json");
    if retention(world, &user)? != Some(false) {
        return Err(format!(
            "{WHY}; set general.sessionRetention.enabled to false in {user}"
        ));
    }
    for variable in [
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
        "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
    ] {
        if world.env(variable).is_some() {
            return Err(format!(
                "{WHY}, and whether it is on is not certain: {variable} names settings that decide"
            ));
        }
    }
    // What the system says wins over the user.
    let project = world.recorded(project);
    let system = SYSTEM.map(|folder| format!("{folder}/settings.json"));
    let own = format!("{project}/.gemini/settings.json");
    for file in system.into_iter().chain([own]) {
        if file != user && retention(world, &file)?.is_some_and(|enabled| enabled) {
            return Err(format!("{WHY}, and {file} turns it on"));
        }
    }
    Ok(())
}

/// What a settings file says about session retention; nothing when it says nothing.
fn retention(world: &World, file: &str) -> Result<Option<bool>, String> {
    let Some(path) = world.real_path(file).filter(|path| path.exists()) else {
        return Ok(None);
    };
    let uncertain = || format!("{WHY}, and {file}, which may decide about it, cannot be read");
    let small = fs::metadata(&path).is_ok_and(|meta| meta.len() <= LARGEST);
    let text = small.then(|| fs::read_to_string(&path).ok()).flatten();
    let text = text.ok_or_else(uncertain)?;
    let settings: Value =
        serde_json::from_str(&without_comments(&text)).map_err(|_| uncertain())?;
    match &settings["general"]["sessionRetention"]["enabled"] {
        Value::Null => Ok(None),
        Value::Bool(enabled) => Ok(Some(*enabled)),
        // A text with a variable in it, or something else.
        _ => Err(uncertain()),
    }
}

/// The text with its comments blanked; what stands in quotes is left alone.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = rest.next() {
        match (quoted, c, rest.peek()) {
            (true, '\\', Some(_)) => {
                out.push(c);
                out.extend(rest.next());
            }
            (false, '/', Some('/')) => while rest.next_if(|c| *c != '\n').is_some() {},
            (false, '/', Some('*')) => {
                let mut last = ' ';
                rest.next();
                for c in rest.by_ref() {
                    if (last, c) == ('*', '/') {
                        break;
                    }
                    last = c;
                }
                out.push(' ');
            }
            (_, c, _) => {
                quoted ^= c == '"';
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiowl_model::Timestamp;
    use std::collections::BTreeMap;

    const OFF: &str = r#"{"general":{"sessionRetention":{"enabled":false}}}"#;
    const ON: &str = r#"{"general":{"sessionRetention":{"enabled":true}}}"#;

    #[test]
    fn comments_go_and_quoted_slashes_stay() {
        let text = "{ // a \"b\n \"u\": \"http://x/*y*/\\\"//\", /* c * / \n */ \"v\": 1 }";
        let value: Value = serde_json::from_str(&without_comments(text)).unwrap();
        assert_eq!(value["u"], "http://x/*y*/\"//");
        assert_eq!(value["v"], 1);
    }

    #[test]
    fn only_what_is_certainly_off_is_safe() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join(".gemini");
        let project = home.path().join("project");
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(project.join(".gemini")).unwrap();
        let asked = |env: &[(&str, &str)]| {
            let env = env.iter().map(|(n, v)| (n.to_string(), v.to_string()));
            let env: BTreeMap<_, _> = env.collect();
            let world = World::real(home.path().into(), env, Timestamp::from_millis(0));
            keep_sessions(&world, &root.display().to_string(), &project)
        };
        let settings = |text: &str| fs::write(root.join("settings.json"), text).unwrap();
        assert!(asked(&[]).unwrap_err().contains("sessionRetention.enabled"));
        for text in [
            ON,
            "{}",
            "{",
            r#"{"general":{"sessionRetention":{"enabled":"$X"}}}"#,
        ] {
            settings(text);
            assert!(asked(&[]).is_err(), "{text}");
        }
        settings(&format!("// mine\n{OFF}"));
        assert_eq!(asked(&[]), Ok(()));
        let variable = [("GEMINI_CLI_SYSTEM_SETTINGS_PATH", "/x")];
        assert!(asked(&variable).unwrap_err().contains(variable[0].0));
        let own = project.join(".gemini/settings.json");
        for (text, safe) in [("{}", true), (OFF, true), (ON, false), ("{", false)] {
            fs::write(&own, text).unwrap();
            assert_eq!(asked(&[]).is_ok(), safe, "{text}");
        }
    }
}
