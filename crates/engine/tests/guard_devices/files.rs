//! Regular files, and what only looks like one.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

use iostall_engine::guard::{
    FreeSpaceError, GrantReason, Refusal, WriteConsent, check_free_space, made_by_iostall,
    mark_made_by_iostall,
};

use super::fixtures::{
    Finally, Loop, Mount, check_write, every_consent, overwrite, refusal_for_ever, run, skip, spawn, text,
};

fn refusal(path: &Path, consent: &WriteConsent) -> Refusal {
    match check_write(path, consent) {
        Err(refusal) => refusal,
        Ok(grant) => panic!("{} may be written: {:?}", path.display(), grant.reason()),
    }
}

/// Refused without a word and with the weaker one; allowed with the stronger; never changed by the check.
fn expect_database(path: &Path, database: &str) {
    let before = std::fs::read(path).unwrap();
    for consent in [WriteConsent::none(), overwrite(path)] {
        let refusal = refusal(path, &consent);
        assert!(
            matches!(&refusal, Refusal::Database { found, .. } if found.database.contains(database)),
            "{refusal}"
        );
        assert!(refusal.hint().contains("--destroy-database"));
    }
    let stronger = WriteConsent { destroy_database: vec![path.to_owned()], ..WriteConsent::none() };
    let grant = check_write(path, &stronger).unwrap();
    assert!(matches!(grant.reason(), GrantReason::DestroyDatabase(_)));
    assert_eq!(std::fs::read(path).unwrap(), before);
}

#[test]
fn an_absent_file_is_created_and_an_empty_one_may_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new.mdf");
    let grant = check_write(&path, &WriteConsent::none()).unwrap();
    assert_eq!(grant.reason(), &GrantReason::Created);
    drop(grant);
    let grant = check_write(&path, &WriteConsent::none()).unwrap();
    assert_eq!(grant.reason(), &GrantReason::Empty);
    mark_made_by_iostall(grant.file()).unwrap();
    let grant = check_write(&path, &WriteConsent::none()).unwrap();
    assert_eq!(grant.reason(), &GrantReason::MadeByIostall);
    let mut all = Vec::new();
    grant.into_file().read_to_end(&mut all).unwrap();
    assert_eq!(all.len(), 32, "the grant reads and writes from the start");
}

#[test]
fn another_mans_file_is_written_only_when_named_by_this_very_path() {
    let directory = tempfile::tempdir().unwrap();
    let [path, other, hard, soft] =
        ["precious", "other", "hard", "soft"].map(|name| directory.path().join(name));
    std::fs::write(&path, "precious").unwrap();
    std::fs::write(&other, "other").unwrap();
    std::fs::hard_link(&path, &hard).unwrap();
    symlink(&path, &soft).unwrap();
    let absent = directory.path().join("absent");
    for consent in [
        WriteConsent::none(),
        overwrite(&other),
        overwrite(&hard),
        overwrite(directory.path()),
        overwrite(&absent),
    ] {
        let refusal = refusal(&path, &consent);
        assert!(matches!(refusal, Refusal::FileNotNamed { size_bytes: 8, .. }), "{refusal}");
        assert!(refusal.hint().contains(&format!("--overwrite {}", path.display())));
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    for (target, word) in [(&path, &path), (&soft, &path), (&path, &soft)] {
        let grant = check_write(target, &overwrite(word)).unwrap();
        assert_eq!(grant.path().file_name(), path.file_name());
    }
}

#[test]
fn what_is_no_file_is_refused_without_being_opened() {
    let directory = tempfile::tempdir().unwrap();
    let [fifo, socket, link] = ["fifo", "socket", "link"].map(|name| directory.path().join(name));
    run("mkfifo", &[text(&fifo)]).unwrap();
    let _listener = UnixListener::bind(&socket).unwrap();
    symlink("nowhere", &link).unwrap();
    for (path, expected) in [
        (directory.path(), "directory"),
        (&fifo, "FIFO"),
        (&socket, "socket"),
        (Path::new("/dev/null"), "character device"),
    ] {
        assert!(matches!(refusal_for_ever(path), Refusal::Kind { kind, .. } if kind == expected));
    }
    assert!(matches!(refusal_for_ever(&link), Refusal::DanglingLink { .. }));
    assert!(matches!(refusal_for_ever(Path::new("/proc/self/comm")), Refusal::KernelFile { .. }));
    assert!(matches!(refusal_for_ever(Path::new("/nowhere/at/all")), Refusal::System { .. }));
}

#[test]
fn files_in_a_postgresql_data_directory_are_refused_the_empty_ones_too() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    for (name, content) in [
        ("PG_VERSION", "15\n"),
        ("base/5/16384", "row"),
        ("base/5/16385", ""),
        ("global/pg_control", "x"),
        ("pg_wal/000000010000000000000001", "x"),
    ] {
        let path = data.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
    }
    for name in
        ["PG_VERSION", "base/5/16384", "base/5/16385", "global/pg_control", "pg_wal/000000010000000000000001"]
    {
        expect_database(&data.join(name), "PostgreSQL");
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let relation = elsewhere.path().join("PG_15_202209061/5/16390");
    std::fs::create_dir_all(relation.parent().unwrap()).unwrap();
    std::fs::write(&relation, "row").unwrap();
    expect_database(&relation, "PostgreSQL");
    let link = elsewhere.path().join("innocent");
    symlink(data.join("base/5/16384"), &link).unwrap();
    assert!(matches!(refusal(&link, &overwrite(&link)), Refusal::Database { .. }));
}

#[test]
fn a_real_sqlite_database_and_its_log_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.data");
    // The log goes with the connection, so the shell copies it before it ends.
    let script = format!(
        "pragma journal_mode=wal; create table t(a); insert into t values(1);\n.shell cp '{0}-wal' '{0}.copy'\n",
        path.display()
    );
    let mut command = Command::new("sqlite3");
    command.arg(&path).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = match spawn(&mut command) {
        Ok(child) => child,
        Err(error) => return skip(&format!("sqlite3: {error}")),
    };
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    expect_database(&path, "SQLite");
    expect_database(&directory.path().join("app.data.copy"), "SQLite");
    let log = directory.path().join("app.data-wal");
    std::fs::write(&log, "").unwrap();
    expect_database(&log, "SQLite");
}

