//! InnoDB's page checksums, compared with MariaDB's own `innochecksum` on files that a real server has written.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iostall_transfer::backup::pages::{InnodbPage, InnodbSpace, Unverifiable};

const SERVER: &str = "/usr/sbin/mariadbd";
const INSTALL: &str = "/usr/bin/mariadb-install-db";
const CHECKER: &str = "/usr/bin/innochecksum";
/// Tables of every form that is stored in another way.
const TABLES: &str = include_str!("../testdata/sql/innodb_tables.sql");

/// A server's data directory whose tables were made with `options`; `None` where MariaDB is not installed.
fn made(options: &[&str]) -> Option<tempfile::TempDir> {
    if ![SERVER, INSTALL, CHECKER].iter().all(|program| Path::new(program).exists()) {
        let _ = writeln!(std::io::stderr(), "SKIPPED: innodb: MariaDB is not installed");
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let data = format!("--datadir={}", directory.path().join("data").display());
    let command = |program: &str| {
        let mut command = Command::new(program);
        command.env("TMPDIR", directory.path()).current_dir(directory.path());
        command.args(["--no-defaults", &data]).args(options).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let install = command(INSTALL).args(["--skip-test-db", "--user=root"]).stdin(Stdio::null()).status();
    assert!(install.unwrap().success(), "mariadb-install-db");
    let mut server = command(SERVER);
    server.args(["--bootstrap", "--user=root", "--innodb-fast-shutdown=0"]).stdin(Stdio::piped());
    let mut server = server.spawn().unwrap();
    server.stdin.take().unwrap().write_all(TABLES.as_bytes()).unwrap();
    assert!(server.wait().unwrap().success(), "mariadbd --bootstrap");
    Some(directory)
}

fn tablespaces(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(tablespaces(&path));
        } else if path.extension().is_some_and(|end| end == "ibd")
            || name.starts_with("ibdata")
            || name.starts_with("undo")
        {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The states of all pages.
fn states(bytes: &[u8]) -> Vec<InnodbPage> {
    let space = InnodbSpace::of_first_page(bytes).expect("a tablespace");
    bytes.chunks_exact(space.page_bytes).map(|page| space.state_of(page)).collect()
}

fn is_accepted(path: &Path) -> bool {
    let checked = Command::new(CHECKER).arg(path).stdout(Stdio::null()).stderr(Stdio::null()).status();
    checked.unwrap().success()
}

fn named<'a>(all: &'a [PathBuf], name: &str) -> &'a PathBuf {
    all.iter().find(|path| path.ends_with(name)).unwrap_or_else(|| panic!("no {name} in {all:?}"))
}

/// Every file is good for both, and a byte that is flipped in a page is found by both, in this page alone.
fn compare(directory: &Path) -> Vec<PathBuf> {
    let all = tablespaces(&directory.join("data"));
    assert!(all.len() > 5, "{all:?}");
    for path in &all {
        let bytes = std::fs::read(path).unwrap();
        let is_system = path.ends_with("ibdata1");
        let copies = InnodbSpace::of_first_page(&bytes).unwrap().doublewrite_pages();
        let is_wrong = |(number, state): &(u64, InnodbPage)| {
            *state == InnodbPage::Wrong && !(is_system && copies.contains(number))
        };
        let wrong = (0..).zip(states(&bytes)).filter(is_wrong).count();
        // The checker takes copies of pages of other files for pages in the wrong place.
        assert_eq!((wrong, is_system || is_accepted(path)), (0, true), "{}", path.display());
    }
    for name in ["oracle/plain.ibd", "oracle/zip.ibd"] {
        let Some(path) = all.iter().find(|path| path.ends_with(name)) else { continue };
        let good = std::fs::read(path).unwrap();
        let page_bytes = InnodbSpace::of_first_page(&good).unwrap().page_bytes;
        let before = states(&good);
        let page = before.iter().rposition(|state| *state == InnodbPage::Valid).unwrap();
        for at in [5, 60, page_bytes / 2, page_bytes - 6] {
            let mut bad = good.clone();
            bad[page * page_bytes + at] ^= 0x20;
            let now = states(&bad);
            assert_eq!(now[page], InnodbPage::Wrong, "{name} page {page} byte {at}");
            assert!((0..now.len()).all(|other| other == page || now[other] == before[other]));
            let copy = directory.join("flipped");
            std::fs::write(&copy, &bad).unwrap();
            assert!(!is_accepted(&copy), "innochecksum on {name} page {page} byte {at}");
        }
    }
    all
}

#[test]
fn full_crc32_is_checked_as_innochecksum_checks_it_and_covers_page_compression() {
    let Some(directory) = made(&["--innodb-checksum-algorithm=full_crc32"]) else { return };
    let all = compare(directory.path());
    let packed = states(&std::fs::read(named(&all, "oracle/packed.ibd")).unwrap());
    assert!(packed.iter().all(|state| matches!(state, InnodbPage::Valid | InnodbPage::Zero)), "{packed:?}");
}

#[test]
fn crc32_is_checked_as_innochecksum_checks_it_and_page_compression_is_said() {
    let Some(directory) = made(&["--innodb-checksum-algorithm=crc32", "--innodb-page-size=8k"]) else {
        return;
    };
    let all = compare(directory.path());
    let plain = std::fs::read(named(&all, "oracle/plain.ibd")).unwrap();
    assert_eq!(InnodbSpace::of_first_page(&plain).unwrap().page_bytes, 8192);
    let packed = states(&std::fs::read(named(&all, "oracle/packed.ibd")).unwrap());
    let compressed = InnodbPage::Unverifiable(Unverifiable::PageCompressed);
    assert!(packed.contains(&compressed), "{packed:?}");
}
