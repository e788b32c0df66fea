//! One connection to the database of a repository, and transactions on it.
//!
//! The driver is asynchronous; every call here waits for it. A statement never stays open between two calls, so that whoever reads
//! may ask again before all is read. What is said not to be waited for is sent together with the next statement that is.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::SinkExt as _;
use futures_util::future::join;
use iostall_connect::postgres::{Login, explain};
use iostall_connect::{Address, Engine, Secret, SourceError};
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};

use super::statements;
use crate::repository_error::RepositoryError;

/// The server's own limit on a statement. Deleting a month of hours takes the longest.
const STATEMENT_LIMIT: Duration = Duration::from_secs(600);
/// How much longer an answer may take before the server counts as gone.
const GRACE: Duration = Duration::from_secs(10);
const PIECE_BYTES: usize = 1 << 20;
/// The runtime looks at the network, the connection reads what has come, and ends: with one turn more than that it is known.
const TURNS: u32 = 4;

pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];
pub(super) type OwnValues = Vec<Box<dyn ToSql + Sync + Send>>;

enum Queued {
    Run(&'static str),
    Execute(Statement, OwnValues),
    Copy(Statement, Bytes),
}

pub(super) struct Session {
    // Dropped first: the connection ends while its runtime is still there.
    client: RefCell<Option<Arc<Client>>>,
    statements: RefCell<HashMap<String, Statement>>,
    queue: RefCell<Vec<Queued>>,
    is_in_transaction: Cell<bool>,
    login: Login,
    runtime: Runtime,
}

impl Session {
    /// For the database at `address`; the first statement connects.
    pub(super) fn new(address: &Address, password: &Secret) -> Result<Self, RepositoryError> {
        if address.engine != Engine::Postgres {
            return Err(RepositoryError::NotPostgres { name: address.to_string() });
        }
        Ok(Self {
            client: RefCell::new(None),
            statements: RefCell::default(),
            queue: RefCell::default(),
            is_in_transaction: Cell::new(false),
            login: Login::to_write(address, password, STATEMENT_LIMIT)?,
            runtime: iostall_connect::runtime(address)?,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.login.name
    }

    pub(super) fn rows(&self, sql: &str, values: Values<'_>) -> Result<Vec<Row>, RepositoryError> {
        let (client, statement) = self.prepared(sql)?;
        self.wait("read", client.query(&statement, values))
    }

    pub(super) fn row(&self, sql: &str, values: Values<'_>) -> Result<Row, RepositoryError> {
        let row = self.rows(sql, values)?.into_iter().next();
        row.ok_or_else(|| self.damaged("a row that is always there is missing"))
    }

    pub(super) fn execute(&self, sql: &str, values: Values<'_>) -> Result<u64, RepositoryError> {
        let (client, statement) = self.prepared(sql)?;
        self.wait("write to", client.execute(&statement, values))
    }

    pub(super) fn run(&self, action: &'static str, sql: &str) -> Result<(), RepositoryError> {
        let client = self.client()?;
        self.wait(action, client.batch_execute(sql))
    }

    /// Runs `sql` within the transaction, with the next statement that is waited for: whoever waits for that one gets its error.
    pub(super) fn execute_later(&self, sql: &str, values: OwnValues) -> Result<(), RepositoryError> {
        let (_, statement) = self.prepared(sql)?;
        self.queue.borrow_mut().push(Queued::Execute(statement, values));
        Ok(())
    }

    /// [`Self::execute_later`] for a COPY into a table from `body`, which is in the binary form.
    pub(super) fn copy_in_later(&self, sql: &str, body: Bytes) -> Result<(), RepositoryError> {
        let (_, statement) = self.prepared(sql)?;
        self.queue.borrow_mut().push(Queued::Copy(statement, body));
        Ok(())
    }

    /// Fills a table from pieces in the binary form. A piece is made while the server takes in those before it.
    pub(super) fn copy_in(
        &self,
        sql: &str,
        pieces: impl Iterator<Item = Bytes>,
    ) -> Result<(), RepositoryError> {
        let (client, statement) = self.prepared(sql)?;
        self.wait("write to", copied(&client, statement, pieces))
    }

    pub(super) fn begin(&self) -> Result<Transaction<'_>, RepositoryError> {
        self.begin_as(statements::BEGIN)
    }

    /// Begins a transaction that reads and sees no changes of others; `None` within another transaction, which goes on.
    pub(super) fn snapshot(&self) -> Result<Option<Transaction<'_>>, RepositoryError> {
        if self.is_in_transaction.get() {
            return Ok(None);
        }
        self.begin_as(statements::BEGIN_SNAPSHOT).map(Some)
    }

