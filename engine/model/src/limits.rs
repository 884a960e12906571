//! What bounds sending where the user sets nothing. It stands here once: the configuration and
//! the pipeline both begin with it, and neither knows the other.

use std::time::Duration;

/// Bytes of a body, before quoting.
pub const BODY_BYTES: usize = 64 * 1024;
/// Stations a message may have behind it.
pub const HOPS: u32 = 8;
/// Messages a minute from one sender to one target.
pub const PAIR_PER_MINUTE: u32 = 10;
/// Messages a minute to one target, whoever sends them.
pub const TARGET_PER_MINUTE: u32 = 30;
/// How long an accepted message may wait to be handed over.
pub const EXPIRY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long one delivery may take, the target's turn included.
pub const DELIVERY: Duration = Duration::from_secs(60 * 60);
/// How long a message is remembered after it was settled.
pub const RETENTION: Duration = Duration::from_secs(90 * 24 * 60 * 60);
