//! Chains of increments that the server makes itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use iostall_load::window::StopToken;
use iostall_measure::RunClock;
use iostall_model::backup::Compression;
use iostall_model::backup::Through;
use iostall_session::SessionError;
use iostall_session::backup::base::BaseRequest;
use iostall_session::backup::create::{BackupSource, CreateRequest, Created, create};
use iostall_session::backup::database::DatabaseSource;
use iostall_session::recorder::Program;
use iostall_session::transfer::Transfer;
use iostall_transfer::Progress;
use iostall_transfer::backup::read::{OpenSet, open};
use iostall_transfer::backup::restore::{RestoreOptions, restore};
use iostall_transfer::backup::verify::{VerifyOptions, verify};

use super::load::Load;
use super::made::drilled;
use super::protocol::give_away;
use super::servers::postgres::Postgres;
use super::servers::{directory, skip};
use super::statements::{sql, sql_with};
use super::{check, place, started};

/// The server, which is to send its files.
fn source(port: u16, scratch: &Path) -> BackupSource {
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres?tls=off");
    let source = DatabaseSource::parse(&url).unwrap().unwrap();
    BackupSource::Database(source.ready(scratch, None, Some(Through::Replication), &|_| Ok(None)).unwrap())
}

fn attempt(
    sources: Vec<BackupSource>,
    target: PathBuf,
    base: Option<BaseRequest>,
) -> Result<Created, SessionError> {
    let stop = StopToken::default();
    let program = Program { version: "test".to_owned(), command_line: Vec::new() };
    let transfer = Transfer::begin(program, RunClock::of_machine(), &stop, None).unwrap();
    let request = CreateRequest {
        sources,
        targets: vec![target],
        compression: Compression::Zstd(1),
        frame_bytes: Some(64 << 10),
        transfer_bytes: None,
        buffers: None,
        workers: Some(1),
        limit: None,
        lock: None,
        object_lock: None,
        base,
    };
    create(request, transfer, &())
}

/// Backs the server up as `name`, on top of the newest set in the directory if `is_increment`.
fn back_up(port: u16, directory: &Path, name: &str, is_increment: bool) -> Result<Created, SessionError> {
    let base = BaseRequest { from: vec![directory.to_owned()], unlock: None };
    attempt(vec![source(port, directory)], directory.join(name), is_increment.then_some(base))
}

pub(crate) fn made(port: u16, directory: &Path, name: &str, is_increment: bool) -> PathBuf {
    let created = back_up(port, directory, name, is_increment)
        .unwrap_or_else(|error| panic!("{error}: {:?}", error.hint()));
    assert!(created.ended.is_none(), "{:?}", created.ended);
    assert_eq!(created.outcome.bad_pages, Vec::<String>::new());
    directory.join(name)
}

pub(crate) fn restored(set: &OpenSet) -> tempfile::TempDir {
    let place = place();
    let to = place.path().join("data");
    restore(set, &to, &RestoreOptions::default(), &Progress::default()).map_err(|not| not.error).unwrap();
    give_away(&to);
    place
}

/// The content of all files of relations below `data`.
fn relations(data: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = ["base", "global", "iostall_tablespaces"].map(|name| data.join(name)).to_vec();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if !path.ends_with("pg_control") {
            found.insert(path.strip_prefix(data).unwrap().to_owned(), fs::read(&path).unwrap());
        }
    }
    found
}

/// Where two files differ first. A visibility map may be empty: what the server clears in it is in no increment.
fn difference(name: &Path, one: &[u8], other: &[u8]) -> Option<String> {
    if name.to_string_lossy().ends_with("_vm") && one.is_empty() {
        return None;
    }
    if one.len() != other.len() {
        return Some(format!("{}: {} bytes and {}", name.display(), one.len(), other.len()));
    }
    let at: Vec<_> = (0..one.len()).filter(|at| one[*at] != other[*at]).collect();
    let shown = |at: &usize| format!("{}+{}: {:02x} {:02x}", at / 8192, at % 8192, one[*at], other[*at]);
    let first: Vec<_> = at.iter().take(24).map(shown).collect();
    (!at.is_empty()).then(|| format!("{} in {} bytes: {}", name.display(), at.len(), first.join(", ")))
}

/// Backs `server` up into `sets`, first as a whole, then five times as an increment, under load; `space` is for a tablespace. Nothing
/// changes after the last one. Returns it, and how many transfers were committed.
pub(crate) fn make_chain(server: &Postgres, sets: &Path, space: &Path) -> (PathBuf, u64) {
    server.sql(sql("summarize"));
    server.sql(sql("reload"));
    server.sql(sql("schema"));
    server.sql(&sql_with("make_tablespace", &[("place", &space.display())]));
    server.sql(sql("make_in_tablespace"));
    let rows = |name, table: &str| sql_with(name, &[("table", &table)]);
    for table in ["dropped", "cut", "grown", "moved"] {
        server.sql(&rows("make_rows", table));
    }
    let load = Load::on(server.port);
    let whole = made(server.port, sets, "0.iob", false);
    let nights: [&dyn Fn(); 4] = [
        &|| {
            server.sql(sql("drop_and_cut"));
            server.sql("VACUUM cut");
        },
        &|| server.sql(&rows("add_rows", "grown")),
        &|| {
            server.sql(&rows("add_rows", "cut"));
            server.sql("VACUUM FULL moved");
        },
        &|| server.sql(sql("add_one")),
    ];
    for (night, work) in (1..).zip(nights) {
        work();
        load.wait_for(20);
        let size = |path: &Path| fs::metadata(path).unwrap().len();
        let increment = made(server.port, sets, &format!("{night}.iob"), true);
        assert!(size(&increment) < size(&whole), "{night}");
    }
    load.wait_for(20);
    let committed = load.committed();
    drop(load);
    // Nothing changes any more: the last increment and a whole backup are of the same state.
    server.sql("CHECKPOINT");
    (made(server.port, sets, "5.iob", true), committed)
}

