//! A file or folder that a source's patterns found, and the fields every row has of it.

use crate::witness::Depth;
use crate::{Name, Row, World};
use axiowl_model::Timestamp;
use serde_json::Value;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// A fixture keeps a database as text under its name with this behind it.
pub(crate) const DATABASE_TEXT: &str = ".sql";

const PATH: Name = Name::fixed("path");
const STEM: Name = Name::fixed("stem");
const FOLDER: Name = Name::fixed("folder");
const ABOVE: Name = Name::fixed("above");
const SIZE: Name = Name::fixed("size");
const MTIME: Name = Name::fixed("mtime");

/// A file (or, for folder sources, a folder) to read.
#[derive(Debug, Clone)]
pub(crate) struct Hit {
    /// Where it really lies.
    pub real: PathBuf,
    /// As the examined world writes it.
    pub recorded: String,
    /// Bytes, when it was listed.
    pub size: u64,
    /// Last change, milliseconds since the epoch.
    pub mtime: i64,
    /// Which of the source's patterns found it.
    pub pattern: usize,
}

impl Hit {
    /// A hit with what its metadata, or in a fixture the world, says.
    pub(crate) fn new(
        world: &World,
        real: PathBuf,
        recorded: String,
        metadata: &Metadata,
        pattern: usize,
    ) -> Self {
        let mtime = world.recorded_mtime(&recorded);
        if let Some(witness) = world.witness() {
            witness.seen_as(&real, Depth::Content, Some(metadata));
        }
        Self {
            real,
            recorded,
            size: metadata.len(),
            mtime: mtime.unwrap_or_else(|| self::mtime(metadata)),
            pattern,
        }
    }

    /// The file's name without its last extension; a folder keeps its whole name.
    pub(crate) fn stem(&self) -> String {
        let name = lossy(self.real.file_name());
        let as_text = name
            .strip_suffix(DATABASE_TEXT)
            .filter(|_| !self.recorded.ends_with(DATABASE_TEXT));
        lossy(Path::new(as_text.unwrap_or(&name)).file_stem())
    }

    /// A database that a fixture keeps as text, under the name the examined world has for it.
    pub(crate) fn of_text(mut self, world: &World) -> Option<Self> {
        let recorded = self.recorded.strip_suffix(DATABASE_TEXT)?.to_owned();
        self.mtime = world.recorded_mtime(&recorded).unwrap_or(self.mtime);
        self.recorded = recorded;
        Some(self)
    }

    /// The fields `path`, `stem`, `folder`, `above`, `size` and `mtime`.
    pub(crate) fn fields(&self) -> Row {
        self.fields_named(self.stem(), 0)
    }

    /// The same with another stem, and room for `more` fields.
    pub(crate) fn fields_named(&self, stem: String, more: usize) -> Row {
        let parent = self.real.parent();
        let folder = lossy(parent.and_then(Path::file_name));
        let above = lossy(parent.and_then(Path::parent).and_then(Path::file_name));
        let mut row = Row::with_capacity(6 + more);
        row.add(PATH, Value::String(self.recorded.clone()));
        row.add(STEM, Value::String(stem));
        row.add(FOLDER, Value::String(folder));
        row.add(ABOVE, Value::String(above));
        row.add(SIZE, Value::from(self.size));
        row.add(MTIME, Value::from(self.mtime));
        row
    }
}

/// When a file was last changed, in milliseconds since the epoch.
pub(crate) fn mtime(metadata: &Metadata) -> i64 {
    metadata
        .modified()
        .map_or(0, |time| Timestamp::from(time).as_millis())
}

/// A name as text.
pub(crate) fn lossy(name: Option<&std::ffi::OsStr>) -> String {
    name.map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Opens a file of a provider for reading. Between listing and opening it may have become a pipe,
/// and beside a database a pipe may have the name of its log: opening one would wait for somebody
/// to write into it, and reading a device need never end.
///
/// # Errors
/// As [`std::fs::File::open`], and where it is no regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK
            .union(rustix::fs::OFlags::NOCTTY)
            .bits() as i32,
    );
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file",
        )),
    }
}
