//! The sources in a repository: their numbers, ids and locks.

use iostall_measure::clock::utc_now;
use tokio_postgres::Row;

use super::chain::RolledUp;
use super::columns::{SourceNumber, storable};
use super::database::Database;
use super::statements;
use crate::error::StoreError;
use crate::history::{Source, SourceId, Watched, from_utc_ns};
use crate::repository_error::RepositoryError;

pub(super) struct Locked {
    pub(super) number: SourceNumber,
    pub(super) id: SourceId,
    pub(super) last: i64,
    pub(super) rolled_up: RolledUp,
    pub(super) appended: i64,
}

impl Database {
    pub(super) fn number(&self, source: SourceId) -> Result<SourceNumber, StoreError> {
        let rows = self.session.rows(statements::FIND_SOURCE, &[&source.to_string()])?;
        let row = rows.first().ok_or_else(|| self.no_source(source))?;
        Ok(SourceNumber(self.column(row, 0)?))
    }

    pub(super) fn own_source(&self, name: &str) -> Result<Source, StoreError> {
        let transaction = self.session.begin()?;
        let server = self.put_server(&self.id.to_string())?;
        let (store, name) = (self.id, storable(name).into_owned());
        let found = self.session.rows(statements::FIND_OWN_SOURCE, &[&store.to_string(), &name])?;
        let id = if let Some(row) = found.first() {
            self.id_in(row, 1)?
        } else {
            let id = SourceId::new(utc_now());
            self.session.rows(statements::ADD_SOURCE, &[&id.to_string(), &server, &name])?;
            id
        };
        transaction.commit()?;
        Ok(Source { id, store, name })
    }

    pub(super) fn lock(&self, source: SourceId) -> Result<Locked, StoreError> {
        self.lock_if_there(source)?.map(|(locked, _)| locked).ok_or_else(|| self.no_source(source))
    }

    /// Locks `source`, which is added if it is not there, under its current name.
    pub(super) fn lock_or_add(&self, source: &Source) -> Result<Locked, StoreError> {
        let name = storable(&source.name);
        if let Some((locked, stored)) = self.lock_if_there(source.id)? {
            if stored != name {
                self.session.execute(statements::RENAME_SOURCE, &[&locked.number.0, &name.as_ref()])?;
            }
            return Ok(locked);
        }
        let server = self.put_server(&source.store.to_string())?;
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
            [&source.id.to_string(), &server, &name.as_ref()];
        self.session.rows(statements::ADD_SOURCE, &values)?;
        self.lock(source.id)
    }

    fn lock_if_there(&self, source: SourceId) -> Result<Option<(Locked, String)>, RepositoryError> {
        let rows = self.session.rows(statements::LOCK_SOURCE, &[&source.to_string()])?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some((self.locked_in(row, source)?, self.column(row, 1)?)))
    }

    pub(super) fn locked_in(&self, row: &Row, id: SourceId) -> Result<Locked, RepositoryError> {
        Ok(Locked {
            number: SourceNumber(self.column(row, 0)?),
            id,
            last: self.column(row, 2)?,
            rolled_up: RolledUp { to: self.column(row, 3)?, utc_ns: self.column(row, 4)? },
            appended: self.column(row, 5)?,
        })
    }

    /// The number of the server of `store`, which is added if it is not there.
    pub(super) fn put_server(&self, store: &str) -> Result<i32, RepositoryError> {
        self.column(&self.session.row(statements::PUT_SERVER, &[&store])?, 0)
    }

    pub(super) fn list(&self) -> Result<Vec<Watched>, RepositoryError> {
        let watched = |row: &Row| {
            Ok(Watched {
                source: Source {
                    id: self.id_in(row, 0)?,
                    store: self.parsed(row, 1)?,
                    name: self.column(row, 2)?,
                },
                first: self.column::<Option<i64>>(row, 4)?.map(from_utc_ns),
                last: self.column::<Option<i64>>(row, 3)?.map(from_utc_ns),
            })
        };
        self.session.rows(statements::LIST_SOURCES, &[])?.iter().map(watched).collect()
    }

    pub(super) fn described(&self, source: SourceNumber) -> Result<Source, RepositoryError> {
        let row = self.session.row(statements::DESCRIBE_SOURCE, &[&source.0])?;
        Ok(Source { id: self.id_in(&row, 0)?, store: self.parsed(&row, 1)?, name: self.column(&row, 2)? })
    }

    pub(super) fn last_appended(&self, source: SourceNumber) -> Result<i64, RepositoryError> {
        self.column(&self.session.row(statements::FIND_APPENDED, &[&source.0])?, 0)
    }

    pub(super) fn column<'a, T: tokio_postgres::types::FromSql<'a>>(
        &self,
        row: &'a Row,
        place: usize,
    ) -> Result<T, RepositoryError> {
        row.try_get(place).map_err(|error| self.unreadable(&error))
    }

    fn id_in(&self, row: &Row, place: usize) -> Result<SourceId, RepositoryError> {
        self.parsed(row, place)
    }

    pub(super) fn parsed<T: std::str::FromStr>(&self, row: &Row, place: usize) -> Result<T, RepositoryError> {
        let text: &str = self.column(row, place)?;
        text.parse().map_err(|_| self.session.damaged("an id is none"))
    }

    fn no_source(&self, id: SourceId) -> StoreError {
        StoreError::NoSource { store: self.session.name().to_owned(), id }
    }
}
