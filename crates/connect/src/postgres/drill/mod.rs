//! Sessions with a server that was started on a restored copy, to check the copy.
//!
//! The server listens on a Unix socket in a private directory, and nobody else uses it. A check of a large database takes
//! hours, so every wait looks now and then whether it is still wanted.

use std::path::Path;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, Error, Row, Statement};

use super::login::{Login, explain};
use crate::address::{Address, Auth, Engine, PasswordFrom, Tls};
use crate::error::SourceError;
use crate::remote::runtime;
use crate::restored::{CopyError, wanted};
use crate::secret::Secret;

const SERVER: &str = include_str!("sql/server.sql");
const DATABASES: &str = include_str!("sql/databases.sql");
const AMCHECK_THERE: &str = include_str!("sql/amcheck_there.sql");
const AMCHECK_CREATE: &str = include_str!("sql/amcheck_create.sql");
const AMCHECK_SCHEMA: &str = include_str!("sql/amcheck_schema.sql");
const READER: &str = include_str!("sql/reader.sql");
/// The role that it makes.
const READER_ROLE: &str = "iostall_check";
const WRITABLE: &str = include_str!("sql/writable.sql");
const INDEXES: &str = include_str!("sql/indexes.sql");
const HEAPS: &str = include_str!("sql/heaps.sql");
const CHECK_INDEX: &str = include_str!("sql/check_index.sql");
const CHECK_HEAP: &str = include_str!("sql/check_heap.sql");

/// What the schema of amcheck stands for in the statements that call it.
const SCHEMA: &str = "{schema}";
/// SQLSTATE of a table, a function and a type that is not there.
const UNDEFINED: [&str; 3] = ["42P01", "42883", "42704"];

/// The port whose number is in the name of the socket.
pub const COPY_PORT: u16 = 5432;
/// The server's own limit on a statement. Whoever waits has an earlier one.
const STATEMENT_LIMIT: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Clone, Copy)]
pub struct CopyServer<'a> {
    pub sockets: &'a Path,
    pub role: &'a str,
    pub is_over: &'a dyn Fn() -> bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyFacts {
    /// As `server_version` says.
    pub version: String,
    pub block_bytes: u32,
    pub blocks_per_segment: u32,
    pub has_checksums: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyDatabase {
    pub name: String,
    /// Whether it lets anybody in: `template0` does not.
    pub is_open: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyRelation {
    oid: u32,
    /// With its schema.
    pub name: String,
}

pub struct CopySession<'a> {
    // Dropped first: the connection ends while its runtime is still there.
    client: Client,
    runtime: Runtime,
    server: CopyServer<'a>,
}

/// Where the functions of amcheck are in a database, as SQL writes it.
pub struct Amcheck(String);

impl<'a> CopySession<'a> {
    /// Connects to `database`. [`CopyError::is_not_up_yet`] tells whether to try again.
    pub fn open(server: CopyServer<'a>, database: &str) -> Result<Self, CopyError> {
        let address = Address {
            engine: Engine::Postgres,
            host: server.sockets.display().to_string(),
            port: COPY_PORT,
            instance: None,
            user: server.role.to_owned(),
            database: database.to_owned(),
            password: PasswordFrom::Nowhere,
            auth: Auth::default(),
            tls: Tls::Off,
        };
        let runtime = runtime(&address)?;
        let login = Login::new(&address, &Secret::default(), STATEMENT_LIMIT)?;
        let connecting = async { Ok::<_, SourceError>(login.connect(Some(database)).await?.0) };
        let client = wanted(&runtime, server.is_over, connecting)??;
        Ok(Self { client, runtime, server })
    }

    pub fn facts(&self) -> Result<CopyFacts, CopyError> {
        let rows = self.rows(SERVER, &[])?;
        let row = rows.first().ok_or_else(|| CopyError::Said("it does not describe itself".to_owned()))?;
        let checksums: String = column(row, "checksums")?;
        Ok(CopyFacts {
            version: column(row, "version")?,
            block_bytes: number(row, "block_bytes")?,
            blocks_per_segment: number(row, "blocks_per_segment")?,
            has_checksums: checksums == "on",
        })
    }

    /// All databases, by name.
    pub fn databases(&self) -> Result<Vec<CopyDatabase>, CopyError> {
        self.rows(DATABASES, &[])?.iter().map(database).collect()
    }

    /// Has the functions of amcheck in this database. `None` if the extension is not installed.
    pub fn amcheck(&self) -> Result<Option<Amcheck>, CopyError> {
        let rows = self.rows(AMCHECK_THERE, &[])?;
        if !rows.first().map_or(Ok(false), |row| column(row, "is_there"))? {
            return Ok(None);
        }
        self.execute(WRITABLE)?;
        self.execute(AMCHECK_CREATE)?;
        self.rows(AMCHECK_SCHEMA, &[])?.first().map(|row| column(row, "schema").map(Amcheck)).transpose()
    }

