//! Recognises database files by location, name or header.
//!
//! The formats are public: PostgreSQL and MySQL/MariaDB document theirs in manual and source, SQLite in its
//! file format page; SQL Server's page header is covered by its documentation and by published `DBCC PAGE`
//! dumps, and block zero of Oracle's data files by its support notes.

use std::fmt;
use std::io;
use std::path::Path;

use super::mark::made_by_iostall;
use super::signature::ReadAt;
use crate::input;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseFile {
    pub database: &'static str,
    pub sign: String,
}

impl fmt::Display for DatabaseFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, by {}", self.database, self.sign)
    }
}

/// Recognises the file at `path` (links resolved), whose content `file` reads.
///
/// An empty file is recognised only where a database may really have one: inside a PostgreSQL data directory,
/// and beside an SQLite database.
pub(super) fn recognise(
    path: &Path,
    file: &impl ReadAt,
    size_bytes: u64,
) -> io::Result<Option<DatabaseFile>> {
    let by_place = in_postgres_tree(path).or_else(|| beside_sqlite(path));
    if by_place.is_some() || size_bytes == 0 {
        return Ok(by_place);
    }
    let mut head = vec![0; HEAD_BYTES];
    let length = file.read_at(&mut head, 0)?;
    head.truncate(length);
    Ok(by_content(&head).or_else(|| by_name(path, &head)))
}

/// Recognises a directory (links resolved) in which a database keeps its files. A new file there would be
/// included in its backups, fill its volume, or be mistaken for one of its own.
///
/// Files that iostall created do not count: a test next to `test.mdf` is no database.
pub(super) fn recognise_directory(directory: &Path) -> Option<DatabaseFile> {
    let foreign = |path: &Path| path.is_file() && !made_by_iostall(path).unwrap_or(false);
    let in_own = || {
        let entries = std::fs::read_dir(directory).ok()?;
        entries.flatten().map(|entry| entry.path()).find_map(|path| {
            let found = by_name(&path, &[])?;
            foreign(&path).then(|| DatabaseFile { sign: path.display().to_string(), ..found })
        })
    };
    // MySQL has a directory per database, which may be empty.
    let in_parent = || {
        let system = ["ibdata1", "mysql.ibd", "aria_log_control"]
            .map(|name| directory.parent().map(|above| above.join(name)));
        let path = system.into_iter().flatten().find(|path| foreign(path))?;
        Some(DatabaseFile { database: "MySQL or MariaDB", sign: path.display().to_string() })
    };
    in_postgres_tree(&directory.join("new")).or_else(in_own).or_else(in_parent)
}

/// The database that the regular file at `path` (links resolved) belongs to.
///
/// Call it before this process opens the file as a database: closing the file here drops all of the process's
/// locks on it.
pub fn database_at(path: &Path) -> io::Result<Option<DatabaseFile>> {
    let file = std::fs::File::open(path)?;
    recognise(path, &file, file.metadata()?.len())
}

/// Enough for every header below.
const HEAD_BYTES: usize = 128;

/// Longer than any `PG_VERSION`.
const VERSION_BYTES: usize = 16;

/// A directory with `PG_VERSION` in one of its parents, or a tablespace directory (`PG_15_202209061`), which
/// lies outside the data directory.
fn in_postgres_tree(path: &Path) -> Option<DatabaseFile> {
    path.ancestors().skip(1).find_map(|directory| {
        let version = directory.join("PG_VERSION");
        let is_version = |text: &str| text.trim_end().split('.').all(is_number);
        let text =
            input::head(&version, VERSION_BYTES).map(|head| String::from_utf8_lossy(&head).into_owned());
        if text.is_ok_and(|text| is_version(&text)) {
            return Some(DatabaseFile { database: "PostgreSQL", sign: version.display().to_string() });
        }
        let (major, catalog) = directory.file_name()?.to_str()?.strip_prefix("PG_")?.split_once('_')?;
        (is_number(catalog) && catalog.len() == 9 && major.split('.').all(is_number))
            .then(|| DatabaseFile { database: "PostgreSQL", sign: directory.display().to_string() })
    })
}

