//! Windows over all tiers, against raw samples that nobody forgot.

use super::*;
use iostall_model::{Counter, Epoch, Kind, Sample, SampleTime, Scope, Subject, Totals};
use iostall_store::{Batch, Retention, SqliteHistory};
use proptest::prelude::*;

/// Reads a minute: one a second, so that no cut needs to round.
const READS: u64 = 60;

fn at(minute: u64) -> Timestamp {
    let start: Timestamp = "2026-03-01T09:58:20Z".parse().unwrap();
    start + SignedDuration::from_mins(i64::try_from(minute).unwrap())
}

fn sample(minute: u64) -> Sample {
    let subject = Subject {
        kind: Kind::SqlServerFile,
        scope: Scope::Database("db".into()),
        name: "file".into(),
        identity: "1".into(),
        volume: None,
    };
    let counters = Counters::new().with(Counter::Reads, 1_000 + minute * READS);
    let epoch = Epoch {
        instance: "one".into(),
        version: 15,
        process_start: "1".into(),
        counters_since: vec!["1".into()],
        uptime_s: None,
    };
    Sample {
        taken: SampleTime { utc: at(minute), clock: "c".into(), clock_ns: 5 + minute * 60_000_000_000 },
        epoch,
        rows: vec![Row { subject, counters, age_ms: None }],
        warnings: Vec::new(),
    }
}

fn sum(store: &SqliteHistory, source: SourceId, from: Timestamp, to: Timestamp) -> (u64, u64) {
    let mut sum = Totals::default();
    let mut end_before = from;
    let mut add = |interval: Interval| {
        assert!(interval.start >= end_before && interval.end <= to, "in order, and inside");
        end_before = interval.end;
        for (_, change) in &interval.rows {
            sum.then(change.delta().unwrap());
        }
    };
    SourceWindow { history: store, source, from, to }.each_interval(&mut add).unwrap();
    (sum.amounts.or_zero(Counter::Reads), sum.covered_ns / 1_000_000_000)
}

/// Windows of every beginning, over hours that are rolled up and raw samples, some of which are rolled up too:
/// hours that a running collector had not rolled up yet were missing.
fn assert_complete(store: &SqliteHistory, source: SourceId, last: u64) {
    for first in (17..last).step_by(17) {
        let (reads, seconds) = sum(store, source, at(first), at(last));
        assert_eq!((reads, seconds), ((last - first) * READS, (last - first) * 60), "from minute {first}");
    }
    let middle = at(last / 2) + SignedDuration::from_secs(13);
    // Of an hour that is covered in part nobody knows which: the window begins with that hour.
    let start = Tier::Hour.floor(at(0));
    let (early, late) = (sum(store, source, start, middle), sum(store, source, middle, at(last)));
    let whole = sum(store, source, start, at(last));
    assert_eq!(whole, (last * READS, last * 60));
    assert_eq!(early.0 + late.0, whole.0, "neighbours share what is between them");
}

#[test]
fn hours_and_raw_samples_together_are_complete_and_count_nothing_twice() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("watch.db");
    let mut store = SqliteHistory::open(&path).unwrap();
    let source = store.source("s").unwrap().id;
    for minute in 0..=400 {
        store.add_sample(source, sample(minute)).unwrap();
    }
    assert_complete(&store, source, 400);
    // The older half of the raw samples goes; the open hour is in no roll-up yet.
    let forget = |store: &mut SqliteHistory, minutes| {
        let retention = Retention { raw: SignedDuration::from_mins(minutes), ..Retention::default() };
        store.forget(&retention, at(400)).unwrap();
    };
    forget(&mut store, 200);
    assert!(store.seams(source).unwrap().is_some_and(|seams| seams.hours_until > at(190)));
    assert_complete(&store, source, 400);
    // The collector ends well in the midst of an hour, and raw samples of that hour alone are left.
    store.finish().unwrap();
    forget(&mut store, 1);
    assert_complete(&store, source, 400);
    // And another goes on in that hour.
    let mut store = SqliteHistory::open(&path).unwrap();
    let source = store.source("s").unwrap().id;
    for minute in 401..=410 {
        store.add_sample(source, sample(minute)).unwrap();
        assert_complete(&store, source, minute);
    }
}

const DAY_S: i64 = 86_400;

