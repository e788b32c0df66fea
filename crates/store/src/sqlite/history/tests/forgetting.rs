//! What is left when old samples were forgotten.

use super::*;

#[test]
fn only_whole_chains_that_are_rolled_up_are_forgotten_and_the_roll_ups_stay() {
    let (_directory, mut store) = open();
    let source = store.source("s").unwrap().id;
    for tick in 0..400 {
        store.add_sample(source, sample(tick, 5)).unwrap();
    }
    store.finish().unwrap();
    let before = (rollups(&store, source, Tier::Hour), rollups(&store, source, Tier::Day));
    let retention = Retention { raw: SignedDuration::from_hours(1), ..Retention::default() };
    let now = sample(400, 0).taken.utc;
    store.forget(&retention, now).unwrap();
    let left = steps(&store, source).len();
    assert!((59..200).contains(&left), "{left} steps are left of 399");
    store.rebuild(source).unwrap();
    let after = (rollups(&store, source, Tier::Hour), rollups(&store, source, Tier::Day));
    assert_eq!(after, before, "what raw samples no longer cover is as it was, the rest is made anew alike");
    // And the history goes on.
    store.add_sample(source, sample(401, 5)).unwrap();
    assert_eq!(steps(&store, source).len(), left + 1);
}

#[test]
fn roll_ups_and_raw_samples_meet_at_the_seam() {
    let (directory, mut store) = open();
    let source = store.source("s").unwrap().id;
    for tick in 0..400 {
        store.add_sample(source, sample(tick, 5)).unwrap();
    }
    assert_eq!(store.seams(source).unwrap(), None, "nothing was forgotten");
    let forget = |store: &mut SqliteHistory, minutes| {
        let raw = SignedDuration::from_mins(minutes);
        let now = sample(400, 0).taken.utc;
        store.forget(&Retention { raw, ..Retention::default() }, now).unwrap();
        store.sources().unwrap()[0].first.unwrap()
    };
    // Half of the raw samples go: from the first whole hour on, they are enough.
    let first = forget(&mut store, 200);
    let seam = store.seams(source).unwrap().unwrap().hours_until;
    assert!(first < seam && seam.duration_since(first) < SignedDuration::from_hours(1), "{first} {seam}");
    assert_eq!(Tier::Hour.floor(seam), seam);
    // A process that ends well has rolled up all there is, and what raw samples are left begin in the same hour.
    drop(store);
    let mut store = SqliteHistory::open(directory.path().join("watch.db")).unwrap();
    store.source("s").unwrap();
    store.finish().unwrap();
    forget(&mut store, 1);
    let seams = store.seams(source).unwrap().unwrap();
    assert_eq!(seams, Seams { days_until: Timestamp::MIN, hours_until: sample(399, 0).taken.utc });
}

/// A collector was killed in the midst of an hour and never came back; two weeks later another one, of other
/// sources, forgot what was old. It went by age beyond what was rolled up, and left changes without the whole
/// sample that they change: the source could not be read any more.
#[test]
fn what_a_killed_collector_left_stays_readable_when_it_is_forgotten_by_another() {
    let (directory, mut store) = open();
    let source = store.source("s").unwrap().id;
    for tick in 0..170 {
        store.add_sample(source, sample(tick, 5)).unwrap();
    }
    drop(store);
    let mut other = SqliteHistory::open(directory.path().join("watch.db")).unwrap();
    let retention = Retention { raw: SignedDuration::from_secs(1), ..Retention::default() };
    other.forget(&retention, sample(100_000, 0).taken.utc).unwrap();
    let left = steps(&other, source);
    assert!(left.len() >= 47, "the hour that is not in the roll-ups is there: {}", left.len());
    let truth: u64 = (0..5).filter(|file| file % 3 != 0).map(|file| 169 * (file % 17 + 1) * 3).sum();
    other.source("s").unwrap();
    other.finish().unwrap();
    assert_eq!(reads(&rollups(&other, source, Tier::Hour)), truth);
}
