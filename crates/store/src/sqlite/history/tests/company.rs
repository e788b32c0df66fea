//! Two processes that sample one source into one store.

use super::*;

/// The other process had written a whole sample in between, and ours was a change to our own earlier one: read back
/// it was applied to the other's, and every number was wrong.
#[test]
fn two_collectors_of_one_source_do_not_spoil_each_others_samples() {
    let (directory, mut one) = open();
    let source = one.source("s").unwrap().id;
    let mut other = SqliteHistory::open(directory.path().join("watch.db")).unwrap();
    assert_eq!(other.source("s").unwrap().id, source);
    let mut tick = 0;
    // Both by turns, one after the other, then one of them alone for a while, with more than one hour in all.
    for turns in [[1, 1], [3, 1], [1, 4], [20, 0], [0, 30], [1, 1], [0, 40], [30, 1]] {
        for (store, samples) in [&mut one, &mut other].into_iter().zip(turns) {
            for _ in 0..samples {
                store.add_sample(source, sample(tick, 7)).unwrap();
                tick += 1;
            }
        }
    }
    let read = steps(&one, source);
    assert_eq!(read.len(), 134 - 1);
    for (tick, step) in (1..).zip(&read) {
        let rows: Vec<Row> = step.rows().map(|(row, _)| row.clone()).collect();
        assert_eq!(rows, sample(tick, 7).rows, "sample {tick}");
    }
    one.finish().unwrap();
    other.finish().unwrap();
    let truth: u64 = (0..7).filter(|file| file % 3 != 0).map(|file| 133 * (file % 17 + 1) * 3).sum();
    for tier in [Tier::Hour, Tier::Day] {
        assert_eq!(reads(&rollups(&one, source, tier)), truth, "{tier:?}: each interval once");
    }
}

/// The roll-ups were made anew while a collector ran, and it ended without another sample: what it had not written
/// yet was in them, and it added it once more.
#[test]
fn a_rebuild_before_a_collector_ends_counts_nothing_twice() {
    let (directory, mut store) = open();
    let source = store.source("s").unwrap().id;
    for tick in 0..30 {
        store.add_sample(source, sample(tick, 5)).unwrap();
    }
    SqliteHistory::open(directory.path().join("watch.db")).unwrap().rebuild(source).unwrap();
    store.finish().unwrap();
    let truth: u64 = (0..5).filter(|file| file % 3 != 0).map(|file| 29 * (file % 17 + 1) * 3).sum();
    assert_eq!(reads(&rollups(&store, source, Tier::Hour)), truth);
}

#[test]
fn a_thing_that_gets_its_old_name_back_is_called_so() {
    let (_directory, mut store) = open();
    let source = store.source("s").unwrap().id;
    for (tick, name) in (0..).zip(["a", "b", "a"]) {
        let mut sample = sample(tick, 1);
        sample.rows[0].subject.name = name.into();
        store.add_sample(source, sample).unwrap();
    }
    assert_eq!(store.last_sample(source).unwrap().unwrap().rows[0].subject.name, "a");
}

/// A window began with the last sample whose time was not after its beginning: that was one after the clock had been
/// set back, and what had been sampled before was left out.
#[test]
fn a_window_holds_both_hours_when_the_clock_was_set_back_by_one() {
    let (_directory, mut store) = open();
    let source = store.source("s").unwrap().id;
    for tick in 0..120 {
        let mut sample = sample(tick, 2);
        if tick >= 60 {
            sample.taken.utc -= SignedDuration::from_hours(1);
        }
        store.add_sample(source, sample).unwrap();
    }
    let mut count = 0;
    let (from, to) = (start() + SignedDuration::from_mins(30), start() + SignedDuration::from_hours(1));
    let mut each = |step: Step| count += u32::from(step.at() > from && step.at() <= to);
    store.intervals(source, from, to, &mut each).unwrap();
    assert_eq!(count, 29 + 29, "both times from the 31st to the 59th minute");
}

/// Two collectors of one source wake up at the same ticks. When samples were written in a different order
/// than read, every second one looked like a clock change: 1,027 in one night, and every interval was lost.
#[test]
fn two_collectors_at_the_same_ticks_make_one_history_without_a_change_of_the_clock() {
    let (directory, mut one) = open();
    let source = one.source("s").unwrap().id;
    let mut other = SqliteHistory::open(directory.path().join("watch.db")).unwrap();
    other.source("s").unwrap();
    let at = |tick: u64, late_ns: u64| {
        let mut sample = sample(tick, 3);
        sample.taken.clock_ns += late_ns;
        sample.taken.utc += SignedDuration::from_nanos(late_ns.cast_signed());
        Arc::new(sample)
    };
    let mut before: Option<[Arc<Sample>; 2]> = None;
    for tick in 0..30 {
        // The first reader writes last.
        let now = [at(tick, 1_000), at(tick, 2_000_000)];
        let step = |place: usize| match &before {
            None => Step::first(Arc::clone(&now[place])),
            Some(before) => Step::between(&before[place], Arc::clone(&now[place])),
        };
        let (first, second) = (step(0), step(1));
        other.add_step(source, &second).unwrap();
        one.add_step(source, &first).unwrap();
        before = Some(now);
    }
    let changes: Vec<Change> = steps(&one, source).into_iter().flat_map(|step| step.changes).collect();
    let resets = changes.iter().filter(|change| matches!(change, Change::Reset(_))).count();
    assert_eq!(resets, 0, "{changes:?}");
    let longest = changes.iter().filter_map(Change::delta).map(|totals| totals.covered_ns);
    assert!(
        longest.min().unwrap() > 1_000_000,
        "an interval of a tick, not of the time between two collectors"
    );
    for mut store in [one, other] {
        store.finish().unwrap();
    }
}
