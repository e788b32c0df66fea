//! A session that changes a database of PostgreSQL.

use std::time::Duration;

use tokio::runtime::Runtime;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::login::{Login, explain};
use crate::address::Address;
use crate::error::SourceError;
use crate::refused::ChangeError;
use crate::remote::{bounded, runtime};
use crate::secret::Secret;

const BEGIN: &str = include_str!("sql/change_begin.sql");
const ID: &str = include_str!("sql/change_id.sql");
const LOOK: &str = include_str!("sql/change_look.sql");
const LOOKED: &str = include_str!("sql/change_looked.sql");
const COMMIT: &str = include_str!("sql/change_commit.sql");
const ROLL_BACK: &str = include_str!("sql/change_roll_back.sql");
/// The server ends a statement a little earlier than this side gives up.
const LATE: Duration = Duration::from_secs(5);

pub struct PostgresChange {
    // Dropped first: the connection ends while its runtime is still there.
    client: Client,
    runtime: Runtime,
    address: Address,
    limit: Duration,
    /// Of the transaction that was begun: another one in its place shows that a statement has ended it.
    id: String,
}

impl PostgresChange {
    pub(crate) fn open(address: &Address, password: &Secret, limit: Duration) -> Result<Self, SourceError> {
        let runtime = runtime(address)?;
        let login = Login::to_write(address, password, limit)?;
        let (client, _) = bounded(&runtime, address, limit, login.connect(None))?;
        Ok(Self { client, runtime, address: address.clone(), limit: limit + LATE, id: String::new() })
    }

    pub(crate) fn begin(&mut self) -> Result<(), ChangeError> {
        self.batch(BEGIN)?;
        self.id = self.transaction()?;
        Ok(())
    }

    pub(crate) fn run(&mut self, statement: &str) -> Result<(), ChangeError> {
        // A prepared statement is one: the server takes no second one with it.
        self.wait(async |client| client.execute(statement, &[]).await)?;
        if self.transaction()? == self.id { Ok(()) } else { Err(ChangeError::Ended) }
    }

    pub(crate) fn value(&mut self, query: &str) -> Result<Option<String>, ChangeError> {
        self.batch(LOOK)?;
        let columns = self.wait(async |client| client.prepare(query).await)?.columns().len();
        let answer = self.wait(async |client| client.simple_query(query).await)?;
        let mut rows = answer.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let first = rows.next();
        let more = rows.count();
        if columns != 1 || more > 0 {
            return Err(ChangeError::not_one(columns, more + usize::from(first.is_some())));
        }
        let value = first.and_then(|row| row.get(0)).map(str::to_owned);
        self.batch(LOOKED)?;
        if self.transaction()? == self.id { Ok(value) } else { Err(ChangeError::Ended) }
    }

    pub(crate) fn commit(&mut self) -> Result<(), ChangeError> {
        self.batch(COMMIT)
    }

    pub(crate) fn roll_back(&mut self) -> Result<(), ChangeError> {
        self.batch(ROLL_BACK)
    }

    fn transaction(&self) -> Result<String, ChangeError> {
        let row = self.wait(async |client| client.query_one(ID, &[]).await)?;
        row.try_get(0).map_err(|error| self.failed(&error))
    }

    fn batch(&self, text: &str) -> Result<(), ChangeError> {
        self.wait(async |client| client.batch_execute(text).await)
    }

    fn wait<T>(
        &self,
        work: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, ChangeError> {
        let answer = async { Ok(work(&self.client).await) };
        let answer = bounded(&self.runtime, &self.address, self.limit, answer)?;
        answer.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &tokio_postgres::Error) -> ChangeError {
        let (source_name, reason) = (self.address.to_string(), explain(error));
        // The server says so itself before it ends a session.
        let has_ended = error.code().is_some_and(|state| state.code().starts_with("57P"));
        if error.as_db_error().is_none() || has_ended {
            return SourceError::Connect { source_name, reason }.into();
        }
        ChangeError::Refused { source_name, reason }
    }
}
