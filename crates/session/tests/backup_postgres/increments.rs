//! Chains of increments of a server that goes on working.

use std::path::{Path, PathBuf};

use iostall_load::window::StopToken;
use iostall_measure::RunClock;
use iostall_model::backup::Compression;
use iostall_session::backup::base::BaseRequest;
use iostall_session::backup::create::{BackupSource, CreateRequest, create};
use iostall_session::recorder::Program;
use iostall_session::transfer::Transfer;
use iostall_transfer::Progress;
use iostall_transfer::backup::read::open;
use iostall_transfer::backup::restore::{RestoreOptions, restore};

use super::load::Load;
use super::servers::postgres::Postgres;
use super::servers::{chown_to_nobody, skip};
use super::statements::sql;
use super::{check, place, prepared, started};

/// Backs up the server as `name`, on top of the newest set in the directory if `is_increment`; returns how much it had in common.
fn back_up(port: u16, directory: &Path, name: &str, is_increment: bool) -> (PathBuf, u64) {
    let stop = StopToken::default();
    let program = Program { version: "test".to_owned(), command_line: Vec::new() };
    let transfer = Transfer::begin(program, RunClock::of_machine(), &stop, None).unwrap();
    let target = directory.join(name);
    let base = BaseRequest { from: vec![directory.to_owned()], unlock: None };
    let request = CreateRequest {
        sources: vec![BackupSource::Prepared(Box::new(prepared(port).unwrap()))],
        targets: vec![target.clone()],
        compression: Compression::Zstd(1),
        frame_bytes: Some(64 << 10),
        transfer_bytes: None,
        buffers: None,
        workers: Some(1),
        limit: None,
        lock: None,
        object_lock: None,
        base: is_increment.then_some(base),
    };
    let created = create(request, transfer, &()).unwrap();
    assert!(created.ended.is_none(), "{:?}", created.ended);
    (target, created.outcome.base_bytes)
}

/// Everything under `directory` belongs to the account of the server.
fn give_away(directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            give_away(&path);
        }
        chown_to_nobody(&path);
    }
    chown_to_nobody(directory);
}

/// The fifth increment was tried out for the first time when it was needed.
fn chain(version: u32) {
    let Some(server) = Postgres::start(version, None) else {
        return skip(&format!("increments of PostgreSQL {version}: it cannot be had"));
    };
    server.sql(sql("schema"));
    let load = Load::on(server.port);
    let directory = tempfile::tempdir().unwrap();
    back_up(server.port, directory.path(), "0.iob", false);
    for night in 1..=4 {
        load.wait_for(20);
        let (_, base_bytes) = back_up(server.port, directory.path(), &format!("{night}.iob"), true);
        assert!(base_bytes > 10 << 20, "{base_bytes}");
    }
    let committed = load.committed();
    let (last, _) = back_up(server.port, directory.path(), "5.iob", true);
    drop(load);
    let set = open(&[last], None).unwrap();
    assert_eq!(set.manifest.bases.len(), 5);
    let place = place();
    let to = place.path().join("data");
    restore(&set, &to, &RestoreOptions::default(), &Progress::default()).map_err(|not| not.error).unwrap();
    give_away(&to);
    let copy = started(place, version, &[]);
    let there = super::sql_with("committed", &[("last", &committed)]);
    assert_eq!(copy.number(&there), committed, "transactions are missing");
    check(&copy, version, copy.number(sql("last")));
}

#[test]
fn a_chain_of_increments_of_17_holds_what_was_committed_before_the_last() {
    chain(17);
}

#[test]
fn a_chain_of_increments_of_18_holds_what_was_committed_before_the_last() {
    chain(18);
}
