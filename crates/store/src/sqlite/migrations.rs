//! Migrations of the file's schema.
//!
//! The version of a file is SQLite's `user_version`: the number of migrations applied. A released migration
//! is never edited; mistakes are fixed by a later one.

use rusqlite::{Connection, TransactionBehavior};

/// `iost`: SQLite's `application_id` in our files.
pub(super) const APPLICATION_ID: i64 = 0x696f_7374;

const MIGRATIONS: [&str; 10] = [
    include_str!("../../migrations/0001_create_run.sql"),
    include_str!("../../migrations/0100_create_watch.sql"),
    include_str!("../../migrations/0101_add_import_and_days.sql"),
    include_str!("../../migrations/0102_name_scopes.sql"),
    include_str!("../../migrations/0103_identify_by_uuid.sql"),
    include_str!("../../migrations/0104_keep_capacities.sql"),
    include_str!("../../migrations/0105_open_with_older_sqlite.sql"),
    include_str!("../../migrations/0106_keep_jobs_and_alerts.sql"),
    include_str!("../../migrations/0107_keep_notes.sql"),
    include_str!("../../migrations/0108_keep_settings.sql"),
];

#[expect(clippy::cast_possible_wrap, reason = "there will never be 2^63 migrations")]
pub(super) const KNOWN_VERSION: i64 = MIGRATIONS.len() as i64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    Empty,
    Store {
        version: i64,
    },
    Foreign {
        /// 0 if none was set.
        application_id: i64,
    },
}

fn identity_in(transaction: &rusqlite::Transaction<'_>) -> rusqlite::Result<Identity> {
    let application_id = transaction.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let objects: i64 = transaction.query_row(COUNT_OBJECTS, [], |row| row.get(0))?;
    Ok(match application_id {
        APPLICATION_ID => Identity::Store { version },
        0 if objects == 0 && version == 0 => Identity::Empty,
        application_id => Identity::Foreign { application_id },
    })
}

pub(super) fn identity(connection: &Connection) -> rusqlite::Result<Identity> {
    identity_in(&connection.unchecked_transaction()?)
}

/// Migrates an empty database or an older store to [`KNOWN_VERSION`] in one transaction; leaves anything else
/// alone. Takes the write lock first: two processes may find the same empty file, and only one may fill it.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    migrate_to(connection, MIGRATIONS.len())
}

pub(super) fn migrate_to(connection: &mut Connection, newest: usize) -> rusqlite::Result<()> {
    let newest_version = i64::try_from(newest).unwrap_or(KNOWN_VERSION);
    // Usually there is nothing to do, and then it should not wait for a writer.
    if matches!(identity(connection)?, Identity::Store { version } if version >= newest_version) {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version = match identity_in(&transaction)? {
        Identity::Empty => 0,
        Identity::Store { version } => version,
        Identity::Foreign { .. } => return Ok(()),
    };
    let done = usize::try_from(version).unwrap_or(0);
    for step in MIGRATIONS.iter().take(newest).skip(done) {
        transaction.execute_batch(step)?;
    }
    if version < newest_version {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", newest_version)?;
    }
    transaction.commit()
}

pub(super) const INSERT_RUN: &str = include_str!("../../queries/insert_run.sql");
pub(super) const UPDATE_RUN: &str = include_str!("../../queries/update_run.sql");
pub(super) const UPDATE_DOCUMENT: &str = include_str!("../../queries/update_document.sql");
pub(super) const INSERT_TARGET: &str = include_str!("../../queries/insert_target.sql");
pub(super) const INSERT_DOCUMENT: &str = include_str!("../../queries/insert_document.sql");
pub(super) const INSERT_CAPACITY: &str = include_str!("../../queries/insert_capacity.sql");
pub(super) const DELETE_CAPACITIES: &str = include_str!("../../queries/delete_capacities.sql");
pub(super) const LIST_CAPACITIES: &str = include_str!("../../queries/list_capacities.sql");
pub(super) const FIND_BY_NUMBER: &str = include_str!("../../queries/find_by_number.sql");
pub(super) const FIND_BY_ID: &str = include_str!("../../queries/find_by_id.sql");
pub(super) const FIND_BY_FRAGMENT: &str = include_str!("../../queries/find_by_fragment.sql");
pub(super) const FIND_BY_AGE: &str = include_str!("../../queries/find_by_age.sql");
pub(super) const LIST_RUNS: &str = include_str!("../../queries/list_runs.sql");
pub(super) const READ_DOCUMENT: &str = include_str!("../../queries/read_document.sql");
pub(super) const DELETE_RUN: &str = include_str!("../../queries/delete_run.sql");
const COUNT_OBJECTS: &str = include_str!("../../queries/count_objects.sql");
