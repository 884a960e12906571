//! `providers/codex.md` C3, C5 and C7: the private app-server.

use crate::scene::{LONG, Ran, SESSION, Scene};
use axiowl_pipeline::edge::{Finding, Liveness};
use std::fs;
use std::time::Duration;

/// A stand-in app-server. A test sets `$begin`, `$queue`, `$add`, `$delete`, `$resume`, `$turn`
/// and `$answered` to what it does for those calls.
pub const CODEX: &str = r#"
echo "$*" >> "$H/argv"
[ "$1" = app-server ] || . "$H/exec.sh"
env > "$H/env"; pwd > "$H/pwd"
say() { printf '%s\n' "$1"; }
ok() { say "{\"id\":$id,\"result\":$1}"; }
rpc_error() { say "{\"id\":$id,\"error\":{\"code\":$1,\"message\":\"$2\"}}"; }
started() { say "{\"method\":\"turn/started\",\"params\":{\"threadId\":\"$SESSION\",\"turn\":{\"id\":\"$1\"}}}"; }
completed() { say "{\"method\":\"turn/completed\",\"params\":{\"threadId\":\"$SESSION\",\"turn\":{\"id\":\"$1\",\"status\":\"$2\",\"error\":{\"message\":\"$3\"}}}}"; }
record() { echo "{\"client_id\":\"$client\"}" >> "$T"; }
end() { echo "{\"type\":\"task\",\"end\":$1}" >> "$T"; }
resumed() { ok "{\"thread\":{\"id\":\"${1:-$SESSION}\",\"status\":{\"type\":\"${2:-idle}\"}}}"; }
taken() { ok '{"turn":{"id":"t1","status":"inProgress"}}'; }
[ -n "$queue" ] || queue='ok "{\"data\":[]}"'
[ -n "$begin" ] || begin='ok "{\"userAgent\":\"axiowl/0.171.0\"}"'
: "${resume:=resumed}" "${answered:=:}"
while IFS= read -r line; do
  printf '%s\n' "$line" >> "$H/input"
  id=${line#\{\"id\":}; id=${id%%,*}
  case "$line" in
  *'"method":"initialize"'*) eval "$begin" ;;
  *'"method":"thread/queue/add"'*)
    client=${line#*\"clientUserMessageId\":\"}; client=${client%%\"*}
    eval "$add" ;;
  *'"method":"thread/queue/delete"'*) eval "$delete" ;;
  *'"method":"thread/queue/list"'*) eval "$queue" ;;
  *'"method":"thread/resume"'*) eval "$resume" ;;
  *'"method":"turn/start"'*)
    client=${line#*\"clientUserMessageId\":\"}; client=${client%%\"*}
    eval "$turn" ;;
  *'"result"'* | *'"error"'*) eval "$answered" ;;
  esac
done
echo "closed" >> "$H/input"
"#;

pub fn scene_for(provider: &'static str, settings: &str) -> Scene {
    let transcript =
        format!(".codex/sessions/2026/11/30/rollout-2026-11-30T16-24-03-{SESSION}.jsonl");
    let mut scene = Scene::new(provider, &transcript);
    scene.program("codex", &format!("{settings}\n{CODEX}"));
    scene
}

fn scene(settings: &str) -> Scene {
    scene_for("codex_cli", settings)
}

fn deliver(settings: &str) -> Ran {
    scene(settings).deliver(LONG)
}

const GOOD: &str = "turn='taken; started t1; record; end true; completed t1 completed'";