    /// The indexes that amcheck can check.
    pub fn indexes(&self) -> Result<Vec<CopyRelation>, CopyError> {
        self.relations(INDEXES)
    }

    /// The tables that amcheck can check, from PostgreSQL 14.
    pub fn heaps(&self) -> Result<Vec<CopyRelation>, CopyError> {
        self.relations(HEAPS)
    }

    /// Checks the order of an index. What is wrong is the server's error.
    pub fn check_index(&self, amcheck: &Amcheck, index: &CopyRelation) -> Result<(), CopyError> {
        self.rows(&CHECK_INDEX.replace(SCHEMA, &amcheck.0), &[&index.oid]).map(drop)
    }

    /// Checks the rows of a table. The first few things that are wrong; the server's error if a page cannot be read.
    pub fn check_heap(&self, amcheck: &Amcheck, heap: &CopyRelation) -> Result<Vec<String>, CopyError> {
        let found = self.rows(&CHECK_HEAP.replace(SCHEMA, &amcheck.0), &[&heap.oid])?;
        found.iter().map(|row| column(row, "problem")).collect()
    }

    /// A session in the same database that may read everything and do nothing else: what is read there may run code of its owner.
    pub fn reader(&self, database: &str) -> Result<Self, CopyError> {
        self.execute(WRITABLE)?;
        self.execute(READER)?;
        Self::open(CopyServer { role: READER_ROLE, ..self.server }, database)
    }

    /// Whether a statement of the user holds: it runs without an error, and where its first column is a truth value, there is a
    /// row, and the value is true in every row. Its names are not looked up where the owner of the database says, but in the
    /// server's own catalog: those of tables carry their schema.
    pub fn holds(&self, statement: &str) -> Result<bool, CopyError> {
        let prepared = wanted(&self.runtime, self.server.is_over, self.client.prepare(statement))?;
        let statement: Statement = prepared.map_err(|error| {
            let is_unknown = error.code().is_some_and(|state| UNDEFINED.contains(&state.code()));
            let hint = if is_unknown { ": write it with its schema, such as public.orders" } else { "" };
            CopyError::Said(explain(&error) + hint)
        })?;
        let rows: Vec<Row> = self.wait(self.client.query(&statement, &[]))?;
        if statement.columns().first().is_none_or(|column| *column.type_() != Type::BOOL) {
            return Ok(true);
        }
        let is_true = |row: &Row| row.try_get::<_, Option<bool>>(0).is_ok_and(|value| value == Some(true));
        Ok(!rows.is_empty() && rows.iter().all(is_true))
    }

    fn relations(&self, text: &str) -> Result<Vec<CopyRelation>, CopyError> {
        self.rows(text, &[])?.iter().map(relation).collect()
    }

    fn rows(&self, text: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, CopyError> {
        self.wait(self.client.query(text, values))
    }

    fn execute(&self, text: &str) -> Result<(), CopyError> {
        self.wait(self.client.batch_execute(text))
    }

    fn wait<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, CopyError> {
        wanted(&self.runtime, self.server.is_over, work)?.map_err(|error| said(&error))
    }
}

fn said(error: &Error) -> CopyError {
    CopyError::Said(explain(error))
}

fn database(row: &Row) -> Result<CopyDatabase, CopyError> {
    Ok(CopyDatabase { name: column(row, "name")?, is_open: column(row, "is_open")? })
}

fn relation(row: &Row) -> Result<CopyRelation, CopyError> {
    Ok(CopyRelation { oid: column(row, "oid")?, name: column(row, "name")? })
}

fn column<'r, T: FromSql<'r>>(row: &'r Row, name: &'static str) -> Result<T, CopyError> {
    row.try_get(name).map_err(|error| said(&error))
}

fn number(row: &Row, name: &'static str) -> Result<u32, CopyError> {
    let text: String = column(row, name)?;
    text.parse().map_err(|_| CopyError::Said(format!("its {name} is {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_carries_its_tag() {
        let all = [
            SERVER,
            DATABASES,
            AMCHECK_THERE,
            AMCHECK_CREATE,
            AMCHECK_SCHEMA,
            READER,
            WRITABLE,
            INDEXES,
            HEAPS,
            CHECK_INDEX,
            CHECK_HEAP,
        ];
        assert!(all.iter().all(|text| text.starts_with("/* iostall:drill_")), "{all:?}");
    }

    #[test]
    fn nothing_that_listens_yet_is_worth_another_try() {
        let nowhere = tempfile::tempdir().unwrap();
        let server = CopyServer { sockets: nowhere.path(), role: "postgres", is_over: &|| false };
        let error = CopySession::open(server, "postgres").err().unwrap();
        assert!(error.is_not_up_yet(), "{error}");
    }
}