    fn begin_as(&self, sql: &'static str) -> Result<Transaction<'_>, RepositoryError> {
        self.client()?;
        self.is_in_transaction.set(true);
        self.queue.replace(vec![Queued::Run(sql)]);
        Ok(Transaction(self))
    }

    pub(super) fn damaged(&self, what: impl Into<String>) -> RepositoryError {
        RepositoryError::Damaged { name: self.name().to_owned(), what: what.into() }
    }

    pub(super) fn unreadable(&self, error: &Error) -> RepositoryError {
        self.damaged(error.to_string())
    }

    /// The connection. A lost one is replaced, but not within a transaction, whose first half went with it.
    fn client(&self) -> Result<Arc<Client>, RepositoryError> {
        let known = self.client.borrow().clone();
        if let Some(client) = known
            && (self.is_in_transaction.get() || !self.is_gone(&client))
        {
            return Ok(client);
        }
        self.statements.borrow_mut().clear();
        let connected = self.runtime.block_on(async {
            tokio::time::timeout(GRACE, self.login.connect(None)).await.map_err(|_| self.timed_out(GRACE))?
        });
        let client = Arc::new(connected?.0);
        *self.client.borrow_mut() = Some(Arc::clone(&client));
        Ok(client)
    }

    /// Whether the server has ended the connection, of which nothing is heard while nobody waits for an answer: without this the first
    /// request after each restart of the server would fail.
    fn is_gone(&self, client: &Client) -> bool {
        self.runtime.block_on(async {
            for _ in 0..TURNS {
                if client.is_closed() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        });
        client.is_closed()
    }

    fn prepared(&self, sql: &str) -> Result<(Arc<Client>, Statement), RepositoryError> {
        let client = self.client()?;
        let known = self.statements.borrow().get(sql).cloned();
        if let Some(statement) = known {
            return Ok((client, statement));
        }
        let statement = self.wait("ask", client.prepare(sql))?;
        self.statements.borrow_mut().insert(sql.to_owned(), statement.clone());
        Ok((client, statement))
    }

    fn wait<T>(
        &self,
        action: &'static str,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, RepositoryError> {
        let limit = STATEMENT_LIMIT + GRACE;
        let client = self.client.borrow().clone();
        let queued = client.iter().flat_map(|client| {
            self.queue.take().into_iter().map(|queued| Box::pin(sent(client, queued)) as Request<'_>)
        });
        let queued = in_order(queued.collect());
        let all = async { tokio::time::timeout(limit, join(queued, work)).await };
        if let Ok((before, answer)) = self.runtime.block_on(all) {
            // What came before has the reason why all that follows was refused.
            return before.and(answer).map_err(|error| self.refused(action, &error));
        }
        // What it would still answer is not for the next statement.
        self.client.borrow_mut().take();
        Err(self.timed_out(limit).into())
    }

    fn timed_out(&self, limit: Duration) -> SourceError {
        SourceError::TimedOut { source_name: self.name().to_owned(), limit }
    }

    fn refused(&self, action: &'static str, error: &Error) -> RepositoryError {
        let (name, reason) = (self.name().to_owned(), explain(error));
        match error.code() {
            Some(state) => RepositoryError::Refused { action, name, reason, state: state.code().to_owned() },
            None if error.is_closed() || self.is_lost() => RepositoryError::Lost { name, reason },
            None => RepositoryError::Refused { action, name, reason, state: String::new() },
        }
    }

    fn is_lost(&self) -> bool {
        self.client.borrow().as_ref().is_none_or(|client| client.is_closed())
    }
}

type Request<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + 'a>>;

async fn sent(client: &Client, queued: Queued) -> Result<(), Error> {
    match queued {
        Queued::Run(sql) => client.batch_execute(sql).await,
        Queued::Execute(statement, values) => client.execute_raw(&statement, values).await.map(drop),
        Queued::Copy(statement, body) => copied(client, statement, std::iter::once(body)).await,
    }
}

async fn copied(
    client: &Client,
    statement: Statement,
    pieces: impl Iterator<Item = Bytes>,
) -> Result<(), Error> {
    let mut sink = Box::pin(client.copy_in(&statement).await?);
    for mut piece in pieces {
        while !piece.is_empty() {
            sink.send(piece.split_to(piece.len().min(PIECE_BYTES))).await?;
        }
        // The connection writes it before the next one is made.
        tokio::task::yield_now().await;
    }
    sink.as_mut().finish().await.map(drop)
}

/// Sends all without waiting for answers in between, in this order; the first error. The driver sends a statement when it is first
/// asked for the answer.
async fn in_order(mut requests: Vec<Request<'_>>) -> Result<(), Error> {
    let mut outcome = Ok(());
    poll_fn(|context| {
        requests.retain_mut(|request| match request.as_mut().poll(context) {
            Poll::Pending => true,
            Poll::Ready(done) => {
                outcome = std::mem::replace(&mut outcome, Ok(())).and(done);
                false
            }
        });
        if requests.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outcome
}

/// A transaction, rolled back unless it is committed.
pub(super) struct Transaction<'a>(&'a Session);

impl Transaction<'_> {
    pub(super) fn commit(self) -> Result<(), RepositoryError> {
        self.0.run("write to", statements::COMMIT)?;
        self.0.is_in_transaction.set(false);
        Ok(())
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.0.queue.take();
        if self.0.is_in_transaction.replace(false) && self.0.run("write to", statements::ROLLBACK).is_err() {
            // The server rolls back whatever it has of a session that has ended.
            self.0.client.borrow_mut().take();
        }
    }
}
