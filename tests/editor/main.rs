//! An editor's view of rules: the YAML language server, with the schemas as they are shipped,
//! completes and checks rules and patches. It comes from npm, pinned, like the real clients.

#[path = "../program/mod.rs"]
mod program;

use axiowl_test_support::{Pins, Skip, or_skip};
use program::{Axiowl, ROOT};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const PINS: Pins<'_> = Pins {
    package: include_str!("server/package.json"),
    lock: include_str!("server/package-lock.json"),
};
/// For an answer; the server takes far less.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running language server.
struct Server {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    next: u64,
}

impl Server {
    fn start() -> Result<Self, Skip> {
        let folder = PINS.ensure()?;
        let node = axiowl_test_support::program("node")?;
        let script = folder.join("node_modules/yaml-language-server/bin/yaml-language-server");
        let mut child = Command::new(node)
            .arg(script)
            .arg("--stdio")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Skip::new(format!("node does not start: {error}")))?;
        let input = child.stdin.take().expect("input");
        let mut output = BufReader::new(child.stdout.take().expect("output"));
        let (send, messages) = channel();
        std::thread::spawn(move || {
            while let Some(message) = read(&mut output) {
                if send.send(message).is_err() {
                    break;
                }
            }
        });
        let mut server = Self {
            child,
            input,
            messages,
            next: 0,
        };
        server.request("initialize", json!({
            "processId": null, "rootUri": null,
            "capabilities": { "workspace": { "configuration": true }, "textDocument": { "completion": {} } },
        }));
        server.notify("initialized", json!({}));
        Ok(server)
    }

    fn write(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("written");
        self.input.flush().expect("written");
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Waits for a message; what the server itself asks for is answered meanwhile.
    fn wait(&mut self, wanted: &dyn Fn(&Value) -> bool) -> Value {
        loop {
            let message = self
                .messages
                .recv_timeout(PATIENCE)
                .expect("the server answers");
            if message["method"].is_string() && !message["id"].is_null() {
                let items = message["params"]["items"].as_array().map_or(0, Vec::len);
                let settings = json!({ "validate": true, "completion": true, "schemaStore": { "enable": false } });
                let result = match message["method"].as_str() {
                    Some("workspace/configuration") => json!(vec![settings; items]),
                    _ => Value::Null,
                };
                self.write(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
            }
            if wanted(&message) {
                return message;
            }
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer = self.wait(&|message| message["id"] == id && message["method"].is_null());
        answer["result"].clone()
    }

    /// Opens a text under a path; what the server finds wrong with it: line (one-based), message.
    fn diagnose(&mut self, path: &Path, text: &str) -> Vec<(u64, String)> {
        let uri = format!("file://{}", path.display());
        self.notify(
            "textDocument/didOpen",
            json!({
                "textDocument": { "uri": uri, "languageId": "yaml", "version": 1, "text": text },
            }),
        );
        let told = self.wait(&|message| {
            message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == uri.as_str()
        });
        let found = told["params"]["diagnostics"]
            .as_array()
            .expect("diagnostics")
            .iter();
        found
            .map(|d| {
                let line = d["range"]["start"]["line"].as_u64().expect("line") + 1;
                (line, d["message"].as_str().expect("message").to_owned())
            })
            .collect()
    }

    /// What could stand at a place of a text that is open.
    fn complete(&mut self, path: &Path, line: usize, character: usize) -> Vec<String> {
        let uri = format!("file://{}", path.display());
        let answer = self.request("textDocument/completion", json!({
            "textDocument": { "uri": uri }, "position": { "line": line, "character": character },
        }));
        let items = answer
            .get("items")
            .unwrap_or(&answer)
            .as_array()
            .cloned()
            .unwrap_or_default();
        items
            .iter()
            .filter_map(|item| item["label"].as_str().map(str::to_owned))
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn read(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some(number) = line.strip_prefix("Content-Length:") {
            length = number.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

/// A rule and a patch as `new` and `eject` write them, their schemas beside them.
fn written() -> (Axiowl, PathBuf, PathBuf) {
    let axiowl = Axiowl::new();
    assert_eq!(axiowl.run(&["rules", "new", "acme"]).code, 0);
    assert_eq!(axiowl.run(&["rules", "eject", "codex", "--patch"]).code, 0);
    let rules = axiowl.home().join(".config/axiowl/rules");
    let (rule, patch) = (rules.join("acme/rule.yaml"), rules.join("codex/rule.yaml"));
    (axiowl, rule, patch)
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).expect("text")
}

fn line_of(text: &str, what: &str) -> usize {
    text.lines()
        .position(|line| line.contains(what))
        .expect("the line")
}

#[test]
fn every_shipped_rule_is_right_to_an_editor() {
    let mut server = or_skip!(Server::start());
    let mut count = 0;
    for entry in std::fs::read_dir(Path::new(ROOT).join("rules")).expect("rules") {
        let path = entry.expect("entry").path().join("rule.yaml");
        if path.is_file() {
            count += 1;
            assert_eq!(
                server.diagnose(&path, &text(&path)),
                [],
                "{}",
                path.display()
            );
        }
    }
    assert!(count > 10);
}

#[test]
fn a_typo_is_marked_at_its_line_and_keys_are_completed() {
    let mut server = or_skip!(Server::start());
    let (_axiowl, rule, patch) = written();
    let good = text(&rule);
    assert_eq!(server.diagnose(&rule, &good), []);
    let bad = good.replace("weak: true", "waek: true");
    let found = server.diagnose(&rule.with_file_name("bad.yaml"), &bad);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0 as usize, line_of(&bad, "waek") + 1, "{found:?}");
    assert!(found[0].1.contains("waek"), "{found:?}");

    // Behind the last line of `rows`, its other keys.
    let at = line_of(&good, "seen_at: mtime") + 1;
    let mut lines: Vec<&str> = good.lines().collect();
    lines.insert(at, "  ");
    let open = rule.with_file_name("open.yaml");
    server.diagnose(&open, &lines.join("\n"));
    let offered = server.complete(&open, at, 2);
    for key in ["where", "join", "kind", "let"] {
        assert!(
            offered.iter().any(|label| label == key),
            "no {key} in {offered:?}"
        );
    }
    assert!(
        !offered.iter().any(|label| label == "seen_at"),
        "it is there already: {offered:?}"
    );

    let good = text(&patch) + "  name.reject: { append: [zebra] }\n";
    assert_eq!(server.diagnose(&patch, &good), []);
    let bad = good.replace("append: [zebra]", "apend: [zebra]");
    let found = server.diagnose(&patch.with_file_name("bad.yaml"), &bad);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].0 as usize,
        line_of(&bad, "apend: [") + 1,
        "{found:?}"
    );
}
