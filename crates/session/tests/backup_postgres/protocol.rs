//! Backups of servers whose data directory is not here: the server sends its files.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iostall_connect::postgres::ReplicationError;
use iostall_model::backup::{PostgresRecord, SourceKind, Through};
use iostall_session::backup::postgres::{PostgresBackupError, prepare};
use iostall_transfer::Progress;
use iostall_transfer::backup::create::{Item, PreparedSource, What};
use iostall_transfer::backup::read::{OpenSet, open};
use iostall_transfer::backup::restore::{RestoreOptions, restore};
use iostall_transfer::backup::streamed_files::{Ahead, StreamedEntry, StreamedFiles};
use iostall_transfer::pipeline::StageFailure;

use super::load::Load;
use super::made::{drilled, made};
use super::servers::postgres::Postgres;
use super::servers::{chown_to_nobody, directory, skip, until};
use super::statements::{sql, sql_with};
use super::{check, check_pages, has_files, place, prepared, request, started, wait_until};

/// A backup must not be over before transactions have changed what was sent.
const READ_BYTES_PER_SECOND: u64 = 64 << 20;

fn sent(port: u16, user: &str) -> Result<PreparedSource, PostgresBackupError> {
    let mut request = request(port);
    user.clone_into(&mut request.address.user);
    request.through = Some(Through::Replication);
    prepare(&request, &Arc::default())
}

/// What is done once the first file begins. Far more is sent than fits into the buffers of a connection, so the backup is not near
/// its end then.
struct Begun<F> {
    files: Box<dyn StreamedFiles>,
    /// How often the stream is asked before.
    left: u32,
    then: Option<F>,
}

impl<F: FnOnce() + Send> StreamedFiles for Begun<F> {
    fn ahead(&mut self) -> Result<Option<Ahead>, StageFailure> {
        let ahead = self.files.ahead();
        self.left = self.left.saturating_sub(1);
        if self.left == 0
            && let Some(then) = self.then.take()
        {
            then();
        }
        ahead
    }

    fn read(&mut self, room: &mut [u8]) -> Result<usize, StageFailure> {
        self.files.read(room)
    }

    fn entry(&self, file: usize) -> Option<StreamedEntry> {
        self.files.entry(file)
    }
}

/// The same source, which does something once it has begun.
fn then(mut source: PreparedSource, left: u32, then: impl FnOnce() + Send + 'static) -> PreparedSource {
    let mut then = Some(then);
    let wrapped = |item: Item| match item.what {
        What::Files(files) => {
            Item { what: What::Files(Box::new(Begun { files, left, then: then.take() })), ..item }
        }
        _ => item,
    };
    source.items = source.items.into_iter().map(wrapped).collect();
    source
}

fn record(set: &OpenSet) -> PostgresRecord {
    let SourceKind::Postgresql(record) = &set.manifest.sources[0].kind else {
        panic!("{:?}", set.manifest.sources)
    };
    record.clone()
}

/// Everything under `directory` belongs to the account of the server.
pub(crate) fn give_away(directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            give_away(&path);
        }
        if !path.is_symlink() {
            chown_to_nobody(&path);
        }
    }
    chown_to_nobody(directory);
}

/// Restores the set in `stripes` below a place of its own.
fn restored(stripes: &Path) -> (OpenSet, tempfile::TempDir) {
    let set = open(&[stripes.join("a.iob")], None).unwrap();
    let place = place();
    let to = place.path().join("data");
    restore(&set, &to, &RestoreOptions::default(), &Progress::default()).map_err(|not| not.error).unwrap();
    give_away(&to);
    (set, place)
}

