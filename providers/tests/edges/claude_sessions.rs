//! Claude Code sessions that are open, incomplete, or were handed a message before
//! (`providers/claude-code.md` C.2 and C.5).

use crate::claude_code_cli::{CLAUDE, GOOD, scene};
use crate::scene::{LONG, SESSION, STEPS, Scene};
use axiowl_pipeline::edge::Finding;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

fn open_by_me(scene: &Scene) -> String {
    let pid = std::process::id();
    format!(
        "printf '{{\"pid\":{pid},\"sessionId\":\"{SESSION}\",\"entrypoint\":\"cli\",\
         \"status\":\"idle\",\"version\":\"2.1.332\",\"messagingSocketPath\":\"/x.sock\"}}' \
         > '{}'\n",
        scene
            .file(&format!(".claude/sessions/{pid}.json"))
            .display()
    )
}

#[test]
fn an_open_session_is_refused_before_anything_starts() {
    let scene = scene(GOOD);
    let record = open_by_me(&scene);
    assert!(
        std::process::Command::new("sh")
            .args(["-c", &record])
            .status()
            .unwrap()
            .success()
    );
    let closed = scene.closed();
    for part in ["terminal", "idle", "2.1.332", "/exit", "inbox"] {
        assert!(closed.contains(part), "{closed}");
    }
    scene.deliver(LONG).is(&[], "refused");
    assert_eq!(scene.read("argv"), "");
}

/// The worker was killed, and what it had started still has the session open.
#[test]
fn a_session_that_an_earlier_delivery_of_ours_still_has_is_waited_for() {
    use std::os::unix::process::CommandExt as _;
    let scene = scene(GOOD);
    let mut earlier = std::process::Command::new("cat")
        .stdin(std::process::Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let pid = earlier.id();
    let record = scene.file(&format!(".claude/sessions/{pid}.json"));
    fs::create_dir_all(record.parent().unwrap()).unwrap();
    let open = format!(
        "{{\"pid\":{pid},\"sessionId\":\"{SESSION}\",\"entrypoint\":\"sdk-cli\",\"status\":\"idle\"}}"
    );
    fs::write(record, open).unwrap();
    assert!(scene.closed().contains(&pid.to_string()));
    let traces = scene.file("state/in-flight");
    fs::create_dir_all(&traces).unwrap();
    let trace = |session: &str| {
        let line = format!("{{\"pid\":{pid},\"session\":\"{session}\"}}");
        fs::write(
            traces.join("01a230da-2a49-76ef-bde6-0cfb0b6bd01f.json"),
            line,
        )
        .unwrap();
    };
    // What has another session in its hands says nothing about this one.
    trace("another");
    assert_eq!(scene.deliver_leaving_a_trace(LONG).end(), "refused");
    trace(&scene.key.to_string());
    // It is waited for as long as the delivery may take, and then refused like anybody's.
    let limit = Duration::from_millis(300);
    let ran = scene.deliver_leaving_a_trace(limit);
    assert_eq!(ran.end(), "refused");
    assert!(ran.took >= limit, "{ran:?}");
    fs::remove_file(scene.file(STEPS)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // It ends when the delivery has begun: in whichever moment, it is no reason to refuse.
            let until = Instant::now() + LONG;
            while !scene.file(STEPS).exists() {
                assert!(Instant::now() < until, "no delivery begins");
                std::thread::yield_now();
            }
            drop(earlier.stdin.take());
            earlier.wait().unwrap();
        });
        scene
            .deliver(LONG)
            .is(&["starting", "submitted", "seen", "turn_done"], "ok");
    });
}

#[test]
fn a_session_opened_while_we_asked_is_refused_too() {
    let mut scene = scene(GOOD);
    let opens = format!("[ \"$1\" = auth ] && {}", open_by_me(&scene));
    scene.program("claude", &format!("{opens}{CLAUDE}{GOOD}"));
    scene.deliver(LONG).is(&[], "refused");
    assert!(!scene.read("argv").contains("--resume"));
}

#[test]
fn what_is_missing_is_named() {
    let mut no_folder = scene(GOOD);
    no_folder.cwd = no_folder.file("gone").display().to_string();
    assert!(no_folder.unavailable().contains("folder is gone"));
    no_folder.deliver(LONG).is(&[], "not_submitted");
    no_folder.cwd = String::new();
    assert!(no_folder.unavailable().contains("no folder"));

    let no_transcript = scene(GOOD);
    fs::remove_file(&no_transcript.transcript).unwrap();
    assert!(
        no_transcript
            .unavailable()
            .contains("transcript is not below")
    );

    let mut no_id = scene(GOOD);
    for session in ["--help", "a title", "claude_code_cli:session:", "../x"] {
        no_id.key.session = session.into();
        assert!(no_id.unavailable().contains("no session id"), "{session}");
    }

    let transcript = format!(".claude/projects/-a-project/{SESSION}.jsonl");
    let no_program = Scene::new("claude_code_cli", &transcript);
    assert!(no_program.unavailable().contains("not installed"));

    let unrunnable = scene(GOOD);
    let path = unrunnable.file("bin/claude");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let ran = unrunnable.deliver(LONG);
    ran.is(&[], "not_submitted");
    ran.tells("cannot start");
}

#[test]
fn a_state_folder_that_cannot_be_written_stops_it_before_a_byte_goes_out() {
    let scene = scene(GOOD);
    fs::write(scene.file("state"), "no folder").unwrap();
    let ran = scene.deliver(LONG);
    ran.is(&["starting"], "not_submitted");
    assert_eq!(scene.read("input").trim(), "");
}

#[test]
fn a_caller_that_unwinds_leaves_no_process_and_no_message_behind() {
    let scene = scene(GOOD);
    scene.deliver_barred();
    assert!(!scene.read("argv").contains("--resume"));
}

#[test]
fn an_earlier_attempt_is_looked_up_and_waited_for() {
    use std::os::unix::process::CommandExt as _;
    let scene = scene(GOOD);
    assert_eq!(scene.find(LONG), Finding::Absent);
    let script = format!(
        "while [ ! -e '{0}/go' ]; do sleep 0.05; done; echo '{{\"uuid\":\"{1}\"}}' >> '{2}'",
        scene.home.display(),
        scene.message,
        scene.transcript.display()
    );
    let mut earlier = std::process::Command::new("sh")
        .args(["-c", &script])
        .process_group(0)
        .spawn()
        .unwrap();
    fs::create_dir_all(scene.file("state/in-flight")).unwrap();
    let trace = scene.file(&format!("state/in-flight/{}.json", scene.message));
    fs::write(&trace, format!("{{\"pid\":{}}}", earlier.id())).unwrap();
    let Finding::Unknown { reason } = scene.find(Duration::from_millis(200)) else {
        panic!("it still runs")
    };
    assert!(reason.contains(&earlier.id().to_string()), "{reason}");
    fs::write(scene.file("go"), "").unwrap();
    assert!(matches!(scene.find(LONG), Finding::Seen(sighting) if sighting.message.is_some()));
    earlier.wait().unwrap();
    fs::write(&scene.transcript, "").unwrap();
    assert_eq!(scene.find(LONG), Finding::Absent);
    assert!(!trace.exists());
    fs::remove_file(&scene.transcript).unwrap();
    assert!(matches!(scene.find(LONG), Finding::Unknown { .. }));
}
