//! A transcript as a stream of bytes, compressed or not.
//!
//! Plain files can be read from anywhere; of a `.zst` only what comes before is known,
//! so reading its end means inflating it all, which is bounded.

use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Whether a file is compressed, by its name.
pub(super) fn is_compressed(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("zst"))
}

/// Compresses content as a provider may keep it.
pub fn compressed(content: &[u8]) -> Vec<u8> {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    compress_to_vec(content, CompressionLevel::Fastest)
}

/// Opens the inflated content of a `.zst` file.
pub(super) fn inflated(path: &Path) -> io::Result<Inflated<BufReader<File>>> {
    Ok(Inflated::new(BufReader::with_capacity(
        64 << 10,
        crate::file::open(path)?,
    )))
}

/// Inflates zstd frames that stand one after the other.
pub(super) struct Inflated<R> {
    input: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Inflated<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            decoder: FrameDecoder::new(),
            in_frame: false,
        }
    }

    /// Starts the next frame; false at the end of the file.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.input.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.input) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped = (&mut self.input).take(u64::from(length));
                    io::copy(&mut { skipped }, &mut io::sink())?;
                }
                Err(error) => return Err(damaged(&error)),
            }
        }
    }
}

impl<R: BufRead> Read for Inflated<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame {
                if !self.next_frame()? {
                    return Ok(0);
                }
                self.in_frame = true;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let step = ruzstd::decoding::BlockDecodingStrategy::UptoBlocks(1);
                self.decoder
                    .decode_blocks(&mut self.input, step)
                    .map_err(|e| damaged(&e))?;
            }
            let read = self.decoder.read(out)?;
            if read > 0 {
                return Ok(read);
            }
            self.in_frame = false;
        }
    }
}

fn damaged(error: &FrameDecoderError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Compresses as a provider might.
    pub(crate) fn deflated(content: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(content, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn inflate(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        Inflated::new(bytes).take(1 << 20).read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn frames_one_after_the_other_and_frames_to_skip() {
        let content = "line of text\n".repeat(30_000);
        let mut file = deflated(content.as_bytes());
        file.extend_from_slice(&[0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3]);
        file.extend(deflated(b"end"));
        assert_eq!(
            inflate(&file).unwrap(),
            [content.as_bytes(), b"end"].concat()
        );
        assert_eq!(inflate(b"").unwrap(), b"");
        assert!(inflate(&file[..file.len() - 20]).is_err());
        assert!(inflate(b"no compression at all").is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_are_fatal(mut bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..40) {
            let _ = inflate(&bytes);
            let mut file = deflated(b"some text that is compressed, some text");
            let at = cut % file.len();
            file.truncate(file.len() - at);
            file.append(&mut bytes);
            let _ = inflate(&file);
        }
    }
}
