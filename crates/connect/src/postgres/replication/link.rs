//! Waits for the messages of a session, and asks simple questions.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use iostall_measure::foreign;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use tokio::runtime::Runtime;

use super::super::login::DENIED;
use super::error::ReplicationError;
use super::wire::{Incoming, Row, Said, Wire, row, said};

/// How often a wait looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(100);
/// Rows of the answer to a simple question.
const ROWS_MAX: usize = 10_000;

pub(super) struct Link {
    // Dropped first: the connection ends while its runtime is still there.
    pub(super) wire: Wire,
    pub(super) runtime: Runtime,
    pub(super) source_name: String,
    pub(super) user: String,
    pub(super) limit: Duration,
    pub(super) cancel: Arc<AtomicBool>,
}

impl Link {
    /// The next message, waited for no longer than `limit`; `None` if nothing came.
    pub(super) fn next_within(&mut self, limit: Duration) -> Result<Option<Incoming>, ReplicationError> {
        let Self { wire, runtime, cancel, .. } = self;
        let answer = runtime.block_on(async {
            let mut left = limit;
            loop {
                let piece = left.min(LOOK);
                match tokio::time::timeout(piece, wire.next()).await {
                    Ok(answer) => return Some(answer.map(Some)),
                    Err(_) if cancel.load(Ordering::Relaxed) => return None,
                    Err(_) if left == piece => return Some(Ok(None)),
                    Err(_) => left -= piece,
                }
            }
        });
        let answer = answer.ok_or(ReplicationError::Cancelled)?;
        answer.map_err(|error| self.lost(&error))
    }

    /// The next message. An error if nothing comes for so long; without a limit, it is waited for until nobody wants it any more.
    pub(super) fn next(&mut self, limit: Option<Duration>) -> Result<Incoming, ReplicationError> {
        loop {
            match (self.next_within(limit.unwrap_or(LOOK))?, limit) {
                (Some(message), _) => return Ok(message),
                (None, Some(silence)) => {
                    return Err(ReplicationError::Silent { source_name: self.source_name.clone(), silence });
                }
                (None, None) => {}
            }
        }
    }

    /// Sends what `fill` writes, waiting no longer than for an answer.
    pub(super) fn send(
        &mut self,
        fill: impl FnOnce(&mut BytesMut) -> io::Result<()>,
    ) -> Result<(), ReplicationError> {
        let mut output = BytesMut::new();
        let Self { wire, runtime, limit, .. } = self;
        let sent = fill(&mut output).and_then(|()| {
            let sending = runtime.block_on(async { tokio::time::timeout(*limit, wire.send(&output)).await });
            sending.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        });
        sent.map_err(|error| self.lost(&error))
    }

    pub(super) fn command(&mut self, text: &str) -> Result<(), ReplicationError> {
        self.send(|output| frontend::query(text, output))
    }

    /// The rows of the answer to a simple command, once the server is ready for the next.
    pub(super) fn rows(&mut self, command: &str, action: &'static str) -> Result<Vec<Row>, ReplicationError> {
        self.command(command)?;
        let limit = Some(self.limit);
        self.rest(action, limit)
    }

    /// The rows up to the point where the server is ready for the next command.
    pub(super) fn rest(
        &mut self,
        action: &'static str,
        limit: Option<Duration>,
    ) -> Result<Vec<Row>, ReplicationError> {
        let (mut rows, mut failure) = (Vec::new(), None);
        loop {
            let message = match self.next(limit) {
                Ok(Incoming::Message(message)) => message,
                Ok(Incoming::CopyIn | Incoming::CopyBoth) => return Err(self.unexpected(action)),
                // What ended the session is in the error before it.
                Err(lost) => return Err(failure.unwrap_or(lost)),
            };
            match message {
                Message::ErrorResponse(body) => failure = Some(self.failed(action, said(&body))),
                Message::DataRow(body) if rows.len() < ROWS_MAX => {
                    rows.push(row(&body).map_err(|error| self.lost(&error))?);
                }
                Message::ReadyForQuery(_) => return failure.map_or(Ok(rows), Err),
                Message::RowDescription(_)
                | Message::CommandComplete(_)
                | Message::EmptyQueryResponse
                | Message::ParameterStatus(_) => {}
                _ => return Err(self.unexpected(action)),
            }
        }
    }

    /// The single row of an answer, which has at least so many fields.
    pub(super) fn one(
        &mut self,
        command: &str,
        action: &'static str,
        fields: usize,
    ) -> Result<Row, ReplicationError> {
        let mut rows = self.rows(command, action)?;
        match rows.pop() {
            Some(row) if rows.is_empty() && row.len() >= fields => Ok(row),
            _ => Err(self.unexpected(action)),
        }
    }

    pub(super) fn text(&self, field: Option<&Bytes>, what: &'static str) -> Result<String, ReplicationError> {
        let bytes = field.ok_or_else(|| self.unknown(what, ""))?;
        std::str::from_utf8(bytes)
            .map(str::to_owned)
            .map_err(|_| self.unknown(what, &String::from_utf8_lossy(bytes)))
    }

    pub(super) fn parsed<T: std::str::FromStr>(
        &self,
        field: Option<&Bytes>,
        what: &'static str,
    ) -> Result<T, ReplicationError> {
        let text = self.text(field, what)?;
        text.parse().map_err(|_| self.unknown(what, &text))
    }

    pub(super) fn failed(&self, action: &'static str, Said { state, text }: Said) -> ReplicationError {
        let source_name = self.source_name.clone();
        if state == DENIED {
            return ReplicationError::Denied { source_name, user: self.user.clone(), action, reason: text };
        }
        ReplicationError::Refused { source_name, action, state, reason: text }
    }

    pub(super) fn lost(&self, error: &io::Error) -> ReplicationError {
        let (source_name, reason) = (self.source_name.clone(), foreign::said(&error.to_string()));
        ReplicationError::Lost { source_name, reason }
    }

    pub(super) fn unknown(&self, what: &'static str, text: &str) -> ReplicationError {
        let (source_name, text) = (self.source_name.clone(), foreign::said(text));
        ReplicationError::Unknown { source_name, what, text }
    }

    pub(super) fn unexpected(&self, action: &'static str) -> ReplicationError {
        ReplicationError::Unexpected { source_name: self.source_name.clone(), action }
    }
}
