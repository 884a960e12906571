//! Why a file is left alone.

use std::path::PathBuf;

/// A file that is left as it is, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct Refusal {
    /// The file.
    pub path: PathBuf,
    /// What stands in the way.
    pub why: Why,
}

/// What stands in the way.
#[derive(Debug, thiserror::Error)]
pub enum Why {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(std::io::Error),
    /// It is no file.
    #[error("it is no regular file")]
    NoFile,
    /// A link that leads nowhere.
    #[error("it is a link to {}, which is not there", .0.display())]
    DanglingLink(PathBuf),
    /// It is larger than any configuration.
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    /// Its owner made it read-only.
    #[error("it is read-only")]
    ReadOnly,
    /// It is not what its format says.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// Something else stands where the entry belongs.
    #[error("`{0}` is there already, and AxiOwl did not write it")]
    Foreign(String),
    /// A file that was to be ours as a whole is somebody else's.
    #[error("another text is there already, and AxiOwl did not write it")]
    ForeignFile,
    /// A part of the path is no table or list.
    #[error("`{0}` is not {1}")]
    Shape(String, &'static str),
    /// A key is given twice.
    #[error("`{0}` is given twice")]
    Twice(String),
    /// The library would have changed more than the entry.
    #[error("`{0}` cannot be changed without changing other parts of the file")]
    NotAlone(String),
    /// Somebody wrote it between the plan and the change.
    #[error("it was changed by somebody else in the meantime")]
    ChangedMeanwhile,
    /// It cannot be written.
    #[error("it cannot be written: {0}")]
    Unwritable(std::io::Error),
}

impl Why {
    /// At a file.
    pub(crate) fn at(self, path: impl Into<PathBuf>) -> Refusal {
        Refusal {
            path: path.into(),
            why: self,
        }
    }
}

impl Refusal {
    /// What to do next.
    pub fn hint(&self) -> String {
        match &self.why {
            Why::Unreadable(_) | Why::Unwritable(_) => "mend its permissions, then run this again",
            Why::NoFile | Why::DanglingLink(_) => "put a file there, or take the link away",
            Why::TooLarge(_) => "look whether this is the client's configuration at all",
            Why::ReadOnly => {
                "make it writable; where another program generates it, add the entry there"
            }
            Why::Damaged(_) | Why::Twice(_) => "mend the file, then run this again",
            Why::Foreign(_) => "remove that entry, or keep it and leave this client out",
            Why::ForeignFile => {
                "move that file away, or keep it and leave this client out; what you changed in it \
                 yourself would be lost"
            }
            Why::Shape(..) | Why::NotAlone(_) => {
                "add the entry by hand; `--dry-run --json` prints it"
            }
            Why::ChangedMeanwhile => "run this again; close the client if it keeps happening",
        }
        .to_owned()
    }
}
