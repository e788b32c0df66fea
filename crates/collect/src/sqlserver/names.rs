//! What the files are called.
//!
//! The names are in catalogs that CREATE and RESTORE DATABASE lock. So they are read after the counters, with a short time limit, and where
//! they do not come those of the last time are used.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use iostall_connect::Address;
use iostall_connect::sqlserver::Connection;
use iostall_model::{Kind, Row, Warning, WarningCode};

use super::asking::ask;
use super::volumes::file_of;
use crate::remote;

const NAMES: &str = include_str!("sql/names.sql");
/// Longer than names take that nobody locks.
const PATIENCE: Duration = Duration::from_secs(2);
/// How soon again where they did not come.
const AGAIN_NS: u64 = 60_000_000_000;

#[derive(Default)]
pub(super) struct Names {
    /// By database and file.
    by_file: HashMap<String, Row>,
    /// The files that there were when the names were read, also those without one.
    seen: HashSet<String>,
    /// When they were read, on the clock of this machine; `None` before the first time.
    read_ns: Option<u64>,
    /// When to ask again after a failure.
    again_ns: u64,
    /// Why they are not of this moment.
    failure: Option<String>,
}

impl Names {
    /// Asks for them. Whether the connection is still of use.
    pub(super) async fn ask(
        &mut self,
        address: &Address,
        connection: &mut Connection,
        now_ns: u64,
        limit: Duration,
    ) -> bool {
        if now_ns < self.again_ns {
            return true;
        }
        let limit = PATIENCE.min(limit / 4);
        let late = "; something may hold a lock in master";
        match ask(address, connection, ("iostall:names", NAMES), limit, late).await {
            Ok(found) => {
                let rows = found.into_iter().map(|one| remote::row(Kind::SqlServerFile, one.into_iter()));
                self.by_file = rows.map(|row| (file_of(&row).to_owned(), row)).collect();
                (self.read_ns, self.failure, self.again_ns) = (Some(now_ns), None, 0);
                true
            }
            Err(unanswered) => {
                self.again_ns = now_ns.saturating_add(AGAIN_NS);
                self.failure = Some(unanswered.reason);
                unanswered.is_usable
            }
        }
    }

    /// Names `rows`. A file that came since the names were read has no identity yet, and is left out until it has: its counters are
    /// counted from its beginning then.
    pub(super) fn put(&mut self, rows: &mut Vec<Row>, now_ns: u64) -> Option<Warning> {
        let before = rows.len();
        if self.failure.is_none() {
            self.seen = rows.iter().map(|row| file_of(row).to_owned()).collect();
        } else if !self.seen.is_empty() {
            rows.retain(|row| self.seen.contains(file_of(row)));
        }
        let since_ms = self.read_ns.map_or(0, |read_ns| now_ns.saturating_sub(read_ns) / 1_000_000);
        for row in rows.iter_mut() {
            let Some(named) = self.by_file.get(file_of(row)) else { continue };
            row.subject = named.subject.clone();
            row.age_ms = named.age_ms.map(|age_ms| age_ms.saturating_add(since_ms));
        }
        let reason = self.failure.as_ref()?;
        let left_out = match before - rows.len() {
            0 => String::new(),
            files => format!("; {files} new files are counted once they have names"),
        };
        let message = format!("the names of the files are unknown or out of date: {reason}{left_out}");
        let hint = "CREATE and RESTORE DATABASE hold locks there; they are read again every minute, and the counters are read as usual";
        Some(Warning::new(WarningCode::NotCounted, message).hint(hint))
    }
}

/// Whether the server gave no name for the file, as to a login that may not see it.
pub(super) fn is_nameless(row: &Row) -> bool {
    let number = file_of(row).rsplit('/').next().unwrap_or_default();
    row.subject.name.strip_prefix("file ") == Some(number)
}