/// A server in a container, or on another host, could not be backed up at all.
fn under_load(version: u32) {
    let Some(server) = Postgres::start_checked(version) else {
        return skip(&format!("replicated backups of PostgreSQL {version}: it cannot be had"));
    };
    server.sql(sql("schema"));
    server.sql(sql("make_logins"));
    let load = Arc::new(Load::on(server.port));
    load.wait_for(20);
    let committed = Arc::new(AtomicU64::new(0));
    let (counted, counts) = (Arc::clone(&load), Arc::clone(&committed));
    // A role that may do nothing else.
    let source = then(sent(server.port, "scram").unwrap(), 1, move || {
        counted.wait_for(20);
        counts.store(counted.committed(), Ordering::Relaxed);
    });
    let stripes = tempfile::tempdir().unwrap();
    let created = made(source, stripes.path(), Some(READ_BYTES_PER_SECOND));
    assert!(created.ended.is_none(), "{:?}", created.ended);
    assert_eq!(created.outcome.through, Some(Through::Replication));
    wait_until(&server, sql("slots"), 0);
    drop(load);
    assert_eq!(created.outcome.bad_pages, Vec::<String>::new());
    assert!(created.outcome.pages_checked.unwrap() > 1_000, "{:?}", created.outcome.pages_checked);

    let (set, place) = restored(stripes.path());
    let record = record(&set);
    assert!(
        record.start_lsn != record.stop_lsn && record.timeline == 1 && !record.from_standby,
        "{record:?}"
    );
    assert!(record.version.starts_with(&version.to_string()), "{record:?}");
    let mut copy = started(place, version, &[]);
    check(&copy, version, committed.load(Ordering::Relaxed));
    copy.stop();
    check_pages(&copy, version);
    let drill = drilled(stripes.path(), server.programs());
    assert!(drill.is_complete && drill.failed().next().is_none(), "{drill:?}");
}

#[test]
fn a_12_that_sends_its_files_is_restored_with_what_was_committed_before_the_end() {
    under_load(12);
}

#[test]
fn a_14_that_sends_its_files_is_restored_with_what_was_committed_before_the_end() {
    under_load(14);
}

#[test]
fn a_15_that_sends_its_files_is_restored_with_what_was_committed_before_the_end() {
    under_load(15);
}

#[test]
fn a_17_that_sends_its_files_is_restored_with_what_was_committed_before_the_end() {
    under_load(17);
}

#[test]
fn an_18_that_sends_its_files_is_restored_with_what_was_committed_before_the_end() {
    under_load(18);
}

/// The restored copy wrote into the tablespace of the server, and started without its label.
#[test]
fn tablespaces_stand_in_the_backup_and_without_its_label_a_copy_does_not_start() {
    let Some(server) = Postgres::start(15, None) else { return skip("PostgreSQL 15: it is not installed") };
    let space = directory();
    server.sql(&sql_with("make_tablespace", &[("place", &space.path().display())]));
    server.sql(sql("make_in_tablespace"));
    let stripes = tempfile::tempdir().unwrap();
    let created = made(sent(server.port, "postgres").unwrap(), stripes.path(), None);
    assert!(created.ended.is_none(), "{:?}", created.ended);
    let (set, place) = restored(stripes.path());
    let locations: Vec<_> = record(&set).tablespaces.iter().map(|one| one.location.to_string()).collect();
    assert_eq!(locations, [space.path().display().to_string()], "where it was is recorded");
    let data = place.path().join("data");
    assert!(has_files(&data.join("iostall_tablespaces")) && !data.join("tablespace_map").exists());
    let names: Vec<_> = set.manifest.files.iter().map(|file| file.name.to_string()).collect();
    assert!(names.ends_with(&["global/pg_control".to_owned()]), "{:?}", names.last());
    let label = data.join("backup_label");
    let kept = std::fs::read(&label).unwrap();
    std::fs::remove_file(&label).unwrap();
    let copy = Postgres::of(place, 15, &[]).unwrap();
    let mut postgres = copy.tool("postgres");
    postgres.arg("-D").arg(copy.data()).arg("-k").arg(copy.data()).args(["-p", &copy.port.to_string()]);
    let output = postgres.stderr(std::process::Stdio::piped()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("could not locate a valid checkpoint record"));
    std::fs::write(&label, kept).unwrap();
    chown_to_nobody(&label);
    let mut copy = copy;
    copy.resume();
    copy.sql(sql("add_one"));
    assert_eq!(copy.number(&sql_with("count", &[("table", &"t")])), 1_000);
    assert_eq!(server.number(sql("least")), 1);
}

