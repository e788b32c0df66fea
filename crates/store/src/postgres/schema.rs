//! The tables of a repository: how they are recognised, made and brought up to date.
//!
//! A released migration is never edited; mistakes are fixed by a later one.

use iostall_measure::clock::utc_now;
use tokio_postgres::Row;

use super::session::Session;
use super::{hypertables, statements};
use crate::identity::StoreId;
use crate::repository_error::RepositoryError;

const MIGRATIONS: [&str; 12] = [
    include_str!("../../migrations/postgres/0001_create_repository.sql"),
    include_str!("../../migrations/postgres/0002_place_volumes.sql"),
    include_str!("../../migrations/postgres/0003_enrol_servers.sql"),
    include_str!("../../migrations/postgres/0004_keep_runs.sql"),
    include_str!("../../migrations/postgres/0005_add_relays.sql"),
    include_str!("../../migrations/postgres/0006_push_releases.sql"),
    include_str!("../../migrations/postgres/0007_move_to_lake.sql"),
    include_str!("../../migrations/postgres/0008_keep_notes_and_settings.sql"),
    include_str!("../../migrations/postgres/0009_skip_servers.sql"),
    include_str!("../../migrations/postgres/0010_drop_ways_of_sending.sql"),
    include_str!("../../migrations/postgres/0011_drop_operators.sql"),
    include_str!("../../migrations/postgres/0012_note_refusals.sql"),
];

/// The newest version that this program knows: the number of migrations.
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "there are a few migrations")]
pub(super) const KNOWN_VERSION: i32 = MIGRATIONS.len() as i32;

const MARK: &str = "iostall: central repository";
/// The oldest server whose SQL this is.
const OLDEST: u32 = 15;
const MAJOR: i32 = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    /// An empty one, which an administrator has prepared.
    EmptySchema,
    Foreign,
    /// A repository, with the number of its migrations.
    Repository {
        id: StoreId,
        version: i32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initialised {
    Created,
    Upgraded { from: i32 },
    UpToDate,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialisedRepository {
    pub name: String,
    pub id: StoreId,
    pub done: Initialised,
    pub schema_version: i32,
    pub server_version: u32,
    /// The version of the TimescaleDB that keeps the samples; `None` where partitions of PostgreSQL's own do.
    pub timescaledb: Option<String>,
}

pub(super) fn initialise(session: &Session) -> Result<InitialisedRepository, RepositoryError> {
    initialise_to(session, MIGRATIONS.len())
}

pub(super) fn initialise_to(
    session: &Session,
    newest: usize,
) -> Result<InitialisedRepository, RepositoryError> {
    let newest = newest.min(MIGRATIONS.len());
    let (server_version, _) = look(session)?;
    let transaction = session.begin()?;
    session.rows(statements::LOCK_SCHEMA, &[])?;
    let (_, found) = look(session)?;
    let known = i32::try_from(newest).unwrap_or(KNOWN_VERSION);
    let name = session.name().to_owned();
    let (id, from) = match found {
        Found::Foreign => return Err(RepositoryError::Foreign { name }),
        Found::Repository { version, .. } if version > known => {
            return Err(RepositoryError::Newer { name, found: version, known });
        }
        Found::Repository { id, version } => (id, Some(version)),
        Found::Nothing => {
            session.run("create", statements::CREATE_SCHEMA)?;
            (StoreId::new(utc_now()), None)
        }
        Found::EmptySchema => (StoreId::new(utc_now()), None),
    };
    let applied = usize::try_from(from.unwrap_or(0)).unwrap_or(0);
    for step in MIGRATIONS.iter().take(newest).skip(applied) {
        session.run(if from.is_some() { "upgrade" } else { "create" }, step)?;
    }
    // An older repository stays as it is: its rows would have to be moved.
    if from.is_none() && newest == MIGRATIONS.len() {
        hypertables::make(session)?;
    }
    match from {
        None => drop(session.execute(statements::ADD_REPOSITORY, &[&id.to_string(), &known])?),
        Some(_) => drop(session.execute(statements::MARK_VERSION, &[&known])?),
    }
    transaction.commit()?;
    let done = match from {
        None => Initialised::Created,
        Some(from) if from < known => Initialised::Upgraded { from },
        Some(_) => Initialised::UpToDate,
    };
    let timescaledb = hypertables::version(session)?;
    Ok(InitialisedRepository { name, id, done, schema_version: known, server_version, timescaledb })
}

/// The id of the repository in the database of `session`, whose tables must be those that this program knows.
pub(super) fn opened(session: &Session) -> Result<StoreId, RepositoryError> {
    let name = session.name().to_owned();
    let known = KNOWN_VERSION;
    match look(session)?.1 {
        Found::Nothing | Found::EmptySchema => Err(RepositoryError::Missing { name }),
        Found::Foreign => Err(RepositoryError::Foreign { name }),
        Found::Repository { version, .. } if version > known => {
            Err(RepositoryError::Newer { name, found: version, known })
        }
        Found::Repository { version, .. } if version < known => {
            Err(RepositoryError::Older { name, found: version, known })
        }
        Found::Repository { id, .. } => Ok(id),
    }
}

fn look(session: &Session) -> Result<(u32, Found), RepositoryError> {
    let row = session.row(statements::FIND_SCHEMA, &[])?;
    let unreadable = |error: tokio_postgres::Error| session.unreadable(&error);
    let name = session.name().to_owned();
    let version: i32 = row.try_get("version").map_err(unreadable)?;
    let version = u32::try_from(version / MAJOR).unwrap_or(0);
    if version < OLDEST {
        return Err(RepositoryError::TooOld { name, version, oldest: OLDEST });
    }
    let encoding: String = row.try_get("encoding").map_err(unreadable)?;
    if encoding != "UTF8" {
        return Err(RepositoryError::Encoding { name, encoding });
    }
    if row.try_get("is_standby").map_err(unreadable)? {
        return Err(RepositoryError::Standby { name });
    }
    let count = |column: &str| row.try_get::<_, i64>(column).map_err(unreadable);
    let mark: Option<String> = row.try_get("mark").map_err(unreadable)?;
    let found = match (mark.as_deref(), count("schemas")?, count("objects")?) {
        (Some(MARK), ..) => repository(session, &session.row(statements::FIND_REPOSITORY, &[])?)?,
        (_, 0, _) => Found::Nothing,
        (_, _, 0) => Found::EmptySchema,
        _ => Found::Foreign,
    };
    Ok((version, found))
}

fn repository(session: &Session, row: &Row) -> Result<Found, RepositoryError> {
    let unreadable = |error: tokio_postgres::Error| session.unreadable(&error);
    let id: String = row.try_get(0).map_err(unreadable)?;
    let id = id.parse().map_err(|_| session.damaged("its id is none"))?;
    Ok(Found::Repository { id, version: row.try_get(1).map_err(unreadable)? })
}

/// The tables as the first version made them.
#[cfg(test)]
pub(super) fn first_migration() -> &'static str {
    MIGRATIONS[0]
}
