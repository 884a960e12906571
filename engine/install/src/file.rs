//! Reading and replacing one file of somebody else's. Knows nothing of what stands in it.

use crate::error::Why;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Configuration is small; what is larger is something else.
const LARGEST: u64 = 16 << 20;
/// Some editors put it before a text; it is kept.
const MARK: &str = "\u{feff}";

/// A file as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// Where it really lies: links are followed, so that a link stays one.
    pub real: PathBuf,
    /// What stood in it; nothing when it was not there.
    pub bytes: Option<Vec<u8>>,
}

impl Snapshot {
    /// Reads a file, or that there is none.
    pub fn take(path: &Path) -> Result<Self, Why> {
        let real = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let real = path.to_owned();
                return Ok(Self { real, bytes: None });
            }
            Err(error) => return Err(Why::Unreadable(error)),
            Ok(meta) if meta.is_symlink() => match path.canonicalize() {
                Ok(real) => real,
                Err(_) => {
                    let target = fs::read_link(path).map_err(Why::Unreadable)?;
                    return Err(Why::DanglingLink(target));
                }
            },
            Ok(_) => path.to_owned(),
        };
        let bytes = read(&real)?;
        Ok(Self {
            real,
            bytes: Some(bytes),
        })
    }

    /// Its text without a byte order mark.
    pub fn text(&self) -> Result<&str, Why> {
        let bytes = self.bytes.as_deref().unwrap_or_default();
        let text = std::str::from_utf8(bytes);
        let text = text.map_err(|_| Why::Damaged("it is not UTF-8".into()))?;
        Ok(text.strip_prefix(MARK).unwrap_or(text))
    }

    /// The bytes of another text in its place.
    pub fn bytes_of(&self, text: &str) -> Vec<u8> {
        let bytes = self.bytes.as_deref().unwrap_or_default();
        let mark = if bytes.starts_with(MARK.as_bytes()) {
            MARK
        } else {
            ""
        };
        [mark, text].concat().into_bytes()
    }

    /// Whether it is still what was read.
    pub fn holds(&self) -> Result<(), Why> {
        let now = match fs::symlink_metadata(&self.real) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Why::Unreadable(error)),
            Ok(_) => Some(read(&self.real)?),
        };
        if now == self.bytes {
            Ok(())
        } else {
            Err(Why::ChangedMeanwhile)
        }
    }

    /// Puts bytes in its place by a rename, or removes it. Mode and owner stay, and a reader
    /// sees the old or the new file. A file that is not what was read is left.
    pub fn replace(&self, new: Option<&[u8]>) -> Result<(), Why> {
        self.holds()?;
        let Some(new) = new else {
            return fs::remove_file(&self.real).map_err(Why::Unwritable);
        };
        let folder = self.real.parent().unwrap_or(Path::new("."));
        let mut fresh = tempfile::Builder::new()
            .prefix(".axiowl-")
            .tempfile_in(folder)
            .map_err(Why::Unwritable)?;
        let written = fresh
            .write_all(new)
            .and_then(|()| self.keep_mode(fresh.as_file()))
            .and_then(|()| fresh.as_file().sync_all());
        written.map_err(Why::Unwritable)?;
        // As late as can be: what somebody wrote until here is not lost.
        self.holds()?;
        let named = match self.bytes {
            Some(_) => fresh.persist(&self.real),
            None => fresh.persist_noclobber(&self.real),
        };
        named.map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => Why::ChangedMeanwhile,
            _ => Why::Unwritable(error.error),
        })?;
        sync(folder).map_err(Why::Unwritable)
    }

    /// A new file is its owner's alone; an old one stays as open as it was.
    fn keep_mode(&self, fresh: &File) -> io::Result<()> {
        if self.bytes.is_none() {
            return Ok(());
        }
        let old = fs::metadata(&self.real)?;
        keep_owner(&old, fresh)?;
        fresh.set_permissions(old.permissions())
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Why> {
    let meta = fs::metadata(path).map_err(Why::Unreadable)?;
    if !meta.is_file() {
        return Err(Why::NoFile);
    }
    if meta.permissions().readonly() {
        return Err(Why::ReadOnly);
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(Why::Unreadable)?;
    let read = file.take(LARGEST + 1).read_to_end(&mut bytes);
    read.map_err(Why::Unreadable)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Why::TooLarge(LARGEST));
    }
    Ok(bytes)
}

#[cfg(unix)]
fn keep_owner(old: &Metadata, fresh: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = fresh.metadata()?;
    if (old.uid(), old.gid()) == (new.uid(), new.gid()) {
        return Ok(());
    }
    fchown(fresh, Some(old.uid()), Some(old.gid()))
}

#[cfg(not(unix))]
fn keep_owner(_: &Metadata, _: &File) -> io::Result<()> {
    Ok(())
}

fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Makes the folder of a file; the folders that were not there, the outermost first.
pub(crate) fn make_folder(file: &Path) -> Result<Vec<PathBuf>, Why> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let missing = folder.ancestors().take_while(|folder| !folder.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    axiowl_registry::create_private_dir(folder).map_err(Why::Unwritable)?;
    Ok(missing)
}
