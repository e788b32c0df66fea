//! The file that the history is in.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostall_model::Sample;
use rusqlite::Connection;

use super::body::Rows;
use super::columns::SourceNumber;
use super::statements;
use crate::error::StoreError;
use crate::history::{Pending, Series, StoreId};
use crate::sqlite::open::{glance, open as open_connection, open_on_full_disk};
use crate::sqlite::{fault, parsed};

#[derive(Debug)]
pub struct SqliteHistory {
    pub(super) path: PathBuf,
    pub(super) connection: Connection,
    pub(super) id: StoreId,
    pub(super) chains: HashMap<SourceNumber, Chain>,
}

impl SqliteHistory {
    /// Opens the store at `path`, the file that also holds the runs; creates it if it does not exist.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        let connection = open_connection(&path)?;
        Self::on(path, connection)
    }

    /// Opens the store at `path`, if there is one: whoever only reads makes none.
    pub fn open_existing(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        if path.exists() { Self::open(path) } else { Err(StoreError::Missing { path }) }
    }

    /// Opens it only to read it; `None` if there is none, or one of another version. See
    /// [`SqliteStore::glance`](crate::SqliteStore::glance).
    pub fn glance(path: impl Into<PathBuf>) -> Result<Option<Self>, StoreError> {
        let path = path.into();
        glance(&path)?.map(|connection| Self::on(path, connection)).transpose()
    }

    /// Opens it to send what is in it. On a full disk it can only be read: then the second says so, and what was sent is not remembered.
    pub fn open_to_send(path: impl Into<PathBuf>) -> Result<(Self, bool), StoreError> {
        let path = path.into();
        match Self::open(path.clone()) {
            Err(full @ StoreError::Full { .. }) => {
                let connection = open_on_full_disk(&path)?.ok_or(full)?;
                Ok((Self::on(path, connection)?, true))
            }
            opened => Ok((opened?, false)),
        }
    }

    fn on(path: PathBuf, connection: Connection) -> Result<Self, StoreError> {
        let id = store_id(&connection).map_err(fault(&path, "read"))?;
        Ok(Self { path, connection, id, chains: HashMap::new() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn store_id(connection: &Connection) -> rusqlite::Result<StoreId> {
    connection.query_row(statements::FIND_STORE, [], |row| parsed(row, "id", str::parse))
}

#[derive(Debug)]
pub(super) struct Chain {
    pub(super) source: SourceNumber,
    pub(super) before: Option<Arc<Sample>>,
    /// Series numbers of its rows, in order, if this process wrote it.
    pub(super) numbers: Vec<u32>,
    pub(super) rows: Rows,
    /// Bodies written since the last complete one; `None` before this process wrote one.
    pub(super) since_whole: Option<u32>,
    pub(super) series: Series,
    pub(super) epoch: Option<(String, String, u32)>,
    /// Number of the previous sample, or of the last one in the roll-ups.
    pub(super) last: i64,
    pub(super) pending: Pending,
}

impl Chain {
    pub(super) fn new(source: SourceNumber, rolled_up_to: i64) -> Self {
        Self {
            source,
            before: None,
            numbers: Vec::new(),
            rows: Rows::new(),
            since_whole: None,
            series: Series::default(),
            epoch: None,
            last: rolled_up_to,
            pending: Pending::after(rolled_up_to),
        }
    }
}
