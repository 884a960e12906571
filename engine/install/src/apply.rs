//! Makes a planned change as a whole, or leaves everything as it was.

use crate::error::{Refusal, Why};
use crate::file::{Snapshot, make_folder};
use crate::plan::{FileChange, Plan};
use crate::record::Records;
use std::io;
use std::path::{Path, PathBuf};

/// A change that was not made.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A file could not be changed; those before it are as they were.
    #[error("{0}; nothing was changed")]
    Refused(Refusal),
    /// A file could not be changed, and another one could not be put back.
    #[error("{refusal}; {} stays changed: {left}", left.path.display())]
    Half {
        /// Why it stopped.
        refusal: Box<Refusal>,
        /// What could not be put back.
        left: Box<Refusal>,
    },
    /// AxiOwl's own record could not be kept, so nothing was changed.
    #[error("the record of what was added cannot be kept: {0}; nothing was changed")]
    Record(#[source] io::Error),
    /// Everything was taken out, but the record of it stays.
    #[error("all is taken out, but the record of it cannot be removed: {0}")]
    Forget(#[source] io::Error),
}

impl ApplyError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.hint(),
            Self::Half { left, .. } => {
                format!("its former content is kept; {}", left.hint())
            }
            Self::Record(_) | Self::Forget(_) => {
                "make AxiOwl's state folder writable, then run this again".into()
            }
        }
    }
}

impl Plan {
    /// Makes the change: keeps the record first, replaces file after file, reads each one back.
    ///
    /// # Errors
    /// When a file is not what it was when the plan was made, or cannot be written.
    pub fn apply(mut self, records: &Records) -> Result<(), ApplyError> {
        for file in &self.files {
            let held = file.snapshot.holds();
            held.map_err(|why| ApplyError::Refused(why.at(&file.snapshot.real)))?;
        }
        let before = records.read(&self.key).map_err(ApplyError::Record)?;
        let mut made: Vec<PathBuf> = Vec::new();
        let kept = self.keep_record(records, &mut made);
        if let Err(error) = kept {
            remove_empty(&made);
            return Err(error);
        }
        for index in 0..self.files.len() {
            if let Err(why) = change(&self.files[index]) {
                let refusal = why.at(&self.files[index].snapshot.real);
                let changed = self.files[..index].iter().rev();
                let left: Vec<Refusal> = changed.filter_map(put_back).collect();
                remove_empty(&made);
                if let Some(left) = left.into_iter().next() {
                    return Err(ApplyError::Half {
                        refusal: Box::new(refusal),
                        left: Box::new(left),
                    });
                }
                records
                    .write(&self.key, before.as_ref())
                    .map_err(ApplyError::Record)?;
                return Err(ApplyError::Refused(refusal));
            }
        }
        let mut folders: Vec<PathBuf> = self.files.iter().flat_map(|f| f.folders.clone()).collect();
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        remove_empty(&folders);
        if self.record.is_none() {
            records.write(&self.key, None).map_err(ApplyError::Forget)?;
        }
        Ok(())
    }

    /// The record and the backups are there before the first file changes: whatever is added
    /// can be taken out, even when this process dies in between.
    fn keep_record(
        &mut self,
        records: &Records,
        made: &mut Vec<PathBuf>,
    ) -> Result<(), ApplyError> {
        let Some(record) = &mut self.record else {
            return Ok(());
        };
        for file in &self.files {
            let Some(changed) = file.recorded.and_then(|at| record.files.get_mut(at)) else {
                continue;
            };
            let folders = make_folder(&file.snapshot.real)
                .map_err(|why| ApplyError::Refused(why.at(&file.snapshot.real)))?;
            made.extend(folders.iter().rev().cloned());
            changed.folders.extend(folders);
            if let Some(base) = &file.base {
                let at = file.recorded.unwrap_or_default();
                let name = records.back_up(&self.key, at, base);
                changed.backup = Some(name.map_err(ApplyError::Record)?);
            }
        }
        records
            .write(&self.key, Some(record))
            .map_err(ApplyError::Record)
    }
}

fn change(file: &FileChange) -> Result<(), Why> {
    file.snapshot.replace(file.new.as_deref())?;
    let now = Snapshot::take(&file.snapshot.real)?;
    if now.bytes == file.new {
        Ok(())
    } else {
        Err(Why::ChangedMeanwhile)
    }
}

/// Gives a changed file its former bytes again, unless somebody has written it since.
fn put_back(file: &FileChange) -> Option<Refusal> {
    let changed = Snapshot {
        real: file.snapshot.real.clone(),
        bytes: file.new.clone(),
    };
    let back = changed.replace(file.snapshot.bytes.as_deref());
    back.err().map(|why| why.at(&file.snapshot.real))
}

fn remove_empty(folders: &[PathBuf]) {
    for folder in folders {
        remove_if_empty(folder);
    }
}

/// A folder of ours that others use by now stays.
fn remove_if_empty(folder: &Path) {
    let empty = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    if empty && let Err(error) = std::fs::remove_dir(folder) {
        // Nothing in it, so nothing is lost by leaving it.
        eprintln!("{}: {error}", folder.display());
    }
}