fn second(second: i64) -> Timestamp {
    let midnight: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
    midnight + SignedDuration::from_secs(second)
}

/// The sample at `second` of a file that has done so many reads.
fn counted(at_s: i64, reads: u64) -> Sample {
    let mut sample = sample(0);
    sample.taken.utc = second(at_s);
    sample.taken.clock_ns = 5 + u64::try_from(at_s).unwrap() * 1_000_000_000;
    sample.rows[0].counters.set(Counter::Reads, reads);
    sample
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Hours older than two years were deleted and nothing took their place, though days told of them: a report over
    /// three years was one over two, and did not say so.
    #[test]
    fn days_hours_and_raw_samples_together_are_what_the_raw_samples_alone_were(
        steps in prop::collection::vec((1_i64..30_000, 0_u64..100_000), 30..90),
        (raw_h, hours_h) in (1_i64..150, 1_i64..300),
        ends_well in any::<bool>(),
        looks in prop::collection::vec((0_i64..60, 0_i64..60), 1..8),
        cut_s in 0_i64..2_000_000,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut all = SqliteHistory::open(directory.path().join("all.db")).unwrap();
        let mut some = SqliteHistory::open(directory.path().join("some.db")).unwrap();
        let (whole, part) = (all.source("s").unwrap(), some.source("s").unwrap());
        let retention = Retention {
            raw: SignedDuration::from_hours(raw_h),
            hours: SignedDuration::from_hours(hours_h),
            days: None,
        };
        let (mut end_s, mut reads) = (30_000, 0);
        for (number, together) in (1..).zip(steps.chunks(7)) {
            let mut samples = Vec::new();
            for (length_s, work) in together {
                end_s += length_s;
                reads += work;
                samples.push(counted(end_s, reads));
            }
            // One transaction for several samples: the disk is slow, and what is in it is the same.
            all.append(&Batch::of(whole.clone(), number, &samples)).unwrap();
            some.append(&Batch::of(part.clone(), number, &samples)).unwrap();
            some.forget(&retention, second(end_s)).unwrap();
        }
        if ends_well {
            some.finish().unwrap();
        }
        some.forget(&retention, second(end_s)).unwrap();
        let last = end_s + DAY_S;
        let windows = looks.into_iter().map(|(day, days)| (day * DAY_S, (day + days) * DAY_S));
        for (from, to) in windows.chain([(0, last)]).filter(|(from, to)| from < to) {
            prop_assert_eq!(
                sum(&some, part.id, second(from), second(to)),
                sum(&all, whole.id, second(from), second(to)),
                "{} to {}", second(from), second(to)
            );
        }
        // Within a day of which nobody knows more the work counts as even; but nothing is lost at any cut.
        let cut = second(cut_s.min(last - 1).max(1));
        let (early, late) = (sum(&some, part.id, second(0), cut), sum(&some, part.id, cut, second(last)));
        let both = sum(&some, part.id, second(0), second(last));
        prop_assert_eq!(early.0 + late.0, both.0);
    }
}

#[test]
fn a_report_says_up_to_where_days_and_hours_are() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = SqliteHistory::open(directory.path().join("watch.db")).unwrap();
    let source = store.source("s").unwrap().id;
    for hour in 0..24 * 10 {
        store.add_sample(source, counted(hour * 3_600, hour.cast_unsigned())).unwrap();
    }
    let (raw, hours) = (SignedDuration::from_hours(48), SignedDuration::from_hours(96));
    store.forget(&Retention { raw, hours, days: None }, second(10 * DAY_S)).unwrap();
    let part = |from, to| SourceWindow { history: &store, source, from, to };
    let tiers = part(second(0), second(10 * DAY_S)).each_interval(&mut |_| {}).unwrap();
    assert_eq!(tiers.days_until, Some(second(6 * DAY_S)));
    assert!(tiers.hours_until.is_some_and(|until| until > second(7 * DAY_S) && until <= second(8 * DAY_S)));
    let early = part(second(DAY_S), second(2 * DAY_S)).each_interval(&mut |_| {}).unwrap();
    assert_eq!(early, Tiers { days_until: Some(second(2 * DAY_S)), hours_until: None });
    let late = part(second(9 * DAY_S), second(10 * DAY_S)).each_interval(&mut |_| {}).unwrap();
    assert_eq!(late, Tiers::default());
}
