//! Digests of what is read and written, made on the way.

use std::io::{self, Read, Write};

/// The digest of some bytes.
pub(crate) fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// A reader or writer that digests all that goes through it.
pub(crate) struct Digested<T> {
    inner: T,
    hash: blake3::Hasher,
}

impl<T> Digested<T> {
    pub(crate) fn new(inner: T) -> Self {
        let hash = blake3::Hasher::new();
        Self { inner, hash }
    }

    /// What is read or written.
    pub(crate) fn get_ref(&self) -> &T {
        &self.inner
    }

    /// The digest of what went through so far.
    pub(crate) fn digest(&self) -> String {
        self.hash.finalize().to_hex().to_string()
    }
}

impl<T: Read> Read for Digested<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}

impl<T: Write> Write for Digested<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
