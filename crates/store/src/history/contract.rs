//! The contract of every history. Each implementation calls [`run_all`] in a test.

use std::collections::BTreeMap;

use iostall_model::{
    Change, Counter, Counters, DeviceRole, Epoch, Gap, Kind, Rollup, Row, Sample, SampleTime, Scope, Step,
    Subject, Tier, Warning, WarningCode,
};
use jiff::{SignedDuration, Timestamp};

use super::{
    Appended, Batch, BatchError, History, ImportMark, Retention, RowColumns, SeenWarning, SeriesId, Source,
    SourceId, StoreId,
};
use crate::error::StoreError;

pub(crate) fn run_all<H: History>(mut make: impl FnMut() -> H) {
    a_source_keeps_its_id_and_its_name_is_its_stores_own(make());
    a_batch_comes_out_as_it_went_in(make());
    the_same_batch_twice_changes_nothing(make());
    a_batch_that_comes_late_changes_nothing(make());
    batches_and_samples_one_by_one_make_one_history(make(), make());
    what_is_sent_again_and_again_arrives_once(make(), make());
    sources_of_one_name_in_two_stores_stay_apart(make(), make());
    a_batch_that_does_not_hold_together_is_refused_whole(make());
    what_was_forgotten_does_not_come_back_with_its_batch(make());
    a_clock_that_jumps_by_centuries_is_no_interval_of_the_roll_ups(make());
    gaps_and_warnings_are_found_by_their_time(make());
    the_number_of_a_sample_is_found_by_its_time(make());
    a_source_that_is_not_there_is_said_to_be_not_there(make());
    a_removed_source_leaves_nothing_behind_and_the_others_alone(make());
}

fn start() -> Timestamp {
    "2026-03-01T09:58:00Z".parse().unwrap()
}

fn minutes(count: u64) -> SignedDuration {
    SignedDuration::from_mins(count.cast_signed())
}

/// Minute `minute` of a source that is a host and a server in one: subjects that come and go, columns that
/// not all have, an age, a restart in minute 40.
fn sample(minute: u64) -> Sample {
    let subject = |kind, scope, name: &str| Subject {
        kind,
        scope,
        name: name.into(),
        identity: format!("{name}'s"),
        volume: name.contains('s').then(|| "/data".into()),
    };
    let reads = |per_minute: u64| Counters::new().with(Counter::Reads, 1_000 + minute * per_minute);
    let file = subject(Kind::SqlServerFile, Scope::Database("sales".into()), "sales.mdf");
    let disk = subject(Kind::LinuxDevice, Scope::Device(DeviceRole::Disk), "sda");
    let group = subject(Kind::LinuxCgroup, Scope::Cgroup("/db".into()), "/db 8:0");
    let host = subject(Kind::LinuxPressure, Scope::Source, "host");
    let mut rows = vec![
        Row { subject: file, counters: reads(60).with(Counter::ReadStall, 9 + minute), age_ms: None },
        Row { subject: disk, counters: reads(7).with(Counter::WriteBytes, minute * 4_096), age_ms: None },
        Row { subject: host, counters: Counters::new().with(Counter::WaitSome, 5 * minute), age_ms: None },
    ];
    if minute % 10 > 4 {
        rows.push(Row { subject: group, counters: reads(1), age_ms: Some(minute) });
    }
    let boot = if minute < 40 { "boot 1" } else { "boot 2" };
    let clock_ns = 77 + minute * 60_000_000_000;
    Sample {
        taken: SampleTime { utc: start() + minutes(minute), clock: boot.into(), clock_ns },
        epoch: Epoch {
            instance: "one".into(),
            version: 15,
            process_start: boot.into(),
            counters_since: vec![boot.into()],
            uptime_s: minute.is_multiple_of(3).then_some(minute * 60),
        },
        rows,
        warnings: Vec::new(),
    }
}

fn foreign(name: &str) -> Source {
    let id: SourceId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
    let store: StoreId = "7f0f5a6e-6a3b-4d7e-8e36-0a4a1c6d1f11".parse().unwrap();
    Source { id, store, name: name.into() }
}

