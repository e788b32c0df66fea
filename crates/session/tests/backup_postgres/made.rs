//! Backups as a command makes them: onto stripes, with a manifest.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use iostall_load::window::StopToken;
use iostall_measure::{Nanos, RunClock};
use iostall_model::backup::{Compression, SourceKind};
use iostall_model::{DrillOutcome, RunBody};
use iostall_session::backup::create::{BackupSource, CreateRequest, Created, create};
use iostall_session::backup::drill::{DrillRequest, drill};
use iostall_session::recorder::Program;
use iostall_session::transfer::Transfer;
use iostall_transfer::backup::create::PreparedSource;
use iostall_transfer::backup::manifest_file;

use super::load::Load;
use super::servers::postgres::Postgres;
use super::servers::skip;
use super::statements::sql;
use super::{prepared, request, wait_until};

fn transfer() -> Transfer {
    let program = Program { version: "test".to_owned(), command_line: Vec::new() };
    Transfer::begin(program, RunClock::of_machine(), &StopToken::default(), None).unwrap()
}

/// Backs `source` up onto two stripes in `directory`, reading so many bytes a second at most.
pub(crate) fn made(source: PreparedSource, directory: &Path, limit: Option<u64>) -> Created {
    let request = CreateRequest {
        sources: vec![BackupSource::Prepared(Box::new(source))],
        targets: ["a.iob", "b.iob"].map(|name| directory.join(name)).to_vec(),
        compression: Compression::Zstd(1),
        frame_bytes: None,
        transfer_bytes: None,
        buffers: None,
        workers: Some(1),
        limit,
        lock: None,
        object_lock: None,
        base: None,
    };
    create(request, transfer(), &()).unwrap()
}

/// Holds a drill of the backup in `directory` with the programs in `programs`.
pub(crate) fn drilled(directory: &Path, programs: PathBuf) -> DrillOutcome {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let request = DrillRequest {
        from: vec![directory.to_owned()],
        source: None,
        scratch: scratch.path().to_owned(),
        keep: false,
        engine_dir: Some(programs),
        user: None,
        role: "postgres".to_owned(),
        database: Some("postgres".to_owned()),
        statements: vec![sql("is_consistent").to_owned()],
        settings: Vec::new(),
        timeout: Nanos(600_000_000_000),
        bases: Vec::new(),
        unlock: None,
        point: None,
        workers: None,
        limit: None,
    };
    let run = drill(&request, transfer(), &()).unwrap_or_else(|error| panic!("{error}: {:?}", error.hint()));
    let RunBody::BackupDrill(outcome) = run.body else { panic!("another kind of run") };
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "the drill left something");
    *outcome
}

/// The parts that are known only at the end were missing in the manifest, and with them the backup was worth nothing.
#[test]
fn a_stripe_set_of_a_server_has_its_label_its_log_and_its_control_file() {
    let Some(server) = Postgres::start(15, None) else { return skip("PostgreSQL 15: it is not installed") };
    server.sql(sql("schema"));
    let load = Load::on(server.port);
    load.wait_for(20);
    let directory = tempfile::tempdir().unwrap();
    let created = made(prepared(server.port).unwrap(), directory.path(), None);
    assert!(created.ended.is_none(), "{:?}", created.ended);
    assert_eq!(created.outcome.page_bytes, Some(8192));
    let manifest = std::fs::read(directory.path().join("a.iob.manifest")).unwrap();
    let manifest = manifest_file::decode(manifest, None).unwrap().manifest;
    let SourceKind::Postgresql(record) = &manifest.sources[0].kind else { panic!("{:?}", manifest.sources) };
    assert!(record.stop_lsn.contains('/') && record.timeline == 1, "{record:?}");
    let has = |part: &str| manifest.files.iter().any(|file| file.name.to_string().starts_with(part));
    for part in
        ["backup_label", "global/pg_control", "PG_VERSION", "pg_wal/0000000100000000", "base/5/", "pg_tblspc"]
    {
        assert!(has(part), "{part} is missing");
    }
    for part in ["postmaster", "base/pgsql_tmp", "pg_replslot/", "tablespace_map", "main/", "data/"] {
        assert!(!has(part), "{part} is there");
    }
    // The server hears of the end of the session a little later.
    wait_until(&server, sql("slots"), 0);
}

/// The story: Ctrl-C was pressed while the server made its checkpoint, and iostall waited for the end of it, and then listed all files.
#[test]
fn a_backup_that_is_cancelled_before_its_first_byte_leaves_the_server_as_it_was() {
    let Some(server) = Postgres::start(15, None) else { return skip("PostgreSQL 15: it is not installed") };
    server.sql(sql("schema"));
    let error =
        iostall_session::backup::postgres::prepare(&request(server.port), &Arc::new(AtomicBool::new(true)))
            .err()
            .unwrap();
    assert!(error.is_cancelled(), "{error}");
    wait_until(&server, sql("slots"), 0);
}
