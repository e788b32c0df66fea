//! A connection for callers that wait for each answer.

use std::pin::pin;
use std::time::Duration;

use tiberius::ToSql;
use tokio::runtime::Runtime;

use super::access::Access;
use super::connection::{Columns, Connection, connect, query, query_with};
use crate::address::Address;
use crate::error::SourceError;
use crate::remote::{bounded, runtime};

/// How often a statement that runs looks whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A value for `@P1`, `@P2` and so on.
#[derive(Clone, Copy, Debug)]
pub enum Parameter<'a> {
    Text(&'a str),
    Number(i64),
}

pub struct BlockingConnection {
    // Dropped first: it ends while its runtime is still there.
    connection: Connection,
    runtime: Runtime,
    address: Address,
    limit: Duration,
}

impl BlockingConnection {
    pub fn open(address: &Address, access: &Access, limit: Duration) -> Result<Self, SourceError> {
        let runtime = runtime(address)?;
        let connection = bounded(&runtime, address, limit, async {
            let connected = Box::pin(connect(address, access.config().await?)).await;
            connected.map_err(|error| access.explain(error))
        })?;
        Ok(Self { connection, runtime, address: address.clone(), limit })
    }

    /// The rows that `text`, which carries `tag`, returns.
    pub fn query(
        &mut self,
        tag: &'static str,
        text: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Columns>, SourceError> {
        let values = parameters.iter().map(|parameter| match parameter {
            Parameter::Text(text) => text as &dyn ToSql,
            Parameter::Number(number) => number as &dyn ToSql,
        });
        let values: Vec<&dyn ToSql> = values.collect();
        let Self { connection, runtime, address, limit } = self;
        bounded(runtime, address, *limit, query_with(address, connection, tag, text, &values))
    }

    /// Runs a statement that was written for this call, however long it takes, and gives its rows. `None` once `is_abandoned`: the
    /// connection is closed then, which makes the server end the statement.
    pub fn execute(
        mut self,
        tag: &'static str,
        text: &str,
        is_abandoned: &dyn Fn() -> bool,
    ) -> Result<Option<(Self, Vec<Columns>)>, SourceError> {
        let Self { connection, runtime, address, .. } = &mut self;
        let answer = runtime.block_on(async {
            let mut work = pin!(query(address, connection, tag, text));
            loop {
                match tokio::time::timeout(LOOK_EVERY, work.as_mut()).await {
                    Ok(answer) => return Some(answer),
                    Err(_) if is_abandoned() => return None,
                    Err(_) => {}
                }
            }
        });
        Ok(match answer {
            Some(rows) => Some((self, rows?)),
            None => None,
        })
    }
}
