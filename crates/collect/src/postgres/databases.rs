//! The relations of databases other than the one that stays connected.
//!
//! PostgreSQL shows the counters of a relation only to sessions in its database. A permanent session would
//! block
//! `DROP DATABASE` and `ALTER DATABASE ... RENAME`, so each lasts for one reading. Few are open at a time:
//! the printed grants
//! allow the login five.

use std::collections::HashMap;

use futures_util::future::join_all;
use iostall_model::{Row, Warning, WarningCode};
use tokio_postgres::Client;

use super::login::Login;
use super::queries::{self, CONNECTABLE, RELATIONS};
use crate::address::Engine;
use crate::identifier;
use crate::source::SourceError;

/// Parallel sessions besides the permanent one.
const SESSIONS_MAX: usize = 4;
/// Databases that are read besides the one that stays connected.
const DATABASES_MAX: usize = 100;
/// How long a database that refused the login is left alone, because each refusal is a line in the server's
/// log.
const REFUSED_FOR_NS: u64 = 300_000_000_000;
/// The database name for relations that all databases share.
const SHARED: &str = "(shared)";

/// The other databases of a server.
#[derive(Default)]
pub(super) struct Databases {
    /// Databases to read; empty for all.
    wanted: Vec<String>,
    /// How long those that refused are left alone, and their warnings.
    refused: HashMap<String, (u64, Warning)>,
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
        let mut rows = Vec::new();
        for names in names.chunks(SESSIONS_MAX) {
            let sessions = names.iter().map(|name| relations(login, name, version));
            for (name, answer) in names.iter().zip(join_all(sessions).await) {
                match answer {
                    Ok(found) => rows.extend(found),
                    Err(error) => {
                        let warning = refusal(name, &error.to_string());
                        warnings.push(warning.clone());
                        self.refused.insert(name.clone(), (now_ns + REFUSED_FOR_NS, warning));
                    }
                }
            }
        }
        Ok((rows, warnings))
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
        self.refused.retain(|_, (until_ns, _)| *until_ns > now_ns);
        let mut names = Vec::new();
        for row in CONNECTABLE.ask(login, client, version).await? {
            let bytes: &[u8] = CONNECTABLE.column(login, &row, "name")?;
            let may_connect: bool = CONNECTABLE.column(login, &row, "may_connect")?;
            let name = queries::readable(bytes);
            if !self.wants(&name) {
                continue;
            }
            match self.refused.get(&name) {
                _ if name.as_bytes() != bytes => warnings.push(not_utf8(&name)),
                _ if !may_connect => warnings.push(no_grant(&name, login.user())),
                Some((_, warning)) => warnings.push(warning.clone()),
                None => names.push(name),
            }
        }
        if names.len() > DATABASES_MAX {
            warnings.push(too_many(names.len()));
            names.truncate(DATABASES_MAX);
        }
        Ok(names)
    }
}

/// Reads one database in a session that has also ended on the server when this returns.
async fn relations(login: &Login, database: &str, version: u32) -> Result<Vec<Row>, SourceError> {
    let answer = match login.connect(Some(database)).await {
        Err(error) => Err(error),
        Ok((client, connection)) => {
            let rows = queries::rows(&RELATIONS, login, &client, version).await;
            drop(client);
            drop(connection.await);
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
            "its name has characters that cannot be shown: ALTER DATABASE ... RENAME TO gives it another, \
                 --database leaves it out"
                .to_owned()
        }
    })
}

fn not_utf8(name: &str) -> Warning {
    let message =
        format!("database {name}: the name is not UTF-8, so its tables and indexes are not watched");
    Warning::new(WarningCode::NotCounted, message)
        .hint("its blocks and times as a whole are; ALTER DATABASE ... RENAME TO gives it another name")
}

fn refusal(name: &str, reason: &str) -> Warning {
    let message = format!("database {name} refused, so its tables and indexes are not watched: {reason}");
    Warning::new(WarningCode::MissingGrant, message)
        .hint("where it was the login: pg_hba.conf and its connection limit decide; it is asked again after five minutes")
}

fn too_many(count: usize) -> Warning {
    let message =
        format!("of {count} other databases the {DATABASES_MAX} oldest are watched by table and index");
    Warning::new(WarningCode::NotCounted, message).hint("choose those that matter with --database")
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
}
