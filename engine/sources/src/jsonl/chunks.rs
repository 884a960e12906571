//! Whole lines of a long stream, a chunk at a time, in one reused buffer.
//!
//! Knows line ends and nothing of what stands between them. A line longer than
//! [`MAX_LINE`] is passed over and counted, so memory stays bounded by it.

use memchr::{memchr, memrchr};
use std::io::{self, Read};

/// Bytes of a line that is still read.
pub(super) const MAX_LINE: usize = 16 << 20;
/// Bytes read at once.
const CHUNK: usize = 256 << 10;

/// Whole lines of a stream.
pub(super) struct Chunks<'b, R> {
    input: R,
    buffer: &'b mut Vec<u8>,
    /// Bytes of the buffer that hold data.
    filled: usize,
    /// Bytes of it that the last chunk gave out.
    given: usize,
    /// Offset in the stream of the buffer's first byte.
    offset: u64,
    /// Bytes still to read.
    left: u64,
    /// Inside a line that is too long.
    skipping: bool,
    /// Offsets of lines that were too long; the first few.
    pub skipped: Vec<u64>,
    /// The input ended, rather than the bytes that were to be read.
    pub ended: bool,
}

/// Lines that stand together.
pub(super) struct Chunk<'c> {
    /// Offset of its first byte in the stream.
    pub offset: u64,
    /// The lines, each with its line end; the very last one of the stream maybe without.
    pub lines: &'c [u8],
}

impl<'b, R: Read> Chunks<'b, R> {
    /// Reads `len` bytes from `input`, whose first byte stands at `offset` and starts a line.
    pub(super) fn new(input: R, offset: u64, len: u64, buffer: &'b mut Vec<u8>) -> Self {
        if buffer.len() < CHUNK {
            buffer.resize(CHUNK, 0);
        }
        Self {
            input,
            buffer,
            filled: 0,
            given: 0,
            offset,
            left: len,
            skipping: false,
            skipped: Vec::new(),
            ended: false,
        }
    }

    /// The next lines; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Chunk<'_>>> {
        self.buffer.copy_within(self.given..self.filled, 0);
        self.filled -= self.given;
        self.offset += self.given as u64;
        self.given = 0;
        loop {
            let ended = self.fill()?;
            let data = &self.buffer[..self.filled];
            if self.skipping {
                // The rest of a line that is too long goes as it comes.
                match memchr(b'\n', data) {
                    Some(end) => {
                        self.skipping = false;
                        self.drop_front(end + 1);
                    }
                    None => self.drop_front(self.filled),
                }
                if ended && self.filled == 0 {
                    return Ok(None);
                }
                continue;
            }
            let end = match memrchr(b'\n', data) {
                Some(end) => end + 1,
                None if ended => self.filled,
                None => 0,
            };
            if end > 0 {
                self.given = end;
                return Ok(Some(Chunk {
                    offset: self.offset,
                    lines: &self.buffer[..end],
                }));
            }
            if ended {
                return Ok(None);
            }
            if self.buffer.len() > MAX_LINE {
                self.skipping = true;
                if self.skipped.len() < 100 {
                    self.skipped.push(self.offset);
                }
                self.drop_front(self.filled);
            } else {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
        }
    }

    /// Fills the buffer; true when nothing more comes.
    fn fill(&mut self) -> io::Result<bool> {
        while self.filled < self.buffer.len() && self.left > 0 {
            let room = (self.buffer.len() - self.filled)
                .min(usize::try_from(self.left).unwrap_or(usize::MAX));
            match self
                .input
                .read(&mut self.buffer[self.filled..self.filled + room])
            {
                Ok(0) => (self.left, self.ended) = (0, true),
                Ok(n) => {
                    self.filled += n;
                    self.left -= n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.left == 0)
    }

    fn drop_front(&mut self, bytes: usize) {
        self.buffer.copy_within(bytes..self.filled, 0);
        self.filled -= bytes;
        self.offset += bytes as u64;
    }
}

/// The line around a byte, without its end.
pub(super) fn line_around(data: &[u8], at: usize) -> std::ops::Range<usize> {
    let start = memrchr(b'\n', &data[..at]).map_or(0, |end| end + 1);
    let end = memchr(b'\n', &data[at..]).map_or(data.len(), |end| at + end);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(input: &[u8], len: u64) -> (Vec<(u64, Vec<u8>)>, Vec<u64>) {
        let mut buffer = Vec::new();
        let mut chunks = Chunks::new(input, 0, len, &mut buffer);
        let mut out = Vec::new();
        while let Some(chunk) = chunks.next().unwrap() {
            let mut at = chunk.offset;
            for line in chunk.lines.split_inclusive(|b| *b == b'\n') {
                out.push((at, line.to_vec()));
                at += line.len() as u64;
            }
        }
        (out, chunks.skipped)
    }

    #[test]
    fn lines_across_chunks_stay_whole() {
        let mut text = Vec::new();
        let mut expected = Vec::new();
        for n in 0..40_000u32 {
            let line = format!("{n}:{}\n", "x".repeat(n as usize % 97));
            expected.push((text.len() as u64, line.clone().into_bytes()));
            text.extend_from_slice(line.as_bytes());
        }
        text.extend_from_slice(b"no end");
        expected.push((text.len() as u64 - 6, b"no end".to_vec()));
        assert_eq!(all(&text, u64::MAX), (expected, vec![]));
        assert_eq!(all(b"", 10).0, vec![]);
        assert_eq!(
            all(b"ab\ncd\n", 4).0,
            [(0, b"ab\n".to_vec()), (3, b"c".to_vec())]
        );
    }

    #[test]
    fn a_line_too_long_costs_itself_only() {
        let mut text = b"first\n".to_vec();
        text.resize(text.len() + MAX_LINE * 3, b'x');
        text.extend_from_slice(b"\nlast\n");
        let (lines, skipped) = all(&text, u64::MAX);
        assert_eq!(lines.first().unwrap().1, b"first\n");
        assert_eq!(lines.last().unwrap().1, b"last\n");
        assert_eq!((lines.len(), skipped), (2, vec![6]));
    }
}
