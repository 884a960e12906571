//! Connects to a program of this user over a Unix socket of this machine.
//!
//! Nothing is sent to anybody else: the socket and its folder have to belong to this user,
//! nobody else may write there, and the process behind it has to be this user's. Knows no
//! provider and no protocol.

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A connection, and who is at its other end.
pub(crate) struct Connection {
    /// The connection; it blocks.
    pub stream: UnixStream,
    /// The process that opened the socket, as the system says.
    pub pid: u32,
}

/// Connects. A link is not followed.
///
/// # Errors
/// Why nothing may be sent there, or nobody listens.
pub(crate) fn connect(socket: &Path) -> Result<Connection, String> {
    check(socket)?;
    let text = |error: rustix::io::Errno| error.to_string();
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let family = AddressFamily::UNIX;
    let fd = rustix::net::socket_with(family, SocketType::STREAM, flags, None).map_err(text)?;
    let address = SocketAddrUnix::new(socket).map_err(text)?;
    // Without blocking: a full backlog answers at once.
    rustix::net::connect(&fd, &address).map_err(text)?;
    let stream = UnixStream::from(fd);
    let pid = peer(&stream)?;
    stream
        .set_nonblocking(false)
        .map_err(|error| error.to_string())?;
    Ok(Connection { stream, pid })
}

/// The process at the other end, which has to be this user's.
///
/// # Errors
/// When it is somebody else's, or nobody can tell.
pub(crate) fn peer(stream: &UnixStream) -> Result<u32, String> {
    let peer = rustix::net::sockopt::socket_peercred(stream).map_err(|error| error.to_string())?;
    if peer.uid != rustix::process::getuid() {
        return Err("it is served by another user".into());
    }
    u32::try_from(peer.pid.as_raw_nonzero().get()).map_err(|error| error.to_string())
}

fn check(socket: &Path) -> Result<(), String> {
    let me = rustix::process::getuid().as_raw();
    let meta = socket
        .symlink_metadata()
        .map_err(|error| error.to_string())?;
    if !meta.file_type().is_socket() || meta.uid() != me {
        return Err("it is no socket of this user".into());
    }
    let folder = socket.parent().ok_or("it lies in no folder")?;
    let folder = fs::symlink_metadata(folder).map_err(|error| error.to_string())?;
    if !folder.is_dir() || folder.uid() != me || folder.mode() & 0o022 != 0 {
        return Err("others can write to its folder".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::UnixListener;

    #[test]
    fn only_a_socket_that_nobody_else_could_have_put_there_is_connected_to() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |mode: u32| {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(0o700);
        let path = folder.path().join("a.sock");
        let why = |path: &Path| connect(path).map(|found| found.pid).unwrap_err();
        assert!(why(&path).contains("No such file"));
        let listener = UnixListener::bind(&path).unwrap();
        assert_eq!(connect(&path).unwrap().pid, std::process::id());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(why(&link).contains("no socket"));
        mode(0o777);
        assert!(why(&path).contains("others can write"));
        mode(0o700);
        drop(listener);
        assert!(why(&path).contains("refused"), "nobody listens any more");
        let plain = folder.path().join("plain");
        fs::write(&plain, "").unwrap();
        assert!(why(&plain).contains("no socket"));
    }
}
