//! One time format everywhere: RFC 3339, UTC, milliseconds.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Milliseconds since the Unix epoch, shown as RFC 3339 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

/// A text or number that is no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimestampError(String);

impl fmt::Display for TimestampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no RFC 3339 time", self.0)
    }
}

impl std::error::Error for TimestampError {}

/// The last second that every zone can show as a four-digit year.
const MAX_MILLIS: i64 = 253_402_200_000_000;
/// 0001-01-01T00:00:00.000Z, the first four-digit year.
const MIN_MILLIS: i64 = -62_135_596_800_000;

impl Timestamp {
    /// A time from Unix milliseconds, held within what RFC 3339 can show.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(MIN_MILLIS, MAX_MILLIS))
    }

    /// Milliseconds since the Unix epoch.
    pub fn as_millis(self) -> i64 {
        self.0
    }
}

impl From<std::time::SystemTime> for Timestamp {
    fn from(time: std::time::SystemTime) -> Self {
        let millis = match time.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()).unwrap_or(MAX_MILLIS),
            Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(MAX_MILLIS),
        };
        Self::from_millis(millis)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{time:.3}"),
            Err(_) => f.write_str("0001-01-01T00:00:00.000Z"),
        }
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>()
            .map(|time| Self::from_millis(time.as_millisecond()))
            .map_err(|_| TimestampError(text.chars().take(60).collect()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_with_milliseconds_in_utc() {
        assert_eq!(
            Timestamp::from_millis(1_796_046_950_140).to_string(),
            "2026-11-30T13:55:50.140Z"
        );
        assert_eq!(
            Timestamp::from_millis(0).to_string(),
            "1970-01-01T00:00:00.000Z"
        );
    }

    #[test]
    fn offsets_and_nanoseconds_are_read() {
        let time: Timestamp = "2026-11-30T15:55:50.140999999+02:00".parse().unwrap();
        assert_eq!(time.as_millis(), 1_796_046_950_140);
        assert!("not a time".parse::<Timestamp>().is_err());
    }

    #[test]
    fn times_beyond_the_format_are_held_at_its_edge() {
        assert_eq!(
            Timestamp::from_millis(i64::MAX).to_string(),
            "9999-12-30T20:00:00.000Z"
        );
        assert_eq!(
            Timestamp::from_millis(i64::MIN).to_string(),
            "0001-01-01T00:00:00.000Z"
        );
    }
}
