//! The answers on Linux.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The fields of `/proc/<pid>/stat` behind the program's name, which may hold anything.
fn stat_fields(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = String::from_utf8_lossy(&stat[end + 1..]).into_owned();
    Some(rest.split_ascii_whitespace().map(str::to_owned).collect())
}

/// When a process started: field 22 of its `stat`, in clock ticks since boot, as text.
pub(crate) fn start_of(pid: u32) -> Option<String> {
    stat_fields(pid)?.into_iter().nth(19)
}

/// Whether a process runs and is the one that started then. A dead one that nobody reaped does
/// not run.
pub(crate) fn runs(pid: u32, start: Option<&str>) -> bool {
    let Some(fields) = stat_fields(pid) else {
        return false;
    };
    let same = start.is_none_or(|start| fields.get(19).is_some_and(|now| now == start));
    same && !matches!(fields[0].as_str(), "Z" | "X" | "x")
}

/// The process that started a process.
pub(crate) fn parent_of(pid: u32) -> Option<u32> {
    stat_fields(pid)?.get(1)?.parse().ok()
}

/// Whether a process belongs to the user that this one runs as.
pub(crate) fn is_own(pid: u32) -> bool {
    let owner = fs::metadata(format!("/proc/{pid}")).map(|meta| meta.uid());
    owner.is_ok_and(|owner| owner == rustix::process::geteuid().as_raw())
}

/// Whether a process reads from a terminal.
pub(crate) fn has_terminal(pid: u32) -> bool {
    let input = fs::read_link(format!("/proc/{pid}/fd/0"));
    input.is_ok_and(|link| link.starts_with("/dev/pts") || link.starts_with("/dev/tty"))
}

/// The program's short name.
pub(crate) fn name_of(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

/// The executable of a process, also of one that was replaced or removed since it started.
pub(crate) fn program_of(pid: u32) -> Option<std::path::PathBuf> {
    let program = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let gone = program
        .to_str()
        .and_then(|path| path.strip_suffix(" (deleted)"));
    Some(match gone {
        Some(path) if !program.exists() => path.into(),
        _ => program,
    })
}

/// What a variable was when a process started.
pub(crate) fn variable_of(pid: u32, name: &str) -> Option<String> {
    let variables = fs::read(format!("/proc/{pid}/environ")).ok()?;
    variables.split(|byte| *byte == 0).find_map(|line| {
        let value = line.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        Some(String::from_utf8_lossy(value).into_owned())
    })
}

/// The arguments of a process; empty when they cannot be read.
pub(crate) fn command_line(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let parts = bytes.split(|byte| *byte == 0);
    let mut out: Vec<String> = parts
        .map(|p| String::from_utf8_lossy(p).into_owned())
        .collect();
    while out.last().is_some_and(String::is_empty) {
        out.pop();
    }
    out
}

/// Whether any process of a group still runs. A dead one that nobody reaped does not; a group
/// whose number belongs to a process with another start time is another group.
pub(crate) fn group_alive(leader: u32, start: Option<&str>) -> bool {
    if let (Some(then), Some(now)) = (start, start_of(leader))
        && then != now
    {
        return false;
    }
    let group = leader.to_string();
    let runs = |fields: &Vec<String>| {
        fields.get(2) == Some(&group) && !matches!(fields[0].as_str(), "Z" | "X" | "x")
    };
    processes()
        .filter_map(stat_fields)
        .any(|fields| runs(&fields))
}

/// The process that holds a lock on a file, as the kernel lists it.
pub(crate) fn lock_owner(path: &Path) -> Option<u32> {
    let file = fs::metadata(path).ok()?;
    let (major, minor) = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
    let table = fs::read_to_string("/proc/locks").ok()?;
    table.lines().find_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (pid, place) = (words.get(4)?, words.get(5)?);
        let mut parts = place.split(':');
        let device = (hex(parts.next()?)?, hex(parts.next()?)?);
        let same = device == (major, minor) || major == 0;
        let holds = !line.contains("->") && same && parts.next()?.parse() == Ok(file.ino());
        // Open file description locks of another namespace have no owner: 0 or -1.
        pid.parse().ok().filter(|pid| holds && *pid != 0)
    })
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text, 16).ok()
}

