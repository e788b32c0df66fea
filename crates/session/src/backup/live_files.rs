//! Signs that plain files belong to a database that is running: read one after another they are no backup of it.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use iostall_engine::files::{Writers, writers};
use iostall_host::System;
use iostall_transfer::backup::create::{Item, PreparedSource, What};

/// How many are named; a tree may have thousands of small databases.
const NAMED_MAX: usize = 5;
const SQLITE_HEAD: &[u8] = b"SQLite format 3\0";
/// Beside a database: changes that are not in it yet, and what it would be rolled back with.
const LOGS: [&str; 2] = ["-wal", "-journal"];

/// A sentence for each sign in the files of `source`, which was named as the path `named`.
pub(super) fn signs(named: &Path, source: &PreparedSource) -> Vec<String> {
    let files = source.items.iter().filter_map(|item: &Item| match &item.what {
        What::File { path, .. } => Some(path.as_path()),
        _ => None,
    });
    let in_tree = files.filter_map(of_file);
    let beside = LOGS.iter().filter_map(|log| {
        let mut path = named.as_os_str().to_owned();
        path.push(log);
        // It is no part of the source, so it is lost whoever has it open.
        sqlite(Path::new(&path), log)
    });
    let mut all: Vec<String> = in_tree.chain(beside).take(NAMED_MAX + 1).collect();
    if all.len() > NAMED_MAX {
        all[NAMED_MAX] = String::from("and more files of running databases");
    }
    all
}

fn of_file(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    match name {
        "postmaster.pid" => postgres(path),
        "ibdata1" => innodb(path),
        _ => {
            let log = LOGS.into_iter().find(|log| name.ends_with(log))?;
            // With nobody who writes, database and log are read as they belong together.
            let is_used = File::open(path).is_ok_and(|file| writers(&file) != Writers::None);
            is_used.then(|| sqlite(path, log))?
        }
    }
}

fn postgres(path: &Path) -> Option<String> {
    let note = std::fs::read_to_string(path).ok()?;
    let id: i32 = note.lines().next()?.trim().parse().ok()?;
    let system = System::here();
    let is_running = ["postgres", "postmaster"].iter().any(|name| system.runs(id, name));
    let directory = path.parent()?.display();
    is_running.then(|| {
        format!(
            "{directory} is the data directory of a running PostgreSQL (process {id}): these files are of no single point in time; name \
             the server instead, postgres://USER@HOST"
        )
    })
}

fn innodb(path: &Path) -> Option<String> {
    let is_used = writers(&File::open(path).ok()?) == Writers::Some;
    let directory = path.parent()?.display();
    is_used.then(|| {
        format!(
            "{directory} is the data directory of a running MariaDB or MySQL, which has ibdata1 open: these files are of no single point \
             in time; name a MariaDB instead, mariadb://USER@HOST"
        )
    })
}

fn sqlite(path: &Path, log: &str) -> Option<String> {
    let database = path.to_str()?.strip_suffix(log)?;
    let has_content = path.metadata().is_ok_and(|found| found.len() > 0);
    let mut head = [0; SQLITE_HEAD.len()];
    let is_sqlite =
        has_content && File::open(database).ok()?.read_exact(&mut head).is_ok() && head == SQLITE_HEAD;
    is_sqlite.then(|| {
        format!(
            "{database} is a database of SQLite with changes in {}: what is committed may be missing; name it as sqlite:{database} instead",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use iostall_transfer::Progress;
    use iostall_transfer::backup::create::{SourceRequest, prepare};

    use super::*;

    fn signs_of(path: &Path) -> Vec<String> {
        let request = vec![SourceRequest::Path(path.to_owned())];
        signs(path, &prepare(request, &[], &Progress::default()).unwrap()[0])
    }

    /// The story: a committed row was in the write-ahead log, and the backup of the file alone was "whole and durable".
    #[test]
    fn a_log_beside_a_database_of_sqlite_is_named_with_the_form_that_has_both() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("s.db"), [SQLITE_HEAD, &[0; 84]].concat()).unwrap();
        std::fs::write(path("s.db-wal"), "").unwrap();
        assert!(signs_of(&path("s.db")).is_empty(), "an empty log holds nothing");
        std::fs::write(path("s.db-wal"), "x").unwrap();
        let said = signs_of(&path("s.db"));
        assert!(said.len() == 1 && said[0].contains("sqlite:"), "{said:?}");
        let open = std::fs::OpenOptions::new().append(true).open(path("s.db-wal")).unwrap();
        assert_eq!(signs_of(directory.path()).len(), 1, "somebody has the log open");
        drop(open);
        std::fs::write(path("t.db"), "no database").unwrap();
        std::fs::write(path("t.db-journal"), "x").unwrap();
        assert!(signs_of(&path("t.db")).is_empty());
    }

    #[test]
    fn the_note_of_a_postmaster_counts_while_it_runs() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("postmaster.pid"), format!("{}\n", std::process::id())).unwrap();
        assert!(signs_of(directory.path()).is_empty(), "this process is no postgres");
    }
}