fn caution() -> Warning {
    Warning::new(WarningCode::SettingOff, "timing is off").hint("switch it on")
}

/// Batch `number` of ten: samples, a warning, a gap, and an import mark.
fn batch(number: u64) -> Batch {
    let samples: Vec<Sample> = (number * 10 - 10..number * 10).map(sample).collect();
    let mut batch = Batch::of(foreign("linux:"), number, &samples);
    let (first, last) = (samples[0].taken.utc, samples[9].taken.utc);
    batch.warnings = vec![SeenWarning { warning: caution(), first, last }];
    batch.gaps =
        vec![Gap { at: first + SignedDuration::from_secs(1), missed: number, reason: "slow".into() }];
    batch.import = Some(ImportMark { sample: number.cast_signed(), taken: last });
    batch
}

/// One interval: its end, and the changes of each series.
type Interval = (SampleTime, Vec<(SeriesId, Row, Change)>);

#[derive(Debug, PartialEq)]
struct Kept {
    intervals: Vec<Interval>,
    hours: BTreeMap<(Timestamp, SeriesId), Rollup>,
    days: BTreeMap<(Timestamp, SeriesId), Rollup>,
    gaps: Vec<Gap>,
    warnings: Vec<Warning>,
    newest: Option<Sample>,
}

fn kept(history: &impl History, source: SourceId) -> Kept {
    let mut intervals: Vec<Interval> = Vec::new();
    let mut see = |step: Step| {
        let mut rows: Vec<_> = step
            .to_rows()
            .into_iter()
            .map(|(row, change)| (SeriesId::of(source, &row.subject), row, change))
            .collect();
        rows.sort_by_key(|(series, _, _)| *series);
        intervals.push((step.sample.taken.clone(), rows));
    };
    history.intervals(source, Timestamp::MIN, Timestamp::MAX, &mut see).unwrap();
    let rollups = |tier| {
        let mut all = BTreeMap::new();
        let mut see = |row: super::RollupRow| {
            let key = (row.beginning, SeriesId::of(source, &row.subject));
            assert!(all.insert(key, row.rollup).is_none(), "one of each thing and hour");
        };
        history.rollups(source, tier, Timestamp::UNIX_EPOCH, Timestamp::MAX, &mut see).unwrap();
        all
    };
    let newest = history.last_sample(source).unwrap().map(|mut sample| {
        sample.rows.sort_by(|one, other| one.subject.cmp(&other.subject));
        sample
    });
    Kept {
        hours: rollups(Tier::Hour),
        days: rollups(Tier::Day),
        gaps: history.gaps(source, Timestamp::MIN, Timestamp::MAX).unwrap(),
        warnings: history.warnings(source, Timestamp::MIN, Timestamp::MAX).unwrap(),
        intervals,
        newest,
    }
}

fn a_source_keeps_its_id_and_its_name_is_its_stores_own(mut history: impl History) {
    let linux = history.source("linux:").unwrap();
    assert_eq!(history.source("linux:").unwrap(), linux);
    assert_eq!((linux.store, linux.name.as_str()), (history.id(), "linux:"));
    let server = history.source("mysql://db1").unwrap();
    assert_ne!(server.id, linux.id);
    let names: Vec<_> = history.sources().unwrap().into_iter().map(|watched| watched.source).collect();
    assert_eq!(names, [linux, server]);
}

