//! Stepping through a history on disk.

use iostall_measure::ManualClock;
use iostall_model::{Counter, Counters, Epoch, Kind, Row, SampleTime, Scope, Subject};
use iostall_store::{Retention, SqliteHistory};

use super::*;
use crate::windows::fixture;

const SOURCE: &str = "sqlserver://db1:1433";

fn start() -> Timestamp {
    "2026-03-01T10:00:00Z".parse().unwrap()
}

fn minute(minute: i64) -> Timestamp {
    start() + SignedDuration::from_mins(minute)
}

/// Reads as many pages up to a minute as the square of it, so that every interval is another.
fn sample(at: i64) -> Sample {
    let subject = Subject {
        kind: Kind::SqlServerFile,
        scope: Scope::Database("db".into()),
        name: "file".into(),
        identity: "1".into(),
        volume: None,
    };
    let reads = u64::try_from(at * at).unwrap();
    let epoch = Epoch {
        instance: "one".into(),
        version: 15,
        process_start: "1".into(),
        counters_since: vec!["1".into()],
        uptime_s: None,
    };
    let clock_ns = u64::try_from(5 + at * 60_000_000_000).unwrap();
    Sample {
        taken: SampleTime { utc: minute(at), clock: "c".into(), clock_ns },
        epoch,
        rows: vec![Row { subject, counters: Counters::new().with(Counter::Reads, reads), age_ms: None }],
        warnings: Vec::new(),
    }
}

/// A sample a minute, but none from minute 11 to 199.
fn feed(directory: &tempfile::TempDir) -> StoredFeed<SqliteHistory> {
    let path = directory.path().join("watch.db");
    let mut history = SqliteHistory::open(&path).unwrap();
    let source = history.source(SOURCE).unwrap().id;
    for at in (0..=10).chain(200..=210) {
        history.add_sample(source, sample(at)).unwrap();
    }
    StoredFeed::of_past(history, path).unwrap()
}

/// The time it went to, and the ends of the intervals that it showed; `None` if there was nothing.
fn go(feed: &mut StoredFeed<SqliteHistory>, travel: Travel) -> Option<(Option<Timestamp>, Vec<Timestamp>)> {
    let (mut position, mut ends) = (None, Vec::new());
    let is_there = feed
        .travel(travel, &mut |event| match event {
            FeedEvent::Moved { at } => position = at,
            FeedEvent::Past { source, interval } => {
                assert_eq!(source, SOURCE);
                ends.push(interval.end);
            }
            FeedEvent::Step { .. } | FeedEvent::Gap { .. } => {}
        })
        .unwrap();
    is_there.then_some((position, ends))
}

/// The store had months of samples, and the live view showed the last one only.
#[test]
fn the_past_is_walked_through_sample_by_sample_and_a_gap_is_one_step() {
    let directory = tempfile::tempdir().unwrap();
    let mut feed = feed(&directory);
    let (position, ends) = go(&mut feed, Travel::To(minute(9))).unwrap();
    assert_eq!(position, Some(minute(9)));
    assert_eq!((ends.first(), ends.last()), (Some(&minute(1)), Some(&minute(9))), "{ends:?}");
    let mut step = |travel| go(&mut feed, travel).map(|(position, _)| position);
    assert_eq!(step(Travel::Forward), Some(Some(minute(10))));
    assert_eq!(step(Travel::Forward), Some(Some(minute(200))), "the difference across the gap ends there");
    assert_eq!(step(Travel::Back), Some(Some(minute(10))));
    assert_eq!(step(Travel::Back), Some(Some(minute(9))));
    assert_eq!(step(Travel::By(SignedDuration::from_hours(1))), Some(Some(minute(10))));
    assert_eq!(step(Travel::By(SignedDuration::from_hours(1))), Some(Some(minute(200))), "out of the gap");
    assert_eq!(step(Travel::By(SignedDuration::from_hours(-1))), Some(Some(minute(10))));
    assert_eq!(step(Travel::By(SignedDuration::from_hours(-1))), Some(Some(minute(1))), "the first there is");
    assert_eq!(step(Travel::Back), None, "nothing is before the first interval");
}

#[test]
fn a_time_between_samples_is_that_of_the_sample_before_and_the_end_is_now() {
    let directory = tempfile::tempdir().unwrap();
    let mut feed = feed(&directory);
    let between = minute(5) + SignedDuration::from_secs(30);
    let mut step = |travel| go(&mut feed, travel).map(|(position, _)| position);
    assert_eq!(step(Travel::To(between)), Some(Some(minute(5))));
    assert_eq!(step(Travel::To(minute(-500))), Some(Some(minute(1))), "before the first");
    assert_eq!(step(Travel::To(minute(210))), Some(Some(minute(210))));
    assert_eq!(step(Travel::Forward), Some(None), "nothing is later: now");
    assert_eq!(step(Travel::Back), Some(Some(minute(209))), "now is the newest sample");
    assert_eq!(step(Travel::Live), Some(None));
}

