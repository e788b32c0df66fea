//! What servers say they wrote and read beside what the device under them was asked for, both by our own sources.

use iostall_collect::Source;
use iostall_model::{Change, Counter, Kind, ResetReason, Row, Sample, delta};

use crate::servers::disk::Disk;
use crate::servers::mariadb::Mariadb;
use crate::servers::postgres::Postgres;
use crate::servers::{change, directory_in, read, skip, source, until};

const MIB: u64 = 1 << 20;

/// The sum of `counters` over the rows that `counts` picks, none of which may have been reset.
fn sum(before: &Sample, now: &Sample, counts: impl Fn(&Row) -> bool, counters: &[Counter]) -> u64 {
    let changes = delta::compare(before, now);
    let picked = now.rows.iter().zip(&changes).filter(|(row, _)| counts(row));
    picked
        .map(|(row, change)| match change {
            Change::Delta(totals) => {
                counters.iter().map(|counter| totals.amounts.or_zero(*counter)).sum::<u64>()
            }
            Change::Baseline | Change::NotRead => panic!("{} was not there before", row.subject.name),
            Change::Reset(reason) => panic!("{}: {reason}", row.subject.name),
        })
        .sum()
}

/// A server's own number and our sample of it, taken while that number stood still.
fn quiet(server: &dyn Fn() -> u64, source: &mut dyn Source) -> (u64, Sample) {
    until("a quiet moment", || {
        let counted = server();
        let sample = read(source);
        (server() == counted).then_some((counted, sample))
    })
}

/// What one piece of work did, as the server, our source of it and our source of the host tell it.
struct Counted {
    server: u64,
    ours: u64,
    device: u64,
}

impl Counted {
    /// Does `work` and asks all three; `device` names the device.
    fn of(
        server: &dyn Fn() -> u64,
        source: &mut dyn Source,
        device: &str,
        counts: &dyn Fn(&Row) -> bool,
        counters: &[Counter],
        work: impl FnOnce(),
    ) -> Self {
        let mut host = crate::servers::source("linux:");
        let (counted_before, before) = quiet(server, source);
        let host_before = read(host.as_mut());
        work();
        let (counted, now) = quiet(server, source);
        let host_now = read(host.as_mut());
        let is_device = |row: &Row| row.subject.kind == Kind::LinuxDevice && row.subject.name == device;
        let direction =
            if counters.contains(&Counter::ReadBytes) { Counter::ReadBytes } else { Counter::WriteBytes };
        Self {
            server: counted - counted_before,
            ours: sum(&before, &now, counts, counters),
            device: sum(&host_before, &host_now, is_device, &[direction]),
        }
    }

    /// Ours is the server's to the byte, and the device's lies between `low` and `high` times it, with `slack` for
    /// what the file system writes or reads for itself.
    fn assert(&self, what: &str, low: f64, high: f64, slack: u64) {
        let Self { server, ours, device } = *self;
        assert_eq!(ours, server, "{what}: the sum of the deltas is the server's own");
        assert!(server > 4 * MIB, "{what}: {server} bytes are too few to compare");
        let (least, most) = (server as f64 * low - slack as f64, server as f64 * high + slack as f64);
        let is_within = (least..=most).contains(&(device as f64));
        assert!(is_within, "{what}: the server moved {server} bytes, the device {device}");
    }
}

const PG_WRITTEN: &[Counter] = &[Counter::WriteBytes, Counter::ExtendBytes];

/// Writes: after a checkpoint and a sync both sides have all of it. WAL is synced at each commit and the table's pages
/// are written once, by the checkpoint, so the page cache merges next to nothing; the device has the inodes, the
/// commit log and the like besides, which `pg_stat_io` does not count.
#[test]
fn what_postgres_counts_is_what_its_device_was_asked_for() {
    let Some(disk) = Disk::mount() else {
        return skip("loop devices need root: no bytes were compared with the host");
    };
    let settings = ["fsync=on", "shared_buffers=96MB", "checkpoint_timeout=1h", "max_wal_size=512MB"];
    let Some(mut server) = Postgres::start_in(directory_in(disk.point()), 18, None, &settings) else {
        return skip("PostgreSQL 18 could not be had: its bytes were not compared with the host");
    };
    let mut source = source(&format!("postgres://postgres@127.0.0.1:{}", server.port));
    let is_io = |row: &Row| row.subject.kind == Kind::PostgresIo;
    let flush_all = |server: &Postgres| {
        // Whoever asks for a checkpoint is counted of its end before the checkpointer adds what it wrote to the counters. It
        // has done so when it begins the next one, which has nothing left to write.
        for _ in 0..2 {
            server.sql(include_str!("../../testdata/sql/host_postgres_checkpoint.sql"));
        }
        disk.sync();
    };
    server.sql(include_str!("../../testdata/sql/host_postgres_fill.sql"));
    flush_all(&server);

    let written = || server.number(include_str!("../../testdata/sql/host_postgres_written.sql"));
    let counted = Counted::of(&written, source.as_mut(), &disk.name(), &is_io, PG_WRITTEN, || {
        server.sql(include_str!("../../testdata/sql/host_postgres_transactions.sql"));
        flush_all(&server);
    });
    counted.assert("PostgreSQL writes", 0.95, 1.15, MIB);

    // Nothing is left in the page cache: every block comes from the device, and once.
    server.stop();
    disk.forget_cache();
    server.resume();
    scanned(&server, source.as_mut(), &disk).assert("PostgreSQL reads", 0.95, 1.05, MIB);

    // Everything is still in the page cache: PostgreSQL counts the same reads, and the device sees none of them. Somebody
    // else's need for memory may have emptied the cache meanwhile; each scan fills it again.
    let cached = until("a scan of what is in the page cache", || {
        server.stop();
        server.resume();
        let counted = scanned(&server, source.as_mut(), &disk);
        (counted.device <= MIB).then_some(counted)
    });
    cached.assert("PostgreSQL reads from the page cache", 0.0, 0.0, MIB);
}

