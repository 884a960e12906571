//! Waiting for something that can be seen but gives no signal: files and processes of others.

use std::thread;
use std::time::{Duration, Instant};

/// Long enough to cost nothing, short enough to add nothing to a test.
const PAUSE: Duration = Duration::from_millis(20);

/// Looks again and again until `look` finds something, or `None` when the time is over.
pub fn poll<T>(within: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + within;
    loop {
        // The look comes after the clock, so that there is always one at the very end.
        let over = Instant::now() >= end;
        if let Some(found) = look() {
            return Some(found);
        }
        if over {
            return None;
        }
        thread::sleep(PAUSE);
    }
}
