//! Columns of more than one statement.

use rusqlite::Row;

/// Reads a text column with `parse`.
pub(super) fn parsed<T, E: std::error::Error + Send + Sync + 'static>(
    row: &Row<'_>,
    column: &str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> rusqlite::Result<T> {
    parse(row.get_ref(column)?.as_str()?).map_err(not_readable)
}

pub(super) fn unsigned(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<u64>> {
    row.get::<_, Option<i64>>(column)?.map(|value| u64::try_from(value).map_err(not_readable)).transpose()
}

pub(super) fn not_writable(error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

pub(super) fn not_readable(error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
}
