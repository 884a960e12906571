//! Whether anything below a folder was written: every entry before and after, and a watcher
//! that hears what was put back in between.

use notify::{EventKind, RecursiveMode, Watcher as _};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

/// Content up to this is compared; of larger files the times and sizes are.
const COMPARED: u64 = 1 << 20;

/// Inode, mode, size, times of change of content and of anything, and a hash of the content.
type Stamp = (u64, u32, u64, (i64, i64), (i64, i64), u64);

fn stamps(folder: &Path) -> BTreeMap<PathBuf, Stamp> {
    let mut out = BTreeMap::new();
    let mut left = vec![folder.to_path_buf()];
    while let Some(path) = left.pop() {
        let metadata = path.symlink_metadata().expect("metadata");
        let mut hasher = DefaultHasher::new();
        if metadata.is_dir() {
            let entries = std::fs::read_dir(&path).expect("folder");
            left.extend(entries.map(|entry| entry.expect("entry").path()));
        } else if metadata.is_file() && metadata.len() <= COMPARED {
            std::fs::read(&path).expect("file").hash(&mut hasher);
        }
        let stamp = (
            metadata.ino(),
            metadata.mode(),
            metadata.len(),
            (metadata.mtime(), metadata.mtime_nsec()),
            (metadata.ctime(), metadata.ctime_nsec()),
            hasher.finish(),
        );
        out.insert(path, stamp);
    }
    out
}

/// Does something while a folder is watched.
///
/// # Panics
/// When anything below it was made, written, renamed or removed.
pub fn untouched<T>(folder: &Path, act: impl FnOnce() -> T) -> T {
    let before = stamps(folder);
    let (tell, told) = mpsc::channel();
    let mut watcher = notify::recommended_watcher(move |event| {
        // The test may be over.
        let _ = tell.send(event);
    })
    .expect("a watcher");
    watcher
        .watch(folder, RecursiveMode::Recursive)
        .expect("watch");
    let answer = act();
    // Events come in order: when this one is there, all before it are.
    let last = folder.join("the-last-event");
    std::fs::write(&last, "").expect("file");
    let deadline = std::time::Duration::from_secs(60);
    loop {
        let event = told.recv_timeout(deadline).expect("an event");
        let event = event.expect("no error of the watcher");
        if event.paths.contains(&last) {
            break;
        }
        // To close is no write: another test's child may have held a file of the setup open.
        let reads = matches!(event.kind, EventKind::Access(_));
        assert!(reads, "the provider's files were touched: {event:?}");
    }
    drop(watcher);
    std::fs::remove_file(&last).expect("remove");
    let mut after = stamps(folder);
    let mut before = before;
    // Only this test's own file changed the folder itself.
    before.remove(folder);
    after.remove(folder);
    assert_eq!(after, before);
    answer
}
