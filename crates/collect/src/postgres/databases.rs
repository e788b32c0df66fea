//! The relations of databases other than the one that stays connected.
//!
//! PostgreSQL shows the counters of a relation only to sessions in its database. A session that stays would stop
//! `DROP DATABASE` and `ALTER DATABASE ... RENAME`, so each lasts for one reading. Few are open at a time: the
//! printed grants allow the login five. A database that cannot be read is named in the sample, so that its rows are
//! missing and not gone.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures_util::future::join_all;
use iostall_connect::postgres::Login;
use iostall_connect::{Engine, SourceError};
use iostall_model::{Row, Warning, WarningCode};
use tokio_postgres::Client;

use super::queries::{self, CONNECTABLE, RELATIONS};
use crate::identifier;

/// Parallel sessions besides the permanent one.
const SESSIONS_MAX: usize = 4;
/// Databases that are read besides the one that stays connected.
const DATABASES_MAX: usize = 100;
/// Longest pause before a retry if the server merely has no free session or is starting.
const PASSES_WITHIN: Duration = Duration::from_secs(30);
/// How long the server may take to end a session.
const ENDING: Duration = Duration::from_secs(1);
/// The database name for relations that all databases share.
const SHARED: &str = "(shared)";

#[derive(Default)]
pub(super) struct Databases {
    /// Databases to read; empty for all.
    wanted: Vec<String>,
    refused: HashMap<String, Refusal>,
    /// Whether the server lacked free sessions for reading several databases at once.
    is_crowded: bool,
}

struct Refusal {
    warning: Warning,
    count: u32,
    /// Not retried before this time, on the sample clock.
    until_ns: u64,
}

impl Refusal {
    /// `error`, after `earlier` refusals. Each attempt adds a line to the server's log, so the pause grows
    /// from one second: up to half a minute if the cause may pass, otherwise up to five minutes.
    fn new(name: &str, error: &SourceError, earlier: u32, now_ns: u64) -> Self {
        let count = earlier.saturating_add(1);
        let doubled = 1_u64.checked_shl(count - 1).unwrap_or(u64::MAX);
        let pause = Duration::from_secs(doubled).min(error.longest_pause().unwrap_or(PASSES_WITHIN));
        let until_ns = now_ns.saturating_add(u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX));
        Self { warning: not_read(name, error), count, until_ns }
    }
}

impl Databases {
    /// Reads only these from now on; all if the list is empty.
    pub(super) fn narrow(&mut self, wanted: &[String]) {
        self.wanted = wanted.to_vec();
    }

    pub(super) fn wants(&self, name: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| wanted == name)
    }

    /// The relations of all other selected databases, and a warning for each that refuses the login.
    pub(super) async fn read(
        &mut self,
        login: &Login,
        client: &Client,
        version: u32,
        now_ns: u64,
    ) -> Result<(Vec<Row>, Vec<Warning>), SourceError> {
        let mut warnings = Vec::new();
        let names = self.names(login, client, version, now_ns, &mut warnings).await?;
        let (mut rows, mut crowded_out) = (Vec::new(), Vec::new());
        let at_a_time = if self.is_crowded { 1 } else { SESSIONS_MAX };
        for names in names.chunks(at_a_time) {
            let sessions = names.iter().map(|name| relations(login, name, version));
            for (name, answer) in names.iter().zip(join_all(sessions).await) {
                match answer {
                    Err(SourceError::Full { .. }) if at_a_time > 1 => crowded_out.push(name),
                    answer => self.take(name, answer, now_ns, &mut rows, &mut warnings),
                }
            }
        }
        // The server may have fewer free sessions than the grants allow. From now on, read one database after
        // the other.
        self.is_crowded |= !crowded_out.is_empty();
        for name in crowded_out {
            let answer = relations(login, name, version).await;
            self.take(name, answer, now_ns, &mut rows, &mut warnings);
        }
        Ok((rows, warnings))
    }

    fn take(
        &mut self,
        name: &str,
        answer: Result<Vec<Row>, SourceError>,
        now_ns: u64,
        rows: &mut Vec<Row>,
        warnings: &mut Vec<Warning>,
    ) {
        let earlier = self.refused.remove(name).map_or(0, |refusal| refusal.count);
        match answer {
            Ok(found) => rows.extend(found),
            Err(error) => {
                let refusal = Refusal::new(name, &error, earlier, now_ns);
                warnings.push(refusal.warning.clone());
                self.refused.insert(name.to_owned(), refusal);
            }
        }
    }

    /// The databases to read now; reasons for the others go to `warnings`.
    async fn names(
        &mut self,
        login: &Login,
        client: &Client,
        version: u32,
        now_ns: u64,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<String>, SourceError> {
        let (mut names, mut there) = (Vec::new(), HashSet::new());
        for row in CONNECTABLE.ask(login, client, version).await? {
            let bytes: &[u8] = CONNECTABLE.column(login, &row, "name")?;
            let may_connect: bool = CONNECTABLE.column(login, &row, "may_connect")?;
            let name = queries::readable(bytes);
            if !self.wants(&name) {
                continue;
            }
            there.insert(name.clone());
            match self.refused.get(&name) {
                _ if name.as_bytes() != bytes => warnings.push(not_utf8(&name)),
                _ if !may_connect => warnings.push(no_grant(&name, login.user())),
                Some(refusal) if refusal.until_ns > now_ns => warnings.push(refusal.warning.clone()),
                _ => names.push(name),
            }
        }
        // A database that was dropped and created again starts without refusals.
        self.refused.retain(|name, _| there.contains(name));
        if names.len() > DATABASES_MAX {
            warnings.push(too_many(names.len()));
            names.truncate(DATABASES_MAX);
        }
        Ok(names)
    }
}

