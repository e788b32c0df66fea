//! Why a backup cannot be brought to a point in time.

use std::path::{Path, PathBuf};

use iostall_connect::postgres::Lsn;
use iostall_measure::foreign::shell_path;
use iostall_measure::{hinted, named};
use jiff::Timestamp;
use thiserror::Error;

use super::error::WalError;
use super::target::Until;
use crate::error::of_use_case;

hinted! {
    /// Found before the first byte is restored.
    #[derive(Debug, Error)]
    #[non_exhaustive]
    pub enum PointError {
        #[error(transparent)]
        Archive(#[from] error: WalError) => error.hint(),
        #[error("only a PostgreSQL can be brought to a point in time, and there is none in this backup")]
        NoPostgres => "leave --wal and --until out",
        #[error("there are several PostgreSQL clusters in this backup")]
        SeveralClusters => "make a backup of each",
        #[error("PostgreSQL {version} recovers in another way than those from 12 on")]
        Version { version: String } => "restore it without --wal, and write its recovery.conf",
        #[error("the backup is of the cluster {set}, and {} is the archive of {found}", archive.display())]
        OtherCluster { archive: PathBuf, set: u64, found: u64 }
            => "name the archive of this cluster, or another backup",
        #[error(
            "the account {account} may not {what} {}{}, and its server fetches the log there", path.display(), and_others(*others)
        )]
        Denied { account: String, what: Denied, path: PathBuf, others: u64 } => let_it(*what, account, path),
        #[error("the manifest is not understood: {reason}")]
        Manifest { reason: String } => "use the version of iostall that made the backup, or a newer one",
        #[error("no way leads from this backup to timeline {timeline}")]
        Timeline { timeline: u32, known: Vec<u32> } => timelines(known),
        #[error("{until} is before the end of the backup: it ends at {stop}, on {ended_utc}")]
        Before { until: Until, stop: Lsn, ended_utc: Timestamp }
            => "name an older backup: `iostall backup wal list DIR DIRECTORY…` shows which",
        #[error("a gap in the archive stands before {until}: {}; what is before it ends at {end}{}", missing(first, last, *count), at(*last_utc))]
        Gap { until: Until, first: String, last: String, count: u64, end: Lsn, last_utc: Option<Timestamp> }
            => "where the server still has the segments (pg_wal), archive them; --until with an earlier time or position ends before them",
        #[error("{until} is not in the archive, which ends at {end} on timeline {timeline}{}", at(*last_utc))]
        Beyond { until: Until, timeline: u32, end: Lsn, last_utc: Option<Timestamp> }
            => match until {
                Until::Time(_) => "--until latest recovers all of it, which is the state of that time if nothing is missing; pg_switch_wal() on the \
                    server has its present segment archived",
                _ => "--until latest recovers all of it; pg_switch_wal() on the server has its present segment archived",
            },
    }
}

fn and_others(others: u64) -> String {
    match others {
        0 => String::new(),
        1 => " and 1 other file".to_owned(),
        many => format!(" and {many} other files"),
    }
}

fn let_it(what: Denied, account: &str, path: &Path) -> String {
    match what {
        Denied::Enter => format!("`chmod o+x {}`", shell_path(path)),
        Denied::Run => format!("`chmod o+rx {}`", shell_path(path)),
        Denied::Read => format!(
            "`chown -R {account} {}`, and archive or receive under that account: files of the log are for their owner only",
            shell_path(path.parent().unwrap_or(path))
        ),
    }
}

fn timelines(known: &[u32]) -> String {
    if known.is_empty() {
        return "its history is not in the archive".to_owned();
    }
    let known: Vec<String> = known.iter().map(u32::to_string).collect();
    format!("timelines that it leads to: {}", known.join(", "))
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

of_use_case!(PointError);

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Denied {
        Enter = "enter",
        Read = "read",
        Run = "run",
    }
}