#[test]
fn a_turn_that_went_well_is_told_step_by_step() {
    for provider in ["codex_cli", "codex"] {
        let scene = scene_for(provider, GOOD);
        assert!(matches!(scene.probe(), Liveness::Idle { .. }));
        let ran = scene.deliver(LONG);
        ran.is(&["starting", "submitted", "seen", "turn_done"], "ok");
        assert!(ran.evidence[1].detail.contains("turn=t1"), "{ran:?}");
        assert_eq!(ran.evidence[3].path.as_deref(), scene.transcript.to_str());

        let input = scene.read("input");
        let calls: Vec<serde_json::Value> = input
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let methods: Vec<_> = calls
            .iter()
            .map(|call| call["method"].as_str().unwrap())
            .collect();
        let order = [
            "initialize",
            "initialized",
            "thread/queue/list",
            "thread/resume",
            "turn/start",
        ];
        assert_eq!(methods, order);
        let start = &calls[4]["params"];
        assert_eq!(start["threadId"], SESSION);
        assert_eq!(start["clientUserMessageId"], scene.message.to_string());
        assert_eq!(start["input"][0]["text"], scene.body());
        assert!(
            input.ends_with("closed\n"),
            "its input was closed and it ended by itself"
        );
        assert_eq!(scene.read("argv"), "app-server\n");
        assert_eq!(scene.read("pwd").trim(), scene.cwd);
        let env = scene.read("env");
        assert!(!env.contains("CODEX_") && !env.contains("CLAUDE"), "{env}");
    }
}

#[test]
fn another_home_of_the_provider_is_named_to_it() {
    let mut scene = scene(GOOD);
    let other = scene.file("other codex");
    fs::rename(scene.file(".codex"), &other).unwrap();
    let rest = scene.transcript.strip_prefix(scene.file(".codex")).unwrap();
    scene.transcript = other.join(rest);
    scene.program("codex", &format!("{GOOD}\n{CODEX}"));
    assert!(scene.unavailable().contains("rollout is not below"));
    scene.provider_home = Some(other.clone());
    assert_eq!(scene.deliver(LONG).end(), "ok");
    assert!(
        scene
            .read("env")
            .contains(&format!("CODEX_HOME={}\n", other.display()))
    );
    scene.provider_home = None;
    scene
        .env
        .insert("CODEX_HOME".into(), other.display().to_string());
    scene.env.insert("CODEX_SQLITE_HOME".into(), "/db".into());
    assert_eq!(scene.deliver(LONG).end(), "ok");
    assert!(scene.read("env").contains("CODEX_SQLITE_HOME=/db\n"));
}

#[test]
fn another_thread_in_the_answer_gets_nothing() {
    let ran = deliver(&format!("resume='resumed $OTHER'\n{GOOD}"));
    ran.is(&[], "not_submitted");
    ran.tells("another thread");
}

#[test]
fn what_codex_refuses_is_passed_on() {
    let refused =
        |message: &str| deliver(&format!("resume='rpc_error -32600 \"{message}\"'\n{GOOD}"));
    refused("thread x already has an active writer").is(&[], "refused");
    refused("session x is archived. Run codex unarchive").is(&[], "refused");
    let ran = refused("no rollout found for thread id x");
    ran.is(&[], "not_submitted");
    ran.tells("no rollout found");
    let old = deliver(&format!(
        "resume='rpc_error -32601 \"paginated_threads is not supported yet\"'\n{GOOD}"
    ));
    old.is(&[], "not_submitted");
    old.tells("not supported yet");
}

#[test]
fn a_rejected_turn_was_not_handed_over() {
    let ran = deliver("turn='rpc_error -32600 nope'");
    ran.is(&["starting"], "not_submitted");
    ran.tells("nope");
    // Unless it stands there all the same.
    let ran = deliver("turn='record; rpc_error -32600 nope'");
    ran.is(&["starting", "seen"], "turn_failed");
}

#[test]
fn a_failed_or_interrupted_turn_is_failed() {
    let ran = deliver("turn='taken; record; end false; completed t1 failed \"mock failure\"'");
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    ran.tells("mock failure");
    deliver("turn='taken; record; end true; completed t1 interrupted'")
        .is(&["starting", "submitted", "seen"], "turn_failed");
    deliver("turn='taken; completed t1 failed x'").is(&["starting", "submitted"], "turn_failed");
}

