use iostall_transfer::backup::format::WalFacts;

use super::*;
use crate::backup::wal::directory::Cluster;

const BYTES: u64 = 1 << 20;

/// Segments of timelines, each with a position in it at which its records end, and a transaction a second.
fn inventory(segments: &[(u32, u64)], histories: &[(u32, &[(u32, u64)])]) -> Inventory {
    let mut inventory = Inventory::empty(Cluster { system_identifier: 1, segment_bytes: BYTES });
    for (timeline, number) in segments {
        let second = i64::try_from(*number).unwrap();
        let facts = WalFacts { end_lsn: number * BYTES + 1000, times_us: Some((second - 1, second)) };
        inventory
            .segments
            .insert((*timeline, *number), Segment { facts, stored_bytes: 1, is_partial: false });
    }
    for (timeline, ancestors) in histories {
        let ancestor = |(timeline, until): &(u32, u64)| Ancestor { timeline: *timeline, until: Lsn(*until) };
        inventory.histories.insert(*timeline, ancestors.iter().map(ancestor).collect());
    }
    inventory
}

fn base(timeline: u32, start: u64, stop: u64) -> Base {
    Base { timeline, start: Lsn(start), stop: Lsn(stop), from_standby: false }
}

fn one(numbers: impl IntoIterator<Item = u64>) -> Vec<(u32, u64)> {
    numbers.into_iter().map(|number| (1, number)).collect()
}

#[test]
fn a_gap_ends_what_can_be_reached_and_is_named() {
    let base = base(1, 3 * BYTES + 40, 5 * BYTES + 300);
    let whole = inventory(&one(2..10), &[]);
    let way = Way::to(&whole, 1).unwrap();
    let reach = way.reach(&whole, &base);
    assert_eq!((reach.end, reach.last_us, reach.missing), (Lsn(9 * BYTES + 1000), Some(9), None));
    let gap = inventory(&one([2, 3, 4, 5, 6, 9, 10]), &[]);
    let reach = way.reach(&gap, &base);
    let missing = reach.missing.unwrap();
    assert_eq!(reach.end, Lsn(6 * BYTES + 1000));
    assert_eq!((missing.first, missing.last, missing.count), (gap.name(1, 7), gap.name(1, 8), 2));
}

/// The story: a receiver had been told to go on after a gap, and the half of a segment before it looked like a whole one.
#[test]
fn what_was_received_of_a_segment_is_reached_and_ends_there() {
    let base = base(1, 3 * BYTES + 40, 4 * BYTES);
    let mut archive = inventory(&one(3..7), &[]);
    let way = Way::to(&archive, 1).unwrap();
    archive.segments.get_mut(&(1, 6)).unwrap().is_partial = true;
    let reach = way.reach(&archive, &base);
    assert_eq!((reach.end, reach.missing), (Lsn(6 * BYTES + 1000), None));
    archive.segments.extend(inventory(&one([8]), &[]).segments);
    let missing = way.reach(&archive, &base).missing.unwrap();
    assert_eq!((missing.first, missing.count), (archive.name(1, 6), 2));
}

#[test]
fn what_the_base_has_itself_is_no_gap_but_the_last_segment_of_a_standby() {
    let base = base(1, 3 * BYTES + 40, 5 * BYTES + 300);
    let later = inventory(&one(6..8), &[]);
    let way = Way::to(&later, 1).unwrap();
    assert_eq!(way.reach(&later, &base).end, Lsn(7 * BYTES + 1000));
    let standby = Base { from_standby: true, ..base };
    let reach = way.reach(&later, &standby);
    assert_eq!((reach.end, reach.missing.unwrap().first), (base.stop, later.name(1, 5)));
    // Nothing after it is no gap: it has not happened yet, or was not archived yet.
    let none = inventory(&one(3..5), &[]);
    let reach = way.reach(&none, &base);
    assert_eq!((reach.end, reach.missing), (base.stop, None));
}

#[test]
fn a_way_leads_across_timelines_and_only_from_a_base_of_before_they_were_left() {
    // Timeline 2 left the first in segment 6, and 3 left 2 in segment 8.
    let mut segments = one(2..8);
    segments.extend([(2, 6), (2, 7), (2, 8), (2, 9), (3, 8), (3, 9), (3, 10)]);
    let (first, second) = ((1, 6 * BYTES + 500), (2, 8 * BYTES + 20));
    let archive = inventory(&segments, &[(2, &[first]), (3, &[first, second])]);
    let early = base(1, 3 * BYTES + 40, 4 * BYTES);
    let to = |timeline| Way::to(&archive, timeline).unwrap();
    for (timeline, end) in [(1, 7), (2, 9), (3, 10)] {
        assert!(to(timeline).leads_from(&early));
        assert_eq!(to(timeline).reach(&archive, &early).end, Lsn(end * BYTES + 1000), "{timeline}");
    }
    let late = base(1, 6 * BYTES + 600, 6 * BYTES + 700);
    assert!(to(1).leads_from(&late) && !to(2).leads_from(&late) && !to(3).leads_from(&late));
    assert_eq!(to(3).owner(5), 1);
    assert_eq!((to(3).owner(7), to(3).owner(8)), (2, 3));
    assert!(Way::to(&archive, 4).is_none());
    // The new timeline has lost the segment in which it begins.
    segments.retain(|segment| *segment != (2, 6));
    let lost = inventory(&segments, &[(2, &[first])]);
    let reach = Way::to(&lost, 2).unwrap().reach(&lost, &early);
    assert_eq!((reach.end, reach.missing.unwrap().count), (Lsn(5 * BYTES + 1000), 1));
}
