//! Records of living, dead and doubtful processes.

use super::*;
use axiowl_model::Timestamp;
use serde_json::json;
use std::collections::BTreeMap;

const SESSION: &str = "08ece4f6-0000-4000-8000-000000000001";
const OTHER: &str = "08ece4f6-0000-4000-8000-000000000002";

struct Home {
    folder: tempfile::TempDir,
    world: World,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let now = Timestamp::from_millis(0);
        let world = World::real(folder.path().into(), BTreeMap::new(), now);
        fs::create_dir_all(folder.path().join("sessions")).unwrap();
        fs::create_dir_all(folder.path().join("project")).unwrap();
        Self { folder, world }
    }

    fn cwd(&self) -> std::path::PathBuf {
        self.folder.path().join("project")
    }

    fn write(&self, pid: u32, text: &str) {
        fs::write(
            self.folder.path().join(format!("sessions/{pid}.json")),
            text,
        )
        .unwrap();
    }

    fn asked(&self) -> Option<Open> {
        open(&self.world, self.folder.path(), SESSION, &self.cwd())
    }

    /// A record of this process, which is alive, with changes.
    fn record(&self, change: serde_json::Value) -> Option<Open> {
        let pid = std::process::id();
        let mut record = json!({
            "pid": pid, "sessionId": SESSION, "cwd": self.cwd(), "version": "2.1.332",
            "procStart": processes::start_of(pid), "kind": "interactive", "entrypoint": "cli",
            "status": "waiting", "waitingFor": "permission prompt",
        });
        for (name, value) in change.as_object().unwrap() {
            record[name] = value.clone();
        }
        self.write(pid, &record.to_string());
        self.asked()
    }
}

fn own_domain() -> String {
    let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    format!(
        "linux:{}:{}",
        machine.trim(),
        processes::pid_domain().unwrap()
    )
}

#[test]
fn a_living_process_has_it_open_and_a_socket_is_named() {
    let home = Home::new();
    assert_eq!(home.asked(), None);
    let open = home.record(json!({})).unwrap();
    let me = std::process::id().to_string();
    for part in [
        me.as_str(),
        "terminal",
        "2.1.332",
        "waiting for permission prompt",
    ] {
        assert!(open.reason.contains(part), "{}", open.reason);
    }
    assert!(open.remedy.contains("/exit"), "{}", open.remedy);
    assert_eq!(open.inlet, None);
    let socket = json!({ "messagingSocketPath": "/tmp/cc-socks/1.sock" });
    let inlet = home.record(socket.clone()).unwrap().inlet.unwrap();
    assert_eq!(inlet.socket, Path::new("/tmp/cc-socks/1.sock"));
    assert_eq!(inlet.receiver.pid, std::process::id());
    assert!(inlet.receiver.runs());
    // What may be another process's, or name another session, is no door.
    for change in [
        json!({ "procStart": null }),
        json!({ "version": "2.1.119" }),
        json!({ "pidDomain": "linux:0123:pid:[1]" }),
    ] {
        let mut both = socket.clone();
        for (name, value) in change.as_object().unwrap() {
            both[name] = value.clone();
        }
        assert_eq!(home.record(both).unwrap().inlet, None, "{change}");
    }
    let open = home
        .record(json!({ "pidDomain": own_domain(), "kind": "bg" }))
        .unwrap();
    assert!(open.reason.contains("background"), "{}", open.reason);
    assert!(
        home.record(json!({ "sessionId": SESSION.to_uppercase() }))
            .is_some()
    );
    // Old records have no start time; the process counts as the recorded one.
    assert!(
        home.record(json!({ "procStart": null, "version": "2.1.100" }))
            .is_some()
    );
}

#[test]
fn the_dead_and_the_others_have_nothing_open() {
    let home = Home::new();
    assert_eq!(
        home.record(json!({ "procStart": "1" })),
        None,
        "the number was used again"
    );
    assert_eq!(home.record(json!({ "sessionId": OTHER })), None);
    fs::remove_dir_all(home.folder.path().join("sessions")).unwrap();
    fs::create_dir_all(home.folder.path().join("sessions")).unwrap();
    let gone = 4_194_304;
    let record = json!({ "pid": gone, "sessionId": SESSION, "procStart": "7" });
    home.write(gone, &record.to_string());
    home.write(gone + 1, "{\"pid\":");
    fs::write(home.folder.path().join("sessions/1.abc.key"), "secret").unwrap();
    assert_eq!(home.asked(), None);
}

#[test]
fn another_container_or_machine_may_have_it_open() {
    let home = Home::new();
    for domain in ["linux:0123:pid:[1]", "linux:0123:pid:[4026531836]"] {
        let open = home.record(json!({ "pidDomain": domain, "procStart": "1" }));
        assert!(
            open.unwrap()
                .reason
                .contains("another container or machine"),
            "{domain}"
        );
    }
}

#[test]
fn a_record_that_cannot_be_read_counts_while_its_process_lives() {
    let home = Home::new();
    home.write(std::process::id(), "{\"pid\":1,\"sessi");
    assert!(home.asked().unwrap().reason.contains("cannot be read"));
}

#[test]
fn an_old_version_in_the_same_folder_may_have_another_session_open_than_it_says() {
    let home = Home::new();
    let old = json!({ "sessionId": OTHER, "version": "2.1.119" });
    assert!(
        home.record(old)
            .unwrap()
            .reason
            .contains("may name another session")
    );
    let elsewhere = json!({ "sessionId": OTHER, "version": "2.1.119", "cwd": "/elsewhere" });
    assert_eq!(home.record(elsewhere), None);
    let dead = json!({ "sessionId": OTHER, "version": "2.1.119", "procStart": "1" });
    assert_eq!(home.record(dead), None);
}

#[test]
fn a_version_without_records_is_found_among_the_processes() {
    use std::os::unix::process::CommandExt as _;
    let home = Home::new();
    fs::remove_dir(home.folder.path().join("sessions")).unwrap();
    assert_eq!(home.asked(), None);
    let mut child = std::process::Command::new("sleep")
        .arg0("/usr/local/bin/claude")
        .arg("600")
        .current_dir(home.cwd())
        .spawn()
        .unwrap();
    // A process has its arguments a moment after it was started.
    while processes::command_line(child.id()).is_empty() {
        std::thread::yield_now();
    }
    let open = home.asked();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(open.unwrap().reason.contains("keeps no record"));
    assert_eq!(home.asked(), None);
}
