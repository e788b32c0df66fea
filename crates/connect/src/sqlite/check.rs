//! Checks a SQLite database that nobody else has open.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use iostall_measure::{Clock, MonotonicClock};
use rusqlite::{Connection, InterruptHandle, OpenFlags, Row};
use thiserror::Error;

const INTEGRITY: &str = include_str!("sql/integrity.sql");
const FOREIGN_KEYS: &str = include_str!("sql/foreign_keys.sql");
/// What the first of them says of a database without damage.
const GOOD: &str = "ok";
/// Rows without a parent that are named.
const NAMED_MAX: usize = 20;
/// How often it is seen whether the check is still wanted.
const LOOK_EVERY_NS: u64 = 50_000_000;

#[derive(Debug, Error)]
#[error("cannot check {}: {source}", path.display())]
pub struct SqliteCheckError {
    path: PathBuf,
    source: rusqlite::Error,
}

pub fn version() -> &'static str {
    rusqlite::version()
}

/// What is wrong in the database at `path`, with its indexes and its foreign keys; nothing if all is well. A check that is over
/// ends with an error.
pub fn check(path: &Path, is_over: &(dyn Fn() -> bool + Sync)) -> Result<Vec<String>, SqliteCheckError> {
    let failed = |source| SqliteCheckError { path: path.to_owned(), source };
    // One with a write-ahead log is only opened by those who may write.
    let access = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, access).map_err(failed)?;
    let (handle, is_done) = (connection.get_interrupt_handle(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| interrupt(&handle, is_over, &is_done));
        let found = problems(&connection);
        is_done.store(true, Ordering::Relaxed);
        found
    })
    .map_err(failed)
}

fn interrupt(handle: &InterruptHandle, is_over: &(dyn Fn() -> bool + Sync), is_done: &AtomicBool) {
    let clock = MonotonicClock::new();
    while !is_done.load(Ordering::Relaxed) {
        if is_over() {
            handle.interrupt();
        }
        clock.sleep_until(clock.now_ns() + LOOK_EVERY_NS);
    }
}

fn problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut integrity = connection.prepare(INTEGRITY)?;
    let found = integrity.query_map([], |row| row.get::<_, String>(0))?;
    let mut problems = found.collect::<rusqlite::Result<Vec<_>>>()?;
    problems.retain(|problem| problem != GOOD);
    let mut keys = connection.prepare(FOREIGN_KEYS)?;
    let orphans = keys.query_map([], orphan)?.take(NAMED_MAX).collect::<rusqlite::Result<Vec<_>>>()?;
    problems.extend(orphans);
    Ok(problems)
}

fn orphan(row: &Row<'_>) -> rusqlite::Result<String> {
    let (table, number): (String, Option<i64>) = (row.get(0)?, row.get(1)?);
    let parent: String = row.get(2)?;
    let number = number.map_or_else(String::new, |number| format!(" {number}"));
    Ok(format!("row{number} of {table} has no parent in {parent}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(statements: &str) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("shop.db");
        Connection::open(&path).unwrap().execute_batch(statements).unwrap();
        (directory, path)
    }

    #[test]
    fn a_good_database_has_no_problem_and_a_row_without_its_parent_is_one() {
        let (_directory, path) = database(include_str!("../../testdata/sql/sqlite_family.sql"));
        let found = check(&path, &|| false).unwrap();
        assert_eq!(found, ["row 2 of line has no parent in orders"]);
        let (_directory, path) = database("");
        assert_eq!(check(&path, &|| false).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_database_cannot_be_checked() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notes");
        std::fs::write(&path, "not a database at all, but long enough to be looked at").unwrap();
        assert!(check(&path, &|| false).unwrap_err().to_string().contains("notes"));
    }
}