/// Of what is older than a few days only hours are kept, and only days of what is older than that. Whoever stepped back from the first
/// sample was told that nothing earlier is stored.
#[test]
fn steps_go_on_from_samples_to_hours_and_from_hours_to_days() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("watch.db");
    let mut history = SqliteHistory::open(&path).unwrap();
    let source = history.source(SOURCE).unwrap().id;
    // A sample every ten minutes for six days; days of the first three, hours of the next two, and the samples of the last.
    let minutes_last = 6 * 24 * 60;
    for at in (0..=minutes_last).step_by(10) {
        history.add_sample(source, sample(at)).unwrap();
    }
    let retention = Retention {
        raw: SignedDuration::from_hours(24),
        hours: SignedDuration::from_hours(72),
        ..Retention::default()
    };
    history.forget(&retention, minute(minutes_last)).unwrap();
    let seams = history.seams(source).unwrap().unwrap();
    let (hours_until, days_until) = (seams.hours_until, seams.days_until);
    let mut feed = StoredFeed::of_past(history, path).unwrap();
    let (first, _) = go(&mut feed, Travel::To(hours_until + SignedDuration::from_mins(25))).unwrap();
    let mut all = vec![first.unwrap()];
    while let Some((position, ends)) = go(&mut feed, Travel::Back) {
        let position = position.unwrap();
        assert_eq!(ends.last(), Some(&position), "what is shown ends where the reader is");
        all.push(position);
    }
    let steps: Vec<i64> = all.windows(2).map(|two| two[0].duration_since(two[1]).as_secs() / 60).collect();
    assert!(steps.iter().all(|step| *step > 0), "always back: {steps:?}");
    let in_tier = |from: Timestamp, to: Timestamp| {
        let both = all.windows(2).zip(&steps);
        both.filter(move |(two, _)| two[1] >= from && two[0] <= to).map(|(_, step)| *step).collect::<Vec<_>>()
    };
    let (start, end) = (minute(-24 * 60), minute(minutes_last));
    let (raw, hours, days) =
        (in_tier(hours_until, end), in_tier(days_until, hours_until), in_tier(start, days_until));
    assert!(!raw.is_empty() && raw.iter().all(|step| *step <= 10), "{raw:?}");
    assert!(hours.len() > 24 && hours.iter().all(|step| *step == 60), "{hours:?}");
    assert!(days.len() > 1 && days.iter().all(|step| *step == 24 * 60), "{days:?}");
    // And forward the same way.
    let mut forward = vec![*all.last().unwrap()];
    while let Some((Some(position), _)) = go(&mut feed, Travel::Forward) {
        forward.push(position);
        if position >= all[0] {
            break;
        }
    }
    all.reverse();
    assert_eq!(forward, all);
}

fn sample_at(utc: Timestamp, clock_ns: u64) -> Sample {
    let taken = SampleTime { utc, clock: "c".into(), clock_ns };
    let rows = vec![fixture::row("a.mdf", None)];
    Sample { taken, epoch: Epoch::default(), rows, warnings: Vec::new() }
}

/// A view that looks at the store again only after years shows the first sample for ever; one that looks all the time keeps the
/// collector from writing.
#[test]
fn a_store_is_looked_at_once_a_second_and_no_wait_is_longer_than_its_limit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let mut collector = SqliteHistory::open(&path).unwrap();
    let source = collector.source("db1").unwrap().id;
    let first = Timestamp::from_second(utc_now().as_second() - 10).unwrap();
    collector.add_sample(source, sample_at(first, 5)).unwrap();
    let clock = ManualClock::new();
    clock.advance_to(60_000_000_000);
    let history = SqliteHistory::open(&path).unwrap();
    let mut feed = StoredFeed::on(RunClock::Manual(clock.clone()), history, path).unwrap();
    let mut shown = |limit_ms: u64| {
        let mut times = Vec::new();
        let mut observer = |event: FeedEvent<'_>| {
            if let FeedEvent::Step { step, .. } = event {
                times.push(step.sample.taken.utc);
            }
        };
        feed.wait(Duration::from_millis(limit_ms), &mut observer).unwrap();
        (times, clock.now_ns() / 1_000_000)
    };
    assert_eq!(shown(5000), (vec![first], 60_000));
    let second = first + SignedDuration::from_millis(400);
    collector.add_sample(source, sample_at(second, 400_000_005)).unwrap();
    assert_eq!(shown(300), (vec![], 60_300), "it is not time yet");
    assert_eq!(shown(5000), (vec![second], 61_000));
    assert_eq!(shown(5000), (vec![], 62_000));
}
