//! Changes of the registry's file: under its lock, from what it holds then, as a whole. What a
//! change does to the rows is not decided here.

use crate::block::{self, Block};
use crate::digest::{Digested, digest};
use crate::lock;
use crate::private::{close_to_others, create_private_dir, private_file_options, sync_dir};
use crate::store::{PIECE, Registry, open_regular};
use crate::table::{DamagedLine, Table, write_header};
use crate::{RegistryError, Snapshot};
use axiowl_model::{AgentRecord, Issue};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write};

impl Registry {
    /// Changes the table under the lock and replaces the file, unless nothing changed.
    /// Returns the answer of `change` and an issue for each line that was set aside.
    pub(crate) fn update<T>(
        &self,
        change: impl FnOnce(&mut Table) -> Result<T, RegistryError>,
    ) -> Result<(T, Vec<Issue>), RegistryError> {
        let _held = self.hold()?;
        self.change_all(change)
    }

    /// The same for a change that looks at the rows of one provider alone: those of others are
    /// not read where the file is in order.
    pub(crate) fn update_of<T>(
        &self,
        provider: &str,
        change: impl FnOnce(&mut Vec<AgentRecord>) -> T,
    ) -> Result<(T, Vec<Issue>), RegistryError> {
        let _held = self.hold()?;
        let file = match open_regular(&self.file) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return self.change_all(|table| Ok(change(&mut table.rows)));
            }
            Err(error) => return Err(RegistryError::io("read", &self.file)(error)),
        };
        match self.block(&file, provider)? {
            Some((block, digest)) => {
                self.met(&digest);
                Ok((
                    self.change_block(&file, block, &digest, change)?,
                    Vec::new(),
                ))
            }
            None => self.change_all(|table| Ok(change(&mut table.rows))),
        }
    }

    /// What a change that looks at the rows of one provider alone would do; the file stays.
    pub(crate) fn would_update_of<T>(
        &self,
        provider: &str,
        change: impl FnOnce(&mut Vec<AgentRecord>) -> T,
    ) -> Result<T, RegistryError> {
        let found = match open_regular(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Vec::new()),
            Err(error) => return Err(RegistryError::io("read", &self.file)(error)),
            Ok(file) => self
                .block(&file, provider)?
                .map(|(block, _)| block.table.rows),
        };
        let mut rows = match found {
            Some(rows) => rows,
            None => self.load()?.into_agents(),
        };
        Ok(change(&mut rows))
    }

    fn hold(&self) -> Result<File, RegistryError> {
        create_private_dir(&self.folder).map_err(RegistryError::io("make", &self.folder))?;
        close_to_others(&self.folder).map_err(RegistryError::io("close", &self.folder))?;
        lock::acquire(&self.folder.join("agents.lock"), self.lock_wait)
    }

    fn change_all<T>(
        &self,
        change: impl FnOnce(&mut Table) -> Result<T, RegistryError>,
    ) -> Result<(T, Vec<Issue>), RegistryError> {
        let before = self.read()?;
        let bytes = before.as_deref().unwrap_or_default();
        self.met(&digest(bytes));
        let Snapshot { mut table, issues } = Snapshot::parse(&self.file, bytes)?;
        let answer = change(&mut table)?;
        table.sort();
        let after = table.render();
        let unchanged = match &before {
            Some(before) => *before == after.as_bytes(),
            None => table.rows.is_empty(),
        };
        drop(before);
        if unchanged {
            tracing::debug!(path = %self.file.display(), "registry unchanged");
        } else {
            // First aside, then out of the table: a crash between leaves a line in both.
            self.keep_aside(&table.damaged)?;
            self.replace(&mut |out| out.write_all(after.as_bytes()))?;
            tracing::debug!(path = %self.file.display(), rows = table.rows.len(), "registry written");
        }
        // Damaged lines are issues each time they are read.
        match table.damaged.is_empty() {
            true => self.left(digest(after.as_bytes())),
            false => self.others_wrote(),
        }
        Ok((answer, issues))
    }

    /// The rows of a provider in the file, where it is in order, and the digest of the file.
    fn block(&self, file: &File, provider: &str) -> Result<Option<(Block, String)>, RegistryError> {
        let sound = self.own.lock().ok().and_then(|own| own.sound.clone());
        let find = |sound: Option<&str>| -> io::Result<(Option<Block>, String)> {
            let mut file = file;
            file.seek(SeekFrom::Start(0))?;
            block::find(file, provider, sound)
        };
        let found = find(sound.as_deref()).and_then(|(found, digest)| {
            // Somebody else wrote it.
            let again = sound.as_ref().is_some_and(|sound| *sound != digest);
            match again {
                true => find(None),
                false => Ok((found, digest)),
            }
        });
        let (found, digest) = found.map_err(RegistryError::io("read", &self.file))?;
        let Some(found) = found else { return Ok(None) };
        if let Ok(mut own) = self.own.lock() {
            own.sound = Some(digest.clone());
        }
        Ok(Some((found, digest)))
    }

    /// Changes the rows of one provider and copies what stands around them. The file is read once
    /// more for that: where it no longer has that digest, since somebody writes into it who knows
    /// no lock, nothing is changed.
    pub(crate) fn change_block<T>(
        &self,
        file: &File,
        block: Block,
        found: &str,
        change: impl FnOnce(&mut Vec<AgentRecord>) -> T,
    ) -> Result<T, RegistryError> {
        let Block {
            range,
            lines,
            mut table,
        } = block;
        let answer = change(&mut table.rows);
        table.sort();
        let columns = table.columns_to_write();
        let more = columns.len() - table.columns().len();
        if more == 0 && table.is_written(&lines, &columns) {
            tracing::debug!(path = %self.file.display(), "registry unchanged");
            return Ok(answer);
        }
        drop(lines);
        let mut header = String::new();
        write_header(&mut header, &columns);
        // A line without a value in a new column ends with an empty field.
        let empty = "\t".repeat(more);
        let left = self.replace(&mut |out| {
            let mut whole = file;
            whole.seek(SeekFrom::Start(0))?;
            let mut old = BufReader::with_capacity(PIECE, Digested::new(whole));
            let first = old.skip_until(b'\n')? as u64;
            out.write_all(header.as_bytes())?;
            copy_lines(&mut old, range.start.saturating_sub(first), &empty, out)?;
            table.write_rows(&columns, &mut |line| out.write_all(line.as_bytes()))?;
            let block = range.end - range.start;
            io::copy(&mut old.by_ref().take(block), &mut io::sink())?;
            copy_lines(&mut old, u64::MAX, &empty, out)?;
            match old.into_inner().digest() == found {
                true => Ok(()),
                false => Err(io::Error::other(
                    "the registry was changed while it was rewritten; it was left as it is",
                )),
            }
        })?;
        tracing::debug!(path = %self.file.display(), rows = table.rows.len(), "registry written in part");
        self.left(left);
        Ok(answer)
    }

    /// Notes what a change finds.
    fn met(&self, found: &str) {
        if let Ok(mut own) = self.own.lock() {
            own.others |= own.left.as_ref().is_some_and(|left| left != found);
            own.met.get_or_insert_with(|| found.to_owned());
            own.left = Some(found.to_owned());
        }
    }

    /// Notes what a change leaves, which is in order.
    fn left(&self, left: String) {
        if let Ok(mut own) = self.own.lock() {
            own.sound = Some(left.clone());
            own.left = Some(left);
        }
    }

    fn others_wrote(&self) {
        if let Ok(mut own) = self.own.lock() {
            (own.others, own.left) = (true, None);
        }
    }

    /// Replaces the file by what is written, and gives its digest.
    fn replace(
        &self,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<String, RegistryError> {
        // One name is enough under the lock, and what a killed writer left is overwritten.
        let temp = self.folder.join("agents.tsv.new");
        let written = (|| {
            match std::fs::remove_file(&temp) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let file = private_file_options()
                .write(true)
                .create_new(true)
                .open(&temp)?;
            let mut out = BufWriter::with_capacity(PIECE, Digested::new(file));
            write(&mut out)?;
            let out = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            out.get_ref().sync_all()?;
            Ok(out.digest())
        })();
        let digest = match written {
            Ok(digest) => digest,
            Err(error) => {
                let _ = std::fs::remove_file(&temp);
                return Err(RegistryError::io("write", &temp)(error));
            }
        };
        std::fs::rename(&temp, &self.file).map_err(RegistryError::io("replace", &self.file))?;
        sync_dir(&self.folder).map_err(RegistryError::io("save", &self.folder))?;
        Ok(digest)
    }

    /// Appends lines to `damaged.tsv`, each with where it stood and what is wrong with it;
    /// the line itself comes last, byte for byte, so that it can be repaired and put back.
    /// One that is there already is not added again.
    fn keep_aside(&self, lines: &[DamagedLine]) -> Result<(), RegistryError> {
        if lines.is_empty() {
            return Ok(());
        }
        let path = self.damaged_path();
        let known = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(RegistryError::io("read", &path)(error)),
        };
        let content = |line| <[u8]>::splitn(line, 3, |b| *b == b'\t').nth(2);
        let mut kept: HashSet<&[u8]> = known
            .split(|b| *b == b'\n')
            .skip(1)
            .filter_map(content)
            .collect();
        let mut out = Vec::new();
        if known.is_empty() {
            out.extend_from_slice(b"line\tproblem\tcontent\n");
        } else if !known.ends_with(b"\n") {
            out.push(b'\n');
        }
        for line in lines.iter().filter(|line| kept.insert(&line.bytes)) {
            let mut problem = String::new();
            crate::field::escape_into(&mut problem, &line.problem);
            out.extend_from_slice(format!("{}\t{problem}\t", line.line).as_bytes());
            out.extend_from_slice(&line.bytes);
            out.push(b'\n');
        }
        private_file_options()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|mut file| {
                file.write_all(&out)?;
                file.sync_all()
            })
            .map_err(RegistryError::io("append to", &path))
    }
}

/// Copies so many bytes of whole lines, each with `more` at its end.
fn copy_lines(
    from: &mut impl BufRead,
    mut bytes: u64,
    more: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    if more.is_empty() {
        return io::copy(&mut from.by_ref().take(bytes), out).map(|_| ());
    }
    let mut line = Vec::new();
    while bytes > 0 && from.read_until(b'\n', &mut line)? > 0 {
        bytes = bytes.saturating_sub(line.len() as u64);
        out.write_all(line.strip_suffix(b"\n").unwrap_or(&line))?;
        out.write_all(more.as_bytes())?;
        out.write_all(b"\n")?;
        line.clear();
    }
    Ok(())
}
