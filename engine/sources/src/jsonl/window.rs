//! Head and tail of a file, cut at line ends.
//!
//! The cost of a window does not depend on the size of the file. What lies between head
//! and tail is only named; the caller decides whether to read it.

use super::chunks::MAX_LINE;
use super::input::{inflated, is_compressed};
use crate::file::Hit;
use memchr::{memchr, memrchr};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

/// Inflated bytes of one compressed file that are read while looking for its end.
const INFLATED: u64 = 256 << 20;

/// Buffers that are used again for the next file.
#[derive(Default)]
pub(super) struct Scratch {
    pub head: Vec<u8>,
    pub tail: Vec<u8>,
    pub chunk: Vec<u8>,
}

/// What was read of a file.
pub(super) struct Window<'s> {
    /// The first line, or what the head holds of it; empty when there is no head.
    pub first_line: &'s [u8],
    /// Whole lines: of the head, and of the tail where the two do not meet.
    pub segments: Vec<Segment<'s>>,
    /// Bytes between them that were not read.
    pub middle: Option<Range<u64>>,
    /// The end of a compressed file lies beyond what is inflated.
    pub end_unread: bool,
    /// The open file, unless it is compressed.
    pub file: Option<File>,
}

/// Lines that stand together.
#[derive(Clone, Copy)]
pub(super) struct Segment<'s> {
    /// Offset of the first byte.
    pub offset: u64,
    /// The lines.
    pub data: &'s [u8],
    /// The last byte is the file's last one, so a line without an end may be half written.
    pub ends_file: bool,
}

/// Reads `head` bytes from the start of a file and `tail` bytes from its end.
pub(super) fn load<'s>(
    hit: &Hit,
    head: u64,
    tail: u64,
    head_buffer: &'s mut Vec<u8>,
    tail_buffer: &'s mut Vec<u8>,
) -> io::Result<Window<'s>> {
    head_buffer.clear();
    tail_buffer.clear();
    if is_compressed(&hit.real) {
        return load_inflated(hit, head, tail, head_buffer, tail_buffer);
    }
    let mut file = crate::file::open(&hit.real)?;
    if hit.size <= head.saturating_add(tail) {
        read(&mut file, hit.size, head_buffer)?;
        return Ok(whole(head_buffer));
    }
    read(&mut file, head, head_buffer)?;
    let mut tail_start = hit.size;
    if tail > 0 {
        // One byte more shows whether the tail starts with a line.
        tail_start = hit.size - tail - 1;
        file.seek(SeekFrom::Start(tail_start))?;
        read(&mut file, tail + 1, tail_buffer)?;
    }
    let parts = parts(head_buffer, tail_buffer, tail_start, hit.size);
    Ok(Window {
        file: Some(file),
        ..parts
    })
}

/// The same for a compressed file: its end is only known once all before it is inflated.
fn load_inflated<'s>(
    hit: &Hit,
    head: u64,
    tail: u64,
    head_buffer: &'s mut Vec<u8>,
    tail_buffer: &'s mut Vec<u8>,
) -> io::Result<Window<'s>> {
    let mut input = inflated(&hit.real)?;
    read(&mut input, head, head_buffer)?;
    if (head_buffer.len() as u64) < head {
        return Ok(whole(head_buffer));
    }
    if tail == 0 {
        let mut one = [0];
        let ended = input.read(&mut one)? == 0;
        if ended {
            return Ok(whole(head_buffer));
        }
        return Ok(Window {
            end_unread: true,
            ..parts(head_buffer, &[], u64::MAX, u64::MAX)
        });
    }
    let keep = usize::try_from(tail).unwrap_or(MAX_LINE).min(MAX_LINE) + 1;
    let mut last: VecDeque<u8> = VecDeque::with_capacity(keep.min(1 << 20));
    let mut size = head;
    let mut piece = vec![0; 64 << 10];
    loop {
        let read = input.read(&mut piece)?;
        size += read as u64;
        last.extend(&piece[..read]);
        last.drain(..last.len().saturating_sub(keep));
        if read == 0 {
            break;
        }
        if size > INFLATED {
            return Ok(Window {
                end_unread: true,
                ..parts(head_buffer, &[], u64::MAX, u64::MAX)
            });
        }
    }
    tail_buffer.extend(last);
    if size <= head.saturating_add(tail) {
        head_buffer.append(tail_buffer);
        return Ok(whole(head_buffer));
    }
    let start = size - tail_buffer.len() as u64;
    Ok(parts(head_buffer, tail_buffer, start, size))
}

