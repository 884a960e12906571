//! Reads what a program prints, as it comes: whole lines of standard output, the tail of
//! standard error. Bounded in memory; what is too much is read and thrown away, since a program
//! that cannot write would hang.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Bytes of standard error that are kept, from its end.
const STDERR_TAIL: usize = 16 * 1024;
/// A program that printed this many times the cap is out of control.
const FLOOD_FACTOR: usize = 256;
/// One read.
const CHUNK: usize = 32 * 1024;

/// The streams of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    /// Standard output.
    Out = 0,
    /// Standard error.
    Err = 1,
}

/// What the threads around a program report.
pub(super) enum Event {
    /// A line of standard output.
    Line(String),
    /// A stream is at its end.
    Closed(Stream),
    /// The program has ended and waits to be reaped.
    Exited,
    /// It has printed more than anybody can use.
    Flooded,
}

/// What was read so far.
pub(super) struct Tally {
    cap: usize,
    /// Bytes of lines that nobody has taken yet.
    pub queued: AtomicUsize,
    /// Lines that were thrown away.
    pub lost: AtomicUsize,
    total: AtomicUsize,
    tail: Mutex<VecDeque<u8>>,
}

impl Tally {
    pub(super) fn new(cap: usize) -> Self {
        Self {
            cap: cap.max(4 * 1024),
            queued: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
            total: AtomicUsize::new(0),
            tail: Mutex::new(VecDeque::new()),
        }
    }

    /// The end of standard error.
    pub(super) fn stderr_tail(&self) -> String {
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(tail.make_contiguous()).into_owned()
    }

    /// Counts bytes; true once, when they become too many.
    fn floods(&self, bytes: usize) -> bool {
        let limit = self.cap.saturating_mul(FLOOD_FACTOR);
        let before = self.total.fetch_add(bytes, Ordering::Relaxed);
        before <= limit && before.saturating_add(bytes) > limit
    }
}

/// Reads lines of standard output until its end. A line longer than the cap is thrown away, and
/// so is one that comes while the cap's worth of lines waits to be taken.
pub(super) fn read_lines(
    stream: Option<impl Read + Send + 'static>,
    tally: Arc<Tally>,
    events: Sender<Event>,
) {
    thread::spawn(move || {
        let mut line = Vec::new();
        let mut too_long = false;
        read_all(stream, &tally, &events, |chunk| {
            let mut rest = chunk;
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                take(&mut line, &rest[..end], tally.cap, &mut too_long);
                give(&tally, &events, &mut line, &mut too_long);
                rest = &rest[end + 1..];
            }
            take(&mut line, rest, tally.cap, &mut too_long);
        });
        if !line.is_empty() {
            give(&tally, &events, &mut line, &mut too_long);
        }
        let _ = events.send(Event::Closed(Stream::Out));
    });
}

/// Reads standard error until its end and keeps the tail.
pub(super) fn read_tail(
    stream: Option<impl Read + Send + 'static>,
    tally: Arc<Tally>,
    events: Sender<Event>,
) {
    thread::spawn(move || {
        read_all(stream, &tally, &events, |chunk| {
            let mut tail = tally.tail.lock().unwrap_or_else(PoisonError::into_inner);
            tail.extend(chunk);
            let over = tail.len().saturating_sub(STDERR_TAIL);
            tail.drain(..over);
        });
        let _ = events.send(Event::Closed(Stream::Err));
    });
}

fn read_all(
    stream: Option<impl Read>,
    tally: &Tally,
    events: &Sender<Event>,
    mut each: impl FnMut(&[u8]),
) {
    let Some(mut stream) = stream else {
        return;
    };
    let mut buffer = vec![0; CHUNK];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                each(&buffer[..count]);
                if tally.floods(count) && events.send(Event::Flooded).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn take(line: &mut Vec<u8>, part: &[u8], cap: usize, too_long: &mut bool) {
    if *too_long || line.len() + part.len() > cap {
        *too_long = true;
        line.clear();
    } else {
        line.extend_from_slice(part);
    }
}

fn give(tally: &Tally, events: &Sender<Event>, line: &mut Vec<u8>, too_long: &mut bool) {
    let text = String::from_utf8_lossy(line).into_owned();
    line.clear();
    let waiting = tally.queued.load(Ordering::Relaxed);
    if std::mem::take(too_long) || waiting + text.len() > tally.cap.saturating_mul(2) {
        tally.lost.fetch_add(1, Ordering::Relaxed);
        return;
    }
    tally.queued.fetch_add(text.len(), Ordering::Relaxed);
    let _ = events.send(Event::Line(text));
}
