//! What every source can do, and how it fails.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use iostall_model::{Sample, Subject};
use thiserror::Error;

use crate::address::{Address, Engine};
use crate::linux::LinuxSource;
use crate::mysql::MysqlSource;
use crate::postgres::PostgresSource;
use crate::secret::Secret;
use crate::sqlserver::SqlServerSource;

/// A server or host whose counters can be read.
pub trait Source: Send {
    /// Reads every counter once, connecting first where there is no connection. Takes no longer than the limit
    /// the source was opened with; after an error the next call connects anew.
    fn read(&mut self) -> Result<Sample, SourceError>;
}

/// Why a source could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// No answer within the limit.
    #[error("{source_name} did not answer within {limit:?}")]
    TimedOut {
        /// Which source.
        source_name: String,
        /// The limit.
        limit: Duration,
    },
    /// No connection.
    #[error("cannot connect to {source_name}: {reason}")]
    Connect {
        /// Which source.
        source_name: String,
        /// What the driver said.
        reason: String,
    },
    /// The server does not know the login, its password or its database.
    #[error("{source_name} refused the login {user:?}: {reason}")]
    Login {
        /// Which source.
        source_name: String,
        /// Who wanted in.
        user: String,
        /// What the server said.
        reason: String,
    },
    /// The login may not read what it asked for.
    #[error(
        "{source_name} lets the login {user:?} in, but not at the counters: {reason}; \
         iostall collect grants {engine} prints the statements for an administrator to run"
    )]
    Denied {
        /// Which source.
        source_name: String,
        /// Who asked.
        user: String,
        /// The engine, as `iostall collect grants` calls it.
        engine: &'static str,
        /// What the server said.
        reason: String,
    },
    /// There is no management database where one was said to be.
    #[error(
        "{source_name} holds nothing that iostall sampled there: {reason}; \
         name the database with the schema iostall, as in sqlserver://USER@HOST/DATABASE"
    )]
    NoHistory {
        /// Which source.
        source_name: String,
        /// What the server said.
        reason: String,
    },
    /// A query failed.
    #[error("{source_name} refused the query {query}: {reason}")]
    Query {
        /// Which source.
        source_name: String,
        /// The tag of the query.
        query: &'static str,
        /// What the server said.
        reason: String,
    },
    /// The server is older than the counters.
    #[error("{source_name} is version {version}; iostall reads {oldest} and later")]
    TooOld {
        /// Which source.
        source_name: String,
        /// Its version.
        version: String,
        /// The oldest that is read.
        oldest: &'static str,
    },
    /// A file of the host could not be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    HostFile {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The password file could not be read.
    #[error("cannot read the password file {path}: {source}", path = path.display())]
    PasswordFile {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The password's variable is not set.
    #[error("the environment variable {name}, which should hold a password, is not set")]
    PasswordVariable {
        /// Its name.
        name: String,
    },
    /// TLS could not be set up.
    #[error("cannot set up TLS for {source_name}: {reason}")]
    Tls {
        /// Which source.
        source_name: String,
        /// Why.
        reason: String,
    },
}

/// Which rows to keep. Empty lists keep everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Names of databases. Rows that belong to no database are kept.
    pub databases: Vec<String>,
    /// Parts of names of files, relations or devices.
    pub names: Vec<String>,
}

impl Filter {
    /// Whether a row about `subject` is wanted.
    pub fn keeps(&self, subject: &Subject) -> bool {
        let in_database = self.databases.is_empty()
            || subject.database.is_empty()
            || self.databases.contains(&subject.database);
        let named =
            self.names.is_empty() || self.names.iter().any(|part| subject.name.contains(part.as_str()));
        in_database && named
    }
}

/// Opens a source without connecting: the first reading connects. `limit` bounds every reading.
pub fn open(address: Address, password: Secret, limit: Duration) -> Result<Box<dyn Source>, SourceError> {
    Ok(match address.engine {
        Engine::Linux => Box::new(LinuxSource::new()),
        Engine::Postgres => Box::new(PostgresSource::new(address, password, limit)?),
        Engine::Mysql => Box::new(MysqlSource::new(address, password, limit)?),
        Engine::SqlServer => Box::new(SqlServerSource::new(address, password, limit)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_model::Kind;

    #[test]
    fn a_filter_keeps_named_databases_and_what_belongs_to_none() {
        let filter = Filter { databases: vec!["sales".into()], names: vec![] };
        let subject = |database: &str| Subject {
            kind: Kind::PostgresTable,
            database: database.into(),
            name: "t".into(),
            identity: "1".into(),
            volume: None,
        };
        assert!(filter.keeps(&subject("sales")) && filter.keeps(&subject("")));
        assert!(!filter.keeps(&subject("stock")));
    }
}
