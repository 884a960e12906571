//! Which processes have a file open, and on which ports of this machine a process listens.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// The processes that have a file open, in whatever way. Only those of the same user are known.
pub(crate) fn with_open(path: &Path) -> Vec<u32> {
    let Ok(path) = path.canonicalize() else {
        return Vec::new();
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| links(*pid).iter().any(|link| link == path.as_os_str()))
        .collect()
}

/// Whether a process has a file open, in whatever way; not known for those of other users.
pub(crate) fn has_open(pid: u32, path: &Path) -> bool {
    path.canonicalize()
        .is_ok_and(|path| links(pid).iter().any(|link| link == path.as_os_str()))
}

/// The folder a process works in.
pub(crate) fn folder_of(pid: u32) -> Option<std::path::PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// The addresses on which a process can be reached from this machine without leaving it.
pub(crate) fn listening(pid: u32) -> Vec<SocketAddr> {
    let inodes: BTreeSet<String> = sockets_of(pid);
    let sockets = sockets(&pid.to_string());
    let listens = sockets
        .into_iter()
        // 0A: it listens.
        .filter(|socket| socket.state == "0A" && inodes.contains(&socket.inode));
    listens.filter_map(|socket| socket.own).collect()
}

/// The processes that hold the end `own` of an established connection to `other`. Only those
/// whose descriptors may be read are known, which are those of the same user.
pub(crate) fn holders_of(own: SocketAddr, other: SocketAddr) -> Vec<u32> {
    let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let ends = (Some(plain(own)), Some(plain(other)));
    let found = sockets("self")
        .into_iter()
        // 01: it is established.
        .find(|socket| socket.state == "01" && (socket.own, socket.other) == ends);
    let Some(socket) = found else {
        return Vec::new();
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| sockets_of(*pid).contains(&socket.inode))
        .collect()
}

/// One line of the kernel's tables; an address that is not this machine's own is left out.
struct Socket {
    own: Option<SocketAddr>,
    other: Option<SocketAddr>,
    state: String,
    inode: String,
}

/// The sockets of a process's network.
fn sockets(process: &str) -> Vec<Socket> {
    let tables = ["tcp", "tcp6"].map(|table| format!("/proc/{process}/net/{table}"));
    let text = tables.map(|table| fs::read_to_string(table).unwrap_or_default());
    let lines = text.iter().flat_map(|text| text.lines().skip(1));
    lines
        .filter_map(|line| {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            Some(Socket {
                own: address_of(words.get(1)?),
                other: address_of(words.get(2)?),
                state: (*words.get(3)?).to_owned(),
                inode: (*words.get(9)?).to_owned(),
            })
        })
        .collect()
}

/// The inodes of the sockets a process has open.
fn sockets_of(pid: u32) -> BTreeSet<String> {
    let inode = |link: &std::ffi::OsString| {
        let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        Some(inode.to_owned())
    };
    links(pid).iter().filter_map(inode).collect()
}

fn links(pid: u32) -> Vec<std::ffi::OsString> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    let links = descriptors
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok());
    links.map(|link| link.into_os_string()).collect()
}

/// `0100007F:46A0`: the address in the machine's byte order, word by word, and the port.
/// Where it listens on every address, it does so on the loopback one.
fn address_of(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let digits = address.get(at * 8..at * 8 + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    let ip = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let bytes: Vec<u8> = words.concat();
            IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?))
        }
        _ => return None,
    };
    let ip = match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip.to_canonical(),
    };
    ip.is_loopback().then(|| SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn our_own_listener_and_open_file_are_found() {
        let me = std::process::id();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert!(listening(me).contains(&address));
        drop(listener);
        assert!(!listening(me).contains(&address));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let file = fs::File::create(&path).unwrap();
        assert_eq!(with_open(&path), [me]);
        assert!(has_open(me, &path) && !has_open(me, folder.path()));
        drop(file);
        assert!(with_open(&path).is_empty());
        assert_eq!(folder_of(me), std::env::current_dir().ok());
    }

    #[test]
    fn the_holder_of_a_connection_s_other_end_is_found_while_it_is_there() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let stream = std::net::TcpStream::connect(server).unwrap();
        let client = stream.local_addr().unwrap();
        let accepted = listener.accept().unwrap();
        assert_eq!(holders_of(client, server), [std::process::id()]);
        assert!(holders_of(client, client).is_empty(), "no such connection");
        drop(stream);
        assert!(holders_of(client, server).is_empty(), "it is gone");
        drop(accepted);
    }

    #[test]
    fn addresses_are_read_as_the_kernel_writes_them() {
        let read = |text: &str| address_of(text).map(|address| address.to_string());
        if cfg!(target_endian = "little") {
            assert_eq!(read("0100007F:46A0").as_deref(), Some("127.0.0.1:18080"));
            assert_eq!(read("0A00000A:46A0"), None, "another machine's business");
            let six = "00000000000000000000000001000000:0050";
            assert_eq!(read(six).as_deref(), Some("[::1]:80"));
        }
        assert_eq!(read("00000000:0050").as_deref(), Some("127.0.0.1:80"));
        for text in ["", "0100007F", "0100007F:", "x:1", "01:1"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
