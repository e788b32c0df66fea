//! Errors of a central repository.

use iostall_connect::SourceError;
use thiserror::Error;

use crate::entry::RunNumber;
use crate::selector::Selector;

/// Why a repository could not be used. The message says what and where; [`RepositoryError::hint`] what to do next.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RepositoryError {
    #[error(transparent)]
    Connect(#[from] SourceError),
    #[error("{name} is not a PostgreSQL database: a repository is in one")]
    NotPostgres { name: String },
    #[error("{name} is PostgreSQL {version}; a repository needs {oldest} or later")]
    TooOld { name: String, version: u32, oldest: u32 },
    #[error("{name} stores text as {encoding}; a repository needs UTF8")]
    Encoding { name: String, encoding: String },
    #[error("{name} is a standby, which cannot be written to")]
    Standby { name: String },
    #[error("{name} has no repository")]
    Missing { name: String },
    #[error("the schema iostall in {name} is not a repository of iostall: nothing was changed")]
    Foreign { name: String },
    #[error(
        "the repository in {name} was created by a newer iostall: its schema has version {found}, this iostall supports \
         versions up to {known}"
    )]
    Newer { name: String, found: i32, known: i32 },
    #[error("the repository in {name} has the older schema {found}; this iostall needs {known}")]
    Older { name: String, found: i32, known: i32 },
    #[error("the connection to the repository in {name} was lost: {reason}")]
    Lost { name: String, reason: String },
    #[error("cannot {action} the repository in {name}: {reason}")]
    Refused { action: &'static str, name: String, reason: String, state: String },
    #[error("the repository in {name} has no volume {volume:?} of a source {source_name:?}")]
    NoVolume { name: String, source_name: String, volume: String },
    #[error("the repository in {name} has a volume {volume:?} of {} servers: {}", servers.len(), servers.join(", "))]
    SeveralVolumes { name: String, volume: String, servers: Vec<String> },
    #[error("the repository in {name} has no run {selector} of a server {server:?}")]
    NoRun { name: String, server: String, selector: Selector },
    #[error("the repository in {name} has {} runs {selector} of servers called {server:?}:{}", runs.len(), lines(runs))]
    SeveralRuns { name: String, server: String, selector: Selector, runs: Vec<String> },
    #[error(
        "the repository in {name} has run {run} of {server} without its document: it was too long to send"
    )]
    NoDocument { name: String, server: String, run: RunNumber },
    #[error("the repository in {name} is damaged: {what}")]
    Damaged { name: String, what: String },
}

/// The server's codes for what goes by itself: a conflict, a limit reached, an end of the server, a lock not had in time, a partition that
/// another program has dropped and the next try makes again.
const PASSING: [&str; 6] = ["40", "53", "57", "08", "55P03", "23514"];
const DENIED: &str = "42501";
const FULL: &str = "53100";
pub(crate) const LOCKED: &str = "55P03";

impl RepositoryError {
    /// Whether it may go away by itself.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Lost { .. } => true,
            Self::Connect(error) => matches!(
                error,
                SourceError::TimedOut { .. } | SourceError::Connect { .. } | SourceError::Full { .. }
            ),
            Self::Refused { state, .. } => PASSING.iter().any(|class| state.starts_with(class)),
            _ => false,
        }
    }

    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Connect(error) => return Some(connect_hint(error)),
            Self::NotPostgres { .. } => "write postgres://USER@HOST/DATABASE?password-file=PATH",
            Self::TooOld { .. } => "name a database of a newer server",
            Self::Encoding { .. } => {
                "create a database with ENCODING 'UTF8' TEMPLATE template0, and name that"
            }
            Self::Standby { .. } => "name its primary",
            Self::Missing { .. } => "`iostall fleet init` creates it, in a database that exists",
            Self::Foreign { .. } => {
                "name another database: the schema iostall in this one belongs to something else"
            }
            Self::Newer { .. } => "nothing was changed; use the newer iostall, or name another database",
            Self::Older { .. } => "`iostall fleet init` with the same URL upgrades it",
            Self::Refused { state, .. } if state == DENIED => {
                "let an administrator run, in that database: CREATE SCHEMA iostall AUTHORIZATION the_login. Or log in as \
                 the role that created the repository"
            }
            Self::Refused { state, .. } if state == FULL => {
                "free space on the server's file system, or keep less with a shorter retention"
            }
            Self::Refused { state, .. } if state == LOCKED => {
                "a long report or a backup holds the tables; it is tried again the next time"
            }
            Self::NoVolume { .. } => {
                "write source and volume as `iostall fleet report` shows them; a server sends its volumes with `iostall fleet send`"
            }
            Self::SeveralVolumes { .. } => "name one of them with --server",
            Self::NoRun { .. } => "`iostall fleet runs` lists what servers have sent",
            Self::SeveralRuns { .. } => "write the id of the server's store, or more digits of the run's id",
            Self::NoDocument { .. } => "look at it on that server, with `iostall runs show`",
            Self::Damaged { .. } => "restore the database from a backup",
            Self::Lost { .. } | Self::Refused { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

fn lines(runs: &[String]) -> String {
    runs.iter().fold(String::new(), |text, run| text + "\n  " + run)
}

/// The hints of a source are about the privileges for sampling it.
fn connect_hint(error: &SourceError) -> String {
    match error {
        SourceError::Connect { .. } | SourceError::Full { .. } => {
            "check that the server runs, listens at that address and has connections free".into()
        }
        SourceError::TimedOut { .. } => "find out why the server does not answer".into(),
        other => other.hint(),
    }
}
