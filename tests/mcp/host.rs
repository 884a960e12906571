//! A host of the server: the test itself, or a program that the test names.

use crate::program::Axiowl;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running server and its pipes.
pub struct Host {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Host {
    /// Starts a server that has not been greeted.
    pub fn silent(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("axiowl runs");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("stdout"));
        Self {
            child,
            input,
            output,
            next: 0,
        }
    }

    /// Starts a server and greets it as a client of that name.
    pub fn of(axiowl: &Axiowl, client: &str) -> Self {
        Self::greeting(axiowl.command(&["mcp"]), client)
    }

    /// The same with a command of the test's own.
    pub fn greeting(command: Command, client: &str) -> Self {
        let mut host = Self::silent(command);
        let greeted = host.request("initialize", greeting(client));
        assert_eq!(
            greeted["result"]["serverInfo"]["name"], "axiowl",
            "{greeted}"
        );
        host.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        host
    }

    /// Sends a line.
    pub fn write(&mut self, line: &Value) {
        let input = self.input.as_mut().expect("open");
        writeln!(input, "{line}").expect("write");
        input.flush().expect("flush");
    }

    /// Sends bytes as they stand.
    pub fn write_raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("open");
        input.write_all(bytes).expect("write");
        input.flush().expect("flush");
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request and gives its id.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The next line of the server.
    pub fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// The answer to a request.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        loop {
            let answer = self.read();
            if answer["id"] == id {
                return answer;
            }
        }
    }

    /// Reads until each of these calls has been answered, once.
    pub fn answers_each_once(&mut self, mut open: BTreeSet<u64>) {
        while !open.is_empty() {
            let answer = self.read();
            let id = answer["id"].as_u64().expect("an id");
            assert!(open.remove(&id), "answered twice, or never asked: {answer}");
            assert!(answer["result"]["content"].is_array(), "{answer}");
        }
    }

    /// Calls a tool with what the host adds to the request.
    pub fn call(&mut self, tool: &str, arguments: Value, meta: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        self.request("tools/call", params)
    }

    /// Who the server takes the caller for.
    pub fn whoami(&mut self, meta: Value) -> Who {
        Who::of(&self.call("axiowl_whoami", json!({}), meta))
    }

    /// Closes the pipe, reads what still comes and waits for the end.
    pub fn close_and_read(mut self) -> (bool, String) {
        self.input = None;
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("text");
        (self.child.wait().expect("wait").success(), rest)
    }

    /// Waits for the end, with the pipe open.
    pub fn ended(mut self) -> bool {
        self.child.wait().expect("wait").success()
    }

    /// Closes the pipe and waits for the end.
    pub fn close(mut self) -> bool {
        self.input = None;
        self.child.wait().expect("wait").success()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Of a test that failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn greeting(client: &str) -> Value {
    json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": client, "version": "1" },
    })
}

/// A command that a program of that name runs: a shell under another name, which is what the
/// system knows it by.
pub fn below(axiowl: &Axiowl, inner: Command, program: &str) -> Command {
    below_after(axiowl, inner, program, ":")
}

/// The same, where the program does something first.
pub fn below_after(axiowl: &Axiowl, inner: Command, program: &str, first: &str) -> Command {
    let shell = axiowl.path("bin").join(program);
    std::fs::create_dir_all(axiowl.path("bin")).expect("folder");
    if !shell.exists() {
        // By a process of its own: what this one has open for writing cannot be run.
        let copied = Command::new("cp")
            .arg(std::fs::canonicalize("/bin/sh").expect("a shell"))
            .arg(&shell)
            .status();
        assert!(copied.expect("cp runs").success());
    }
    let mut command = Command::new(shell);
    command.args(["-c", &format!("{first}\n\"$@\"; exit $?"), "sh"]);
    command.arg(inner.get_program()).args(inner.get_args());
    command.env_clear();
    command.envs(
        inner
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    command
}

/// The server's word about a caller.
#[derive(Debug)]
pub enum Who {
    Proven(Value),
    Refused(String),
}

impl Who {
    pub fn of(answer: &Value) -> Self {
        let result = &answer["result"];
        match result["isError"] == true {
            true => Self::Refused(
                result["content"][0]["text"]
                    .as_str()
                    .unwrap_or("")
                    .to_owned(),
            ),
            false if result["structuredContent"].is_object() => {
                Self::Proven(result["structuredContent"].clone())
            }
            false => Self::Refused(answer["error"]["message"].to_string()),
        }
    }

    /// `provider session`, of one that is proven.
    #[track_caller]
    pub fn session(&self) -> String {
        match self {
            Self::Proven(who) => who["provider_session_id"]
                .as_str()
                .expect("an id")
                .to_owned(),
            Self::Refused(why) => panic!("refused: {why}"),
        }
    }

    #[track_caller]
    pub fn field(&self, name: &str) -> Value {
        match self {
            Self::Proven(who) => who[name].clone(),
            Self::Refused(why) => panic!("refused: {why}"),
        }
    }

    /// The reason, of one that is refused.
    #[track_caller]
    pub fn refusal(self) -> String {
        match self {
            Self::Refused(why) => why,
            Self::Proven(who) => panic!("proven: {who}"),
        }
    }

    #[track_caller]
    pub fn refused_for(self, part: &str) {
        let why = self.refusal();
        assert!(why.contains(part), "{part:?} is not in {why:?}");
    }
}
