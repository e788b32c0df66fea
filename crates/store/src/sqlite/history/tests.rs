//! What only this implementation can get wrong. What every history must do is in `history::contract`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use iostall_measure::{Clock, MonotonicClock};
use iostall_model::{
    Change, Counter, Counters, DeviceRole, Epoch, Kind, ResetReason, Rollup, Row, Sample, SampleTime, Scope,
    Subject, Tier,
};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::history::contract;

mod company;
mod forgetting;
mod importing;
mod older;

const VICTIM_STORE: &str = "IOSTALL_TEST_WATCH_VICTIM";

fn start() -> Timestamp {
    "2026-03-01T09:58:00Z".parse().unwrap()
}

fn subject(file: u64) -> Subject {
    Subject {
        kind: Kind::SqlServerFile,
        scope: Scope::Database(format!("db{}", file / 4)),
        name: format!("E:\\data\\file{file}.mdf"),
        identity: format!("{file}/guid"),
        volume: Some("E:\\".into()),
    }
}

/// The sample `tick` of a server with `files` files, of which every third is idle.
fn sample(tick: u64, files: u64) -> Sample {
    let rows = (0..files)
        .map(|file| {
            let work = if file % 3 == 0 { 0 } else { tick * (file % 17 + 1) };
            let counters = Counters::new()
                .with(Counter::Reads, 1_000_000 + work * 3)
                .with(Counter::ReadBytes, 1_000_000 * 8192 + work * 3 * 65_536)
                .with(Counter::ReadStall, 5_000_000 + work * 7)
                .with(Counter::Writes, 400_000 + work)
                .with(Counter::WriteBytes, 400_000 * 8192 + work * 8192)
                .with(Counter::WriteStall, 300_000 + work * 2)
                .with(Counter::SizeBytes, 1 << 34)
                .with(Counter::Handle, 2_700 + file);
            Row { subject: subject(file), counters, age_ms: None }
        })
        .collect();
    sample_of(tick * 60, rows)
}

fn sample_of(second: u64, rows: Vec<Row>) -> Sample {
    let offset = SignedDuration::from_secs(i64::try_from(second).unwrap());
    Sample {
        taken: SampleTime {
            utc: start().checked_add(offset).unwrap(),
            clock: "ticks".into(),
            clock_ns: 77 + second * 1_000_000_000,
        },
        epoch: Epoch {
            instance: "one".into(),
            version: 15,
            process_start: "100".into(),
            counters_since: vec!["100".into()],
            uptime_s: None,
        },
        rows,
        warnings: Vec::new(),
    }
}

fn open() -> (tempfile::TempDir, SqliteHistory) {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteHistory::open(directory.path().join("watch.db")).unwrap();
    (directory, store)
}

fn steps(store: &SqliteHistory, source: SourceId) -> Vec<Step> {
    let mut steps = Vec::new();
    store.intervals(source, Timestamp::MIN, Timestamp::MAX, &mut |step| steps.push(step)).unwrap();
    steps
}

fn rollups(store: &SqliteHistory, source: SourceId, tier: Tier) -> BTreeMap<(Timestamp, String), Rollup> {
    let mut rollups = BTreeMap::new();
    let mut each = |row: RollupRow| drop(rollups.insert((row.beginning, row.subject.name), row.rollup));
    store.rollups(source, tier, Timestamp::UNIX_EPOCH, Timestamp::MAX, &mut each).unwrap();
    rollups
}

fn reads(rollups: &BTreeMap<(Timestamp, String), Rollup>) -> u64 {
    rollups.values().map(|rollup| rollup.totals.amounts.or_zero(Counter::Reads)).sum()
}

#[test]
fn it_does_what_every_history_must_do() {
    let directory = tempfile::tempdir().unwrap();
    let mut count = 0;
    contract::run_all(|| {
        count += 1;
        SqliteHistory::open(directory.path().join(format!("{count}.db"))).unwrap()
    });
}