fn a_batch_comes_out_as_it_went_in(mut history: impl History) {
    let mut all = Vec::new();
    for number in 1..=6 {
        assert_eq!(history.append(&batch(number)).unwrap(), Appended::Added);
        all.extend(batch(number).to_samples().unwrap());
    }
    let source = foreign("linux:").id;
    assert_eq!(history.last_appended(source).unwrap(), 6);
    assert_eq!(history.import_mark(source).unwrap(), batch(6).import);
    let (mut sequence, mut out) = (0, Vec::new());
    while let Some(next) = history.batch_after(source, sequence, 7).unwrap() {
        assert!(next.sequence > sequence, "numbers rise");
        assert_eq!(next.source, foreign("linux:"));
        sequence = next.sequence;
        out.extend(next.to_samples().unwrap());
    }
    // The order of rows and the ages of earlier series are not stored.
    let plain = |samples: Vec<Sample>| -> Vec<Sample> {
        let sorted = |mut sample: Sample| {
            sample.rows.sort_by(|one, other| one.subject.cmp(&other.subject));
            sample.rows.iter_mut().for_each(|row| row.age_ms = None);
            sample
        };
        samples.into_iter().map(sorted).collect()
    };
    assert_eq!(plain(out), plain(all));
    let kept = kept(&history, source);
    assert_eq!(kept.gaps.len(), 6);
    assert_eq!(kept.warnings, [caution()]);
}

fn the_same_batch_twice_changes_nothing(mut history: impl History) {
    let source = foreign("linux:").id;
    for number in 1..=6 {
        assert_eq!(history.append(&batch(number)).unwrap(), Appended::Added);
        let once = kept(&history, source);
        assert_eq!(history.append(&batch(number)).unwrap(), Appended::AlreadyThere);
        assert_eq!(kept(&history, source), once);
    }
}

fn a_batch_that_comes_late_changes_nothing(mut history: impl History) {
    let source = foreign("linux:").id;
    for number in [1, 2, 4] {
        history.append(&batch(number)).unwrap();
    }
    let before = kept(&history, source);
    for number in [1, 3, 4, 2] {
        assert_eq!(history.append(&batch(number)).unwrap(), Appended::AlreadyThere, "batch {number}");
    }
    assert_eq!(kept(&history, source), before);
    assert_eq!(history.append(&batch(5)).unwrap(), Appended::Added);
}

fn batches_and_samples_one_by_one_make_one_history(mut single: impl History, mut whole: impl History) {
    let source = single.source("linux:").unwrap();
    for minute in 0..90 {
        single.add_sample(source.id, sample(minute)).unwrap();
    }
    let samples: Vec<Sample> = (0..90).map(sample).collect();
    for (number, part) in (1..).zip(samples.chunks(13)) {
        whole.append(&Batch::of(source.clone(), number, part)).unwrap();
    }
    for history in [&mut single as &mut dyn History, &mut whole] {
        history.finish().unwrap();
    }
    let (one, other) = (kept(&single, source.id), kept(&whole, source.id));
    assert_eq!(one, other);
    assert!(!one.hours.is_empty() && one.intervals.len() == 89);
    whole.rebuild(source.id).unwrap();
    assert_eq!(kept(&whole, source.id), one, "roll-ups made anew are the same");
}

/// Sends what `to` lacks from `from`. Every batch goes twice; the confirmation of every third is lost.
fn send(from: &impl History, to: &mut impl History, source: SourceId, heard: &mut u64, rounds: u32) {
    for round in 0..rounds {
        let Some(batch) = from.batch_after(source, *heard, 4).unwrap() else { return };
        to.append(&batch).unwrap();
        assert_eq!(to.append(&batch).unwrap(), Appended::AlreadyThere);
        if round % 3 != 2 {
            *heard = batch.sequence;
        }
    }
}

fn what_is_sent_again_and_again_arrives_once(mut from: impl History, mut to: impl History) {
    let source = from.source("linux:").unwrap();
    let mut heard = 0;
    for minute in 0..70 {
        if minute % 9 == 8 {
            let at = start() + minutes(minute) - SignedDuration::from_secs(1);
            from.add_gap(source.id, &Gap { at, missed: minute, reason: "slow".into() }).unwrap();
        }
        let mut taken = sample(minute);
        if minute == 20 || minute == 21 {
            taken.warnings.push(caution());
        }
        from.add_sample(source.id, taken).unwrap();
        if minute % 11 == 10 {
            send(&from, &mut to, source.id, &mut heard, 2);
        }
    }
    // The sender restarts and knows only what the receiver reports.
    heard = to.last_appended(source.id).unwrap();
    send(&from, &mut to, source.id, &mut heard, u32::MAX);
    assert!(from.batch_after(source.id, heard, 4).unwrap().is_none());
    from.finish().unwrap();
    to.finish().unwrap();
    assert_eq!(kept(&to, source.id), kept(&from, source.id));
    let there = to.sources().unwrap();
    assert_eq!(there.len(), 1);
    assert_eq!(there[0].source, source);
}

