//! How a database and the files beside it stand on the disk, to tell whether somebody wrote to
//! them. It must not know what is in them.

use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes at the start of a database, with its change counter, and of a log's header, which
/// changes whenever the log starts over.
const HEADER: usize = 32;

/// Database and side files as they stand on the disk.
#[derive(Debug, PartialEq)]
pub(crate) struct State {
    pub(super) database: Stamp,
    /// A log that holds something.
    pub(super) log: Option<Stamp>,
    pub(super) hot_journal: bool,
}

/// What changes when a file is written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    size: u64,
    modified: Option<std::time::SystemTime>,
    inode: u64,
    changed: (i64, i64),
    /// Its first bytes: clocks of file systems are too coarse to tell two writes apart.
    start: Vec<u8>,
}

impl State {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let database = Stamp::of(path)?;
        let log = match Stamp::of(&beside(path, "-wal")) {
            Ok(stamp) => Some(stamp).filter(|log| log.size > 0),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self {
            database,
            log,
            hot_journal: hot_journal(path)?,
        })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.database.size + self.log.as_ref().map_or(0, |log| log.size)
    }

    /// Whether both have one log, however long it is.
    pub(super) fn has_same_log(&self, other: &Self) -> bool {
        let logs = self.log.as_ref().zip(other.log.as_ref());
        logs.is_some_and(|(a, b)| a.inode == b.inode && a.start == b.start)
    }

    /// Whether since then nothing happened but that the log grew.
    pub(super) fn only_grew_since(&self, before: &Self) -> bool {
        let grew = |(before, after): (&Stamp, &Stamp)| {
            before.inode == after.inode && before.size <= after.size && before.start == after.start
        };
        let logs = before.log.as_ref().zip(self.log.as_ref());
        before.database.inode == self.database.inode && logs.is_some_and(grew) && !self.hot_journal
    }
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let file = crate::file::open(path)?;
        let metadata = file.metadata()?;
        let mut start = Vec::with_capacity(HEADER);
        file.take(HEADER as u64).read_to_end(&mut start)?;
        Ok(Self::new(&metadata, start))
    }

    fn new(metadata: &Metadata, start: Vec<u8>) -> Self {
        #[cfg(unix)]
        let (inode, changed) = {
            use std::os::unix::fs::MetadataExt;
            (metadata.ino(), (metadata.ctime(), metadata.ctime_nsec()))
        };
        #[cfg(not(unix))]
        let (inode, changed) = (0, (0, 0));
        Self {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            inode,
            changed,
            start,
        }
    }
}

/// Whether a rollback journal says that a transaction is under way. A finished one is
/// deleted, emptied, or has its header zeroed.
pub(super) fn hot_journal(path: &Path) -> io::Result<bool> {
    let mut first = [0];
    match crate::file::open(&beside(path, "-journal")) {
        Ok(mut file) => Ok(file.read(&mut first)? == 1 && first[0] != 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The path with something behind it.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
