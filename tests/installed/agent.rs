//! Sessions of real clients under names of their own: how each is made, asked, made to ask, and
//! read afterwards.

use super::scene::{Scene, header, holds, question, texts};
use super::{claude, codex, copilot, opencode, turn};
use serde_json::{Value, json};

/// The clients that sessions are made by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Client {
    Claude,
    Codex,
    Copilot,
    Opencode,
}

impl Client {
    /// The key of its surface.
    pub fn provider(self) -> &'static str {
        match self {
            Self::Claude => "claude_code_cli",
            Self::Codex => "codex_cli",
            Self::Copilot => "copilot_cli",
            Self::Opencode => "opencode_cli",
        }
    }

    /// How its model calls our tool when a message tells it to.
    pub fn tool(self) -> &'static str {
        match self {
            Self::Claude | Self::Codex => "mcp__axiowl__axiowl_send_message",
            Self::Copilot => "axiowl-axiowl_send_message",
            Self::Opencode => "axiowl_axiowl_send_message",
        }
    }

    /// What makes its model send a message, and wait as far as asked.
    pub fn sends(self, to: &str, body: &str, wait: &str) -> String {
        let tool = match self {
            Self::Codex => "axiowl_send_message",
            _ => self.tool(),
        };
        let send = json!({ "to": to, "body": body, "wait": wait });
        format!("@@tool {tool} {send}")
    }

    /// What makes its model ask the session `to` of another client and wait for the answer, which
    /// that one's model sends to `asker`.
    pub fn asks(self, to: &str, other: Self, asker: &str, answer: &str) -> String {
        self.sends(to, &question(other.tool(), asker, answer), "reply")
    }
}

/// A session with a name of its own.
pub struct Agent {
    pub client: Client,
    pub name: String,
    pub session: String,
}

impl Agent {
    /// A session that has had its first turn and is idle.
    pub fn idle(scene: &Scene, client: Client, name: &str) -> Self {
        let (home, cwd) = (&scene.home, &scene.cwd);
        let session = match client {
            Client::Claude => home.claude_session(name, "Hello", cwd),
            Client::Copilot => home.copilot_session(name, "Hello", cwd),
            Client::Opencode => home.opencode_session(name, "Hello", cwd),
            Client::Codex => home.codex_exec_session("Hello", cwd).and_then(|thread| {
                home.codex_name_thread(&thread, name)?;
                Ok(thread)
            }),
        };
        Self {
            client,
            name: name.to_owned(),
            session: session.expect("a session"),
        }
    }

    /// A new session whose first turn is this one. A thread of Codex has its name after its first
    /// turn, so that is its second.
    pub fn beginning(scene: &Scene, client: Client, name: &str, prompt: &str) -> Self {
        let (home, cwd) = (&scene.home, &scene.cwd);
        let session = match client {
            Client::Claude => claude(home, name, prompt, cwd),
            Client::Copilot => copilot(home, name, prompt, cwd),
            Client::Opencode => opencode(home, name, prompt, cwd),
            Client::Codex => {
                let agent = Self::idle(scene, client, name);
                agent.turn(scene, prompt);
                return agent;
            }
        };
        Self {
            client,
            name: name.to_owned(),
            session,
        }
    }

    /// Another turn of it.
    pub fn turn(&self, scene: &Scene, prompt: &str) {
        let session = self.session.as_str();
        let resume = format!("--resume={session}");
        let arguments: Vec<&str> = match self.client {
            Client::Codex => return codex(&scene.home, session, prompt, &scene.cwd),
            Client::Claude => vec!["-p", &resume, "--allowedTools", "mcp__axiowl"],
            Client::Copilot => vec![&resume, "--allow-tool=axiowl", "--no-auto-update"],
            Client::Opencode => vec!["run", "--session", session],
        };
        let clients = scene.home.clients();
        let program = match self.client {
            Client::Claude => clients.claude(),
            Client::Codex => clients.codex(),
            Client::Copilot => clients.copilot(),
            Client::Opencode => clients.opencode(),
        };
        turn(&scene.home, program, &arguments, &scene.cwd, prompt);
    }

    /// A turn in which it asks another one and waits for the answer.
    pub fn ask(&self, scene: &Scene, other: &Self, answer: &str) {
        let prompt = self
            .client
            .asks(&other.name, other.client, &self.name, answer);
        self.turn(scene, &prompt);
    }

    /// A new session that asks another one in its first turn and waits for the answer.
    pub fn asking(scene: &Scene, client: Client, name: &str, other: &Self, answer: &str) -> Self {
        let prompt = client.asks(&other.name, other.client, name, answer);
        Self::beginning(scene, client, name, &prompt)
    }

    /// The records of its own transcript.
    pub fn records(&self, scene: &Scene) -> Vec<Value> {
        let home = &scene.home;
        match self.client {
            Client::Claude => home.claude_records(&self.session),
            Client::Codex => home.codex_records(&self.session),
            Client::Copilot => home.copilot_records(&self.session),
            Client::Opencode => {
                let texts = scene.opencode_texts(&self.session);
                let records = texts.iter().map(|text| serde_json::from_str(text));
                records.map(|record| record.expect("JSON")).collect()
            }
        }
    }

    /// The same as they stand there.
    pub fn texts(&self, scene: &Scene) -> Vec<String> {
        match self.client {
            Client::Opencode => scene.opencode_texts(&self.session),
            _ => texts(&self.records(scene)),
        }
    }

    /// That it read a message of that sender, with who it is from.
    pub fn has_read(&self, scene: &Scene, id: &str, from: &Self) {
        let asked = header(id, &from.name, from.client.provider());
        let texts = self.texts(scene);
        assert!(
            holds(&texts, &asked),
            "{} was never asked: {texts:?}",
            self.name
        );
    }

    /// That its transcript holds a text.
    pub fn has(&self, scene: &Scene, part: &str) {
        let texts = self.texts(scene);
        assert!(
            holds(&texts, part),
            "{} has no {part:?}: {texts:?}",
            self.name
        );
    }
}
