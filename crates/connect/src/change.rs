//! Sessions that change a database with statements that somebody else has written.
//!
//! Each statement is sent by itself, in a form in which PostgreSQL and MariaDB take no second one after it. Where the engine can, all of
//! them are one transaction, which ends with the session unless it is committed.

use std::time::Duration;

use crate::address::{Address, Engine};
use crate::error::SourceError;
use crate::mysql::MysqlChange;
use crate::postgres::PostgresChange;
use crate::refused::ChangeError;
use crate::secret::Secret;
use crate::sqlserver::SqlServerChange;

pub enum ChangeSession {
    Postgres(PostgresChange),
    Mysql(MysqlChange),
    SqlServer(Box<SqlServerChange>),
}

impl ChangeSession {
    /// Connects within `limit`, which is the timeout of each statement, too.
    pub fn open(address: &Address, password: &Secret, limit: Duration) -> Result<Self, ChangeError> {
        Ok(match address.engine {
            Engine::Postgres => Self::Postgres(PostgresChange::open(address, password, limit)?),
            Engine::Mysql => Self::Mysql(MysqlChange::open(address, password, limit)?),
            Engine::SqlServer => Self::SqlServer(Box::new(SqlServerChange::open(address, password, limit)?)),
            Engine::Linux | Engine::Smart => {
                let reason = "it is no database".to_owned();
                return Err(SourceError::Connect { source_name: address.to_string(), reason }.into());
            }
        })
    }

    /// Whether several statements are done as a whole or not at all there.
    pub fn is_transactional(engine: Engine) -> bool {
        matches!(engine, Engine::Postgres | Engine::SqlServer)
    }

    pub fn begin(&mut self) -> Result<(), ChangeError> {
        match self {
            Self::Postgres(session) => session.begin(),
            Self::Mysql(session) => session.begin(),
            Self::SqlServer(session) => session.begin(),
        }
    }

    /// Runs a statement, which must leave the transaction open. If it fails, what it has done so far is gone
    /// with the transaction.
    pub fn run(&mut self, statement: &str) -> Result<(), ChangeError> {
        match self {
            Self::Postgres(session) => session.run(statement),
            Self::Mysql(session) => session.run(statement),
            Self::SqlServer(session) => session.run(statement),
        }
    }

    /// The one value that a query gives, as text; `None` if it gives no row, or NULL. The query changes
    /// nothing where the engine can see to that. More than one value is an error.
    pub fn value(&mut self, query: &str) -> Result<Option<String>, ChangeError> {
        match self {
            Self::Postgres(session) => session.value(query),
            Self::Mysql(session) => session.value(query),
            Self::SqlServer(session) => session.value(query),
        }
    }

    /// Makes everything since the beginning of the transaction last. If the connection breaks, nobody knows
    /// whether it lasts.
    pub fn commit(&mut self) -> Result<(), ChangeError> {
        match self {
            Self::Postgres(session) => session.commit(),
            // Each statement was.
            Self::Mysql(_) => Ok(()),
            Self::SqlServer(session) => session.commit(),
        }
    }

    /// Undoes everything since the beginning of the transaction. If the connection is broken, the server does
    /// it.
    pub fn roll_back(&mut self) -> Result<(), ChangeError> {
        match self {
            Self::Postgres(session) => session.roll_back(),
            Self::Mysql(_) => Ok(()),
            Self::SqlServer(session) => session.roll_back(),
        }
    }
}
