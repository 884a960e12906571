//! Whether a process has a Copilot session in use (`providers/copilot-vscode.md` section 0 and
//! C1b): `inuse.<pid>.lock` names it, and while it lives it holds `inuse.<pid>.hold`.
//!
//! A window that has resumed a session takes that lock with its first turn only (seen with
//! 1.0.102), so the logs are asked too: every running Copilot has one open, which names each
//! session it has loaded. Reads only, and takes no lock.

use crate::processes;
use axiowl_sources::World;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _};
use std::path::Path;

/// Words of a log's line that says that a session was loaded.
const LOADED: [&str; 4] = [
    "Workspace initialized: ",
    "Registering foreground session: ",
    "Resumed session: ",
    "Created session: ",
];
/// Bytes of a log that are searched.
const LARGEST_LOG: u64 = 256 << 20;

/// Somebody who has a session in use, or may have it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Holder {
    /// Its process, where that is known.
    pub pid: Option<u32>,
    /// What was seen.
    pub reason: String,
}

impl Holder {
    fn unknown(reason: String) -> Self {
        Self { pid: None, reason }
    }
}

/// Who has the session in use, each process once. `root` is Copilot's folder, as recorded.
pub(super) fn by(world: &World, root: &str, session: &str) -> Vec<Holder> {
    let mut out = locked_by(world, &format!("{root}/session-state/{session}"));
    for holder in loaded_by(world, root, session) {
        if holder.pid.is_none() || out.iter().all(|has| has.pid != holder.pid) {
            out.push(holder);
        }
    }
    out
}

/// Who has loaded it: `logs/process-<milliseconds>-<pid>.log` of a running process.
fn loaded_by(world: &World, root: &str, session: &str) -> Vec<Holder> {
    let Some(logs) = world.real_path(&format!("{root}/logs")) else {
        return Vec::new();
    };
    let entries = match fs::read_dir(&logs) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            return vec![Holder::unknown(format!(
                "{root}/logs cannot be read: {error}"
            ))];
        }
    };
    let of = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let name = name.strip_prefix("process-")?.strip_suffix(".log")?;
        let pid: u32 = name.rsplit('-').next()?.parse().ok()?;
        let log = entry.path();
        if !world.pid_alive(pid, None) || !processes::has_open(pid, &log) {
            return None;
        }
        match says_loaded(&log, session) {
            Ok(false) => None,
            Ok(true) => Some(Holder {
                pid: Some(pid),
                reason: format!("process {pid} has loaded it and may show it"),
            }),
            Err(error) => Some(Holder::unknown(format!(
                "whether process {pid} has it open is not known: {}: {error}",
                log.display()
            ))),
        }
    };
    entries.flatten().filter_map(of).collect()
}

/// Whether a log says that a session was loaded: `Workspace initialized: <id>`, `Registering
/// foreground session: <id>`. Whatever else names it there only names it.
fn says_loaded(log: &Path, session: &str) -> io::Result<bool> {
    let mut reader = BufReader::new(File::open(log)?.take(LARGEST_LOG));
    let mut line = Vec::new();
    let mut read = 0;
    while reader.read_until(b'\n', &mut line)? > 0 {
        read += line.len() as u64;
        let text = String::from_utf8_lossy(&line);
        let loads = LOADED.iter().any(|words| text.contains(words));
        if loads && text.contains(session) {
            return Ok(true);
        }
        line.clear();
    }
    match read < LARGEST_LOG {
        true => Ok(false),
        false => Err(io::Error::other("the log is too large to be searched")),
    }
}

/// Who holds its lock. `folder` is the session's, as recorded.
fn locked_by(world: &World, folder: &str) -> Vec<Holder> {
    let Some(real) = world.real_path(folder) else {
        return Vec::new();
    };
    let entries = match fs::read_dir(real) {
        Ok(entries) => entries,
        Err(error) => {
            return vec![Holder::unknown(format!("{folder} cannot be read: {error}"))];
        }
    };
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    let mut pids: Vec<u32> = names
        .filter_map(|name| {
            let rest = name.strip_prefix("inuse.")?;
            let pid = rest.strip_suffix(".lock").or(rest.strip_suffix(".hold"))?;
            pid.parse().ok()
        })
        .collect();
    pids.sort_unstable();
    pids.dedup();
    let holder = |pid: u32| {
        let reason = judge(world, folder, pid)?;
        let pid = Some(pid);
        Some(Holder { pid, reason })
    };
    pids.into_iter().filter_map(holder).collect()
}

