//! A session that changes a database of MariaDB or MySQL, which commit each such statement by itself.

use std::time::Duration;

use iostall_measure::foreign;
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Row, Value};
use tokio::runtime::Runtime;

use super::login::Login;
use crate::address::Address;
use crate::error::SourceError;
use crate::refused::ChangeError;
use crate::remote::{bounded, runtime};
use crate::secret::Secret;

const BEGIN: &str = include_str!("sql/change_begin.sql");
const LOOK: &str = include_str!("sql/change_look.sql");
const LOOKED: &str = include_str!("sql/change_looked.sql");

pub struct MysqlChange {
    // Dropped first: the connection ends while its runtime is still there.
    connection: Conn,
    runtime: Runtime,
    address: Address,
    limit: Duration,
}

impl MysqlChange {
    pub(crate) fn open(address: &Address, password: &Secret, limit: Duration) -> Result<Self, SourceError> {
        let runtime = runtime(address)?;
        let login = Login::new(address.clone(), password.clone())?;
        let connection = bounded(&runtime, address, limit, login.connect())?;
        Ok(Self { connection, runtime, address: address.clone(), limit })
    }

    /// There is no transaction, only a limit to waiting for locks.
    pub(crate) fn begin(&mut self) -> Result<(), ChangeError> {
        self.batch(BEGIN)
    }

    pub(crate) fn run(&mut self, statement: &str) -> Result<(), ChangeError> {
        self.rows(statement).map(drop)
    }

    pub(crate) fn value(&mut self, query: &str) -> Result<Option<String>, ChangeError> {
        self.batch(LOOK)?;
        let rows = self.rows(query);
        self.batch(LOOKED)?;
        let rows = rows?;
        let Some(first) = rows.first() else { return Ok(None) };
        if rows.len() > 1 || first.len() != 1 {
            return Err(ChangeError::not_one(first.len(), rows.len()));
        }
        Ok(first.as_ref(0).and_then(text))
    }

    /// A prepared statement is one: the server takes no second one with it.
    fn rows(&mut self, statement: &str) -> Result<Vec<Row>, ChangeError> {
        let Self { connection, runtime, address, limit } = self;
        let answer = async { Ok(connection.exec::<Row, _, _>(statement, ()).await) };
        bounded(runtime, address, *limit, answer)?.map_err(|error| failed(address, error))
    }

    /// Runs a statement that this program wrote.
    fn batch(&mut self, text: &str) -> Result<(), ChangeError> {
        let Self { connection, runtime, address, limit } = self;
        let answer = async { Ok(connection.query_drop(text).await) };
        bounded(runtime, address, *limit, answer)?.map_err(|error| failed(address, error))
    }
}

fn failed(address: &Address, error: mysql_async::Error) -> ChangeError {
    let source_name = address.to_string();
    match error {
        mysql_async::Error::Server(said) => {
            let reason = format!("{} (error {})", foreign::said(&said.message), said.code);
            ChangeError::Refused { source_name, reason }
        }
        other => SourceError::Connect { source_name, reason: foreign::said(&other.to_string()) }.into(),
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        other => Some(other.as_sql(true)),
    }
}