/// A standby is where backups are made, so that the primary does not feel them.
#[test]
fn a_standby_sends_its_files_and_the_copy_is_a_server_by_itself() {
    let Some(primary) = Postgres::start(15, None) else { return skip("PostgreSQL 15: it is not installed") };
    primary.sql(sql("schema"));
    let first = place();
    super::restored::restore(prepared(primary.port).unwrap(), &first.path().join("data"), || {}, || {});
    std::fs::write(first.path().join("data/standby.signal"), "").unwrap();
    chown_to_nobody(&first.path().join("data/standby.signal"));
    let conninfo = format!("primary_conninfo=host=127.0.0.1 port={} user=postgres", primary.port);
    let standby = Arc::new(started(first, 15, &[&conninfo]));
    let load = Arc::new(Load::on(primary.port));
    until("replay", || (standby.number(sql("ledger")) > 10).then_some(()));
    let committed = Arc::new(AtomicU64::new(0));
    let (asked, counts) = (Arc::clone(&standby), Arc::clone(&committed));
    let source = then(sent(standby.port, "postgres").unwrap(), 1, move || {
        let before = asked.number(sql("ledger"));
        until("replay", || (asked.number(sql("ledger")) > before + 20).then_some(()));
        counts.store(asked.number(sql("ledger")), Ordering::Relaxed);
    });
    let stripes = tempfile::tempdir().unwrap();
    let created = made(source, stripes.path(), None);
    assert!(created.ended.is_none(), "{:?}", created.ended);
    drop(load);
    let (set, place) = restored(stripes.path());
    assert!(record(&set).from_standby, "{:?}", record(&set));
    let mut copy = started(place, 15, &[]);
    assert_eq!(copy.number(sql("receivers")), 0);
    check(&copy, 15, committed.load(Ordering::Relaxed));
    copy.stop();
}

/// A backup of a server that died in the middle was taken for whole.
#[test]
fn a_server_that_is_killed_in_the_middle_leaves_no_backup() {
    let Some(server) = Postgres::start(15, None) else { return skip("PostgreSQL 15: it is not installed") };
    server.sql(sql("schema"));
    let source = sent(server.port, "postgres").unwrap();
    let server = Arc::new(std::sync::Mutex::new(server));
    let killed = Arc::clone(&server);
    let source = then(source, 1000, move || killed.lock().unwrap().kill());
    let stripes = tempfile::tempdir().unwrap();
    let created = made(source, stripes.path(), None);
    let error = created.ended.map(|error| format!("{error:?}")).unwrap();
    assert!(error.contains("Lost {"), "{error}");
    assert_eq!(std::fs::read_dir(stripes.path()).unwrap().count(), 0, "something was left");
}

/// A page that the disk had lost ended the backup: the server refuses at its end what it has sent.
#[test]
fn a_damaged_page_is_named_and_the_backup_is_whole() {
    for version in [12, 15, 18] {
        let Some(mut server) = Postgres::start_checked(version) else {
            skip(&format!("damage in PostgreSQL {version}: it cannot be had"));
            continue;
        };
        server.sql(sql("schema"));
        let node = server.number(&sql_with("file_node", &[("table", &"account")]));
        let name = format!("base/{}/{node}", server.number(sql("database_oid")));
        server.stop();
        let path = server.data().join(&name);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[8192 * 5 + 4000] ^= 0x10;
        std::fs::write(path, bytes).unwrap();
        server.resume();
        let stripes = tempfile::tempdir().unwrap();
        let created = made(sent(server.port, "postgres").unwrap(), stripes.path(), None);
        assert!(created.ended.is_none(), "{:?}", created.ended);
        let found = &created.outcome.bad_pages;
        let is_named = |one: &String| one.starts_with(&format!("{name} block 5 has a wrong checksum"));
        assert!(found.len() == 1 && is_named(&found[0]), "{found:?}");
    }
}

/// Whoever names a server of which no file is here need not know that there is another way.
#[test]
fn the_way_is_chosen_by_where_the_files_are_and_both_reasons_are_named_if_none_is_possible() {
    let Some(server) = Postgres::start(15, None) else { return skip("PostgreSQL 15: it is not installed") };
    server.sql(sql("make_logins"));
    let through = |user: &str| {
        let mut request = request(server.port);
        user.clone_into(&mut request.address.user);
        request.through = None;
        let source = prepare(&request, &Arc::default())?;
        let SourceKind::Postgresql(record) = source.record.kind else { panic!("another kind") };
        Ok::<_, PostgresBackupError>(record.through)
    };
    assert_eq!(through("postgres").unwrap(), Through::Files);
    // It may not see where they are.
    assert_eq!(through("scram").unwrap(), Through::Replication);
    let error = through("reader").unwrap_err();
    let PostgresBackupError::Neither { replication, .. } = &error else { panic!("{error}") };
    assert!(matches!(**replication, ReplicationError::Denied { .. }), "{error}");
    assert!(error.to_string().contains("its files") && error.hint().contains("REPLICATION"), "{error}");
    wait_until(&server, sql("slots"), 0);
}
