//! Reads what a program prints, as it comes: whole lines of standard output, the tail of
//! standard error. Bounded in memory: a line that is too long is read and thrown away, and while
//! lines wait to be taken the program waits too.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
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
    /// Bytes of lines that nobody has taken yet; `None` when nobody will.
    waiting: Mutex<Option<usize>>,
    taken: Condvar,
    /// Lines that were thrown away.
    pub lost: AtomicUsize,
    total: AtomicUsize,
    tail: Mutex<VecDeque<u8>>,
}

impl Tally {
    pub(super) fn new(cap: usize) -> Self {
        Self {
            cap: cap.max(4 * 1024),
            waiting: Mutex::new(Some(0)),
            taken: Condvar::new(),
            lost: AtomicUsize::new(0),
            total: AtomicUsize::new(0),
            tail: Mutex::new(VecDeque::new()),
        }
    }

    /// Bytes of lines that wait to be taken.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.lock().unwrap_or_default()
    }

    /// A line was taken.
    pub(super) fn take_off(&self, bytes: usize) {
        if let Some(waiting) = &mut *self.lock() {
            *waiting = waiting.saturating_sub(bytes);
        }
        self.taken.notify_all();
    }

    /// Nobody takes lines any more.
    pub(super) fn give_up(&self) {
        *self.lock() = None;
        self.taken.notify_all();
    }

    /// Waits until a line may be added; false when nobody will take it.
    fn add(&self, bytes: usize) -> bool {
        let limit = self.cap.saturating_mul(2);
        let is_full = |waiting: &mut Option<usize>| {
            waiting.is_some_and(|waiting| waiting > 0 && waiting + bytes > limit)
        };
        let waiting = self.taken.wait_while(self.lock(), is_full);
        match &mut *waiting.unwrap_or_else(PoisonError::into_inner) {
            Some(waiting) => {
                *waiting += bytes;
                true
            }
            None => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<usize>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Reads lines of standard output until its end. A line longer than the cap is thrown away.
pub(super) fn read_lines(
    stream: Option<impl Read + Send + 'static>,
    tally: Arc<Tally>,
    events: Sender<Event>,
) {
    thread::spawn(move || {
        let mut line = Line::default();
        read_all(stream, &tally, &events, |chunk| {
            let mut rest = chunk;
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                line.extend(&rest[..end], tally.cap);
                if !line.send(&tally, &events) {
                    return false;
                }
                rest = &rest[end + 1..];
            }
            line.extend(rest, tally.cap);
            true
        });
        if !line.bytes.is_empty() {
            line.send(&tally, &events);
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
            true
        });
        let _ = events.send(Event::Closed(Stream::Err));
    });
}

/// Reads until the end of the stream, or until nobody wants more.
fn read_all(
    stream: Option<impl Read>,
    tally: &Tally,
    events: &Sender<Event>,
    mut each: impl FnMut(&[u8]) -> bool,
) {
    let Some(mut stream) = stream else {
        return;
    };
    let mut buffer = vec![0; CHUNK];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                let wanted = each(&buffer[..count]);
                if !wanted || (tally.floods(count) && events.send(Event::Flooded).is_err()) {
                    return;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// A line that is being read.
#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    is_too_long: bool,
}

impl Line {
    fn extend(&mut self, part: &[u8], cap: usize) {
        if self.is_too_long || self.bytes.len() + part.len() > cap {
            self.is_too_long = true;
            self.bytes.clear();
        } else {
            self.bytes.extend_from_slice(part);
        }
    }

    /// Hands the whole line on and begins a new one; false when nobody takes it.
    fn send(&mut self, tally: &Tally, events: &Sender<Event>) -> bool {
        let line = std::mem::take(self);
        if line.is_too_long {
            tally.lost.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        let text = String::from_utf8_lossy(&line.bytes).into_owned();
        tally.add(text.len()) && events.send(Event::Line(text)).is_ok()
    }
}
