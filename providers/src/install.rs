//! Where each client keeps its own configuration, and what has to stand in it so that the
//! client starts AxiOwl's MCP server, tells it who is calling, and lets runs that can ask
//! nobody use it.
//!
//! Facts only: nothing is written here. `axiowl-install` writes, for the clients a user named.

mod clients;

use axiowl_install::{Part, Recipe};
use axiowl_sources::World;
use std::path::PathBuf;

/// A client with a configuration of its own. Several surfaces may read one.
#[derive(Debug, Clone)]
pub struct Client {
    /// Its name on the command line, and its recipe's key.
    pub key: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The providers whose sessions read this configuration.
    pub surfaces: &'static [&'static str],
    /// Its programs, the usual one first.
    pub programs: &'static [&'static str],
    /// Folders it makes itself; without one of them nobody uses it here.
    pub folders: Vec<PathBuf>,
    /// What has to stand where.
    pub recipe: Recipe,
    /// What its programs are asked with for their version.
    pub version: &'static [&'static str],
    /// What shows that its user has logged in.
    pub login: Login,
    /// What a person has to know besides.
    pub notes: &'static [&'static str],
}

impl Client {
    /// Leaves out what lets runs use the tools without asking.
    pub fn without_approvals(&mut self) {
        for file in &mut self.recipe.files {
            file.entries.retain(|entry| entry.part != Part::Approval);
            for entry in &mut file.entries {
                if let Some(server) = entry.value.as_object_mut() {
                    for key in clients::APPROVING {
                        server.shift_remove(key);
                    }
                }
            }
        }
        self.recipe.files.retain(|file| !file.entries.is_empty());
    }
}

/// Signs of a login. That one is there is all that is ever looked at.
#[derive(Debug, Clone, Default)]
pub struct Login {
    /// Variables that hold a key.
    pub variables: &'static [&'static str],
    /// Files that hold one.
    pub files: Vec<PathBuf>,
    /// It may lie where no file shows it.
    pub elsewhere: bool,
}

/// How clients start AxiOwl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program, as an absolute path: clients with a window have no PATH of a shell.
    pub program: String,
    /// Options before the command's name.
    pub options: Vec<String>,
}

impl Launch {
    /// The arguments for a command.
    fn arguments(&self, command: &[&str]) -> Vec<String> {
        let command = command.iter().map(|word| (*word).to_owned());
        self.options.iter().cloned().chain(command).collect()
    }

    /// The state folder that the options name.
    fn state(&self) -> Option<&str> {
        let at = self.options.iter().position(|word| word == "--state")?;
        self.options.get(at + 1).map(String::as_str)
    }

    /// A line that a shell runs: the program with every word as one word.
    fn line(&self, command: &[&str]) -> String {
        let words = std::iter::once(self.program.clone()).chain(self.arguments(command));
        words
            .map(|word| quoted(&word))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c);
    let plain = !word.is_empty()
        && word
            .chars()
            .all(|c| plain(c) || (cfg!(windows) && c == '\\'));
    if plain {
        word.to_owned()
    } else if cfg!(windows) {
        format!("\"{word}\"")
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Every client there is a recipe for, as it would be set up on this machine.
pub fn clients(world: &World, launch: &Launch) -> Vec<Client> {
    clients::all(world, launch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiowl_model::Timestamp;
    use std::collections::{BTreeMap, BTreeSet};

    fn made(env: &[(&str, &str)]) -> Vec<Client> {
        let env: BTreeMap<String, String> = env
            .iter()
            .map(|(k, v)| ((*k).into(), (*v).into()))
            .collect();
        let world = World::real("/home/dev".into(), env, Timestamp::from_millis(0));
        let launch = Launch {
            program: "/opt/my tools/axiowl".into(),
            options: vec!["--state".into(), "/s".into()],
        };
        clients(&world, &launch)
    }

    #[test]
    fn each_surface_has_one_client_and_each_file_one_owner() {
        let clients = made(&[]);
        let surfaces: Vec<&str> = clients.iter().flat_map(|c| c.surfaces).copied().collect();
        let distinct: BTreeSet<&str> = surfaces.iter().copied().collect();
        assert_eq!(distinct.len(), surfaces.len());
        let files: Vec<_> = clients
            .iter()
            .flat_map(|c| &c.recipe.files)
            .map(|f| &f.path)
            .collect();
        let distinct: BTreeSet<_> = files.iter().collect();
        assert_eq!(distinct.len(), files.len(), "{files:?}");
        for client in &clients {
            assert_eq!(client.key, client.recipe.key);
            let servers = client.recipe.files.iter().flat_map(|file| &file.entries);
            let servers = servers.filter(|entry| entry.part == Part::Server).count();
            assert!(servers >= 1, "{}", client.key);
        }
    }

    #[test]
    fn variables_of_the_clients_lead_to_their_files() {
        let clients = made(&[
            ("CODEX_HOME", "/c"),
            ("CLAUDE_CONFIG_DIR", "/d"),
            ("XDG_CONFIG_HOME", "/x"),
            ("COPILOT_HOME", "/p"),
            ("GEMINI_CLI_HOME", "/g"),
            ("GROK_HOME", "/k"),
        ]);
        let of = |key: &str| {
            let client = clients.iter().find(|client| client.key == key).unwrap();
            let files = client.recipe.files.iter();
            files
                .map(|file| file.path.to_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(of("codex"), ["/c/config.toml"]);
        assert_eq!(of("claude-code"), ["/d/.claude.json", "/d/settings.json"]);
        assert_eq!(of("opencode"), ["/x/opencode/opencode.json"]);
        assert_eq!(
            of("copilot"),
            [
                "/p/mcp-config.json",
                "/p/hooks/axiowl.json",
                "/p/extensions/axiowl/extension.mjs",
                "/p/settings.json",
            ]
        );
        assert_eq!(of("gemini"), ["/g/.gemini/settings.json"]);
        assert_eq!(of("grok"), ["/k/config.toml"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_line_for_a_shell_keeps_every_word_together() {
        let launch = Launch {
            program: "/opt/it's here/axiowl".into(),
            options: vec!["--state".into(), "/a b".into()],
        };
        assert_eq!(
            launch.line(&["hook", "x"]),
            r"'/opt/it'\''s here/axiowl' --state '/a b' hook x"
        );
    }

    #[test]
    fn without_approvals_nothing_is_let_pass_unasked() {
        for mut client in made(&[]) {
            client.without_approvals();
            let text = format!("{:?}", client.recipe);
            for word in ["Approval", "\"trust\"", "approval_mode", "permissions"] {
                assert!(!text.contains(word), "{}: {text}", client.key);
            }
        }
    }
}