fn read(input: &mut impl Read, bytes: u64, buffer: &mut Vec<u8>) -> io::Result<()> {
    // Room for one read more keeps `read_to_end` from growing the buffer to see the end.
    buffer.reserve(usize::try_from(bytes).unwrap_or(0).min(MAX_LINE) + 32);
    input.take(bytes).read_to_end(buffer).map(|_| ())
}

fn whole(data: &[u8]) -> Window<'_> {
    Window {
        first_line: first_line(data),
        segments: vec![Segment {
            offset: 0,
            data,
            ends_file: true,
        }],
        middle: None,
        end_unread: false,
        file: None,
    }
}

/// `tail` holds the file from `tail_start` on, of which the first byte only shows whether a
/// line starts after it.
fn parts<'s>(head: &'s [u8], tail: &'s [u8], tail_start: u64, size: u64) -> Window<'s> {
    let head_end = memrchr(b'\n', head).map_or(0, |end| end + 1);
    let mut segments = Vec::new();
    if head_end > 0 {
        segments.push(Segment {
            offset: 0,
            data: &head[..head_end],
            ends_file: false,
        });
    }
    let mut middle_end = size;
    if let Some(end) = memchr(b'\n', tail).filter(|end| end + 1 < tail.len()) {
        middle_end = tail_start + end as u64 + 1;
        segments.push(Segment {
            offset: middle_end,
            data: &tail[end + 1..],
            ends_file: true,
        });
    }
    let middle = head_end as u64..middle_end;
    Window {
        first_line: first_line(head),
        segments,
        middle: (!middle.is_empty()).then_some(middle),
        end_unread: false,
        file: None,
    }
}

fn first_line(data: &[u8]) -> &[u8] {
    &data[..memchr(b'\n', data).unwrap_or(data.len())]
}

#[cfg(test)]
mod tests {
    use super::super::input::tests::deflated;
    use super::*;
    use proptest::prelude::*;

    /// Reads a window of `content` and returns its segments' text, checked against it.
    fn windows(
        content: &[u8],
        head: u64,
        tail: u64,
        compressed: bool,
    ) -> (Vec<String>, Option<Range<u64>>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir
            .path()
            .join(if compressed { "a.jsonl.zst" } else { "a.jsonl" });
        std::fs::write(
            &path,
            if compressed {
                deflated(content)
            } else {
                content.to_vec()
            },
        )
        .unwrap();
        let world = crate::harness::Home::new().world();
        let hit = Hit::new(
            &world,
            path.clone(),
            String::new(),
            &path.metadata().unwrap(),
            0,
        );
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let window = load(&hit, head, tail, &mut a, &mut b).unwrap();
        for segment in &window.segments {
            let at = segment.offset as usize;
            assert!(at == 0 || content[at - 1] == b'\n', "starts a line");
            assert_eq!(&content[at..at + segment.data.len()], segment.data);
            assert!(segment.ends_file || segment.data.ends_with(b"\n"));
            assert!(!segment.ends_file || at + segment.data.len() == content.len());
        }
        assert!(content.starts_with(window.first_line));
        let text = |s: &Segment| String::from_utf8_lossy(s.data).into_owned();
        (window.segments.iter().map(text).collect(), window.middle)
    }

    #[test]
    fn windows_are_cut_at_line_ends() {
        let text = b"one\ntwo\nthree\nfour\nfive\n";
        for compressed in [false, true] {
            let windows = |head, tail| windows(text, head, tail, compressed);
            let strings = |list: &[&str]| list.iter().map(|s| s.to_string()).collect::<Vec<_>>();
            assert_eq!(windows(6, 7), (strings(&["one\n", "five\n"]), Some(4..19)));
            assert_eq!(
                windows(2, 10),
                (strings(&["four\nfive\n"]), Some(0..14)),
                "a tail on a line end"
            );
            assert_eq!(
                windows(20, 20),
                (strings(&["one\ntwo\nthree\nfour\nfive\n"]), None)
            );
            assert_eq!(
                windows(5, 2).0,
                strings(&["one\n"]),
                "no line starts in the tail"
            );
        }
        assert_eq!(windows(text, 6, 0, false).1, Some(4..24));
        assert_eq!(windows(text, 0, 6, false).0, ["five\n"]);
        assert_eq!(windows(b"", 5, 5, false), (vec![String::new()], None));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn any_content_and_any_window(content in "[ab\n]{0,60}", head in 0u64..30, tail in 0u64..30) {
            let plain = windows(content.as_bytes(), head, tail, false);
            let (segments, middle) = &plain;
            let covered: usize = segments.iter().map(String::len).sum();
            let between = middle.as_ref().map_or(0, |m| (m.end - m.start) as usize);
            prop_assert_eq!(covered + between, content.len());
            if tail > 0 {
                prop_assert_eq!(plain, windows(content.as_bytes(), head, tail, true));
            }
        }
    }
}
