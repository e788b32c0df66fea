//! Columns that several tables of the history have.

pub(super) use crate::history::{from_utc_ns, utc_ns};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SourceNumber(pub(super) u32);

/// The error for an unreadable body, in the form of an SQLite error.
pub(super) fn damage(what: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Blob, what.into())
}
