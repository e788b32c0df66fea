//! Tables of samples that TimescaleDB keeps, in a database that has the extension: it makes the partitions, and compresses old ones
//! where its licence has that.

use jiff::Timestamp;

use super::columns::UtcMicros;
use super::session::Session;
use super::statements;
use crate::repository_error::RepositoryError;

/// From this version on rows that come late are taken in, and those of a source removed, where chunks are compressed.
const OLDEST: (u32, u32) = (2, 11);

/// Makes the tables of samples, which must be empty, hypertables, if the database has a TimescaleDB for it.
pub(super) fn make(session: &Session) -> Result<(), RepositoryError> {
    let Some(extension) = Extension::find(session)?.filter(|found| has_what_is_used(&found.version)) else {
        return Ok(());
    };
    session.run("create", &statements::TIMESCALEDB_MAKE.replace("{schema}", &extension.schema))?;
    if extension.compresses {
        session.run("create", &statements::TIMESCALEDB_COMPRESS.replace("{schema}", &extension.schema))?;
    }
    Ok(())
}

pub(super) fn are_there(session: &Session) -> Result<bool, RepositoryError> {
    let row = session.row(statements::TIMESCALEDB_ARE_THERE, &[])?;
    row.try_get(0).map_err(|error| session.unreadable(&error))
}

pub(super) fn version(session: &Session) -> Result<Option<String>, RepositoryError> {
    if !are_there(session)? {
        return Ok(None);
    }
    Ok(Extension::find(session)?.map(|extension| extension.version))
}

/// The chunks of `table` as SQL calls them, with their ends, the oldest first.
pub(super) fn chunks(session: &Session, table: &str) -> Result<Vec<(String, Timestamp)>, RepositoryError> {
    let mut chunks = Vec::new();
    for row in session.rows(statements::TIMESCALEDB_LIST_CHUNKS, &[&table])? {
        let name = row.try_get("name").map_err(|error| session.unreadable(&error))?;
        let end: UtcMicros = row.try_get("range_end").map_err(|error| session.unreadable(&error))?;
        chunks.push((name, end.timestamp()));
    }
    Ok(chunks)
}

struct Extension {
    version: String,
    schema: String,
    compresses: bool,
}

impl Extension {
    fn find(session: &Session) -> Result<Option<Self>, RepositoryError> {
        let rows = session.rows(statements::TIMESCALEDB_FIND, &[])?;
        let Some(row) = rows.first() else { return Ok(None) };
        let unreadable = |error: tokio_postgres::Error| session.unreadable(&error);
        Ok(Some(Self {
            version: row.try_get("version").map_err(unreadable)?,
            schema: row.try_get("schema").map_err(unreadable)?,
            compresses: row.try_get("compresses").map_err(unreadable)?,
        }))
    }
}

fn has_what_is_used(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= OLDEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for (version, is_enough) in [
            ("2.11.0", true),
            ("2.9.3", false),
            ("2.28.3", true),
            ("3.0.0-dev", true),
            ("1.99", false),
            ("", false),
        ] {
            assert_eq!(has_what_is_used(version), is_enough, "{version}");
        }
    }
}
