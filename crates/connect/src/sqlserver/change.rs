//! A session that changes a database of SQL Server. A batch is sent as it is: what is in it is not taken apart.

use std::time::Duration;

use super::access::Access;
use super::blocking::BlockingConnection;
use super::connection::Columns;
use crate::address::Address;
use crate::error::SourceError;
use crate::refused::ChangeError;
use crate::remote::Value;
use crate::secret::Secret;

const BEGIN: &str = include_str!("sql/change_begin.sql");
const OPEN: &str = include_str!("sql/change_open.sql");
const COMMIT: &str = include_str!("sql/change_commit.sql");
const ROLL_BACK: &str = include_str!("sql/change_roll_back.sql");
/// What messages call a batch.
const BATCH: &str = "iostall:change";

pub struct SqlServerChange {
    connection: BlockingConnection,
}

impl SqlServerChange {
    pub(crate) fn open(address: &Address, password: &Secret, limit: Duration) -> Result<Self, SourceError> {
        let access = Access::new(address, password, limit)?;
        Ok(Self { connection: BlockingConnection::open(address, &access, limit)? })
    }

    pub(crate) fn begin(&mut self) -> Result<(), ChangeError> {
        self.batch(BEGIN).map(drop)
    }

    pub(crate) fn run(&mut self, statement: &str) -> Result<(), ChangeError> {
        self.batch(statement)?;
        if self.open_transactions()?.as_deref() == Some("1") { Ok(()) } else { Err(ChangeError::Ended) }
    }

    pub(crate) fn value(&mut self, query: &str) -> Result<Option<String>, ChangeError> {
        let rows = self.batch(query)?;
        one_value(rows)
    }

    pub(crate) fn commit(&mut self) -> Result<(), ChangeError> {
        self.batch(COMMIT).map(drop)
    }

    pub(crate) fn roll_back(&mut self) -> Result<(), ChangeError> {
        self.batch(ROLL_BACK).map(drop)
    }

    fn open_transactions(&mut self) -> Result<Option<String>, ChangeError> {
        let rows = self.batch(OPEN)?;
        one_value(rows)
    }

    fn batch(&mut self, text: &str) -> Result<Vec<Columns>, ChangeError> {
        self.connection.batch(BATCH, text).map_err(|error| match error {
            SourceError::Query { source_name, reason, .. }
            | SourceError::Denied { source_name, reason, .. } => ChangeError::Refused { source_name, reason },
            other => other.into(),
        })
    }
}

fn one_value(rows: Vec<Columns>) -> Result<Option<String>, ChangeError> {
    let count = rows.len();
    let mut rows = rows.into_iter();
    let Some(first) = rows.next() else { return Ok(None) };
    if count > 1 || first.len() != 1 {
        return Err(ChangeError::not_one(first.len(), count));
    }
    Ok(first.into_iter().next().and_then(|(_, value)| match value {
        Value::Text(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Missing => None,
    }))
}
