//! The file's schema, step by step.
//!
//! The version of a file is SQLite's `user_version`: how many of these it has had. A step that has been
//! released is never edited; what it got wrong, a later one mends.

use rusqlite::{Connection, TransactionBehavior};

use super::statements;

/// `iost`: what SQLite's `application_id` says in a file of ours.
pub(super) const APPLICATION_ID: i64 = 0x696f_7374;

/// All steps in order.
const MIGRATIONS: [&str; 6] = [
    include_str!("../../migrations/0001_create_run.sql"),
    include_str!("../../migrations/0100_create_watch.sql"),
    include_str!("../../migrations/0101_add_import_and_days.sql"),
    include_str!("../../migrations/0102_name_scopes.sql"),
    include_str!("../../migrations/0103_identify_by_uuid.sql"),
    include_str!("../../migrations/0104_keep_capacities.sql"),
];

/// The newest version this program knows.
#[expect(clippy::cast_possible_wrap, reason = "there will never be 2^63 migrations")]
pub(super) const KNOWN_VERSION: i64 = MIGRATIONS.len() as i64;

/// What a database file is, as it says itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// Nothing was ever put in.
    Empty,
    /// A store of ours, with its version.
    Store {
        /// How many migrations it has had.
        version: i64,
    },
    /// A database of something else, with its `application_id`.
    Foreign {
        /// 0 where its maker set none.
        application_id: i64,
    },
}

/// What the database behind `connection` is. Inside a transaction, since it takes several looks.
fn identity_in(transaction: &rusqlite::Transaction<'_>) -> rusqlite::Result<Identity> {
    let application_id = transaction.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let objects: i64 = transaction.query_row(statements::COUNT_OBJECTS, [], |row| row.get(0))?;
    Ok(match application_id {
        APPLICATION_ID => Identity::Store { version },
        0 if objects == 0 && version == 0 => Identity::Empty,
        application_id => Identity::Foreign { application_id },
    })
}

/// What the database behind `connection` is.
pub(super) fn identity(connection: &Connection) -> rusqlite::Result<Identity> {
    identity_in(&connection.unchecked_transaction()?)
}

/// Brings an empty database or an older store to [`KNOWN_VERSION`], all steps in one transaction; leaves anything
/// else alone. Takes the write lock before it looks: two processes may find the same file empty, and only one may fill it.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    migrate_to(connection, MIGRATIONS.len())
}

/// The same up to `newest` only.
pub(super) fn migrate_to(connection: &mut Connection, newest: usize) -> rusqlite::Result<()> {
    let newest_version = i64::try_from(newest).unwrap_or(KNOWN_VERSION);
    // Almost always there is nothing to do, and then nobody should wait for a writer.
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