#[test]
fn rows_that_change_places_stay_with_their_series() {
    let (_directory, mut store) = open();
    let source = store.source("s").unwrap().id;
    for tick in 0..6 {
        let mut sample = sample(tick, 9);
        let places = sample.rows.len();
        sample.rows.rotate_left(usize::try_from(tick).unwrap() % places);
        store.add_sample(source, sample).unwrap();
    }
    for step in steps(&store, source) {
        for (row, change) in step.to_rows() {
            let file: u64 = row.subject.identity.split('/').next().unwrap().parse().unwrap();
            let expected = if file.is_multiple_of(3) { 0 } else { (file % 17 + 1) * 3 };
            assert_eq!(change.delta().unwrap().amounts.get(Counter::Reads), Some(expected), "file {file}");
        }
    }
    store.finish().unwrap();
    let kept = rollups(&store, source, Tier::Day);
    assert_eq!(kept.len(), 9, "one series a file");
}

#[test]
fn samples_come_back_as_they_were_read_over_more_than_one_chain() {
    let (_directory, mut store) = open();
    let source = store.source("sqlserver://db1:1433").unwrap().id;
    for tick in 0..150 {
        store.add_sample(source, sample(tick, 7)).unwrap();
    }
    let steps = steps(&store, source);
    assert_eq!(steps.len(), 149);
    for (tick, step) in (1..).zip(&steps) {
        let wanted = sample(tick, 7);
        assert_eq!(step.sample.taken, wanted.taken);
        let rows: Vec<Row> = step.rows().map(|(row, _)| row.clone()).collect();
        assert_eq!(rows, wanted.rows, "idle files included");
        assert!(step.rows().all(|(_, change)| change.delta().is_some()));
    }
    let listed = store.sources().unwrap();
    assert_eq!(listed[0].first, Some(start()));
}

#[test]
fn a_window_begins_with_the_last_sample_before_it() {
    let (_directory, mut store) = open();
    let source = store.source("s").unwrap().id;
    for tick in 0..100 {
        store.add_sample(source, sample(tick, 2)).unwrap();
    }
    let at = |tick| sample(tick, 0).taken.utc;
    let mut taken = Vec::new();
    store
        .intervals(source, at(70) + SignedDuration::from_secs(1), at(73), &mut |step| {
            taken.push(step.at());
        })
        .unwrap();
    assert_eq!(taken, [at(71), at(72), at(73)]);
}

#[test]
fn a_window_ends_with_the_first_sample_after_it() {
    let (_directory, mut store) = open();
    let source = store.source("s").unwrap().id;
    for tick in 0..10 {
        store.add_sample(source, sample(tick, 2)).unwrap();
    }
    let at = |tick| sample(tick, 0).taken.utc;
    let mut bounds = Vec::new();
    let inside = at(3) + SignedDuration::from_secs(1);
    store
        .intervals(source, at(2), inside, &mut |step| {
            bounds.push((step.since.as_ref().unwrap().utc, step.at()));
        })
        .unwrap();
    assert_eq!(bounds, [(at(2), at(3)), (at(3), at(4))]);
}

#[test]
fn a_reset_in_the_history_has_its_reason() {
    let (_directory, mut store) = open();
    let source = store.source("s").unwrap().id;
    store.add_sample(source, sample(1, 2)).unwrap();
    let mut restarted = sample(2, 2);
    restarted.epoch.process_start = "200".into();
    restarted.epoch.counters_since = vec!["200".into()];
    store.add_sample(source, restarted).unwrap();
    let steps = steps(&store, source);
    assert!(steps[0].changes.iter().all(|change| *change == Change::Reset(ResetReason::Restart)));
}

#[test]
fn a_thing_that_goes_and_comes_back_is_a_baseline() {
    let (_directory, mut store) = open();
    let source = store.source("s").unwrap().id;
    store.add_sample(source, sample(1, 2)).unwrap();
    store.add_sample(source, sample(2, 1)).unwrap();
    store.add_sample(source, sample(3, 2)).unwrap();
    let steps = steps(&store, source);
    assert_eq!(steps[0].changes.len(), 1);
    assert_eq!(steps[1].changes[1], Change::Baseline);
}

