//! How far pushes are, and who did what.

use iostall_store::{PostgresHistory, PushLogEntry, PushedServer, StoredPush};
use jiff::Timestamp;
use serde::Serialize;

use super::operator::check_log;
use crate::rollout_error::RolloutError;

/// A push, and how far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PushEntry {
    pub push: u64,
    pub version: u64,
    /// What identifies the release.
    pub release: String,
    pub state: String,
    pub ring: u32,
    pub rings: u32,
    pub failed_max: String,
    pub begun_utc: Timestamp,
    pub changed_utc: Timestamp,
    /// Servers, by what became of it there.
    pub waiting: u64,
    pub asked: u64,
    pub applied: u64,
    pub failed: u64,
    pub undo: u64,
    pub undone: u64,
    pub undo_failed: u64,
    pub left: u64,
    pub skipped: u64,
    /// Each of them, where one push was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<Vec<ServerOutcome>>,
}

/// What became of a push on a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerOutcome {
    pub server: String,
    pub ring: u32,
    pub state: String,
    pub reason: Option<String>,
    pub reported_utc: Option<Timestamp>,
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogEntry {
    pub number: u64,
    pub at_utc: Timestamp,
    /// `None` for what the centre did itself.
    pub operator: Option<String>,
    pub what: String,
}

impl PushEntry {
    fn of(push: StoredPush) -> Self {
        let counts = push.counts;
        Self {
            push: push.number,
            version: push.version,
            release: push.release,
            state: push.state,
            ring: push.ring,
            rings: push.rings,
            failed_max: push.failed_max,
            begun_utc: push.begun,
            changed_utc: push.changed,
            waiting: counts.waiting,
            asked: counts.asked,
            applied: counts.applied,
            failed: counts.failed,
            undo: counts.undo,
            undone: counts.undone,
            undo_failed: counts.undo_failed,
            left: counts.left,
            skipped: counts.skipped,
            servers: None,
        }
    }
}

impl ServerOutcome {
    fn of(server: PushedServer) -> Self {
        let PushedServer { name, ring, state, reason, reported } = server;
        Self { server: name, ring, state, reason, reported_utc: reported }
    }
}

impl LogEntry {
    fn of(entry: PushLogEntry) -> Self {
        let PushLogEntry { number, at, operator, what, .. } = entry;
        Self { number, at_utc: at, operator, what }
    }
}

/// All pushes, the newest first; or one, with its servers.
///
/// # Errors
/// If there is no such push, or the repository cannot be used.
pub fn status(repository: &PostgresHistory, only: Option<u64>) -> Result<Vec<PushEntry>, RolloutError> {
    let mut pushes: Vec<PushEntry> = repository.pushes(only)?.into_iter().map(PushEntry::of).collect();
    if let Some(push) = only {
        let found = pushes.first_mut().ok_or(RolloutError::NoPush { push })?;
        let servers = repository.pushed_servers(push)?;
        found.servers = Some(servers.into_iter().map(ServerOutcome::of).collect());
    }
    Ok(pushes)
}

/// The log, whose signatures were all checked.
///
/// # Errors
/// The first entry that is not as it was signed.
pub fn log(repository: &PostgresHistory) -> Result<Vec<LogEntry>, RolloutError> {
    Ok(check_log(repository)?.into_iter().map(LogEntry::of).collect())
}
