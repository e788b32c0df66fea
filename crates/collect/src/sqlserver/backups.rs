//! The newest backups of each database, from the server's own history.
//!
//! The history may have millions of entries, so it is read separately from the counters, seldom, and with a short time limit. Between
//! two readings the rows stay as they were.

use std::time::Duration;

use iostall_connect::Address;
use iostall_connect::sqlserver::Connection;
use iostall_model::{Kind, Row, Warning, WarningCode};

use super::asking::ask;
use crate::remote;

pub(super) const BACKUPS: &str = include_str!("sql/backups.sql");
/// Ages of backups are hours and days; a log backup every five minutes is seen late by this at most.
const ASK_EVERY_NS: u64 = 300_000_000_000;
/// Longer than a history takes that is cleaned up now and then.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(super) struct Backups {
    rows: Vec<Row>,
    /// When to ask again, on the clock of this machine.
    again_ns: u64,
    warning: Option<Warning>,
}

impl Backups {
    /// Asks for them if it is time. Whether the connection is still of use.
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
        self.again_ns = now_ns.saturating_add(ASK_EVERY_NS);
        let limit = PATIENCE.min(limit / 4);
        let unanswered = match ask(address, connection, ("iostall:backups", BACKUPS), limit, "").await {
            Ok(found) => {
                let row = |columns: Vec<_>| remote::row(Kind::SqlServerBackup, columns.into_iter());
                self.rows = found.into_iter().map(row).collect();
                self.warning = None;
                return true;
            }
            Err(unanswered) => unanswered,
        };
        let code = if unanswered.is_denied { WarningCode::MissingGrant } else { WarningCode::NotCounted };
        let reason = unanswered.reason;
        let message = format!("the history of backups could not be read: {reason}");
        let hint = match code {
            WarningCode::MissingGrant => {
                "iostall collect grants sqlserver prints the statements for an administrator to run"
            }
            _ => {
                "it is read again every five minutes; msdb.dbo.sp_delete_backuphistory shortens one that is too long"
            }
        };
        self.warning = Some(Warning::new(code, message).hint(hint));
        unanswered.is_usable
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Why they are missing or old.
    pub(super) fn warning(&self) -> Option<Warning> {
        self.warning.clone()
    }
}
