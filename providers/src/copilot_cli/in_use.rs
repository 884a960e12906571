//! Whether a process has a Copilot session in use (`providers/copilot-vscode.md` section 0 and
//! C1b): `inuse.<pid>.lock` names it, and while it lives it holds `inuse.<pid>.hold`.
//!
//! Reads only, and takes no lock.

use crate::processes;
use axiowl_sources::World;
use std::fs;

/// Who has the session in use, if anybody. `folder` is the session's, as recorded.
pub(super) fn by(world: &World, folder: &str) -> Option<String> {
    let real = world.real_path(folder)?;
    let entries = match fs::read_dir(real) {
        Ok(entries) => entries,
        Err(error) => return Some(format!("{folder} cannot be read: {error}")),
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
    pids.into_iter().find_map(|pid| judge(world, folder, pid))
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
}