fn scanned(server: &Postgres, source: &mut dyn Source, disk: &Disk) -> Counted {
    let is_io = |row: &Row| row.subject.kind == Kind::PostgresIo;
    let read = || server.number(include_str!("../../testdata/sql/host_postgres_read.sql"));
    Counted::of(&read, source, &disk.name(), &is_io, &[Counter::ReadBytes], || {
        server.sql(include_str!("../../testdata/sql/host_postgres_scan.sql"));
    })
}

/// InnoDB goes past the page cache (`O_DIRECT`), so there is nothing to merge and nothing to read ahead. The device
/// has the inodes besides, and the tables of the Aria engine, which are not InnoDB's.
#[test]
fn what_mariadb_counts_is_what_its_device_was_asked_for() {
    let Some(disk) = Disk::mount() else {
        return skip("loop devices need root: no bytes were compared with the host");
    };
    let settings =
        ["--innodb-buffer-pool-size=96M", "--innodb-flush-log-at-trx-commit=1", "--innodb-io-capacity=5000"];
    let Some(mut server) = Mariadb::start_in(directory_in(disk.point()), true, &settings) else {
        return skip("MariaDB is not installed: its bytes were not compared with the host");
    };
    let mut source = source(&format!("mysql://iostall@127.0.0.1:{}", server.port));
    let flush_all = |server: &Mariadb| {
        server.sql("SET GLOBAL innodb_max_dirty_pages_pct = 0");
        until("clean pages", || {
            let is_clean = server.number(include_str!("../../testdata/sql/host_mariadb_clean.sql")) == 1;
            is_clean.then_some(())
        });
        disk.sync();
    };
    server.let_iostall_in();
    server.sql("CREATE DATABASE shop");
    server.sql(include_str!("../../testdata/sql/host_mariadb_make.sql"));
    server.sql(include_str!("../../testdata/sql/host_mariadb_fill.sql"));
    flush_all(&server);

    let is_innodb =
        |row: &Row| row.subject.kind == Kind::MysqlRedo || row.subject.identity.contains("innodb_data_file");
    let written = || server.number(include_str!("../../testdata/sql/host_mariadb_written.sql"));
    let counted =
        Counted::of(&written, source.as_mut(), &disk.name(), &is_innodb, &[Counter::WriteBytes], || {
            server.sql(include_str!("../../testdata/sql/host_mariadb_transactions.sql"));
            flush_all(&server);
        });
    counted.assert("MariaDB writes", 0.95, 1.15, MIB);

    server.stop();
    disk.forget_cache();
    server.resume(true);
    let count = || server.number(include_str!("../../testdata/sql/host_mariadb_read.sql"));
    let scan = || server.sql(include_str!("../../testdata/sql/host_mariadb_scan.sql"));
    // The file has to be open before the first sample: what is opened later has no earlier reading.
    server.sql(include_str!("../../testdata/sql/host_mariadb_open.sql"));
    let counted = Counted::of(&count, source.as_mut(), &disk.name(), &is_innodb, &[Counter::ReadBytes], scan);
    counted.assert("MariaDB reads", 0.9, 1.05, MIB);
}

#[test]
fn another_disk_with_the_number_of_an_old_one_is_not_compared_with_it() {
    // Another process may take the number in between: then with the next one.
    let exchanged = until("a number that two disks have in turn", || {
        let Some(old) = Disk::mount() else { return Some(None) };
        let name = old.name();
        let before = read(source("linux:").as_mut());
        drop(old);
        let Some(new) = Disk::mount() else { return Some(None) };
        let now = read(source("linux:").as_mut());
        (new.name() == name).then_some(Some((name, before, now)))
    });
    let Some((name, before, now)) = exchanged else {
        return skip("loop devices need root: no device was exchanged");
    };
    let is_device = |row: &Row| row.subject.kind == Kind::LinuxDevice && row.subject.name == name;
    assert_eq!(change(&before, &now, is_device), Change::Reset(ResetReason::IdentityChange));
}