#[test]
fn gaps_and_warnings_are_kept_with_the_time_they_are_about() {
    let (_directory, mut store) = open();
    let source = store.source("s").unwrap().id;
    let gap = Gap { at: start(), missed: 3, reason: "refused".into() };
    store.add_gap(source, &gap).unwrap();
    let mut sample = sample(1, 1);
    let warning = Warning::new(iostall_model::WarningCode::SettingOff, "timing is off").hint("switch it on");
    sample.warnings.push(warning.clone());
    store.add_sample(source, sample).unwrap();
    let later = start() + SignedDuration::from_hours(1);
    assert_eq!(store.gaps(source, start(), later).unwrap(), [gap]);
    assert_eq!(store.warnings(source, start(), later).unwrap(), [warning]);
    assert!(store.gaps(source, later, Timestamp::MAX).unwrap().is_empty());
}

#[test]
fn an_hour_is_written_with_the_sample_that_closes_it() {
    let (_directory, mut store) = open();
    let source = store.source("s").unwrap().id;
    store.add_sample(source, sample(0, 4)).unwrap();
    store.add_sample(source, sample(1, 4)).unwrap();
    assert!(rollups(&store, source, Tier::Hour).is_empty(), "the hour is still open");
    store.add_sample(source, sample(2, 4)).unwrap();
    let hours = rollups(&store, source, Tier::Hour);
    assert_eq!(hours.len(), 4, "an idle file is covered too");
    let idle = hours.iter().find(|((_, name), _)| name.contains("file0")).unwrap().1;
    assert_eq!(idle.totals.covered_ns, 120_000_000_000);
    assert_eq!(idle.totals.amounts.get(Counter::Reads), Some(0));
    assert_eq!(reads(&hours), reads(&rollups(&store, source, Tier::Day)));
}

#[test]
fn a_rebuild_under_a_writer_counts_nothing_twice() {
    let (directory, mut store) = open();
    let source = store.source("s").unwrap().id;
    for tick in 0..30 {
        store.add_sample(source, sample(tick, 5)).unwrap();
    }
    let mut other = SqliteHistory::open(directory.path().join("watch.db")).unwrap();
    other.rebuild(source).unwrap();
    for tick in 30..70 {
        store.add_sample(source, sample(tick, 5)).unwrap();
    }
    store.finish().unwrap();
    let truth: u64 = (0..5).filter(|file| file % 3 != 0).map(|file| 69 * (file % 17 + 1) * 3).sum();
    assert_eq!(reads(&rollups(&store, source, Tier::Hour)), truth);
}

#[test]
fn a_row_takes_at_most_25_bytes_of_the_file() {
    let (directory, mut store) = open();
    let source = store.source("s").unwrap().id;
    let (files, ticks) = (1_000, 130);
    store.add_sample(source, sample(0, files)).unwrap();
    let size = |store: &SqliteHistory| {
        store.connection.execute_batch(include_str!("../../../testdata/write_log_back.sql")).unwrap();
        std::fs::metadata(directory.path().join("watch.db")).unwrap().len()
    };
    let before = size(&store);
    for tick in 1..ticks {
        store.add_sample(source, sample(tick, files)).unwrap();
    }
    // Two thirds of the files work, and those alone are counted.
    let per_row = (size(&store) - before) as f64 / (files * 2 / 3 * (ticks - 1)) as f64;
    assert!(per_row <= 25.0, "{per_row} bytes");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_history_written_by_many_processes_has_the_roll_ups_of_one(
        lengths in prop::collection::vec((1_u64..40, any::<bool>()), 1..6),
    ) {
        let (directory, mut whole) = open();
        let source = whole.source("s").unwrap().id;
        let path = directory.path().join("parts.db");
        let mut tick = 0;
        for (length, ends_well) in lengths {
            let mut part = SqliteHistory::open(&path).unwrap();
            let part_source = part.source("s").unwrap().id;
            for _ in 0..length {
                whole.add_sample(source, sample(tick, 4)).unwrap();
                part.add_sample(part_source, sample(tick, 4)).unwrap();
                tick += 1;
            }
            if ends_well {
                part.finish().unwrap();
            }
        }
        whole.finish().unwrap();
        let mut part = SqliteHistory::open(&path).unwrap();
        let part_source = part.source("s").unwrap().id;
        part.finish().unwrap();
        for tier in [Tier::Hour, Tier::Day] {
            let wanted = rollups(&whole, source, tier);
            prop_assert_eq!(&rollups(&part, part_source, tier), &wanted);
            let mut rebuilt = SqliteHistory::open(&path).unwrap();
            rebuilt.rebuild(part_source).unwrap();
            prop_assert_eq!(&rollups(&rebuilt, part_source, tier), &wanted);
        }
    }
}

