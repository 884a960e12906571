//! The demo's built-in agent: what a real client does, in its smallest form.
//!
//! It is started with a message on standard input, writes it into its own
//! transcript, answers by calling AxiOwl's MCP server as any host would, and
//! closes the turn. While `<session>.keeps` stands beside the transcript it takes
//! messages and reads none: they wait in `<session>.queue`, held for its user or
//! queued, as that file says. Nothing in it knows the ledger or the registry.

use crate::args::{Common, EchoAgent};
use crate::exit::{Exit, Failure, Outcome};
use axiowl_pipeline::body::{RelayHeader, unquote};
use axiowl_pipeline::{AXIOWL_PROVIDER, OPERATOR};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A body longer than this is no message of ours.
const LONGEST: u64 = 4 << 20;

/// Takes one message and runs the turn it starts; what waited before it comes first.
pub fn run(arguments: &EchoAgent, common: &Common) -> Outcome {
    let mut body = String::new();
    std::io::stdin()
        .lock()
        .take(LONGEST)
        .read_to_string(&mut body)?;
    // Whoever started it died before it said anything.
    if body.is_empty() {
        return Err(Failure::new(Exit::Failed, "no message came"));
    }
    let file = |end: &str| arguments.store.join(format!("{}.{end}", arguments.session));
    let mut transcript = Transcript::open(&file("jsonl"))?;
    let queue = file("queue");
    if let Some(how) = if_there(&file("keeps"))? {
        let waits = json!({ "text": body });
        let mut queue = OpenOptions::new().create(true).append(true).open(queue)?;
        queue.write_all(format!("{waits}\n").as_bytes())?;
        queue.sync_data()?;
        announce(&json!({ "type": "message_kept", "as": how.trim() }))?;
        return Ok(Exit::Done);
    }
    for line in if_there(&queue)?.unwrap_or_default().lines() {
        let waited: Value = serde_json::from_str(line)
            .map_err(|error| Failure::new(Exit::Failed, format!("the queue: {error}")))?;
        let text = waited["text"].as_str().unwrap_or_default();
        take(&mut transcript, text, common, &mut |_| Ok(()))?;
    }
    if queue.exists() {
        std::fs::remove_file(&queue)?;
    }
    take(&mut transcript, &body, common, &mut |event| announce(event))
}

/// One turn.
fn take(
    transcript: &mut Transcript,
    body: &str,
    common: &Common,
    say: &mut dyn FnMut(&Value) -> Result<(), Failure>,
) -> Outcome {
    let turn = axiowl_model::RunId::new().to_string();
    transcript.write(&json!({ "type": "message", "role": "user", "turn": turn, "text": body }))?;
    say(&json!({ "type": "message_taken", "turn": turn }))?;
    let answered = answer(transcript, &turn, body, common);
    let ok = answered.is_ok();
    transcript.write(&json!({ "type": "turn_end", "turn": turn, "ok": ok }))?;
    say(&json!({ "type": "turn_end", "turn": turn, "ok": ok }))?;
    answered.map(|()| Exit::Done)
}