fn sources_of_one_name_in_two_stores_stay_apart(mut here: impl History, mut there: impl History) {
    let (ours, theirs) = (here.source("linux:").unwrap(), there.source("linux:").unwrap());
    assert_ne!((ours.id, ours.store), (theirs.id, theirs.store));
    here.add_sample(ours.id, sample(0)).unwrap();
    for minute in 0..5 {
        there.add_sample(theirs.id, sample(minute)).unwrap();
    }
    let batch = there.batch_after(theirs.id, 0, 100).unwrap().unwrap();
    here.append(&batch).unwrap();
    assert_eq!(kept(&here, ours.id).intervals.len(), 0);
    assert_eq!(kept(&here, theirs.id).intervals.len(), 4);
    assert_eq!(here.sources().unwrap().len(), 2);
    assert_eq!(here.source("linux:").unwrap(), ours, "the name alone is the store's own source");
}

type Break<'a> = (&'a dyn Fn(&mut Batch), BatchError);

fn a_batch_that_does_not_hold_together_is_refused_whole(mut history: impl History) {
    let short_column = |batch: &mut Batch| batch.rows.age_ms.truncate(1);
    let unknown_series = |batch: &mut Batch| batch.rows.series[3] = 99;
    let unknown_epoch = |batch: &mut Batch| batch.samples.epoch[9] = 99;
    let too_few_rows = |batch: &mut Batch| batch.samples.row_count[9] += 1;
    let too_many_rows = |batch: &mut Batch| batch.samples.row_count[9] -= 1;
    let no_rows = |batch: &mut Batch| batch.rows = RowColumns::default();
    let no_number = |batch: &mut Batch| batch.sequence = 0;
    let huge_number = |batch: &mut Batch| batch.sequence = u64::MAX;
    let breaks: [Break; 8] = [
        (&short_column, BatchError::Lengths),
        (&unknown_series, BatchError::Place),
        (&unknown_epoch, BatchError::Place),
        (&too_few_rows, BatchError::Lengths),
        (&too_many_rows, BatchError::Lengths),
        (&no_rows, BatchError::Lengths),
        (&no_number, BatchError::Number),
        (&huge_number, BatchError::Number),
    ];
    for (spoil, expected) in breaks {
        let mut spoilt = batch(1);
        spoil(&mut spoilt);
        match history.append(&spoilt) {
            Err(StoreError::Batch { source }) => assert_eq!(source, expected),
            other => panic!("a spoilt batch gave {other:?}"),
        }
    }
    assert!(history.sources().unwrap().is_empty(), "not even its source");
    assert_eq!(history.append(&batch(1)).unwrap(), Appended::Added);
}

fn what_was_forgotten_does_not_come_back_with_its_batch(mut history: impl History) {
    let source = foreign("linux:").id;
    // Two days: some forget a day at a time.
    for number in (1..=5).chain(200..=210) {
        history.append(&batch(number)).unwrap();
    }
    history.finish().unwrap();
    let before = kept(&history, source);
    let retention = Retention { raw: SignedDuration::from_mins(10), ..Retention::default() };
    history.forget(&retention, start() + minutes(2_100)).unwrap();
    let left = kept(&history, source);
    assert!(left.intervals.len() < before.intervals.len());
    assert_eq!((&left.hours, &left.days), (&before.hours, &before.days));
    assert!(history.seams(source).unwrap().is_some());
    assert_eq!(history.append(&batch(1)).unwrap(), Appended::AlreadyThere);
    assert_eq!(kept(&history, source), left);
}