/// Not a test of its own: what the process does that the next test kills.
#[test]
fn victim_that_samples_until_it_is_killed() {
    let Some(path) = std::env::var_os(VICTIM_STORE) else { return };
    let mut store = SqliteHistory::open(path).unwrap();
    let source = store.source("s").unwrap().id;
    let next =
        store.last_sample(source).unwrap().map_or(0, |last| (last.taken.clock_ns - 77) / 60_000_000_000 + 1);
    for tick in next.. {
        store.add_sample(source, sample(tick, 40)).unwrap();
    }
}

/// Starts this program again to run the test called `name` alone, on the store at `path`.
fn victim(name: &str, path: &Path) -> std::process::Child {
    std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(VICTIM_STORE, path)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_killed_collector_loses_at_most_the_sample_in_flight_and_no_roll_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("watch.db");
    let clock = MonotonicClock::new();
    let mut kept = 0;
    for round in 0..6_u64 {
        let mut victim = victim("sqlite::history::tests::victim_that_samples_until_it_is_killed", &path);
        let mut store = SqliteHistory::open(&path).unwrap();
        let source = store.source("s").unwrap().id;
        while steps(&store, source).len() <= kept {
            assert!(victim.try_wait().unwrap().is_none(), "the victim ended by itself");
            clock.sleep_until(clock.now_ns() + 1_000_000);
        }
        clock.sleep_until(clock.now_ns() + round * 1_300_000);
        victim.kill().unwrap();
        victim.wait().unwrap();
        drop(store);
        store = SqliteHistory::open(&path).unwrap();
        let after = steps(&store, source);
        assert!(after.len() > kept, "what was seen before the kill is there after it");
        kept = after.len();
        for (tick, step) in (1..).zip(&after) {
            assert_eq!(step.sample.taken, sample(tick, 0).taken, "no sample is missing in between");
        }
    }
    let mut store = SqliteHistory::open(&path).unwrap();
    let source = store.source("s").unwrap().id;
    store.finish().unwrap();
    let truth: u64 = steps(&store, source)
        .iter()
        .flat_map(Step::rows)
        .filter_map(|(_, change)| change.delta())
        .map(|totals| totals.amounts.or_zero(Counter::Reads))
        .sum();
    assert_eq!(reads(&rollups(&store, source, Tier::Hour)), truth);
    assert_eq!(reads(&rollups(&store, source, Tier::Day)), truth);
}

/// A sample was compared once for alerts and once more for the roll-ups. Told another difference than a comparison would
/// give, the roll-ups hold what they were told: nobody compares again.
#[test]
fn roll_ups_hold_what_the_step_says_and_compare_only_what_it_does_not_continue() {
    let (_directory, mut store) = open();
    let source = store.source("s").unwrap().id;
    let samples: Vec<Arc<Sample>> = (0..4).map(|tick| Arc::new(sample(tick, 2))).collect();
    let step_of = |tick: usize, since: usize| {
        let mut step = Step::between(&samples[since], Arc::clone(&samples[tick]));
        step.changes.iter_mut().for_each(|change| {
            if let Change::Delta(totals) = change {
                totals.amounts.set(Counter::Reads, 1_000_000);
            }
        });
        step
    };
    store.add_step(source, &Step::first(Arc::clone(&samples[0]))).unwrap();
    store.add_step(source, &step_of(1, 0)).unwrap();
    store.finish().unwrap();
    let continued = reads(&rollups(&store, source, Tier::Day));
    assert!(continued > 0 && continued.is_multiple_of(1_000_000), "what the step says: {continued}");
    // The sample before this one was lost: what happened since the last one here is another difference.
    store.add_step(source, &step_of(3, 2)).unwrap();
    store.finish().unwrap();
    let compared = reads(&rollups(&store, source, Tier::Day)) - continued;
    assert!(compared > 0 && !compared.is_multiple_of(1_000_000), "what the samples say: {compared}");
}
