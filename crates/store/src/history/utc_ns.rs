//! Calendar time as stores keep it: nanoseconds since 1970, UTC.

use jiff::Timestamp;

/// Nanoseconds since 1970, limited to the range of the column: 1677 to 2262.
pub(crate) fn utc_ns(at: Timestamp) -> i64 {
    let end = if at < Timestamp::UNIX_EPOCH { i64::MIN } else { i64::MAX };
    i64::try_from(at.as_nanosecond()).unwrap_or(end)
}

pub(crate) fn from_utc_ns(ns: i64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(ns)).unwrap_or(Timestamp::UNIX_EPOCH)
}