/// A process that has a file open for writing. Only processes whose descriptors may be read
/// are known, which are those of the same user.
pub(crate) fn writer_of(path: &Path) -> Option<u32> {
    writing(path).next()
}

/// All of them.
pub(crate) fn writers_of(path: &Path) -> Vec<u32> {
    writing(path).collect()
}

fn writing(path: &Path) -> impl Iterator<Item = u32> {
    let path = path.canonicalize().ok();
    path.into_iter().flat_map(|path| {
        processes().filter(move |pid| {
            let folder = format!("/proc/{pid}/fd");
            let descriptors = fs::read_dir(folder).into_iter().flatten().flatten();
            descriptors.into_iter().any(|descriptor| {
                fs::read_link(descriptor.path()).is_ok_and(|link| link == path)
                    && is_writable(*pid, &descriptor.file_name().to_string_lossy())
            })
        })
    })
}

/// The access mode in `/proc/<pid>/fdinfo/<n>`: the last two bits of the octal flags.
fn is_writable(pid: u32, descriptor: &str) -> bool {
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}"));
    let Ok(info) = info else {
        return true;
    };
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|text| u32::from_str_radix(text.trim(), 8).ok());
    flags.is_none_or(|flags| flags & 0o3 != 0)
}

/// A process that works in a folder and whose arguments fit.
pub(crate) fn running_in(folder: &Path, is_it: impl Fn(&[String]) -> bool) -> Option<u32> {
    let folder = folder.canonicalize().ok()?;
    processes().find(|pid| {
        fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder)
            && is_it(&command_line(*pid))
    })
}

/// The inode of our process namespace as the kernel writes it: `pid:[4026531836]`.
pub(crate) fn pid_domain() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(link.to_string_lossy().into_owned())
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    #[test]
    fn the_owner_of_a_lock_and_the_writer_of_a_file_are_told_apart_from_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a file");
        let file = fs::File::create(&path).unwrap();
        let me = std::process::id();
        assert_eq!(lock_owner(&path), None);
        file.lock().unwrap();
        assert_eq!(lock_owner(&path), Some(me));
        assert_eq!(writer_of(&path), Some(me));
        drop(file);
        assert_eq!((lock_owner(&path), writer_of(&path)), (None, None));
        let _reader = fs::File::open(&path).unwrap();
        assert_eq!(writer_of(&path), None, "a reader is no writer");
        assert_eq!(writer_of(&folder.path().join("none")), None);
    }

    #[test]
    fn a_process_is_found_by_folder_and_arguments() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new("sleep")
            .arg("600")
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let pid = child.id();
        let is_sleep = |arguments: &[String]| arguments.iter().any(|text| text == "600");
        // A process has its arguments a moment after it was started.
        while command_line(pid).is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(running_in(folder.path(), is_sleep), Some(pid));
        assert_eq!(running_in(folder.path(), |_| false), None);
        assert_eq!(running_in(Path::new("/"), is_sleep), None);
        assert_eq!(command_line(pid), ["sleep", "600"]);
        assert_eq!(parent_of(pid), Some(std::process::id()));
        assert_eq!(name_of(pid).as_deref(), Some("sleep"));
        assert!(program_of(pid).is_some_and(|program| program.is_file()));
        let start = start_of(pid);
        assert!(start.is_some() && group_alive(pid, start.as_deref()));
        assert!(
            !group_alive(pid, Some("1")),
            "another start time is another process"
        );
        assert!(runs(pid, start.as_deref()) && runs(pid, None) && !runs(pid, Some("1")));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!group_alive(pid, start.as_deref()) && !runs(pid, None));
    }

    #[test]
    fn our_namespace_is_named_as_the_kernel_does() {
        assert!(pid_domain().unwrap().starts_with("pid:["));
    }
}