/// Reads one database. When this returns, the session has also ended on the server; otherwise it would still
/// count against the login's limit.
async fn relations(login: &Login, database: &str, version: u32) -> Result<Vec<Row>, SourceError> {
    let answer = match login.connect(Some(database)).await {
        Err(error) => Err(error),
        Ok((client, connection)) => {
            let rows = queries::rows(&RELATIONS, login, &client, version).await;
            drop(client);
            drop(tokio::time::timeout(ENDING, connection).await);
            rows
        }
    };
    answer.map(|mut rows| {
        rows.retain(|row| row.subject.scope.database() != Some(SHARED));
        rows
    })
}

fn no_grant(name: &str, user: &str) -> Warning {
    let message =
        format!("database {name}: the login may not connect, so its tables and indexes are not watched");
    let names = identifier::quoted(Engine::Postgres, name).zip(identifier::quoted(Engine::Postgres, user));
    Warning::new(WarningCode::MissingGrant, message).hint(match names {
        Some((database, user)) => {
            format!("GRANT CONNECT ON DATABASE {database} TO {user}; or leave it out by --database")
        }
        None => {
            "its name contains characters that cannot be shown: rename it (ALTER DATABASE ... RENAME TO), or select others with --database"
                .to_owned()
        }
    })
}

fn not_utf8(name: &str) -> Warning {
    let message =
        format!("database {name}: the name is not UTF-8, so its tables and indexes are not watched");
    Warning::new(WarningCode::NotCounted, message)
        .hint("its total blocks and times are watched; to watch tables too, rename it (ALTER DATABASE ... RENAME TO)")
}

fn not_read(name: &str, error: &SourceError) -> Warning {
    let message = format!("database {name}: tables and indexes were not read: {error}");
    let hint = format!("{}; what it does meanwhile is counted when it can be read again", error.hint());
    Warning::new(WarningCode::NotRead, message).about(name).hint(hint)
}

fn too_many(count: usize) -> Warning {
    let message =
        format!("only the {DATABASES_MAX} oldest of {count} other databases are watched by table and index");
    Warning::new(WarningCode::NotCounted, message).hint("choose the important ones with --database")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_choice_every_database_is_wanted() {
        let mut databases = Databases::default();
        assert!(databases.wants("sales"));
        databases.narrow(&["stock".to_owned()]);
        assert!(databases.wants("stock") && !databases.wants("sales"));
    }

    /// A single moment without a free session used to silence a database for five minutes.
    #[test]
    fn a_database_is_asked_again_after_one_two_and_four_seconds() {
        let full = SourceError::Full { source_name: "x".into(), reason: "too many".into() };
        let login = SourceError::Login { source_name: "x".into(), user: "u".into(), reason: "no".into() };
        let pauses = |error: &SourceError| -> Vec<u64> {
            (0..10).map(|earlier| Refusal::new("sales", error, earlier, 0).until_ns / 1_000_000_000).collect()
        };
        assert_eq!(pauses(&full), [1, 2, 4, 8, 16, 30, 30, 30, 30, 30]);
        assert_eq!(pauses(&login), [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
        assert_eq!(Refusal::new("sales", &login, u32::MAX, 0).until_ns, 300_000_000_000);
        let refusal = Refusal::new("sales", &full, 0, 0).warning;
        assert_eq!((refusal.code, refusal.subject.as_deref()), (WarningCode::NotRead, Some("sales")));
    }
}
