//! The hour that goes on is in memory and nowhere else: who loses it, or writes after another writer, gets it from the samples.

use iostall_model::{Counter, Counters, Epoch, Kind, Row, Sample, SampleTime, Scope, Subject};
use jiff::SignedDuration;

use super::server::{Server, no_password};
use super::*;

const FILES: u64 = 3;

fn sample(minute: i64, ahead: i64) -> Sample {
    let start: Timestamp = "2026-03-01T09:58:00Z".parse().unwrap();
    let reads = minute.cast_unsigned() * 60;
    let row = |file: u64| {
        let subject = Subject {
            kind: Kind::SqlServerFile,
            scope: Scope::Database("sales".into()),
            name: format!("E:\\data\\file{file}.mdf"),
            identity: format!("{file}/guid"),
            volume: None,
        };
        let counters = Counters::new()
            .with(Counter::Reads, reads * (file + 1))
            .with(Counter::ReadStall, 9 + reads * reads);
        Row { subject, counters, age_ms: None }
    };
    Sample {
        taken: SampleTime {
            utc: start + SignedDuration::from_mins(minute + ahead) + SignedDuration::from_secs(17),
            clock: "ticks".into(),
            clock_ns: 77 + minute.cast_unsigned() * 60_000_000_000,
        },
        epoch: Epoch { instance: "one".into(), version: 15, ..Epoch::default() },
        rows: (0..FILES).map(row).collect(),
        warnings: Vec::new(),
    }
}

/// All roll-ups, as text that says everything.
fn rollups(history: &PostgresHistory, source: SourceId) -> Vec<String> {
    let mut all = Vec::new();
    for tier in [Tier::Hour, Tier::Day] {
        let mut each = |row: RollupRow| all.push(format!("{tier:?} {row:?}"));
        history.rollups(source, tier, Timestamp::MIN, Timestamp::MAX, &mut each).unwrap();
    }
    all
}

#[track_caller]
fn assert_right(history: &mut PostgresHistory, source: SourceId) {
    history.finish().unwrap();
    let stored = rollups(history, source);
    history.rebuild(source).unwrap();
    assert_eq!(stored, rollups(history, source));
    assert!(stored.len() > 3 * usize::try_from(FILES).unwrap(), "{stored:?}");
}

struct Writers {
    server: Server,
    source: SourceId,
}

impl Writers {
    fn start() -> Option<Self> {
        let server = Server::start(15)?;
        let address = server.database("hours", "");
        PostgresHistory::initialise(&address, &no_password()).unwrap();
        let mut history = PostgresHistory::open(&address, &no_password()).unwrap();
        let source = history.source("s").unwrap().id;
        Some(Self { server, source })
    }

    fn another(&self) -> PostgresHistory {
        PostgresHistory::open(&self.server.address("postgres", "hours"), &no_password()).unwrap()
    }
}

#[test]
fn a_writer_that_is_killed_after_any_sample_loses_none_of_the_hour() {
    let Some(writers) = Writers::start() else { return };
    let mut history = writers.another();
    for minute in 0..130 {
        // Around the end of an hour after each sample, elsewhere now and then.
        if minute % 60 < 5 || minute % 7 == 0 {
            history = writers.another();
        }
        history.add_sample(writers.source, sample(minute, 0)).unwrap();
    }
    assert_right(&mut history, writers.source);
}

/// The second writer had stored the part of an interval before the full hour; the first one would have added it once more.
#[test]
fn an_hour_that_another_writer_has_closed_is_not_counted_twice() {
    let Some(writers) = Writers::start() else { return };
    let (mut one, mut other) = (writers.another(), writers.another());
    one.add_sample(writers.source, sample(0, 0)).unwrap();
    one.add_sample(writers.source, sample(1, 0)).unwrap();
    one.finish().unwrap();
    other.add_sample(writers.source, sample(2, 0)).unwrap();
    for minute in 3..70 {
        one.add_sample(writers.source, sample(minute, 0)).unwrap();
    }
    other.add_sample(writers.source, sample(70, 0)).unwrap();
    assert_right(&mut one, writers.source);
}

#[test]
fn a_clock_that_goes_back_or_far_ahead_leaves_every_hour_right() {
    let Some(writers) = Writers::start() else { return };
    let mut history = writers.another();
    let mut ahead = 0;
    for minute in 0..200 {
        ahead = match minute {
            40 => 190,
            90 => -30,
            91 => 90,
            // Into an hour that has roll-ups, by a writer that does not know of them.
            150 => {
                history = writers.another();
                0
            }
            _ => ahead,
        };
        history.add_sample(writers.source, sample(minute, ahead)).unwrap();
    }
    assert_right(&mut history, writers.source);
}

#[test]
fn a_batch_of_many_hours_and_one_that_goes_on_are_stored_once_each() {
    let Some(writers) = Writers::start() else { return };
    let mut history = writers.another();
    let source = Source {
        id: SourceId::new(utc_now()),
        store: SourceId::new(utc_now()).to_string().parse().unwrap(),
        name: "t".into(),
    };
    let mut first = 0;
    for (sequence, count) in (1..).zip([1, 60, 200, 3, 1, 60, 61]) {
        let samples: Vec<Sample> = (first..first + count).map(|minute| sample(minute, 0)).collect();
        first += count;
        history.append(&Batch::of(source.clone(), sequence, &samples)).unwrap();
        if sequence == 4 {
            // As a centre writes those of a server that is silent.
            let at = samples.last().unwrap().taken.utc;
            assert_eq!(history.unfinished_at(at), [], "its hour goes on");
            assert_eq!(history.unfinished_at(at + SignedDuration::from_hours(1)), [source.id]);
            history.finish_one(source.id).unwrap();
            assert_eq!(history.unfinished_at(at + SignedDuration::from_hours(1)), []);
        }
    }
    assert_right(&mut history, source.id);
}
