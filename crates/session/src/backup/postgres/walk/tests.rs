use super::*;
use std::fs;
use std::os::unix::fs::symlink;

/// A data directory with these files; a name that ends in `/` is a directory.
fn data(names: &[&str]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in names {
        let path = directory.path().join(name);
        if name.ends_with('/') {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
    }
    fs::create_dir_all(directory.path().join("pg_tblspc")).unwrap();
    directory
}

fn listed(path: &Path) -> Listing {
    listing(&path.canonicalize().unwrap(), 15, None, &|| false).unwrap()
}

/// The names of everything but directories.
fn files_of(listing: &Listing) -> Vec<String> {
    let files = listing.items.iter().filter(|item| !matches!(item.what, What::Directory));
    files.map(|item| item.name.to_string()).collect()
}

fn directories_of(listing: &Listing) -> Vec<String> {
    let all = listing.items.iter().filter(|item| matches!(item.what, What::Directory));
    all.map(|item| item.name.to_string()).collect()
}

#[test]
fn only_what_another_start_of_the_server_needs_is_listed() {
    let data = data(&[
        "PG_VERSION",
        "postmaster.pid",
        "postmaster.opts",
        "backup_label",
        "standby.signal",
        "postgresql.auto.conf",
        "postgresql.auto.conf.tmp",
        "base/5/1259",
        "base/5/1259_vm",
        "base/5/pg_internal.init",
        "base/5/pg_filenode.map",
        "base/5/t3_16400",
        "base/5/t3_16400_fsm",
        "base/5/20",
        "base/5/20.1",
        "base/5/20_vm",
        "base/5/20_init",
        "base/pgsql_tmp/pgsql_tmp12.0",
        "global/pg_control",
        "global/1262",
        "pg_wal/000000010000000000000001",
        "pg_wal/archive_status/000000010000000000000001.done",
        "pg_wal/summaries/x",
        "pg_replslot/s/state",
        "pg_subtrans/0000",
        "pg_stat_tmp/global.stat",
        "pg_stat/pgstat.stat",
        "pg_xact/0000",
        "log/server.log",
        "lost+found/",
    ]);
    let listing = listed(data.path());
    assert_eq!(
        files_of(&listing),
        [
            "PG_VERSION",
            "base/5/1259",
            "base/5/1259_vm",
            "base/5/20_init",
            "base/5/pg_filenode.map",
            "global/1262",
            "log/server.log",
            "pg_stat/pgstat.stat",
            "pg_xact/0000",
            "postgresql.auto.conf",
        ]
    );
    assert_eq!(
        directories_of(&listing),
        [
            "",
            "base",
            "base/5",
            "global",
            "log",
            "pg_replslot",
            "pg_stat",
            "pg_stat_tmp",
            "pg_subtrans",
            "pg_tblspc",
            "pg_wal",
            "pg_wal/archive_status",
            "pg_wal/summaries",
            "pg_xact",
        ]
    );
    assert!(listing.warnings.is_empty(), "{:?}", listing.warnings);
}

/// The restored copy of a database wrote into the tablespace of the one that it was made of.
#[test]
fn tablespaces_stand_in_the_backup_itself_and_their_links_lead_there() {
    let elsewhere = tempfile::tempdir().unwrap();
    fs::create_dir_all(elsewhere.path().join("PG_15_202209061/5")).unwrap();
    fs::write(elsewhere.path().join("PG_15_202209061/5/16400"), "x").unwrap();
    fs::create_dir_all(elsewhere.path().join("PG_14_202107181/5")).unwrap();
    let data = data(&["base/5/1259", "inner/PG_15_202209061/5/16401"]);
    symlink(elsewhere.path(), data.path().join("pg_tblspc/16385")).unwrap();
    symlink(data.path().join("inner"), data.path().join("pg_tblspc/16386")).unwrap();
    let listing = listed(data.path());
    assert_eq!(
        files_of(&listing),
        [
            "base/5/1259",
            "iostall_tablespaces/16385/PG_15_202209061/5/16400",
            "pg_tblspc/16385",
            "iostall_tablespaces/16386/PG_15_202209061/5/16401",
            "pg_tblspc/16386",
        ]
    );
    let link = listing.items.iter().find(|item| item.name.to_string() == "pg_tblspc/16385").unwrap();
    let What::Symlink { to } = &link.what else { panic!("not a link") };
    assert_eq!(to.to_string(), "../iostall_tablespaces/16385");
}

#[test]
fn a_link_is_followed_with_a_warning_and_one_that_leads_back_is_not() {
    let elsewhere = tempfile::tempdir().unwrap();
    fs::create_dir_all(elsewhere.path().join("wal/archive_status")).unwrap();
    fs::create_dir_all(elsewhere.path().join("base/5")).unwrap();
    fs::write(elsewhere.path().join("base/5/16400"), "x").unwrap();
    let data = data(&["PG_VERSION"]);
    symlink(elsewhere.path().join("wal"), data.path().join("pg_wal")).unwrap();
    symlink(elsewhere.path().join("base"), data.path().join("base")).unwrap();
    symlink("..", data.path().join("pg_tblspc/up")).unwrap();
    symlink(".", data.path().join("here")).unwrap();
    symlink("/nowhere/server.key", data.path().join("server.key")).unwrap();
    let listing = listed(data.path());
    assert_eq!(files_of(&listing), ["PG_VERSION", "base/5/16400", "server.key"]);
    assert!(directories_of(&listing).contains(&"pg_wal/archive_status".to_owned()));
    assert_eq!(listing.warnings.len(), 1, "{:?}", listing.warnings);
    assert!(listing.warnings[0].starts_with("base is a link to "), "{:?}", listing.warnings);
}

#[test]
fn what_belongs_to_the_running_server_is_left_out_and_nothing_like_it() {
    assert!(is_left_out("pgsql_tmp") && is_left_out("pgsql_tmp12.0") && is_left_out("pg_internal.init.77"));
    assert!(!is_left_out("postgresql.auto.conf") && !is_left_out("pg_filenode.map"));
    assert!(is_left_out_at_the_top("postmaster.pid") && !is_left_out_at_the_top("PG_VERSION"));
    assert!(is_emptied("pg_replslot") && !is_emptied("pg_stat"));
}
