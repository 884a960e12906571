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
    let inodes: BTreeSet<String> = links(pid)
        .iter()
        .filter_map(|link| {
            let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            Some(inode.to_owned())
        })
        .collect();
    let tables = ["tcp", "tcp6"].map(|table| format!("/proc/{pid}/net/{table}"));
    let text = tables.map(|table| fs::read_to_string(table).unwrap_or_default());
    let lines = text.iter().flat_map(|text| text.lines().skip(1));
    lines
        .filter_map(|line| {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let (address, state, inode) = (words.get(1)?, words.get(3)?, words.get(9)?);
            // 0A: it listens.
            (*state == "0A" && inodes.contains(*inode)).then(|| address_of(address))?
        })
        .collect()
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
        drop(file);
        assert!(with_open(&path).is_empty());
        assert_eq!(folder_of(me), std::env::current_dir().ok());
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
