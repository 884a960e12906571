//! Locks and processes of this machine, read from `/proc`.
//!
//! Looking never takes a lock: a probe that locks, however briefly, can make the
//! program that owns the file fail. It must not know whose lock or process it is.

use std::path::Path;

/// Whether any process holds a lock on the file; `None` where the platform cannot
/// tell without taking the lock.
#[cfg(target_os = "linux")]
pub(super) fn lock_held(path: &Path) -> Option<bool> {
    use std::os::unix::fs::MetadataExt;
    let Ok(file) = std::fs::metadata(path) else {
        return Some(false);
    };
    let table = std::fs::read_to_string("/proc/locks").ok()?;
    let (major, minor) = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
    Some(
        table
            .lines()
            .any(|line| holds(line, major, minor, file.ino())),
    )
}

/// Whether a line of `/proc/locks` is a lock, held and not waited for, on this file.
///
/// A file system without a block device (btrfs, overlay) shows another device number
/// here than `stat` does; there the inode alone decides, since a lock wrongly seen
/// refuses a message, and one wrongly missed loses it.
#[cfg(target_os = "linux")]
fn holds(line: &str, major: u32, minor: u32, inode: u64) -> bool {
    let mut words = line.split_ascii_whitespace();
    words.next();
    let Some(place) = words.nth(4) else {
        return false;
    };
    if line.contains("->") {
        return false;
    }
    let mut parts = place.split(':');
    let mut hex = || u32::from_str_radix(parts.next()?, 16).ok();
    let (Some(its_major), Some(its_minor)) = (hex(), hex()) else {
        return false;
    };
    let its_inode = parts.next().and_then(|text| text.parse::<u64>().ok());
    let same_device = (its_major, its_minor) == (major, minor) || major == 0;
    its_inode == Some(inode) && same_device
}

/// Whether any process holds a lock on the file.
#[cfg(not(target_os = "linux"))]
pub(super) fn lock_held(path: &Path) -> Option<bool> {
    if path.exists() { None } else { Some(false) }
}

/// Whether the process runs, and, with `start` (field 22 of `/proc/<pid>/stat`),
/// whether it is still the same one.
#[cfg(target_os = "linux")]
pub(super) fn pid_alive(pid: u32, start: Option<&str>) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    // The second field is the program's name in parentheses and may hold anything.
    let Some((_, rest)) = stat.rsplit_once(')') else {
        return false;
    };
    let mut fields = rest.split_ascii_whitespace();
    let running = !matches!(fields.next(), Some("Z" | "X" | "x") | None);
    let started = fields.nth(18);
    running && start.is_none_or(|start| started == Some(start))
}

/// Whether a process of that number runs. Its start time is not compared here: a
/// number used again looks alive, which refuses a message and loses none.
#[cfg(all(unix, not(target_os = "linux")))]
pub(super) fn pid_alive(pid: u32, _start: Option<&str>) -> bool {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| {
        !matches!(
            rustix::process::test_kill_process(pid),
            Err(rustix::io::Errno::SRCH)
        )
    })
}

/// Unknown here; counted as alive, which refuses a message and loses none.
#[cfg(not(unix))]
pub(super) fn pid_alive(_pid: u32, _start: Option<&str>) -> bool {
    true
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_seen_while_held_and_the_probe_takes_none() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(lock_held(file.path()), Some(false));
        file.as_file().lock().unwrap();
        assert_eq!(lock_held(file.path()), Some(true));
        file.as_file().unlock().unwrap();
        assert_eq!(lock_held(file.path()), Some(false));
        assert_eq!(lock_held(Path::new("/no/such/file")), Some(false));
    }

    #[test]
    fn lines_of_the_lock_table() {
        let line = "12: FLOCK  ADVISORY  WRITE 4242 08:02:1234567 0 EOF";
        assert!(holds(line, 8, 2, 1_234_567));
        assert!(
            holds(line, 0, 91, 1_234_567),
            "no block device: the inode decides"
        );
        assert!(!holds(line, 8, 3, 1_234_567));
        assert!(!holds(line, 8, 2, 7));
        assert!(!holds(
            "12: -> FLOCK  ADVISORY  WRITE 1 08:02:7 0 EOF",
            8,
            2,
            7
        ));
        assert!(!holds("", 8, 2, 7));
    }

    #[test]
    fn a_process_is_alive_under_its_own_start_time_only() {
        let own = std::process::id();
        assert!(pid_alive(own, None));
        let stat = std::fs::read_to_string(format!("/proc/{own}/stat")).unwrap();
        let start = stat
            .rsplit_once(')')
            .unwrap()
            .1
            .split_ascii_whitespace()
            .nth(19)
            .unwrap();
        assert!(pid_alive(own, Some(start)));
        assert!(!pid_alive(own, Some("1")));
        assert!(!pid_alive(u32::MAX, None));
    }
}
