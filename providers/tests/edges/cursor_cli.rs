//! `providers/cursor-antigravity-grok.md` A.2, B.2 and E, case by case.

use crate::scene::{LONG, OTHER, Ran, SESSION, Scene};
use crate::stand_in::{NOTES, arguments, is_gone, runs};
use axiowl_model::SessionKey;
use axiowl_pipeline::edge::Liveness;
use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The message is the last argument.
const PRINT: &str = r#"
for last in "$@"; do :; done
id=$(printf '%s\n' "$last" | sed -n '1s/^\[AxiOwl \([^]]*\)\].*/\1/p')
record() { echo "{\"text\":\"[AxiOwl $id]\"}" >> "$T"; }
says() { printf '{"type":"%s","subtype":"init","session_id":"%s"}\n' "$1" "${2:-$SESSION}"; }
result() { printf '{"type":"result","subtype":"success","is_error":%s,"result":"%s","session_id":"%s"}\n' "$1" "${2:-fine}" "${3:-$SESSION}"; }
"#;
const GOOD: &str = "says system; says user; record; says assistant; result false";

/// Speaks ACP: loads the session it is asked for, and does what the case says with the prompt.
const ACP: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":{}}}\n' "${1:-$SESSION}"; }
while IFS= read -r line; do
  printf '%s\n' "$line" >> "$H/rpc"
  case "$line" in
    *'"initialize"'*) answer 1 '{"protocolVersion":1}';;
    *'"authenticate"'*) answer 2 '{}';;
    *'"session/load"'*) update; loaded;;
    *'"session/prompt"'*)
      id=${line#*\[AxiOwl }; id=${id%%\]*}
      record() { echo "{\"text\":\"[AxiOwl $id]\"}" >> "$T"; }
      prompted;;
  esac
done
"#;

fn md5(text: &str) -> String {
    let mut child = Command::new("md5sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let out = child.wait_with_output().unwrap().stdout;
    String::from_utf8(out).unwrap()[..32].to_owned()
}

fn empty(program: &str, script: &str) -> Scene {
    let transcript =
        format!(".cursor/projects/a-project/agent-transcripts/{SESSION}/{SESSION}.jsonl");
    let mut scene = Scene::new("cursor_cli", &transcript);
    scene.key = SessionKey::local("cursor_cli", format!("cursor_cli:session:{SESSION}"));
    scene.program(program, script);
    scene
}

fn store(scene: &Scene, below: &str) -> std::path::PathBuf {
    let folder = scene.file(below).join(SESSION);
    fs::create_dir_all(&folder).unwrap();
    let store = folder.join("store.db");
    fs::write(&store, "").unwrap();
    store
}

fn scene(does: &str) -> Scene {
    let scene = empty("cursor-agent", &format!("{NOTES}{PRINT}{does}"));
    store(&scene, &format!(".cursor/chats/{}", md5(&scene.cwd)));
    scene
}

/// A session of the ACP store alone: what the program does when it is loaded, and when it is
/// prompted.
fn acp(loaded: &str, prompted: &str) -> Scene {
    let functions = format!("loaded() {{ {loaded}; }}\nprompted() {{ {prompted}; }}\n");
    let scene = empty("cursor-agent", &format!("{NOTES}{functions}{ACP}"));
    store(&scene, ".cursor/acp-sessions");
    scene
}

fn deliver(does: &str) -> Ran {
    scene(does).deliver(LONG)
}

#[test]
fn x05_the_chat_is_resumed_in_its_recorded_folder_and_nowhere_else() {
    let scene = scene(GOOD);
    let ran = scene.deliver(LONG);
    ran.is(&["starting", "submitted", "seen", "turn_done"], "ok");
    let expected = [
        "-p",
        "--output-format",
        "stream-json",
        "--workspace",
        &scene.cwd,
        "--resume",
        SESSION,
        &scene.body(),
    ];
    assert_eq!(arguments(&scene), expected);
    assert_eq!(scene.read("pwd").trim(), scene.cwd);
}

#[test]
fn x05_an_id_that_is_not_on_disk_is_rejected_before_a_new_chat_is_made() {
    let none = empty("cursor-agent", &format!("{NOTES}{PRINT}{GOOD}"));
    assert!(none.unavailable().contains("no chat of this id"));
    none.deliver(LONG).is(&[], "not_submitted");
    // An editor's chat has a transcript of that name and is no chat of the CLI.
    assert!(none.transcript.is_file());
    // A chat without a store has no conversation.
    fs::create_dir_all(none.file(&format!(".cursor/chats/{}/{SESSION}", md5(&none.cwd)))).unwrap();
    assert!(none.unavailable().contains("no chat of this id"));
    // The same id below another folder is another chat of it.
    store(&none, ".cursor/chats/0123456789abcdef0123456789abcdef");
    assert!(none.unavailable().contains("another folder"));
    assert_eq!(runs(&none), 0);
    // With both, the one of the recorded folder is meant.
    store(&none, &format!(".config/cursor/chats/{}", md5(&none.cwd)));
    assert!(matches!(none.probe(), Liveness::Idle { .. }));
}

#[test]
fn x08_a_stream_of_another_chat_is_misdelivered_and_stopped_at_its_first_event() {
    let scene = scene("children; says system $OTHER; linger");
    let ran = scene.deliver(LONG);
    ran.is(&["starting"], "misdelivered");
    ran.tells(OTHER);
    assert!(ran.took < Duration::from_secs(60), "{ran:?}");
    is_gone(&scene);
    let ran = deliver("says system; says user; record; result false fine $OTHER");
    assert_eq!(ran.end(), "misdelivered", "{ran:?}");
}

#[test]
fn a_failed_turn_is_one_whatever_the_exit_code() {
    let ran = deliver("says system; says user; record; result true overloaded");
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    ran.tells("overloaded");
    let ran = deliver("says system; says user; record; result false; exit 1");
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    let ran = deliver("echo 'Not logged in' >&2; exit 1");
    ran.is(&["starting"], "not_submitted");
    ran.tells("Not logged in");
    // A result is no proof that the message stands there, and no result none of an end.
    let ran = deliver("says user; result false");
    ran.is(&["starting", "submitted"], "uncertain");
    deliver("says user; record").is(&["starting", "submitted", "seen"], "ok");
    deliver("exit 0").is(&["starting"], "uncertain");
    let unread = deliver("rm \"$T\"; says user; result false");
    unread.is(&["starting", "submitted"], "uncertain");
}

#[test]
fn an_open_chat_is_refused() {
    let scene = scene(GOOD);
    let store = scene.file(&format!(
        ".cursor/chats/{}/{SESSION}/store.db",
        md5(&scene.cwd)
    ));
    let holder = fs::OpenOptions::new().append(true).open(&store).unwrap();
    assert!(scene.closed().contains(&std::process::id().to_string()));
    scene.deliver(LONG).is(&[], "refused");
    drop(holder);
    // A program in the chat's folder may have it open.
    let script = scene.file("bin/cursor-agent");
    let mut sleeper = empty("cursor-agent", "touch \"$H/up\"; IFS= read -r never");
    sleeper.cwd.clone_from(&scene.cwd);
    let mut child = Command::new(sleeper.file("bin/cursor-agent"))
        .current_dir(&scene.cwd)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    while !sleeper.file("up").exists() {
        std::thread::yield_now();
    }
    let reason = scene.closed();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(reason.contains(&child.id().to_string()), "{reason}");
    assert!(script.is_file() && runs(&scene) == 0);
}

#[test]
fn a_hanging_or_flooding_cursor_agent_is_stopped_with_everything_it_started() {
    let scene = scene("says user; record; hang");
    let ran = scene.deliver(Duration::from_secs(3));
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    is_gone(&scene);
    let mut floods = self::scene("flood");
    floods.output_cap = 4 * 1024;
    let ran = floods.deliver(LONG);
    ran.is(&["starting"], "uncertain");
    assert!(ran.took < Duration::from_secs(60), "{ran:?}");
}

#[test]
fn x07_an_acp_session_is_loaded_and_prompted_and_never_resumed() {
    let asks = r#"printf '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"%s","options":[{"optionId":"yes","kind":"allow_once"},{"optionId":"no","kind":"reject_once"}]}}\n' $SESSION; IFS= read -r reply; printf '%s\n' "$reply" > "$H/reply""#;
    let good = format!("update; record; {asks}; answer 4 '{{\"stopReason\":\"end_turn\"}}'");
    let scene = acp("answer 3 '{}'", &good);
    let ran = scene.deliver(LONG);
    ran.is(&["starting", "submitted", "seen", "turn_done"], "ok");
    assert_eq!(arguments(&scene), ["acp"]);
    let calls: Vec<Value> = scene
        .read("rpc")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let methods: Vec<&str> = calls
        .iter()
        .map(|call| call["method"].as_str().unwrap())
        .collect();
    assert_eq!(
        methods,
        [
            "initialize",
            "authenticate",
            "session/load",
            "session/prompt"
        ]
    );
    assert_eq!(calls[1]["params"]["methodId"], "cursor_login");
    assert_eq!(calls[2]["params"]["sessionId"], SESSION);
    assert_eq!(calls[2]["params"]["cwd"], scene.cwd);
    assert_eq!(calls[3]["params"]["sessionId"], SESSION);
    assert_eq!(calls[3]["params"]["prompt"][0]["text"], scene.body());
    let reply: Value = serde_json::from_str(&scene.read("reply")).unwrap();
    assert_eq!(
        reply["result"]["outcome"]["optionId"], "no",
        "nobody is there to allow it"
    );
}

#[test]
fn an_acp_session_that_is_not_loaded_gets_nothing() {
    let error = r#"printf '{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Session not found"}}\n'"#;
    for (loaded, told) in [
        (error, "Session not found"),
        ("echo 'it is broken' >&2; exit 3", "it is broken"),
    ] {
        let scene = acp(loaded, "record");
        let ran = scene.deliver(LONG);
        ran.is(&[], "not_submitted");
        ran.tells(told);
        assert!(!scene.read("rpc").contains("session/prompt"));
    }
}

#[test]
fn an_acp_turn_is_told_as_it_was() {
    let loaded = "answer 3 '{}'";
    let strays = acp(loaded, "children; update $OTHER; linger");
    strays.deliver(LONG).is(&["starting"], "misdelivered");
    is_gone(&strays);
    let refusal = acp(
        loaded,
        "update; record; answer 4 '{\"stopReason\":\"refusal\"}'",
    );
    let ran = refusal.deliver(LONG);
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    ran.tells("refusal");
    let unproven = acp(loaded, "update; answer 4 '{\"stopReason\":\"end_turn\"}'");
    unproven
        .deliver(LONG)
        .is(&["starting", "submitted"], "uncertain");
    let dies = acp(loaded, "update; record; kill -9 $$");
    dies.deliver(LONG)
        .is(&["starting", "submitted", "seen"], "turn_failed");
}
