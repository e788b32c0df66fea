//! Sources that are sampled from the centre, one process at a time.
//!
//! Whoever samples a source holds an advisory lock on it, which ends with the connection. A transaction that adds samples takes the
//! same lock for itself: a connection that was replaced unnoticed adds nothing to what another process has taken over meanwhile.

use jiff::Timestamp;

use super::columns::storable;
use super::database::Database;
use super::statements;
use crate::error::StoreError;
use crate::history::{Source, SourceId, StoreId, from_utc_ns};
use crate::repository_error::RepositoryError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    Ours,
    Theirs,
    Nobody,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    pub holder: Holder,
    /// The number of the last batch that was appended; 0 if there is none.
    pub appended: u64,
    /// When the sample that was added last was taken, if it is still there.
    pub newest: Option<Timestamp>,
    /// The latest time of all its samples. Another one than `newest` where a clock was set back.
    pub latest: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PulledAppend {
    Added,
    /// It was there already; nothing changed.
    AlreadyThere,
    /// Another one holds the source; nothing changed.
    NotHeld,
    /// The source is not where the caller believed; nothing changed.
    NotNext,
}

impl Database {
    pub(super) fn put_pulled(&self, server: &str, name: &str) -> Result<Source, StoreError> {
        let (server, name) = (storable(server), storable(name));
        let store = StoreId::of_pulled(self.id, &server);
        let id = SourceId::of_pulled(store, &name);
        let number = self.put_server(&store.to_string())?;
        self.session.rows(statements::ADD_SOURCE, &[&id.to_string(), &number, &name.as_ref()])?;
        Ok(Source { id, store, name: name.into_owned() })
    }

    pub(super) fn hold(&self, source: SourceId, takes: bool) -> Result<Holding, StoreError> {
        let rows = self.session.rows(statements::HOLD_SOURCE, &[&source.to_string(), &takes])?;
        let missing = || StoreError::NoSource { store: self.session.name().to_owned(), id: source };
        let row = rows.first().ok_or_else(missing)?;
        let holder = match self.column(row, 0)? {
            "ours" => Holder::Ours,
            "theirs" => Holder::Theirs,
            _ => Holder::Nobody,
        };
        Ok(Holding {
            holder,
            appended: self.column::<i64>(row, 1)?.cast_unsigned(),
            latest: self.column::<Option<i64>>(row, 2)?.map(from_utc_ns),
            newest: self.column::<Option<i64>>(row, 3)?.map(from_utc_ns),
        })
    }

    pub(super) fn release(&self, source: SourceId) -> Result<(), RepositoryError> {
        self.session.rows(statements::RELEASE_SOURCE, &[&source.to_string()]).map(drop)
    }

    /// Whether nobody else holds `source`, until the end of the transaction.
    pub(super) fn is_ours_to_write(&self, source: SourceId) -> Result<bool, RepositoryError> {
        let row = self.session.row(statements::HOLD_FOR_TRANSACTION, &[&source.to_string()])?;
        self.column(&row, 0)
    }
}