/// `NAME-wal`, `NAME-shm` and `NAME-journal`, if `NAME` is an SQLite database.
fn beside_sqlite(path: &Path) -> Option<DatabaseFile> {
    let name = path.file_name()?.to_str()?;
    let main = ["-wal", "-shm", "-journal"].iter().find_map(|suffix| name.strip_suffix(suffix))?;
    let main = path.with_file_name(main);
    let mut head = [0; SQLITE_MAGIC.len()];
    let file = std::fs::metadata(&main).ok()?.is_file().then(|| std::fs::File::open(&main).ok())??;
    let length = ReadAt::read_at(&file, &mut head, 0).ok()?;
    (head[..length] == *SQLITE_MAGIC)
        .then(|| DatabaseFile { database: "SQLite", sign: format!("the database {}", main.display()) })
}

const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

fn by_content(head: &[u8]) -> Option<DatabaseFile> {
    let found = |database, sign: &str| Some(DatabaseFile { database, sign: sign.to_owned() });
    if head.starts_with(SQLITE_MAGIC) {
        return found("SQLite", "the header of a database");
    }
    if head.starts_with(b"\x37\x7f\x06\x82") || head.starts_with(b"\x37\x7f\x06\x83") {
        return found("SQLite", "the header of a write-ahead log");
    }
    if head.starts_with(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7") {
        return found("SQLite", "the header of a rollback journal");
    }
    if is_sql_server_file_header(head) {
        return found("SQL Server", "the header of a data or log file's first page");
    }
    if is_innodb_first_page(head) {
        return found("InnoDB", "the header of a tablespace's first page");
    }
    if is_oracle_block_zero(head) {
        return found("Oracle", "block zero of a data, control or redo file");
    }
    if head.starts_with(b"\xfebin") {
        return found("MySQL or MariaDB", "the header of a binary log");
    }
    if head.starts_with(b"\xfe\xfe\x0b") && head.get(4..12) == Some(b"MARIALOG") {
        return found("MariaDB (Aria)", "the header of a log");
    }
    // WiredTiger's block file description: magic 120897, version 1.0.
    if head.starts_with(b"\x41\xd8\x01\x00\x01\x00\x00\x00") {
        return found("MongoDB (WiredTiger)", "the header of a table");
    }
    None
}

/// The 96-byte page header: `m_headerVersion` 1, `m_type` 15 (file header page), at 32 the page number within
/// the file (0 for the first) and at 36 the file number, which starts at 1. Log files begin the same way.
fn is_sql_server_file_header(head: &[u8]) -> bool {
    head.starts_with(b"\x01\x0f")
        && u32_le(head, 32) == Some(0)
        && u16_le(head, 36).is_some_and(|file| file >= 1)
}

/// The FIL header: at 4 the page number, 0; at 24 the page type, 8 (`FIL_PAGE_TYPE_FSP_HDR`); at 34 the space
/// id, which the space header after it repeats at 38. All big-endian.
fn is_innodb_first_page(head: &[u8]) -> bool {
    head.get(4..8) == Some(&[0; 4])
        && head.get(24..26) == Some(&[0, 8])
        && head.len() >= 42
        && head[34..38] == head[38..42]
}

/// At 28 a magic number that differs by version and platform only in its high digit (`5a5b5c5d` in 9.2,
/// `7a7b7c7d` since 10), at 20 the block size, both in the platform's byte order.
fn is_oracle_block_zero(head: &[u8]) -> bool {
    let Some(magic) = head.get(28..32) else { return false };
    let known: [&[u8]; 4] =
        [b"\x7d\x7c\x7b\x7a", b"\x7a\x7b\x7c\x7d", b"\x5d\x5c\x5b\x5a", b"\x5a\x5b\x5c\x5d"];
    let sizes = 512..=32_768;
    let block_bytes = [u32_le(head, 20), u32_le(head, 20).map(u32::swap_bytes)];
    known.contains(&magic)
        && block_bytes.iter().flatten().any(|bytes| bytes.is_power_of_two() && sizes.contains(bytes))
}

fn by_name(path: &Path, head: &[u8]) -> Option<DatabaseFile> {
    let name = path.file_name()?.to_str()?;
    let lower = name.to_ascii_lowercase();
    let extension =
        Path::new(&lower).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let numbered = |prefix: &str| lower.strip_prefix(prefix).is_some_and(is_number);
    let database = if ["mdf", "ndf", "ldf"].contains(&extension) {
        "SQL Server"
    } else if ["ibd", "ibu", "dblwr"].contains(&extension)
        || ["ibdata", "ib_logfile", "undo_", "undo"].into_iter().any(numbered)
        || lower.starts_with("#ib_redo")
    {
        "InnoDB"
    } else if ["myd", "myi"].contains(&extension) {
        "MySQL or MariaDB (MyISAM)"
    } else if ["mad", "mai"].contains(&extension) || numbered("aria_log.") || lower == "aria_log_control" {
        "MariaDB (Aria)"
    } else if extension == "wt" || name.starts_with("WiredTiger") {
        "MongoDB (WiredTiger)"
    } else if is_postgres_wal(name, head) {
        "PostgreSQL"
    } else {
        return None;
    };
    Some(DatabaseFile { database, sign: format!("the name {name}") })
}

