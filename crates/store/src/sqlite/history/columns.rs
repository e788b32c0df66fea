//! Columns that several tables of the history have.

use jiff::Timestamp;

/// The number of a watched source in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SourceNumber(pub(super) u32);

/// The error for an unreadable body, in the form of an SQLite error.
pub(super) fn damage(what: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Blob, what.into())
}

/// Nanoseconds since 1970, limited to the range of the column: 1677 to 2262.
pub(super) fn utc_ns(at: Timestamp) -> i64 {
    let end = if at < Timestamp::UNIX_EPOCH { i64::MIN } else { i64::MAX };
    i64::try_from(at.as_nanosecond()).unwrap_or(end)
}

pub(super) fn from_utc_ns(ns: i64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(ns)).unwrap_or(Timestamp::UNIX_EPOCH)
}
