//! The numbers that bound sending. All of them can be set by the user's configuration;
//! the defaults are meant for agents that work, and stop agents that run in circles.

use axiowl_model::limits;
use std::time::Duration;

/// Bounds on messages and their delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Largest body, in bytes, before quoting.
    pub body_bytes: usize,
    /// Longest chain of stations a message may have behind it.
    pub hops: usize,
    /// Messages from one sender to one target within [`Limits::rate_window`].
    pub pair_messages: usize,
    /// Messages to one target within that time, whoever sends them.
    pub target_messages: usize,
    /// The window of the rate caps.
    pub rate_window: Duration,
    /// How long an accepted message may wait to be handed over.
    pub expiry: Duration,
    /// How long one delivery may take, the target's turn included.
    pub delivery: Duration,
    /// How long a delivery worker is trusted without a sign of life.
    pub lease: Duration,
    /// Deliveries that may die before anything was handed over until the message is given up.
    pub attempts: u32,
    /// How long a message that a dead worker had handed over is watched for the end of its turn.
    pub watch: Duration,
    /// Bytes of a child's output that are kept.
    pub output_bytes: usize,
    /// How long a message is remembered after it was settled.
    pub retention: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: limits::BODY_BYTES,
            hops: limits::HOPS as usize,
            pair_messages: limits::PAIR_PER_MINUTE as usize,
            target_messages: limits::TARGET_PER_MINUTE as usize,
            rate_window: Duration::from_secs(60),
            expiry: limits::EXPIRY,
            delivery: limits::DELIVERY,
            lease: Duration::from_secs(30),
            attempts: 5,
            watch: Duration::from_secs(10 * 60),
            output_bytes: 1024 * 1024,
            retention: limits::RETENTION,
        }
    }
}