/// `pg_wal` may be a link to a place outside the data directory. Segment names have 24 hexadecimal digits,
/// and segments begin with a page magic 0xD0xx or 0xD1xx whose last digits change with the version.
fn is_postgres_wal(name: &str, head: &[u8]) -> bool {
    let is_segment = name.len() == 24 && name.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_segment && u16_le(head, 0).is_some_and(|magic| matches!(magic >> 8, 0xD0 | 0xD1))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

fn u32_le(head: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?))
}

fn u16_le(head: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with bytes at some offsets and zeros elsewhere.
    fn head(parts: &[(usize, &[u8])]) -> Vec<u8> {
        let mut head = vec![0; HEAD_BYTES];
        for (at, bytes) in parts {
            head[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        head
    }

    fn database_of(head: &[u8]) -> Option<&'static str> {
        by_content(head).map(|found| found.database)
    }

    #[test]
    fn first_pages_are_recognised_by_their_headers() {
        let sql_server = head(&[(0, b"\x01\x0f"), (36, b"\x02\0")]);
        let innodb = head(&[(0, b"\xab\xcd\xef\x01"), (24, b"\0\x08"), (34, b"\0\0\0\x2a\0\0\0\x2a")]);
        let oracle = head(&[(1, b"\xa2"), (20, b"\0\x20\0\0"), (28, b"\x7d\x7c\x7b\x7a")]);
        let oracle_big_endian = head(&[(20, b"\0\0\x20\0"), (28, b"\x7a\x7b\x7c\x7d")]);
        assert_eq!(database_of(&sql_server), Some("SQL Server"));
        assert_eq!(database_of(&innodb), Some("InnoDB"));
        assert_eq!(database_of(&oracle), Some("Oracle"));
        assert_eq!(database_of(&oracle_big_endian), Some("Oracle"));
        assert_eq!(database_of(&head(&[(0, b"\xfebin")])), Some("MySQL or MariaDB"));
        assert_eq!(database_of(&head(&[(0, b"\xfe\xfe\x0b\x01MARIALOG")])), Some("MariaDB (Aria)"));
        assert_eq!(database_of(&head(&[(0, b"\x41\xd8\x01\0\x01")])), Some("MongoDB (WiredTiger)"));
        assert_eq!(database_of(&head(&[(0, b"\x37\x7f\x06\x82")])), Some("SQLite"));
    }

    #[test]
    fn zeros_stamps_and_cut_headers_are_no_database() {
        assert_eq!(database_of(&head(&[])), None);
        let mut stamped = head(&[]);
        super::super::header::write_header(&mut stamped, 0, 1, 2);
        assert_eq!(database_of(&stamped), None);
        for length in 0..HEAD_BYTES {
            assert_eq!(database_of(&vec![0; length]), None);
        }
        assert_eq!(database_of(b"\x01\x0f\0\0"), None);
    }

    #[test]
    fn names_are_recognised_in_any_case_and_ordinary_names_are_not() {
        let database = |name: &str| by_name(Path::new(name), &[1]).map(|found| found.database);
        for name in ["a.mdf", "B.NDF", "log.ldf"] {
            assert_eq!(database(name), Some("SQL Server"), "{name}");
        }
        for name in
            ["t.ibd", "ibdata1", "ib_logfile0", "#ib_redo12_tmp", "undo_001", "undo001", "#ib_16384_0.dblwr"]
        {
            assert_eq!(database(name), Some("InnoDB"), "{name}");
        }
        assert_eq!(database("aria_log.00000001"), Some("MariaDB (Aria)"));
        assert_eq!(database("WiredTiger.turtle"), Some("MongoDB (WiredTiger)"));
        for name in ["scratch.dat", "undo.txt", "ibdata", "mdf", "000000010000000000000001"] {
            assert_eq!(database(name), None, "{name}");
        }
        let wal = by_name(Path::new("000000010000000000000001"), b"\x10\xd1");
        assert_eq!(wal.map(|found| found.database), Some("PostgreSQL"));
    }
}
