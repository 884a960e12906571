//! The state of a path in one number, as deep as it was looked at.

use serde::{Deserialize, Serialize};
use std::fs::Metadata;

/// How much of a path a run rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// Whether it is a file, a folder, or not there.
    Kind,
    /// That it is this very file or folder.
    Identity,
    /// What stands in it: the bytes of a file, the names in a folder.
    Content,
}

/// The state; symlinks were followed. `None` is a path that is not there.
pub(super) fn stamp(metadata: Option<&Metadata>, depth: Depth) -> u64 {
    let Some(metadata) = metadata else { return 0 };
    let mut hash = blake3::Hasher::new();
    hash.update(&[u8::from(metadata.is_dir()), u8::from(metadata.is_file())]);
    if depth >= Depth::Identity {
        hash.update(&identity(metadata));
    }
    if depth == Depth::Content {
        hash.update(&metadata.len().to_le_bytes());
        hash.update(&changed(metadata));
    }
    let bytes = hash.finalize();
    let (first, _) = bytes.as_bytes().split_at(8);
    // Nought is a path that is not there.
    u64::from_le_bytes(first.try_into().unwrap_or([1; 8])).max(1)
}

/// When it last changed in any way, milliseconds since the epoch.
pub(super) fn newest(metadata: Option<&Metadata>) -> i64 {
    let Some(metadata) = metadata else { return 0 };
    let modified = crate::file::mtime(metadata);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let changed = metadata.ctime().saturating_mul(1000) + metadata.ctime_nsec() / 1_000_000;
        modified.max(changed)
    }
    #[cfg(not(unix))]
    modified
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> [u8; 16] {
    use std::os::unix::fs::MetadataExt as _;
    let mut out = [0; 16];
    out[..8].copy_from_slice(&metadata.dev().to_le_bytes());
    out[8..].copy_from_slice(&metadata.ino().to_le_bytes());
    out
}

/// Without inodes, the time a file was made tells it from another one.
#[cfg(not(unix))]
fn identity(metadata: &Metadata) -> [u8; 16] {
    let made = metadata.created().ok();
    let since = made.and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_nanos()).to_le_bytes()
}

#[cfg(unix)]
fn changed(metadata: &Metadata) -> [u8; 32] {
    use std::os::unix::fs::MetadataExt as _;
    let times = [
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ];
    let mut out = [0; 32];
    for (place, time) in out.chunks_exact_mut(8).zip(times) {
        place.copy_from_slice(&time.to_le_bytes());
    }
    out
}

#[cfg(not(unix))]
fn changed(metadata: &Metadata) -> [u8; 16] {
    let at = metadata.modified().ok();
    let since = at.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_nanos()).to_le_bytes()
}