/// Made up from the published layouts, not taken from a server: see the guard's database module.
#[test]
fn made_up_first_pages_of_sql_server_and_innodb_are_refused_under_any_name() {
    let directory = tempfile::tempdir().unwrap();
    let mut sql_server = vec![0; 8192];
    sql_server[0] = 1;
    sql_server[1] = 15;
    sql_server[36] = 1;
    let mut innodb = vec![0; 16_384];
    innodb[25] = 8;
    innodb[37] = 9;
    innodb[41] = 9;
    for (name, page, database) in
        [("renamed.bin", &sql_server, "SQL Server"), ("renamed.tmp", &innodb, "InnoDB")]
    {
        let path = directory.path().join(name);
        std::fs::write(&path, page).unwrap();
        expect_database(&path, database);
    }
    for (name, database) in
        [("x.MDF", "SQL Server"), ("x.ldf", "SQL Server"), ("ibdata1", "InnoDB"), ("ib_logfile0", "InnoDB")]
    {
        let path = directory.path().join(name);
        std::fs::write(&path, "encrypted, so only the name tells").unwrap();
        expect_database(&path, database);
    }
}

#[test]
fn a_file_in_use_as_swap_is_refused_whatever_the_user_says() {
    let Some(device) = Loop::with("mkfs.ext4", &["-q"]) else { return };
    let Some(mount) = Mount::new(device.text(), &[]) else { return };
    let path = mount.path("swap");
    File::create_new(&path).unwrap().write_all(&vec![0; 4 << 20]).unwrap();
    let made = run("chmod", &["600", text(&path)])
        .and_then(|_| run("mkswap", &[text(&path)]))
        .and_then(|_| run("swapon", &[text(&path)]));
    if let Err(error) = made {
        return skip(&error);
    }
    let _swap = Finally("swapoff", vec![text(&path).to_owned()]);
    let refusal = refusal_for_ever(&path);
    assert!(matches!(refusal, Refusal::Swap { .. }), "{refusal}");
}

#[test]
fn a_file_that_is_a_mount_point_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let [below, above] = ["below", "above"].map(|name| directory.path().join(name));
    std::fs::write(&below, "x").unwrap();
    std::fs::write(&above, "y").unwrap();
    if let Err(error) = run("mount", &["--bind", text(&above), text(&below)]) {
        return skip(&error);
    }
    let _mount = Finally("umount", vec![text(&below).to_owned()]);
    assert!(matches!(refusal_for_ever(&below), Refusal::Mounted { .. }));
}

#[test]
fn without_user_attributes_the_stamp_alone_is_the_mark() {
    let Some(mount) = Mount::new("iostall-test", &["-t", "ramfs"]) else { return };
    let path = mount.path("scratch");
    mark_made_by_iostall(&File::create_new(&path).unwrap()).unwrap();
    assert!(made_by_iostall(&path).unwrap());
    std::fs::write(&path, vec![b'p'; 100]).unwrap();
    assert!(!made_by_iostall(&path).unwrap());
    assert!(matches!(refusal(&path, &every_consent(&mount.path("other"))), Refusal::FileNotNamed { .. }));
}

#[test]
fn the_free_space_floor_is_kept_on_small_and_larger_disks() {
    let Some(small) = Loop::with("mkfs.ext4", &["-q"]) else { return };
    let Some(mount) = Mount::new(small.text(), &[]) else { return };
    // A tenth stays free: with a GiB nothing at all could be tested there.
    let error = check_free_space(mount.directory.path(), 1 << 40).unwrap_err();
    let FreeSpaceError::TooLittle { fits_bytes, floor_bytes, free_bytes, .. } = error else {
        panic!("{error}")
    };
    assert!(
        fits_bytes > floor_bytes && fits_bytes + floor_bytes <= free_bytes,
        "{fits_bytes} and {floor_bytes}"
    );
    check_free_space(mount.directory.path(), fits_bytes).unwrap();
    drop(mount);
    let Some(larger) = Loop::new(3 << 30) else { return };
    if let Err(error) = run("mkfs.ext4", &["-q", larger.text()]) {
        return skip(&error);
    }
    let Some(mount) = Mount::new(larger.text(), &[]) else { return };
    let error = check_free_space(mount.directory.path(), 5 << 29).unwrap_err();
    let FreeSpaceError::TooLittle { free_bytes, floor_bytes, fits_bytes, .. } = error else {
        panic!("{error}")
    };
    assert!(floor_bytes < 1 << 30 && floor_bytes > 1 << 28, "a tenth of three GiB: {floor_bytes}");
    assert_eq!(fits_bytes, free_bytes - floor_bytes);
    check_free_space(mount.directory.path(), fits_bytes).unwrap();
    assert!(check_free_space(mount.directory.path(), fits_bytes + 1).is_err());
}
