//! Half an hour of a made-up server, for tests.

use iostall_model::{
    Change, Counter, Counters, Gap, Kind, Level, ResetReason, Row, Scope, Subject, Totals, Warning,
    WarningCode,
};
use jiff::{SignedDuration, Timestamp};

use super::comparison::WatchComparison;
use super::group::GroupKey;
use super::interval::{Grain, Interval};
use super::report::WatchReport;
use super::series::WatchSeries;
use super::source_history::SourceHistory;
use super::window::{Order, WatchWindow};

pub const SOURCE: &str = "sqlserver://db1:1433";
const STEP_S: i64 = 60;
/// Name, volume.
const FILES: [(&str, Option<&str>); 3] =
    [("E:\\data\\a.mdf", Some("E:\\")), ("E:\\data\\b.mdf", Some("E:\\")), ("./shop/t.ibd", None)];

fn start() -> Timestamp {
    "2026-11-21T10:00:00Z".parse().unwrap()
}

fn at(minute: i64) -> Timestamp {
    start() + SignedDuration::from_secs(minute * STEP_S)
}

pub fn row(name: &str, volume: Option<&str>) -> Row {
    let subject = Subject {
        kind: if volume.is_some() { Kind::SqlServerFile } else { Kind::MysqlFile },
        scope: Scope::Database("shop".into()),
        name: name.into(),
        identity: name.into(),
        volume: volume.map(str::to_owned),
    };
    Row { subject, counters: Counters::new(), age_ms: None }
}

/// `reads` reads of 8 KiB with a total stall of `stall_ms` over `seconds`, plus a tenth as many writes of 64
/// KiB.
pub fn delta(seconds: u64, reads: u64, stall_ms: u64) -> Change {
    let amounts = Counters::new()
        .with(Counter::Reads, reads)
        .with(Counter::ReadBytes, reads * 8_192)
        .with(Counter::ReadStall, stall_ms * 1_000_000)
        .with(Counter::Writes, reads / 10)
        .with(Counter::WriteBytes, reads / 10 * 65_536)
        .with(Counter::WriteStall, stall_ms * 50_000);
    Change::Delta(Totals { covered_ns: seconds * 1_000_000_000, amounts })
}

/// 30 writes of 16 KiB with 0.2 ms each, and no reads.
fn writes_alone() -> Change {
    let amounts = Counters::new()
        .with(Counter::Reads, 0)
        .with(Counter::ReadStall, 0)
        .with(Counter::Writes, 30)
        .with(Counter::WriteBytes, 30 * 16_384)
        .with(Counter::WriteStall, 6_000_000);
    Change::Delta(Totals { covered_ns: 60_000_000_000, amounts })
}

/// Twenty minutes: the third file writes only in the first, a sample is missing in the fifth, the first
/// file's counters are reset in the twelfth; minute 15 is idle. `slower` multiplies the stall.
fn intervals(slower: u64) -> Vec<Interval> {
    let mut all = Vec::new();
    let minutes: Vec<i64> = (0..20).filter(|minute| *minute != 4).collect();
    for minute in minutes {
        let (begin, seconds) = if minute == 5 { (4, 120) } else { (minute, 60) };
        let reads = if minute == 15 { 0 } else { 600 + 30 * minute.unsigned_abs() };
        let first = match minute {
            12 => Change::Reset(ResetReason::Restart),
            _ => delta(seconds, reads, reads * 12 * slower),
        };
        let mut rows = vec![
            (row(FILES[0].0, FILES[0].1), first),
            (row(FILES[1].0, FILES[1].1), delta(seconds, reads / 2, reads * slower)),
        ];
        if minute == 0 {
            rows.push((row(FILES[2].0, FILES[2].1), writes_alone()));
        }
        all.push(Interval { start: at(begin), end: at(minute + 1), rows, grain: Grain::Samples });
    }
    all
}

pub fn report_of(slower: u64) -> WatchReport {
    let mut window = WatchWindow::new(Level::Files, None);
    for interval in intervals(slower) {
        window.add(SOURCE, &interval);
    }
    let gap = Gap { at: at(4), missed: 1, reason: "timed out".into() };
    let warning = Warning::new(WarningCode::MissingGrant, "volumes are not told to <this> login")
        .hint("grant VIEW SERVER STATE");
    let history = SourceHistory {
        name: SOURCE.into(),
        days_until: None,
        hours_until: None,
        gaps: vec![gap],
        notes: Vec::new(),
        unread: Vec::new(),
        warnings: vec![warning],
        backups: None,
    };
    WatchReport {
        from: start(),
        to: at(30),
        window,
        sources: vec![history],
        top: None,
        order: Order::default(),
        verdicts: Vec::new(),
    }
}

pub fn report() -> WatchReport {
    report_of(1)
}

pub fn series() -> WatchSeries {
    let mut series = WatchSeries::of(&report(), 8);
    for interval in intervals(1) {
        series.add(SOURCE, &interval);
    }
    series.finish();
    series
}

/// The same load with three times the stall; one file is gone, another is new.
///
/// # Panics
/// If the fixture has no such file.
pub fn comparison() -> WatchComparison {
    let (mut before, mut after) = (report_of(1), report_of(3));
    let gone = before.window.groups.keys().find(|key| key.name.contains("t.ibd")).unwrap().clone();
    let group = after.window.groups.remove(&gone).unwrap();
    after.window.groups.insert(GroupKey { name: "./shop/new.ibd".into(), ..gone }, group);
    before.sources[0].warnings.clear();
    WatchComparison { before, after }
}
