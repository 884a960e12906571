//! Which process a lease belongs to, and whether it still lives. A process id alone is not
//! enough, since ids are used again; with the start time it names one process.

use std::fmt;

/// A process, as far as it can be told from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// Process id.
    pub pid: u32,
    /// Clock ticks between boot and its start, where the system tells.
    pub start_ticks: Option<u64>,
}

impl Owner {
    /// This process.
    pub fn current() -> Self {
        let pid = std::process::id();
        Self {
            pid,
            start_ticks: standing(pid).ok().flatten(),
        }
    }

    /// True when that process is known to be gone. Where it cannot be known the answer is
    /// no, and its lease has to run out.
    pub fn is_gone(&self) -> bool {
        match standing(self.pid) {
            Err(Gone) => true,
            Ok(Some(now)) => self.start_ticks.is_some_and(|then| then != now),
            Ok(None) => false,
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.pid)
    }
}

struct Gone;

/// The start time of a running process, `None` when it cannot be read.
#[cfg(target_os = "linux")]
fn standing(pid: u32) -> Result<Option<u64>, Gone> {
    let stat = match std::fs::read(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            // Without a mounted /proc nothing is known of anybody.
            let known = std::path::Path::new("/proc/self/stat").exists();
            return if known { Err(Gone) } else { Ok(None) };
        }
        Err(_) => return Ok(None),
    };
    // The second field is the program's name, which may hold spaces and brackets.
    let Some(end) = stat.iter().rposition(|b| *b == b')') else {
        return Ok(None);
    };
    let rest = String::from_utf8_lossy(&stat[end + 1..]);
    let mut fields = rest.split_ascii_whitespace();
    // A zombie runs nothing and holds no lock; it only waits for its parent.
    if matches!(fields.next(), Some("Z" | "X")) {
        return Err(Gone);
    }
    Ok(fields.nth(18).and_then(|ticks| ticks.parse().ok()))
}

#[cfg(all(unix, not(target_os = "linux")))]
fn standing(pid: u32) -> Result<Option<u64>, Gone> {
    use rustix::process::{Pid, test_kill_process};
    let pid = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or(Gone)?;
    match test_kill_process(pid) {
        Err(rustix::io::Errno::SRCH) => Err(Gone),
        _ => Ok(None),
    }
}

#[cfg(not(unix))]
fn standing(_pid: u32) -> Result<Option<u64>, Gone> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives() {
        assert!(!Owner::current().is_gone());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn another_start_time_is_another_process() {
        let me = Owner::current();
        let before = Owner {
            start_ticks: me.start_ticks.map(|ticks| ticks + 1),
            ..me
        };
        assert!(before.is_gone());
    }

    #[test]
    #[cfg(unix)]
    fn a_killed_process_is_gone_even_before_its_parent_looks() {
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        let owner = Owner {
            pid: child.id(),
            start_ticks: standing(child.id()).ok().flatten(),
        };
        assert!(!owner.is_gone());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(owner.is_gone());
    }
}
