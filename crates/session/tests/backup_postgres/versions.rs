//! Every version of the server: backed up under load, restored, started and drilled.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iostall_model::backup::SourceKind;
use iostall_model::drill::CheckState;
use iostall_transfer::Progress;
use iostall_transfer::backup::create::{Live, LiveEnd, PagesSeen};
use iostall_transfer::backup::pages::{PageState, RelationFile, state_of};
use iostall_transfer::backup::read::open;
use iostall_transfer::backup::restore::{RestoreOptions, restore};
use iostall_transfer::pipeline::StageFailure;

use super::load::Load;
use super::made::{drilled, made};
use super::servers::postgres::Postgres;
use super::servers::skip;
use super::statements::sql;
use super::{check, check_pages, place, prepared, started, wait_until};

const PAGE_BYTES: usize = 8192;
/// A backup must not be over before transactions have changed what it has read.
const READ_BYTES_PER_SECOND: u64 = 64 << 20;

/// A server in backup mode, and how many transfers were committed before that ended.
struct Counted {
    server: Box<dyn Live>,
    load: Arc<Load>,
    committed: Arc<AtomicU64>,
}

impl Live for Counted {
    fn end(&mut self) -> Result<LiveEnd, StageFailure> {
        self.load.wait_for(20);
        self.committed.store(self.load.committed(), Ordering::Relaxed);
        self.server.end()
    }

    fn pages(&self) -> Option<PagesSeen> {
        self.server.pages()
    }
}

/// Reads every page of every relation below `directory`, which a server that is down has written; returns how many are in use.
fn read_pages(directory: &Path) -> u64 {
    let mut pages = 0;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages += read_pages(&path);
        } else if RelationFile::parse(path.file_name().unwrap().as_encoded_bytes()).is_some() {
            for (block, page) in (0..).zip(fs::read(&path).unwrap().chunks(PAGE_BYTES)) {
                let state = state_of(page, block);
                assert!(
                    !matches!(state, PageState::Wrong { .. }),
                    "{} block {block}: {state:?}",
                    path.display()
                );
                pages += u64::from(state == PageState::Valid);
            }
        }
    }
    pages
}

/// A copy that was made while transactions went on was of no point in time: it lacked some that were committed, and had
/// pages that no server could read.
fn under_load(version: u32) {
    let Some(server) = Postgres::start_checked(version) else {
        return skip(&format!("backups of PostgreSQL {version}: it cannot be had"));
    };
    server.sql(sql("schema"));
    let load = Arc::new(Load::on(server.port));
    load.wait_for(20);
    let committed = Arc::default();
    let mut source = prepared(server.port).unwrap();
    source.live = source.live.map(|server| -> Box<dyn Live> {
        Box::new(Counted { server, load: load.clone(), committed: Arc::clone(&committed) })
    });
    let stripes = tempfile::tempdir().unwrap();
    let created = made(source, stripes.path(), Some(READ_BYTES_PER_SECOND));
    assert!(created.ended.is_none(), "{:?}", created.ended);
    // The server goes on, with nothing left of the backup.
    wait_until(&server, sql("slots"), 0);
    drop(load);
    assert_eq!(created.outcome.bad_pages, Vec::<String>::new());
    assert!(created.outcome.pages_checked.unwrap() > 1_000, "{:?}", created.outcome.pages_checked);

    let set = open(&[stripes.path().join("a.iob")], None).unwrap();
    let SourceKind::Postgresql(record) = &set.manifest.sources[0].kind else {
        panic!("{:?}", set.manifest.sources)
    };
    assert!(
        record.start_lsn != record.stop_lsn && record.timeline == 1 && !record.from_standby,
        "{record:?}"
    );
    assert!(record.version.starts_with(&version.to_string()), "{record:?}");
    let place = place();
    let to = place.path().join("data");
    restore(&set, &to, &RestoreOptions::default(), &Progress::default())
        .map_err(|failed| failed.error)
        .unwrap();
    let mut copy = started(place, version, &[]);
    check(&copy, version, committed.load(Ordering::Relaxed));
    copy.stop();
    let pages: u64 = ["base", "global"].iter().map(|part| read_pages(&copy.data().join(part))).sum();
    assert!(pages > 1_000, "{pages}");
    check_pages(&copy, version);

    let drill = drilled(stripes.path(), server.programs());
    assert!(drill.is_complete, "{drill:?}");
    assert!(drill.engines[0].starts_with(&format!("PostgreSQL {version}.")), "{:?}", drill.engines);
    for name in ["content", "recovery", "amcheck of postgres", "pages"] {
        let found = drill.checks.iter().find(|check| check.name == name);
        assert!(found.is_some_and(|check| check.state == CheckState::Passed), "{name}: {:?}", drill.checks);
    }
    assert!(drill.failed().next().is_none(), "{:?}", drill.checks);
}

#[test]
fn a_restored_12_holds_what_was_committed_before_the_end() {
    under_load(12);
}

#[test]
fn a_restored_13_holds_what_was_committed_before_the_end() {
    under_load(13);
}

#[test]
fn a_restored_14_holds_what_was_committed_before_the_end() {
    under_load(14);
}

#[test]
fn a_restored_15_holds_what_was_committed_before_the_end() {
    under_load(15);
}

#[test]
fn a_restored_16_holds_what_was_committed_before_the_end() {
    under_load(16);
}

#[test]
fn a_restored_17_holds_what_was_committed_before_the_end() {
    under_load(17);
}

#[test]
fn a_restored_18_holds_what_was_committed_before_the_end() {
    under_load(18);
}