#[test]
fn words_without_a_record_prove_nothing() {
    let ran = deliver("turn='taken; completed t1 completed'");
    ran.is(&["starting", "submitted"], "uncertain");
    ran.tells("rollout lacks");
    deliver("turn='taken; record; completed t1 completed'")
        .is(&["starting", "submitted", "seen"], "ok");
    deliver("turn='taken; record; end false; completed t1 completed'")
        .is(&["starting", "submitted", "seen"], "turn_failed");
    let gone = deliver("turn='taken; rm \"$T\"; completed t1 completed'");
    gone.is(&["starting", "submitted"], "uncertain");
    gone.tells("cannot be read");
}

#[test]
fn the_end_of_another_turn_is_not_ours() {
    let settings =
        "turn='taken; record; completed t0 completed; sleep 0.3; end true; completed t1 completed'";
    deliver(settings).is(&["starting", "submitted", "seen", "turn_done"], "ok");
}

#[test]
fn a_message_that_shows_up_in_another_thread_is_misdelivered() {
    let stray = r#"say "{\"method\":\"item/started\",\"params\":{\"threadId\":\"$OTHER\",\"item\":{\"clientId\":\"$client\"}}}""#;
    let ran = deliver(&format!(
        "stray='{stray}'\nturn='taken; eval \"$stray\"; exit 0'"
    ));
    ran.is(&["starting", "submitted"], "misdelivered");
}

#[test]
fn queued_messages_are_answered_first() {
    // The queue starts its turn when the thread is loaded; ours must not cut it short.
    let settings = r#"
queue='if [ -e "$H/ran" ]; then ok "{\"data\":[]}"; else ok "{\"data\":[{}]}"; fi'
resume='resumed; started q1; touch "$H/ran"; (sleep 1; echo over >> "$H/input"; completed q1 completed) &'
turn='taken; record; end true; completed t1 completed'"#;
    let scene = scene(settings);
    scene
        .deliver(LONG)
        .is(&["starting", "submitted", "seen", "turn_done"], "ok");
    let input = scene.read("input");
    let place = |what: &str| input.find(what).unwrap();
    assert!(place("over\n") < place("turn/start"), "{input}");
}

#[test]
fn a_thread_that_stays_busy_gets_nothing() {
    let ran =
        scene(&format!("resume='resumed $SESSION active'\n{GOOD}")).deliver(Duration::from_secs(3));
    ran.is(&[], "not_submitted");
    ran.tells("busy");
}

