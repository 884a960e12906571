//! How long a script may take: by what its thread worked, not by the clock on the wall, so that
//! a busy machine never takes a sound session for one whose script went wrong.

use axiowl_lang::policy::{QUICK, ROW_TIME, RUN_TIME};
use axiowl_sources::timings::of_thread;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time a script took in one run of a rule, on whatever threads.
#[derive(Debug, Default)]
pub struct Spent(AtomicU64);

impl Spent {
    /// Counts what a row took beyond what does not count.
    pub fn add(&self, took: Duration) {
        let slow = nanoseconds(took.saturating_sub(QUICK));
        self.0.fetch_add(slow, Ordering::Relaxed);
    }

    /// Whether there is none left.
    pub fn all(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= nanoseconds(RUN_TIME)
    }
}

/// The limit of the row a script is asked about, on the thread that asks.
#[derive(Debug)]
pub struct Limit {
    start: Instant,
    /// When, counted from `start`, it has to be looked at what the thread has worked.
    until: AtomicU64,
    /// When the row began, counted from `start`.
    begun_at: AtomicU64,
    /// What the thread had worked when it was last looked at, shortly before the row began,
    worked: AtomicU64,
    /// and when that was, counted from `start`.
    looked_at: AtomicU64,
}

/// Asking what a thread has worked costs as much as a short script: it is asked no more often
/// than this, and a row that is done sooner is counted by the clock on the wall.
const LOOK: Duration = Duration::from_nanos(QUICK.as_nanos() as u64 / 2);

impl Limit {
    pub fn new() -> Self {
        let limit = Self {
            start: Instant::now(),
            until: AtomicU64::new(u64::MAX),
            begun_at: AtomicU64::new(0),
            worked: AtomicU64::new(0),
            looked_at: AtomicU64::new(0),
        };
        limit.look();
        limit
    }

    /// A row begins.
    pub fn begin(&self) {
        let mut now = self.start.elapsed();
        let looked_at = Duration::from_nanos(self.looked_at.load(Ordering::Relaxed));
        if now.saturating_sub(looked_at) > LOOK {
            self.look();
            now = self.start.elapsed();
        }
        self.begun_at.store(nanoseconds(now), Ordering::Relaxed);
        self.until
            .store(nanoseconds(now + ROW_TIME), Ordering::Relaxed);
    }

    /// What the row has taken, or up to [`LOOK`] more.
    pub fn took(&self) -> Duration {
        let begun_at = Duration::from_nanos(self.begun_at.load(Ordering::Relaxed));
        let wall = self.start.elapsed().saturating_sub(begun_at);
        if wall <= LOOK {
            return wall;
        }
        let before = Duration::from_nanos(self.worked.load(Ordering::Relaxed));
        self.worked().saturating_sub(before)
    }

    fn look(&self) {
        self.worked
            .store(nanoseconds(self.worked()), Ordering::Relaxed);
        self.looked_at
            .store(nanoseconds(self.start.elapsed()), Ordering::Relaxed);
    }

    /// Whether the row has taken all it may. Asked at every operation: only where the clock on
    /// the wall says so, the thread's is looked at.
    pub fn over(&self) -> bool {
        let now = nanoseconds(self.start.elapsed());
        if now <= self.until.load(Ordering::Relaxed) {
            return false;
        }
        let left = ROW_TIME.saturating_sub(self.took());
        // It may be done no sooner than that.
        self.until
            .store(now.saturating_add(nanoseconds(left)), Ordering::Relaxed);
        left.is_zero()
    }

    /// What this thread has worked, or where that is not counted, how late it is.
    fn worked(&self) -> Duration {
        of_thread().unwrap_or_else(|| self.start.elapsed())
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_has_to_wait_has_not_worked() {
        let limit = Limit::new();
        limit.begin();
        // Nothing to wait for: the time itself is what counts here.
        std::thread::sleep(ROW_TIME + Duration::from_millis(50));
        assert!(!limit.over() && limit.took() < ROW_TIME / 2);
        let began = Instant::now();
        while !limit.over() {
            assert!(began.elapsed() < Duration::from_secs(60), "it works");
        }
        assert!(limit.took() >= ROW_TIME);
        limit.begin();
        assert!(!limit.over() && limit.took() < ROW_TIME, "the next row");
    }
}
