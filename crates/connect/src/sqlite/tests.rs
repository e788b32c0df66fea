use super::*;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const LIMIT: Duration = Duration::from_secs(600);

struct Case {
    directory: tempfile::TempDir,
}

impl Case {
    /// A database of a few megabytes whose rows add up to zero.
    fn new(journal_mode: &str) -> Self {
        let case = Self { directory: tempfile::tempdir().unwrap() };
        let connection = Connection::open(case.source()).unwrap();
        connection.pragma_update(None, "journal_mode", journal_mode).unwrap();
        let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(mode, journal_mode);
        connection.execute_batch(include_str!("../../testdata/sql/sqlite_accounts.sql")).unwrap();
        case
    }

    fn source(&self) -> PathBuf {
        self.directory.path().join("shop.db")
    }

    fn copy(&self) -> PathBuf {
        self.directory.path().join("copy")
    }

    fn take(&self) -> Result<SqliteCopy, SqliteError> {
        let _ = fs::remove_file(self.copy());
        fs::write(self.copy(), b"").unwrap();
        copy(&self.source(), &self.copy(), LIMIT, &|| false)
    }

    /// What is beside the database, and its content.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(self.directory.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = entries
            .filter(|path| !path.ends_with("copy"))
            .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
            .collect();
        files.sort();
        files
    }
}

/// The state of a database: its check, the sum of the balances, and the number of transfers.
fn state(path: &Path) -> (String, i64, i64) {
    let connection = Connection::open(path).unwrap();
    let columns = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    connection.query_row(include_str!("../../testdata/sql/sqlite_state.sql"), [], columns).unwrap()
}

/// Beside a program that wrote twenty times a second the copy began again a hundred and fifty times, and never ended.
#[test]
fn a_copy_beside_a_writer_is_of_one_point_in_time_and_ends() {
    let case = Case::new("wal");
    let (is_over, transfers) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let connection = Connection::open(case.source()).unwrap();
            connection.busy_timeout(LIMIT).unwrap();
            while !is_over.load(Ordering::Relaxed) {
                let one = 1 + transfers.fetch_add(1, Ordering::Relaxed) % 9_000;
                let transfer =
                    include_str!("../../testdata/sql/sqlite_transfer.sql").replace(":from", &one.to_string());
                connection.execute_batch(&transfer).unwrap();
            }
        });
        for _ in 0..5 {
            // Each copy has something new to hold.
            let before = transfers.load(Ordering::Relaxed);
            while transfers.load(Ordering::Relaxed) < before + 3 {
                std::thread::yield_now();
            }
            let copy = case.take().unwrap();
            assert!(copy.has_log);
            let (check, sum, moved) = state(&case.copy());
            assert_eq!((check.as_str(), sum), ("ok", 0));
            // What was committed before the copy began is in it; the one that is being made need not be.
            assert!(moved >= 2 * i64::from(before.saturating_sub(1)), "{moved} after {before} transfers");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

/// A backup left a log and its index beside a database that nobody had open, and as root they were root's.
#[test]
fn nothing_of_the_source_changes_whatever_its_journal() {
    for mode in ["wal", "delete", "truncate"] {
        let case = Case::new(mode);
        let before = case.files();
        let copy = case.take().unwrap();
        assert_eq!((copy.page_bytes, copy.has_log), (4096, mode == "wal"));
        assert!(
            case.files() == before,
            "{mode}: {:?}",
            case.files().iter().map(|file| &file.0).collect::<Vec<_>>()
        );
        assert_eq!(state(&case.copy()), ("ok".to_owned(), 0, 0), "{mode}");
    }
}

/// What a program has committed is in its log for as long as it has the database open.
#[test]
fn what_is_only_in_the_log_is_copied_and_stays_there() {
    let case = Case::new("wal");
    let connection = Connection::open(case.source()).unwrap();
    connection.execute_batch(include_str!("../../testdata/sql/sqlite_only_in_log.sql")).unwrap();
    let before = fs::read(case.source()).unwrap();
    case.take().unwrap();
    assert_eq!(state(&case.copy()).2, 10);
    assert!(fs::read(case.source()).unwrap() == before, "the log was moved into the database");
}

#[test]
fn a_half_written_transaction_is_not_rolled_back_by_a_backup() {
    let case = Case::new("delete");
    // As a killed program leaves it: the journal holds pages that the database has lost.
    let connection = Connection::open(case.source()).unwrap();
    connection.execute_batch(include_str!("../../testdata/sql/sqlite_half_written.sql")).unwrap();
    let torn =
        (fs::read(case.source()).unwrap(), fs::read(case.directory.path().join("shop.db-journal")).unwrap());
    drop(connection);
    fs::write(case.source(), &torn.0).unwrap();
    fs::write(case.directory.path().join("shop.db-journal"), &torn.1).unwrap();
    let error = case.take().unwrap_err();
    assert!(error.hint().unwrap().contains("open the database once"), "{error:?}");
    assert!(fs::read(case.source()).unwrap() == torn.0);
}

#[test]
fn what_is_no_database_is_refused_by_name() {
    let case = Case::new("delete");
    fs::write(case.source(), b"SQLite format 3").unwrap();
    assert!(matches!(case.take(), Err(SqliteError::NotDatabase { .. })));
    fs::remove_file(case.source()).unwrap();
    assert!(matches!(case.take(), Err(SqliteError::Look { .. })));
    assert!(!case.source().exists(), "a database was created");
}

#[test]
fn a_copy_that_is_no_longer_wanted_ends() {
    let case = Case::new("delete");
    fs::write(case.copy(), b"").unwrap();
    let answer = copy(&case.source(), &case.copy(), LIMIT, &|| true);
    assert!(matches!(answer, Err(SqliteError::Cancelled)), "{answer:?}");
}

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
