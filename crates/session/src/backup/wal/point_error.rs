//! Why a backup cannot be brought to a point in time.

use std::fmt;
use std::path::PathBuf;

use iostall_connect::postgres::Lsn;
use iostall_measure::foreign::shell_path;
use jiff::Timestamp;
use thiserror::Error;

use super::error::WalError;
use super::target::Until;
use crate::error::{SessionError, UseCaseError};

/// Found before the first byte is restored.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PointError {
    #[error(transparent)]
    Archive(#[from] WalError),
    #[error("only a PostgreSQL can be brought to a point in time, and there is none in this backup")]
    NoPostgres,
    #[error("there are several PostgreSQL clusters in this backup")]
    SeveralClusters,
    #[error("PostgreSQL {version} recovers in another way than those from 12 on")]
    Version { version: String },
    #[error("the backup is of the cluster {set}, and {} is the archive of {found}", archive.display())]
    OtherCluster { archive: PathBuf, set: u64, found: u64 },
    #[error(
        "the account {account} may not {what} {}{}, and its server fetches the log there", path.display(), and_others(*others)
    )]
    Denied { account: String, what: Denied, path: PathBuf, others: u64 },
    #[error("the manifest is not understood: {reason}")]
    Manifest { reason: String },
    #[error("no way leads from this backup to timeline {timeline}")]
    Timeline { timeline: u32, known: Vec<u32> },
    #[error("{until} is before the end of the backup: it ends at {stop}, on {ended_utc}")]
    Before { until: Until, stop: Lsn, ended_utc: Timestamp },
    #[error("a gap in the archive stands before {until}: {}; what is before it ends at {end}{}", missing(first, last, *count), at(*last_utc))]
    Gap { until: Until, first: String, last: String, count: u64, end: Lsn, last_utc: Option<Timestamp> },
    #[error("{until} is not in the archive, which ends at {end} on timeline {timeline}{}", at(*last_utc))]
    Beyond { until: Until, timeline: u32, end: Lsn, last_utc: Option<Timestamp> },
}

fn and_others(others: u64) -> String {
    match others {
        0 => String::new(),
        1 => " and 1 other file".to_owned(),
        many => format!(" and {many} other files"),
    }
}

fn missing(first: &str, last: &str, count: u64) -> String {
    if count == 1 {
        format!("{first} is missing")
    } else {
        format!("{first} to {last} are missing, {count} segments")
    }
}

fn at(last_utc: Option<Timestamp>) -> String {
    last_utc.map_or_else(
        || ", without a transaction".to_owned(),
        |last| format!("; the last transaction in it ended on {last}"),
    )
}

impl PointError {
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Archive(error) => return error.hint(),
            Self::NoPostgres => "leave --wal and --until out".into(),
            Self::SeveralClusters => "make a backup of each".into(),
            Self::Version { .. } => "restore it without --wal, and write its recovery.conf".into(),
            Self::OtherCluster { .. } => "name the archive of this cluster, or another backup".into(),
            Self::Denied { what: Denied::Enter, path, .. } => format!("`chmod o+x {}`", shell_path(path)),
            Self::Denied { what: Denied::Run, path, .. } => format!("`chmod o+rx {}`", shell_path(path)),
            Self::Denied { what: Denied::Read, account, path, .. } => format!(
                "`chown -R {account} {}`, and archive or receive under that account: files of the log are for their owner only",
                shell_path(path.parent().unwrap_or(path))
            ),
            Self::Manifest { .. } => "use the version of iostall that made the backup, or a newer one".into(),
            Self::Timeline { known, .. } if known.is_empty() => "its history is not in the archive".into(),
            Self::Timeline { known, .. } => {
                let known: Vec<String> = known.iter().map(u32::to_string).collect();
                format!("timelines that it leads to: {}", known.join(", "))
            }
            Self::Before { .. } => "name an older backup: `iostall backup wal list DIR DIRECTORY…` shows which".into(),
            Self::Gap { .. } => {
                "where the server still has the segments (pg_wal), archive them; --until with an earlier time or position ends before them"
                    .into()
            }
            Self::Beyond { until: Until::Time(_), .. } => {
                "--until latest recovers all of it, which is the state of that time if nothing is missing; pg_switch_wal() on the \
                 server has its present segment archived"
                    .into()
            }
            Self::Beyond { .. } => {
                "--until latest recovers all of it; pg_switch_wal() on the server has its present segment archived".into()
            }
        })
    }
}

impl From<PointError> for SessionError {
    fn from(error: PointError) -> Self {
        let hint = error.hint();
        Self::OfUseCase(UseCaseError::new(error, hint))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    Enter,
    Read,
    Run,
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Enter => "enter",
            Self::Read => "read",
            Self::Run => "run",
        })
    }
}