fn a_clock_that_jumps_by_centuries_is_no_interval_of_the_roll_ups(mut history: impl History) {
    let source = history.source("linux:").unwrap().id;
    let mut jumped = sample(1);
    jumped.taken.clock_ns = u64::MAX;
    history.add_sample(source, sample(0)).unwrap();
    history.add_sample(source, jumped).unwrap();
    history.finish().unwrap();
    assert!(kept(&history, source).hours.is_empty());
}

fn the_number_of_a_sample_is_found_by_its_time(mut history: impl History) {
    let id = history.source("s").unwrap().id;
    assert_eq!(history.sample_before(id, start()).unwrap(), 0);
    for minute in 0..5 {
        history.add_sample(id, sample(minute)).unwrap();
    }
    let first_after = |number: u64| {
        let batch = history.batch_after(id, number, 1).unwrap();
        batch.map(|batch| batch.samples.taken_utc[0])
    };
    let at = |minute| history.sample_before(id, start() + minutes(minute)).unwrap();
    assert_eq!(first_after(at(2)), Some(start() + minutes(3)));
    assert_eq!(first_after(at(9)), None);
    let early = history.sample_before(id, start() - minutes(9)).unwrap();
    assert_eq!(first_after(early - 1), Some(start()), "all are later: the first one's");
}

fn gaps_and_warnings_are_found_by_their_time(mut history: impl History) {
    let source = history.source("linux:").unwrap().id;
    let gap = |missed| Gap { at: start() + minutes(3), missed, reason: "refused".into() };
    history.add_gap(source, &gap(1)).unwrap();
    history.add_gap(source, &gap(4)).unwrap();
    let mut warned = sample(5);
    warned.warnings.push(caution());
    history.add_sample(source, warned).unwrap();
    let at = |minute| start() + minutes(minute);
    assert_eq!(history.gaps(source, at(3), at(4)).unwrap(), [gap(4)], "a gap that goes on is one gap");
    assert!(history.gaps(source, at(0), at(3)).unwrap().is_empty(), "the end of a window is the next one's");
    assert_eq!(history.warnings(source, at(5), at(6)).unwrap(), [caution()]);
    assert!(history.warnings(source, at(0), at(4)).unwrap().is_empty());
}

fn a_source_that_is_not_there_is_said_to_be_not_there(mut history: impl History) {
    let source = foreign("linux:").id;
    let said = |error: StoreError| assert!(error.to_string().contains(&source.to_string()), "{error}");
    said(history.add_sample(source, sample(0)).unwrap_err());
    said(history.last_sample(source).unwrap_err());
    said(history.batch_after(source, 0, 10).unwrap_err());
}

fn a_removed_source_leaves_nothing_behind_and_the_others_alone(mut history: impl History) {
    let (gone, kept) = (history.source("linux:").unwrap().id, history.source("postgres://db").unwrap().id);
    for minute in 0..90 {
        history.add_sample(gone, sample(minute)).unwrap();
        history.add_sample(kept, sample(minute)).unwrap();
    }
    history.finish().unwrap();
    history.remove(gone).unwrap();
    assert!(matches!(history.last_sample(gone), Err(StoreError::NoSource { .. })));
    assert!(history.remove(gone).is_err());
    assert_eq!(history.sources().unwrap().len(), 1);
    assert!(history.last_sample(kept).unwrap().is_some());
    // One of the same name begins anew.
    let again = history.source("linux:").unwrap().id;
    assert_ne!(again, gone);
    assert_eq!(history.last_sample(again).unwrap(), None);
    let mut rollups = 0;
    let (from, to) = (start() - minutes(600), start() + minutes(600));
    history.rollups(again, Tier::Hour, from, to, &mut |_| rollups += 1).unwrap();
    assert_eq!(rollups, 0);
    history.rollups(kept, Tier::Hour, from, to, &mut |_| rollups += 1).unwrap();
    assert!(rollups > 0);
}