/// The fifth increment was tried out for the first time when it was needed.
fn chain(version: u32) {
    // With checksums the server writes hints to its log, so that an increment has them.
    let Some(server) = Postgres::start_checked(version) else {
        return skip(&format!("increments of PostgreSQL {version} itself: it cannot be had"));
    };
    let (sets, space) = (tempfile::tempdir().unwrap(), directory());
    let (last, committed) = make_chain(&server, sets.path(), space.path());
    let elsewhere = tempfile::tempdir().unwrap();
    let again = made(server.port, elsewhere.path(), "again.iob", false);

    let set = open(std::slice::from_ref(&last), None).unwrap();
    assert_eq!(set.manifest.bases.len(), 5);
    let parts =
        set.manifest.files.iter().filter(|file| file.name.to_string().contains("INCREMENTAL.")).count();
    assert!(parts > 100, "{parts}");
    let verified = verify(&set, &VerifyOptions::default(), &Progress::default()).unwrap();
    assert_eq!((verified.damage.len(), verified.bases.len()), (0, 5), "{:?}", verified.damage);
    assert_eq!(verified.frames, verified.good_frames);
    let place = restored(&set);
    let data = place.path().join("data");
    let other = restored(&open(&[again], None).unwrap());
    let (combined, expected) = (relations(&data), relations(&other.path().join("data")));
    assert!(combined.keys().eq(expected.keys()));
    assert!(combined.len() > 500);
    let different: Vec<_> =
        combined.iter().filter_map(|(name, bytes)| difference(name, bytes, &expected[name])).collect();
    assert!(different.is_empty(), "{different:#?}");
    let left: Vec<_> = fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        !left.iter().any(|name| name == "backup_manifest" || name.to_string_lossy().starts_with(".iostall")),
        "{left:?}"
    );
    let copy = started(place, version, &[]);
    check(&copy, version, committed);
    let drill = drilled(sets.path(), server.programs());
    assert!(drill.is_complete && drill.failed().next().is_none(), "{drill:?}");
    missing_and_damaged(sets.path(), &last);
}

/// What is needed of another set is missing, or damaged: that is said before anything is restored, and by a check.
fn missing_and_damaged(sets: &Path, last: &PathBuf) {
    let needed = sets.join("2.iob");
    let kept = fs::read(&needed).unwrap();
    let restore_error = || {
        let set = open(std::slice::from_ref(last), None).unwrap();
        let to = sets.join("no");
        let error = restore(&set, &to, &RestoreOptions::default(), &Progress::default()).err().unwrap().error;
        assert!(!to.exists());
        (set, format!("{error:?}"))
    };
    let mut damaged = kept.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 100].fill(0x55);
    fs::write(&needed, &damaged).unwrap();
    let (set, said) = restore_error();
    let of_base = format!("base: Some({:?})", set.manifest.bases[2].set);
    assert!(said.contains(&of_base), "{of_base}: {said}");
    let verified = verify(&set, &VerifyOptions::default(), &Progress::default()).unwrap();
    assert!(verified.damage.iter().any(|damage| damage.base.is_some()), "{:?}", verified.damage);
    fs::remove_file(&needed).unwrap();
    let manifest = sets.join("2.iob.manifest");
    let kept_manifest = fs::read(&manifest).unwrap();
    fs::remove_file(&manifest).unwrap();
    let (_, said) = restore_error();
    assert!(said.contains("is missing"), "{said}");
    fs::write(&needed, kept).unwrap();
    fs::write(&manifest, kept_manifest).unwrap();
    let set = open(std::slice::from_ref(last), None).unwrap();
    assert!(set.damage.is_empty() && set.chain.damage.is_empty());
}

#[test]
fn a_chain_of_five_increments_that_17_made_is_restored_as_a_whole_backup() {
    chain(17);
}

#[test]
fn a_chain_of_five_increments_that_18_made_is_restored_as_a_whole_backup() {
    chain(18);
}

/// A whole backup was made every night instead of an increment, without a word.
#[test]
fn where_no_increment_is_possible_the_reason_is_named() {
    let refused = |version: u32, settings: &[&str]| {
        let server = Postgres::start_in(directory(), version, None, settings)?;
        let sets = tempfile::tempdir().unwrap();
        made(server.port, sets.path(), "0.iob", false);
        let error = back_up(server.port, sets.path(), "1.iob", true).err().unwrap();
        assert!(!sets.path().join("1.iob").exists());
        Some(error.to_string())
    };
    let Some(said) = refused(17, &[]) else { return skip("PostgreSQL 17: it cannot be had") };
    assert!(said.contains("summarize_wal is off"), "{said}");
    let both = {
        let server = Postgres::start_in(directory(), 17, None, &["summarize_wal=on"]).unwrap();
        let (sets, more) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        made(server.port, sets.path(), "0.iob", false);
        let base = BaseRequest { from: vec![sets.path().join("0.iob")], unlock: None };
        let also = BackupSource::Path(more.path().to_owned());
        let sources = vec![source(server.port, sets.path()), also];
        attempt(sources, sets.path().join("1.iob"), Some(base)).err().unwrap().to_string()
    };
    assert!(both.contains("the only source"), "{both}");
    let Some(said) = refused(15, &[]) else { return skip("PostgreSQL 15: it is not installed") };
    assert!(said.contains("PostgreSQL 15 cannot make any"), "{said}");
}
