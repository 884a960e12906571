//! A stand-in router: speaks the frames of `providers/codex.md` C6.

use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::thread;

const THREAD: &str = "01a22c9e-c15b-7000-8000-000000000001";

fn frame(message: &Value) -> Vec<u8> {
    let text = message.to_string();
    let mut out = u32::try_from(text.len()).unwrap().to_le_bytes().to_vec();
    out.extend_from_slice(text.as_bytes());
    out
}

fn receive(stream: &mut UnixStream) -> Option<Value> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).ok()?;
    let mut body = vec![0; u32::from_le_bytes(head) as usize];
    stream.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn response(request: &Value, rest: Value) -> Value {
    let mut out = json!({ "type": "response", "requestId": request["requestId"] });
    for (name, value) in rest.as_object().unwrap() {
        out[name] = value.clone();
    }
    out
}

/// Serves one client: greets it, then answers what it asks with `answer`.
fn router(
    answer: impl Fn(&mut UnixStream, &Value) + Send + 'static,
) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ipc/ipc.sock");
    fs::create_dir(folder.path().join("ipc")).unwrap();
    fs::set_permissions(folder.path().join("ipc"), fs::Permissions::from_mode(0o700)).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let hello = receive(&mut stream).unwrap();
        assert_eq!(hello["method"], "initialize");
        let welcome = json!({ "resultType": "success", "result": { "clientId": "c1" } });
        stream
            .write_all(&frame(&response(&hello, welcome)))
            .unwrap();
        while let Some(request) = receive(&mut stream) {
            answer(&mut stream, &request);
        }
    });
    (folder, path)
}

fn asked(answer: impl Fn(&mut UnixStream, &Value) + Send + 'static) -> Result<bool, String> {
    let (_folder, path) = router(answer);
    owns(&[path], THREAD)
}

#[test]
fn an_owner_is_found_among_other_traffic() {
    let owned = asked(|stream, request| {
        if request["type"] == "client-discovery-response" {
            assert_eq!(request["response"]["canHandle"], false);
            return;
        }
        assert_eq!(request["method"], "thread-owner-discovery");
        assert_eq!(request["params"]["conversationId"], THREAD);
        assert_eq!(request["sourceClientId"], "c1");
        let noise = json!({ "type": "broadcast", "method": "x", "params": "y".repeat(KEPT) });
        let asking = json!({ "type": "client-discovery-request", "requestId": "r" });
        let foreign = json!({ "type": "response", "requestId": "other", "resultType": "success" });
        let found = json!({ "resultType": "success", "handledByClientId": "c9" });
        for message in [noise, asking, foreign, response(request, found)] {
            stream.write_all(&frame(&message)).unwrap();
        }
    });
    assert_eq!(owned, Ok(true));
}

#[test]
fn nobody_and_errors_are_told_apart() {
    let answered = |error: &'static str| {
        asked(move |stream, request| {
            let answer = json!({ "resultType": "error", "error": error });
            stream
                .write_all(&frame(&response(request, answer)))
                .unwrap();
        })
    };
    assert_eq!(answered("no-client-found"), Ok(false));
    assert!(
        answered("request-version-mismatch")
            .unwrap_err()
            .contains("version-mismatch")
    );
}

#[test]
fn silence_rubbish_and_a_closed_line_end_soon_and_mean_unknown() {
    let before = Instant::now();
    assert!(asked(|_, _| {}).unwrap_err().contains("in time"));
    assert!(before.elapsed() < DEADLINE * 5);
    let rubbish = asked(|stream, _| stream.write_all(b"\x04\0\0\0nope").unwrap());
    assert!(rubbish.unwrap_err().contains("JSON"));
    let huge = asked(|stream, _| stream.write_all(&[0xff; 8]).unwrap());
    assert!(huge.unwrap_err().contains("protocol"));
    let closed = asked(|stream, _| stream.shutdown(std::net::Shutdown::Both).unwrap());
    assert!(closed.is_err());
}

#[test]
fn a_socket_that_others_could_have_made_is_not_talked_to() {
    let (folder, path) = router(|_, _| panic!("it was asked"));
    fs::set_permissions(folder.path().join("ipc"), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(
        owns(std::slice::from_ref(&path), THREAD)
            .unwrap_err()
            .contains("others")
    );
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(owns(&[file], THREAD).unwrap_err().contains("no socket"));
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(owns(&[link], THREAD).unwrap_err().contains("no socket"));
    assert!(
        owns(&[folder.path().join("none")], THREAD)
            .unwrap_err()
            .contains("no IPC socket")
    );
}
