//! Figures of sources.

use std::sync::Arc;

use iostall_model::{Epoch, SampleTime};

use super::*;

fn figures(texts: &[&str]) -> Result<Vec<Figure>, GiveWayError> {
    let requirements: Vec<Requirement> = texts.iter().map(|text| text.parse().unwrap()).collect();
    Figure::of_requirements(&requirements)
}

fn sample(at_s: u64, rows: &[(Kind, Scope, &str, Counters)]) -> Sample {
    let taken =
        SampleTime { utc: jiff::Timestamp::UNIX_EPOCH, clock: "boot".into(), clock_ns: at_s * 1_000_000_000 };
    let row = |(kind, scope, name, counters): &(Kind, Scope, &str, Counters)| Row {
        subject: Subject {
            kind: *kind,
            scope: scope.clone(),
            name: (*name).to_owned(),
            identity: (*name).to_owned(),
            volume: None,
        },
        counters: *counters,
        age_ms: None,
    };
    Sample { taken, epoch: Epoch::default(), rows: rows.iter().map(row).collect(), warnings: Vec::new() }
}

fn stalled(figure: &Figure, rows: impl Fn(u64) -> Vec<(Kind, Scope, &'static str, Counters)>) -> Stalled {
    let (before, now) = (sample(1, &rows(1)), sample(2, &rows(2)));
    assert!(figure.is_in(&now));
    figure.of_step(&Step::between(&before, Arc::new(now)))
}

#[test]
fn a_commit_of_postgresql_waits_for_the_writes_and_syncs_of_the_log() {
    let commit = &figures(&["commit.p95<5ms"]).unwrap()[0];
    let wal = |factor: u64| {
        Counters::new()
            .with(Counter::Writes, 20 * factor)
            .with(Counter::WriteStall, 1_000 * factor)
            .with(Counter::Syncs, 10 * factor)
            .with(Counter::SyncStall, 29_000 * factor)
    };
    let of_wal = stalled(commit, |factor| vec![(Kind::PostgresWal, Scope::Source, "log", wal(factor))]);
    assert_eq!(of_wal, Stalled { ns: 30_000_000, operations: 10, serial_ns: 1_000_000_000 });
    assert!((commit.pressure(of_wal.mean_ns().unwrap()) - 0.6).abs() < 1e-9);
    // open_datasync: every write is durable by itself.
    let synchronous = |factor: u64| {
        Counters::new()
            .with(Counter::Writes, 4 * factor)
            .with(Counter::WriteStall, 8_000 * factor)
            .with(Counter::Syncs, 0)
            .with(Counter::SyncStall, 0)
    };
    let of_wal =
        stalled(commit, |factor| vec![(Kind::PostgresWal, Scope::Source, "log", synchronous(factor))]);
    assert_eq!(of_wal, Stalled { ns: 8_000_000, operations: 4, serial_ns: 1_000_000_000 });
}

#[test]
fn a_commit_of_sql_server_waits_for_its_log_files_and_a_read_for_all_files_of_a_name() {
    let file = |factor: u64| {
        Counters::new()
            .with(Counter::Reads, 10 * factor)
            .with(Counter::ReadStall, 50 * factor)
            .with(Counter::Writes, 5 * factor)
            .with(Counter::WriteStall, 20 * factor)
    };
    let rows = |factor: u64| {
        vec![
            (Kind::SqlServerFile, Scope::Database("sales".into()), "D:\\sales.mdf", file(factor)),
            (Kind::SqlServerFile, Scope::Database("sales".into()), "L:\\sales.LDF", file(factor)),
            (Kind::SqlServerFile, Scope::Database("stock".into()), "D:\\stock.mdf", file(factor)),
        ]
    };
    let asked = figures(&["commit.mean<5ms", "Sales.read.p95<20ms"]).unwrap();
    assert_eq!(stalled(&asked[0], rows), Stalled { ns: 20_000_000, operations: 5, serial_ns: 0 });
    assert_eq!(stalled(&asked[1], rows), Stalled { ns: 100_000_000, operations: 20, serial_ns: 0 });
}

#[test]
fn of_a_host_the_disks_count_or_the_device_that_is_named() {
    let device =
        |factor: u64| Counters::new().with(Counter::Syncs, 2 * factor).with(Counter::SyncStall, 6 * factor);
    let rows = |factor: u64| {
        vec![
            (Kind::LinuxDevice, Scope::Device(DeviceRole::Disk), "sda", device(factor)),
            (Kind::LinuxDevice, Scope::Device(DeviceRole::Stacked), "loop7", device(3 * factor)),
        ]
    };
    let asked = figures(&["commit.mean<5ms", "loop7.sync.mean<5ms"]).unwrap();
    assert_eq!(stalled(&asked[0], rows), Stalled { ns: 6_000_000, operations: 2, serial_ns: 0 });
    assert_eq!(stalled(&asked[1], rows), Stalled { ns: 18_000_000, operations: 6, serial_ns: 0 });
}

#[test]
fn a_source_that_was_quiet_or_started_again_waited_for_nothing() {
    let commit = &figures(&["commit.mean<5ms"]).unwrap()[0];
    let row = |syncs| {
        let counters = Counters::new().with(Counter::Syncs, syncs).with(Counter::SyncStall, syncs * 100);
        vec![(Kind::PostgresWal, Scope::Source, "log", counters)]
    };
    assert_eq!(stalled(commit, |_| row(7)).mean_ns(), None);
    assert_eq!(stalled(commit, |factor| row(10 - factor)).mean_ns(), None);
}

#[test]
fn what_is_required_of_the_transfer_itself_is_left_to_it() {
    let asked = figures(&["throughput>1MiB", "commit.p95<5ms", "direct.p99<1ms", "failed<=0"]).unwrap();
    assert_eq!(asked.iter().map(Figure::requirement).collect::<Vec<_>>(), ["commit.p95<5ms"]);
    assert!(matches!(figures(&["throughput>1MiB"]), Err(GiveWayError::NothingRequired)));
    assert!(matches!(figures(&["commit.p95>5ms"]), Err(GiveWayError::NoUpperLimit { .. })));
}

/// The figure is of flushes, and users wait for commits: where the log is always being written, nearly every commit comes
/// during a flush that is not its own.
#[test]
fn a_commit_waits_for_the_rest_of_the_flush_before_it_as_often_as_there_is_one() {
    let wait = |text: &str, busy| figures(&[text]).unwrap()[0].wait_ns(2e6, busy);
    let is = |wait_ns: f64, ms: f64| (wait_ns / 1e6 - ms).abs() < 1e-6;
    assert!(is(wait("commit.p95<5ms", 0.0), 2.0) && is(wait("commit.mean<5ms", 0.0), 2.0));
    assert!(is(wait("commit.p95<5ms", 0.03), 2.0), "fewer than 5 of 100 find a flush");
    assert!(is(wait("commit.p95<5ms", 1.0), 3.9) && is(wait("commit.mean<5ms", 1.0), 3.0));
    assert!(is(wait("commit.p95<5ms", 0.5), 3.8) && is(wait("commit.max<5ms", 0.5), 4.0));
}

#[test]
fn the_busy_share_is_of_the_last_readings() {
    let mut busy = BusyShare::default();
    let reading = |ns| Stalled { ns, operations: 1, serial_ns: 200 };
    assert!((busy.with(reading(100)) - 0.5).abs() < 1e-9);
    assert!((busy.with(reading(0)) - 0.25).abs() < 1e-9);
    for _ in 0..BUSY_READINGS {
        busy.with(reading(900));
    }
    assert!((busy.with(reading(900)) - 1.0).abs() < 1e-9);
    assert!(BusyShare::default().with(Stalled { ns: 5, operations: 1, serial_ns: 0 }).abs() < 1e-9);
}

/// A server that does not time its log looked like one without commits, and the copy ran at full speed.
#[test]
fn a_stall_that_the_source_does_not_report_is_not_a_stall_of_zero() {
    let commit = &figures(&["commit.p95<5ms"]).unwrap()[0];
    let untimed = Counters::new().with(Counter::Syncs, 5);
    assert!(!commit.is_in(&sample(1, &[(Kind::PostgresWal, Scope::Source, "log", untimed)])));
    assert!(!commit.is_in(&sample(1, &[])));
}