#[test]
fn requests_of_the_turn_are_declined_and_it_goes_on() {
    let ask =
        r#"say "{\"id\":99,\"method\":\"item/commandExecution/requestApproval\",\"params\":{}}""#;
    let settings = format!(
        "ask='{ask}'\nturn='taken; record; eval \"$ask\"'\nanswered='end true; completed t1 completed'"
    );
    let scene = scene(&settings);
    scene
        .deliver(LONG)
        .is(&["starting", "submitted", "seen", "turn_done"], "ok");
    assert!(
        scene
            .read("input")
            .contains(r#"{"id":99,"result":{"decision":"decline"}}"#)
    );
}

#[test]
fn a_server_that_dies_leaves_what_it_proved() {
    deliver("turn='exit 1'").is(&["starting"], "uncertain");
    deliver("turn='taken; exit 1'").is(&["starting", "submitted"], "uncertain");
    let ran = deliver("turn='taken; record; echo broken >&2; kill -9 $$'");
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    ran.tells("broken");
    deliver("turn='taken; record; end true; exit 1'")
        .is(&["starting", "submitted", "seen", "turn_done"], "ok");
    let early = deliver(&format!("resume='echo no config >&2; exit 1'\n{GOOD}"));
    early.is(&[], "not_submitted");
    early.tells("no config");
}

#[test]
fn a_server_that_hangs_or_floods_is_stopped() {
    let hang = "trap \"\" TERM; while :; do sleep 1; done";
    let ran = scene(&format!("turn='taken; {hang}'")).deliver(Duration::from_secs(2));
    ran.is(&["starting", "submitted"], "uncertain");
    assert!(ran.took < Duration::from_secs(30), "{ran:?}");
    let ran = scene(&format!("turn='taken; record; {hang}'")).deliver(Duration::from_secs(2));
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    ran.tells("was stopped");
    scene(&format!("resume='{hang}'"))
        .deliver(Duration::from_secs(2))
        .is(&[], "not_submitted");
    let mut flood = scene("turn='taken; yes'");
    flood.output_cap = 4 * 1024;
    let ran = flood.deliver(LONG);
    ran.is(&["starting", "submitted"], "uncertain");
    ran.tells("without end");
}

#[test]
fn a_turn_stopped_at_the_deadline_says_so_even_when_the_server_noted_its_end() {
    let obeys = r#"trap "end false; exit 0" TERM; while :; do sleep 0.1; done"#;
    let ran = scene(&format!("turn='taken; record; {obeys}'")).deliver(Duration::from_secs(2));
    ran.is(&["starting", "submitted", "seen"], "turn_failed");
    ran.tells("was stopped");
}

#[test]
fn a_caller_that_unwinds_leaves_no_process_and_no_message_behind() {
    let scene = scene(GOOD);
    scene.deliver_barred();
    let input = scene.read("input");
    assert!(
        input.contains("thread/resume") && !input.contains("turn/start"),
        "{input}"
    );
    assert_eq!(scene.find(LONG), Finding::Absent);
}

#[test]
fn an_open_thread_is_refused_with_its_owner() {
    let scene = scene(GOOD);
    let locks = scene.file(".codex/thread-writer-locks");
    fs::create_dir_all(&locks).unwrap();
    let lock = fs::File::create(locks.join(format!("{SESSION}.lock"))).unwrap();
    assert!(
        matches!(scene.probe(), Liveness::Idle { .. }),
        "nobody holds it"
    );
    lock.lock().unwrap();
    let closed = scene.closed();
    assert!(closed.contains(&std::process::id().to_string()), "{closed}");
    scene.deliver(LONG).is(&[], "refused");
    assert_eq!(scene.read("argv"), "");
    drop(lock);
    // Old versions take no lock and keep the rollout open.
    let rollout = fs::OpenOptions::new()
        .append(true)
        .open(&scene.transcript)
        .unwrap();
    assert!(scene.closed().contains("writes its rollout"));
    drop(rollout);
    assert!(matches!(scene.probe(), Liveness::Idle { .. }));
}

#[test]
fn a_thread_opened_while_the_server_started_is_refused() {
    let settings = r#"
queue='mkdir -p "$H/.codex/thread-writer-locks"; exec 9> "$H/.codex/thread-writer-locks/$SESSION.lock"; flock 9; ok "{\"data\":[]}"'"#;
    let scene = scene(&format!("{settings}\n{GOOD}"));
    let ran = scene.deliver(LONG);
    ran.is(&[], "refused");
    assert!(!scene.read("input").contains("thread/resume"));
}

#[test]
fn what_is_missing_is_named() {
    let archived = scene(GOOD);
    let folder = archived.file(".codex/archived_sessions");
    fs::create_dir_all(&folder).unwrap();
    let name = archived.transcript.file_name().unwrap();
    fs::rename(&archived.transcript, folder.join(name)).unwrap();
    assert!(archived.unavailable().contains("codex unarchive"));
    archived.deliver(LONG).is(&[], "not_submitted");
    fs::remove_file(folder.join(name)).unwrap();
    assert!(archived.unavailable().contains("rollout is not below"));

    let mut elsewhere = scene(GOOD);
    elsewhere.cwd = "/no/such/folder".into();
    assert!(elsewhere.unavailable().contains("folder is gone"));
    elsewhere.key.session = "Payments".into();
    assert!(elsewhere.unavailable().contains("no session id"));
}