fn judge(world: &World, folder: &str, pid: u32) -> Option<String> {
    let hold = format!("{folder}/inuse.{pid}.hold");
    if world.exists(&hold) {
        return match world.lock_held(&hold) {
            // Its process ended without a word.
            Some(false) => None,
            Some(true) => Some(format!("it is open in process {pid}, which holds {hold}")),
            None => Some(format!("this system does not tell whether {hold} is held")),
        };
    }
    // VS Code writes the name alone, and so do older versions. A number that now belongs to
    // another program is a crash's leftover.
    if !world.pid_alive(pid, None) {
        return None;
    }
    let name = processes::name_of(pid);
    let may_be_it = name.as_deref().is_none_or(|name| {
        ["copilot", "code", "node", "electron", "MainThread"]
            .iter()
            .any(|known| name.contains(known))
    });
    let shown = axiowl_model::display_safe(name.as_deref().unwrap_or("a process"));
    may_be_it.then(|| format!("it is open in process {pid} ({shown})"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use axiowl_model::Timestamp;
    use std::collections::BTreeMap;

    #[test]
    fn a_held_hold_decides_and_without_one_the_process_does() {
        let home = tempfile::tempdir().unwrap();
        let world = World::real(
            home.path().into(),
            BTreeMap::new(),
            Timestamp::from_millis(0),
        );
        let folder = home.path().display().to_string();
        let file = |name: &str| home.path().join(name);
        let me = std::process::id();
        let by = |world: &World, folder: &str| {
            let mut holders = locked_by(world, folder);
            holders.pop().map(|holder| holder.reason)
        };
        assert_eq!(by(&world, &folder), None);
        // A process of another name took the number over.
        fs::write(file(&format!("inuse.{me}.lock")), format!("{me}\n")).unwrap();
        assert_eq!(by(&world, &folder), None);
        let hold = fs::File::create(file(&format!("inuse.{me}.hold"))).unwrap();
        assert_eq!(by(&world, &folder), None, "nobody holds it");
        hold.lock().unwrap();
        assert!(by(&world, &folder).unwrap().contains(&me.to_string()));
        drop(hold);
        assert_eq!(by(&world, &folder), None);

        // A program that is called like one of Copilot's hosts.
        let node = file("node");
        fs::copy("/bin/sleep", &node).unwrap();
        let mut child = std::process::Command::new(&node)
            .arg("600")
            .spawn()
            .unwrap();
        let pid = child.id();
        while processes::name_of(pid).as_deref() != Some("node") {
            std::thread::yield_now();
        }
        fs::write(file(&format!("inuse.{pid}.lock")), "").unwrap();
        assert!(by(&world, &folder).unwrap().contains(&pid.to_string()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(
            by(&world, &folder),
            None,
            "a dead process has nothing in use"
        );
    }

    #[test]
    fn a_running_process_whose_log_names_the_session_as_loaded_has_it_in_use() {
        let home = tempfile::tempdir().unwrap();
        let world = World::real(
            home.path().into(),
            BTreeMap::new(),
            Timestamp::from_millis(0),
        );
        let root = home.path().display().to_string();
        let (own, other) = ("2cf00e37-95ff", "f87f6e16-6a73");
        let asked = |session: &str| {
            let mut holders = by(&world, &root, session);
            holders.pop().map(|holder| holder.reason)
        };
        fs::create_dir_all(home.path().join("logs")).unwrap();
        for session in [own, other] {
            let folder = home.path().join("session-state").join(session);
            fs::create_dir_all(folder).unwrap();
        }
        assert_eq!(asked(own), None);
        let me = std::process::id();
        let log = home
            .path()
            .join(format!("logs/process-1796078781160-{me}.log"));
        let text =
            format!("[INFO] Workspace initialized: {own} (checkpoints: 0)\n[INFO] {other}\n");
        fs::write(&log, text).unwrap();
        assert_eq!(asked(own), None, "the process that wrote it has ended");
        let open = fs::OpenOptions::new().append(true).open(&log).unwrap();
        assert!(asked(own).unwrap().contains(&me.to_string()));
        assert_eq!(asked(other), None, "it is only named there");
        drop(open);
        assert_eq!(asked(own), None);
    }
}
