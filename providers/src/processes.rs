//! What other processes of this machine are doing, read from `/proc`: who holds a lock, who has
//! a file open for writing, whether a process group still lives.
//!
//! Looking never locks, signals or stops anything. Where the system has no `/proc` the answers
//! are "not known", which callers count as the worse case. Knows no provider.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod sockets;

#[cfg(target_os = "linux")]
pub(crate) use linux::{
    command_line, group_alive, has_terminal, is_own, lock_owner, name_of, parent_of, pid_domain,
    program_of, running_in, runs, start_of, writer_of, writers_of,
};
#[cfg(target_os = "linux")]
pub(crate) use sockets::{folder_of, has_open, holders_of, listening, with_open};

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{
    command_line, folder_of, group_alive, has_open, has_terminal, holders_of, is_own, listening,
    lock_owner, name_of, parent_of, pid_domain, program_of, running_in, runs, start_of, with_open,
    writer_of, writers_of,
};

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::path::Path;

    pub(crate) fn start_of(_pid: u32) -> Option<String> {
        None
    }

    /// Not known; counted as running, so that nothing is handed over twice.
    pub(crate) fn runs(_pid: u32, _start: Option<&str>) -> bool {
        true
    }

    pub(crate) fn program_of(_pid: u32) -> Option<std::path::PathBuf> {
        None
    }

    pub(crate) fn command_line(_pid: u32) -> Vec<String> {
        Vec::new()
    }

    pub(crate) fn name_of(_pid: u32) -> Option<String> {
        None
    }

    pub(crate) fn is_own(_pid: u32) -> bool {
        false
    }

    pub(crate) fn parent_of(_pid: u32) -> Option<u32> {
        None
    }

    pub(crate) fn lock_owner(_path: &Path) -> Option<u32> {
        None
    }

    pub(crate) fn writer_of(_path: &Path) -> Option<u32> {
        None
    }

    pub(crate) fn writers_of(_path: &Path) -> Vec<u32> {
        Vec::new()
    }

    pub(crate) fn running_in(_folder: &Path, _is_it: impl Fn(&[String]) -> bool) -> Option<u32> {
        None
    }

    pub(crate) fn with_open(_path: &Path) -> Vec<u32> {
        Vec::new()
    }

    /// Not known; counted as open.
    pub(crate) fn has_open(_pid: u32, _path: &Path) -> bool {
        true
    }

    pub(crate) fn has_terminal(_pid: u32) -> bool {
        false
    }

    pub(crate) fn folder_of(_pid: u32) -> Option<std::path::PathBuf> {
        None
    }

    pub(crate) fn listening(_pid: u32) -> Vec<std::net::SocketAddr> {
        Vec::new()
    }

    pub(crate) fn holders_of(_own: std::net::SocketAddr, _other: std::net::SocketAddr) -> Vec<u32> {
        Vec::new()
    }

    pub(crate) fn pid_domain() -> Option<String> {
        None
    }

    /// A group whose members cannot be looked at counts as alive while it takes signals.
    #[cfg(unix)]
    pub(crate) fn group_alive(leader: u32, _start: Option<&str>) -> bool {
        use rustix::process::{Pid, test_kill_process_group};
        let pid = i32::try_from(leader).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| test_kill_process_group(pid) != Err(rustix::io::Errno::SRCH))
    }

    /// Not known; counted as alive, so that nothing is handed over twice.
    #[cfg(not(unix))]
    pub(crate) fn group_alive(_leader: u32, _start: Option<&str>) -> bool {
        true
    }
}