/// The text of a file that need not be there.
fn if_there(path: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Answers whoever asked by a tool call, as the header says; what nobody can be answered for
/// is only echoed.
fn answer(
    transcript: &mut Transcript,
    turn: &str,
    body: &str,
    common: &Common,
) -> Result<(), Failure> {
    let said = unquote(body).unwrap_or_else(|| body.to_owned());
    let Some(asked) = to_answer(body) else {
        transcript
            .write(&json!({ "type": "message", "role": "agent", "turn": turn, "text": said }))?;
        return Ok(());
    };
    // The call stands in the transcript before it is made: that is what proves who called.
    let call = axiowl_model::RunId::new().to_string();
    let arguments = json!({
        "to": asked.name, "body": format!("echo: {}", said.trim()), "reply_to": asked.message.to_string()
    });
    transcript.write(&json!({
        "type": "tool_call", "turn": turn, "id": call, "name": "axiowl_send_message", "arguments": arguments
    }))?;
    let mut host = Host::start(common)?;
    let result = host.call("axiowl_send_message", &arguments, &call)?;
    transcript
        .write(&json!({ "type": "tool_result", "turn": turn, "id": call, "result": result }))?;
    host.stop()?;
    if result["isError"] == true {
        let said = result["content"][0]["text"]
            .as_str()
            .unwrap_or("no reason given");
        return Err(Failure::new(
            Exit::Failed,
            format!("the answer was not taken: {said}"),
        ));
    }
    Ok(())
}

/// The header of a message that wants an answer: one from somebody who can get it, and which is
/// no echo itself, or two of these agents would talk until a guard stops them.
fn to_answer(body: &str) -> Option<RelayHeader> {
    let header = RelayHeader::read(body)?.ok()?;
    let has_address = header.name == OPERATOR || header.provider != AXIOWL_PROVIDER;
    let way = body.lines().nth(1).unwrap_or_default();
    let echoed = way.starts_with("hops: ") && way.contains("\" (echo)");
    (has_address && !echoed).then_some(header)
}

/// One line of progress for whoever started the agent.
fn announce(event: &Value) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{event}")?;
    out.flush()?;
    Ok(())
}

/// The agent's own transcript.
struct Transcript {
    file: File,
}

impl Transcript {
    fn open(path: &Path) -> Result<Self, Failure> {
        let file = OpenOptions::new()
            .append(true)
            .open(path)
            .map_err(|error| {
                Failure::new(
                    Exit::Failed,
                    format!("no session at {}: {error}", path.display()),
                )
            })?;
        Ok(Self { file })
    }

    fn write(&mut self, record: &Value) -> Result<(), Failure> {
        self.file.write_all(format!("{record}\n").as_bytes())?;
        self.file.sync_data()?;
        Ok(())
    }
}

/// The agent as an MCP host: starts the server, greets it, calls a tool.
struct Host {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: u64,
}

impl Host {
    fn start(common: &Common) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(crate::setup::child_flags(common)).arg("mcp");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child = command.spawn()?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::new(Exit::Failed, "the MCP server has no pipes"));
        };
        let mut host = Self {
            child,
            to,
            from: BufReader::new(from),
            next: 0,
        };
        host.request(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "axiowl-echo-agent", "version": env!("CARGO_PKG_VERSION") }
            }),
        )?;
        host.notify("notifications/initialized")?;
        Ok(host)
    }

    fn call(&mut self, tool: &str, arguments: &Value, call: &str) -> Result<Value, Failure> {
        self.request(
            "tools/call",
            json!({ "name": tool, "arguments": arguments, "_meta": { "axiowl/echoCall": call } }),
        )
    }

    fn request(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        self.next += 1;
        let id = self.next;
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(self.to, "{line}")?;
        self.to.flush()?;
        loop {
            let mut line = String::new();
            if self.from.read_line(&mut line)? == 0 {
                return Err(Failure::new(
                    Exit::Failed,
                    format!("the MCP server ended during {method}"),
                ));
            }
            let answer: Value = serde_json::from_str(&line)
                .map_err(|error| Failure::new(Exit::Failed, format!("no MCP answer: {error}")))?;
            if answer["id"] == id {
                if let Some(error) = answer.get("error") {
                    return Err(Failure::new(Exit::Failed, format!("{method}: {error}")));
                }
                return Ok(answer["result"].clone());
            }
        }
    }

    fn notify(&mut self, method: &str) -> Result<(), Failure> {
        writeln!(self.to, "{}", json!({ "jsonrpc": "2.0", "method": method }))?;
        self.to.flush()?;
        Ok(())
    }

    fn stop(self) -> Result<(), Failure> {
        let Self { mut child, to, .. } = self;
        drop(to);
        child.wait()?;
        Ok(())
    }
}
