//! Who a marker counts for, how often and how long.

use super::*;

fn marker(session: &str, call: Option<&str>) -> Marker {
    Marker {
        digest: digest("send", &json!({ "to": "a", "body": "b" })),
        session: session.into(),
        call: call.map(str::to_owned),
        hosts: Vec::new(),
    }
}

fn desk() -> (tempfile::TempDir, Markers, SystemTime, String) {
    let folder = tempfile::tempdir().unwrap();
    let markers = Markers::at(folder.path(), "hook");
    let digest = marker("", None).digest;
    (folder, markers, SystemTime::now(), digest)
}

#[test]
fn the_digest_depends_on_what_was_said_and_not_on_how_it_is_written() {
    let one = digest(
        "send",
        &json!({ "to": "a", "n": 1, "o": { "x": 1, "y": [2] } }),
    );
    let other = digest(
        "send",
        &json!({ "o": { "y": [2.0], "x": 1 }, "n": 1.0, "to": "a", "reply_to": null }),
    );
    assert_eq!(one, other);
    for (tool, arguments) in [
        (
            "list",
            json!({ "to": "a", "n": 1, "o": { "x": 1, "y": [2] } }),
        ),
        (
            "send",
            json!({ "to": "b", "n": 1, "o": { "x": 1, "y": [2] } }),
        ),
        (
            "send",
            json!({ "to": "a", "n": 1, "o": { "x": 1, "y": [2, 2] } }),
        ),
        (
            "send",
            json!({ "to": "a", "n": "1", "o": { "x": 1, "y": [2] } }),
        ),
    ] {
        assert_ne!(digest(tool, &arguments), one, "{tool} {arguments}");
    }
}

#[test]
fn x25_a_marker_is_used_once() {
    let (_folder, markers, now, digest) = desk();
    assert_eq!(markers.take(&digest, &[], now), Err(NoMarker::None));
    markers.leave(&marker("s1", None), now).unwrap();
    assert_eq!(markers.take("another", &[], now), Err(NoMarker::None));
    assert_eq!(markers.take(&digest, &[], now).as_deref(), Ok("s1"));
    assert_eq!(markers.take(&digest, &[], now), Err(NoMarker::None));
}

#[test]
fn a_marker_counts_for_the_host_that_ran_the_hook() {
    let (_folder, markers, now, digest) = desk();
    let process = |pid, start: &str| Process {
        pid,
        start: Some(start.into()),
    };
    let left = Marker {
        hosts: vec![process(7, "70"), process(1, "0")],
        ..marker("s1", None)
    };
    markers.leave(&left, now).unwrap();
    // Another process, and a later one of the same number.
    for other in [process(8, "70"), process(7, "71")] {
        assert_eq!(
            markers.take(&digest, &[other], now),
            Err(NoMarker::Elsewhere)
        );
    }
    let host = [process(9, "90"), process(7, "70")];
    assert_eq!(markers.take(&digest, &host, now).as_deref(), Ok("s1"));
    // One that says nothing of where it comes from is nobody's.
    markers.leave(&marker("s1", None), now).unwrap();
    assert_eq!(markers.take(&digest, &host, now), Err(NoMarker::Elsewhere));
}

#[test]
fn x25_a_marker_expires_within_seconds_and_is_swept() {
    let (folder, markers, now, digest) = desk();
    markers.leave(&marker("s1", None), now).unwrap();
    let late = now + FRESH + Duration::from_millis(1);
    assert_eq!(markers.take(&digest, &[], late), Err(NoMarker::None));
    let early = now - Duration::from_secs(60);
    assert_eq!(
        markers.take(&digest, &[], early),
        Err(NoMarker::None),
        "not from the future"
    );
    assert_eq!(
        markers.take(&digest, &[], now + FRESH).as_deref(),
        Ok("s1"),
        "it lasts as long as is said"
    );
    markers.leave(&marker("s1", None), now).unwrap();
    markers.leave(&marker("s2", None), late).unwrap();
    let left = fs::read_dir(folder.path().join("hooks/hook")).unwrap();
    assert_eq!(left.count(), 1, "the old one is gone");
}

#[test]
fn x25_two_sessions_with_the_same_call_are_refused_both() {
    let (_folder, markers, now, digest) = desk();
    markers.leave(&marker("s1", Some("c1")), now).unwrap();
    markers.leave(&marker("s2", Some("c2")), now).unwrap();
    assert_eq!(markers.take(&digest, &[], now), Err(NoMarker::Several));
    assert_eq!(
        markers.take(&digest, &[], now),
        Err(NoMarker::None),
        "neither is left for later"
    );
}

#[test]
fn two_hooks_of_one_call_leave_one_marker_and_two_calls_of_one_session_two() {
    let (_folder, markers, now, digest) = desk();
    for call in ["c1", "c1", "c2"] {
        markers.leave(&marker("s1", Some(call)), now).unwrap();
    }
    assert_eq!(markers.take(&digest, &[], now).as_deref(), Ok("s1"));
    assert_eq!(markers.take(&digest, &[], now).as_deref(), Ok("s1"));
    assert_eq!(markers.take(&digest, &[], now), Err(NoMarker::None));
}

#[test]
fn of_many_that_want_one_marker_one_gets_it() {
    let (_folder, markers, now, digest) = desk();
    markers.leave(&marker("s1", None), now).unwrap();
    let taken = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| markers.take(&digest, &[], now).is_ok()))
            .collect();
        takers
            .into_iter()
            .filter_map(|taker| taker.join().unwrap().then_some(()))
            .count()
    });
    assert_eq!(taken, 1);
}

#[cfg(unix)]
#[test]
fn what_others_can_write_or_wrote_proves_nothing() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
    let (folder, markers, now, digest) = desk();
    markers.leave(&marker("s1", None), now).unwrap();
    let own = folder.path().join("hooks/hook");
    assert_eq!(fs::metadata(&own).unwrap().mode() & 0o777, 0o700);
    fs::set_permissions(&own, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(markers.take(&digest, &[], now), Err(NoMarker::Foreign));
    fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).unwrap();
    let file = fs::read_dir(&own).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    // Only the system's administrator can give a file away.
    if chown(&file, Some(65534), None).is_ok() {
        assert_eq!(markers.take(&digest, &[], now), Err(NoMarker::Foreign));
        fs::remove_file(&file).unwrap();
    } else {
        assert_eq!(markers.take(&digest, &[], now).as_deref(), Ok("s1"));
    }
    let elsewhere = folder.path().join("elsewhere");
    fs::write(
        &elsewhere,
        json!({ "session": "s9", "at": millis(now) }).to_string(),
    )
    .unwrap();
    symlink(&elsewhere, own.join(format!("{digest}-x.json"))).unwrap();
    assert_eq!(markers.take(&digest, &[], now), Err(NoMarker::None));
}
