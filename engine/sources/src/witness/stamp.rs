//! The state of a path in one number, as deep as it was looked at.

use serde::{Deserialize, Serialize};
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

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

/// The state; symlinks were followed. `None` is a path that is not there. The same program gives
/// the same number; another one may not.
pub(super) fn stamp(metadata: Option<&Metadata>, depth: Depth) -> u64 {
    let Some(metadata) = metadata else { return 0 };
    let mut hash = DefaultHasher::new();
    (metadata.is_dir(), metadata.is_file()).hash(&mut hash);
    if depth >= Depth::Identity {
        identity(metadata).hash(&mut hash);
    }
    if depth == Depth::Content {
        (metadata.len(), changed(metadata)).hash(&mut hash);
    }
    // Nought is a path that is not there.
    hash.finish().max(1)
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
fn identity(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

/// Without inodes, the time a file was made tells it from another one.
#[cfg(not(unix))]
fn identity(metadata: &Metadata) -> Option<std::time::SystemTime> {
    metadata.created().ok()
}

#[cfg(unix)]
fn changed(metadata: &Metadata) -> [i64; 4] {
    use std::os::unix::fs::MetadataExt as _;
    [
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ]
}

#[cfg(not(unix))]
fn changed(metadata: &Metadata) -> Option<std::time::SystemTime> {
    metadata.modified().ok()
}
