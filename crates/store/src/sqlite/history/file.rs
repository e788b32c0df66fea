//! The file that the history is in.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::chain::Chain;
use super::columns::SourceNumber;
use super::statements;
use crate::error::StoreError;
use crate::history::StoreId;
use crate::sqlite::open::{glance, open as open_connection};
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

    /// Opens it only to read it; `None` if there is none, or one of another version. See
    /// [`SqliteStore::glance`](crate::SqliteStore::glance).
    pub fn glance(path: impl Into<PathBuf>) -> Result<Option<Self>, StoreError> {
        let path = path.into();
        glance(&path)?.map(|connection| Self::on(path, connection)).transpose()
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
