//! What time it is for messages: acceptance, expiry, leases, rates, retention. A wall clock
//! may jump in either direction; what is decided by it is decided through here, so that a
//! test can make it jump. Waiting is measured elsewhere, by clocks that cannot.

use axiowl_model::Timestamp;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Tells the time of day.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Self::telling(|| Timestamp::from(SystemTime::now()))
    }

    /// A clock that tells what a function says.
    pub fn telling(tell: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// The time, in the ledger's milliseconds.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// A time later by a duration.
pub(crate) fn after(time: Timestamp, wait: Duration) -> Timestamp {
    Timestamp::from_millis(time.as_millis().saturating_add(millis(wait)))
}

/// A time earlier by a duration.
pub(crate) fn before(time: Timestamp, span: Duration) -> Timestamp {
    Timestamp::from_millis(time.as_millis().saturating_sub(millis(span)))
}

/// How long it is from one time to a later one; nothing when it is not later.
pub(crate) fn between(from: Timestamp, to: Timestamp) -> Duration {
    let left = to.as_millis().saturating_sub(from.as_millis());
    Duration::from_millis(u64::try_from(left).unwrap_or(0))
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
