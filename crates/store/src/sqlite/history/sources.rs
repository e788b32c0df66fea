//! The sources in a file: their numbers and ids.

use iostall_measure::clock::utc_now;
use rusqlite::{Connection, OptionalExtension, Row, named_params};

use super::columns::{SourceNumber, from_utc_ns};
use super::{SqliteHistory, statements};
use crate::error::StoreError;
use crate::history::{Source, SourceId, Watched};
use crate::sqlite::{begin, fault, parsed};

impl SqliteHistory {
    pub(super) fn number(&self, source: SourceId) -> Result<SourceNumber, StoreError> {
        let find = || {
            self.connection
                .prepare_cached(statements::FIND_SOURCE)?
                .query_row(named_params! {":id": source.to_string()}, |row| row.get(0))
                .optional()
        };
        let number: Option<u32> = find().map_err(fault(&self.path, "read"))?;
        number
            .map(SourceNumber)
            .ok_or_else(|| StoreError::NoSource { store: self.path.display().to_string(), id: source })
    }

    pub(super) fn own_source(&self, name: &str) -> Result<(SourceNumber, Source), StoreError> {
        let (id, store) = (SourceId::new(utc_now()).to_string(), self.id.to_string());
        let find = || {
            let transaction = begin(&self.connection, &self.path, 0)?;
            let parameters = named_params! {":id": id, ":store": store, ":name": name};
            transaction.execute(statements::ADD_SOURCE, parameters)?;
            let parameters = named_params! {":store": store, ":name": name};
            let found = transaction.query_row(statements::FIND_OWN_SOURCE, parameters, |row| {
                Ok((SourceNumber(row.get("number")?), described(row)?))
            })?;
            transaction.commit()?;
            Ok(found)
        };
        find().map_err(fault(&self.path, "write to"))
    }

    pub(super) fn numbers(&self) -> Result<Vec<SourceNumber>, StoreError> {
        let all = || {
            let mut statement = self.connection.prepare_cached(statements::LIST_NUMBERS)?;
            let rows = statement.query_map([], |row| row.get(0).map(SourceNumber))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        all().map_err(fault(&self.path, "read"))
    }

    pub(super) fn described(&self, source: SourceId) -> Result<Source, StoreError> {
        self.connection
            .query_row(statements::DESCRIBE_SOURCE, named_params! {":id": source.to_string()}, described)
            .map_err(fault(&self.path, "read"))
    }
}

pub(super) fn put(connection: &Connection, source: &Source) -> rusqlite::Result<SourceNumber> {
    let parameters = named_params! {
        ":id": source.id.to_string(),
        ":store": source.store.to_string(),
        ":name": source.name,
    };
    connection.query_row(statements::PUT_SOURCE, parameters, |row| row.get(0).map(SourceNumber))
}

pub(super) fn list(connection: &Connection) -> rusqlite::Result<Vec<Watched>> {
    let mut statement = connection.prepare_cached(statements::LIST_SOURCES)?;
    let rows = statement.query_map([], |row| {
        Ok(Watched {
            source: described(row)?,
            first: row.get::<_, Option<i64>>("first_utc_ns")?.map(from_utc_ns),
            last: row.get::<_, Option<i64>>("last_utc_ns")?.map(from_utc_ns),
        })
    })?;
    rows.collect()
}

pub(super) fn last_appended(connection: &Connection, source: SourceNumber) -> rusqlite::Result<i64> {
    connection.query_row(statements::FIND_APPENDED, named_params! {":source": source.0}, |row| row.get(0))
}

pub(super) fn mark_appended(
    connection: &Connection,
    source: SourceNumber,
    sequence: i64,
) -> rusqlite::Result<()> {
    let parameters = named_params! {":source": source.0, ":sequence": sequence};
    connection.execute(statements::MARK_APPENDED, parameters).map(drop)
}

fn described(row: &Row<'_>) -> rusqlite::Result<Source> {
    Ok(Source {
        id: parsed(row, "id", str::parse)?,
        store: parsed(row, "store", str::parse)?,
        name: row.get("name")?,
    })
}
