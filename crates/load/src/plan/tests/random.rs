//! Random access: which slots, how often.

use std::collections::BTreeMap;

use super::*;

/// Mean plus five standard deviations of the chi-square distribution.
fn chi_square_limit(cells: usize) -> f64 {
    let freedom = (cells - 1) as f64;
    freedom + 5.0 * (2.0 * freedom).sqrt()
}

fn chi_square_uniform(seen: &BTreeMap<u64, u32>, cells: usize, draws: usize) -> f64 {
    let expected = draws as f64 / cells as f64;
    let missing = (cells - seen.len()) as f64 * expected;
    missing + seen.values().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum::<f64>()
}

fn stats(offsets: &[u64]) -> BTreeMap<u64, u32> {
    let mut seen = BTreeMap::new();
    for offset in offsets {
        *seen.entry(*offset).or_insert(0) += 1;
    }
    seen
}

// The only Linux port of DiskSpd keeps an alignment of 64K whatever -b says, so that its "4K random"
// touches every 16th block.
#[test]
fn random_4k_touches_every_4k_slot_and_all_alike() {
    let size = 1 << 20;
    let found = offsets("block-size = '4K'", place(size), 200_000);
    let seen = stats(&found);
    assert!(seen.keys().copied().eq((0..size).step_by(4096)));
    let statistic = chi_square_uniform(&seen, 256, found.len());
    assert!(statistic < chi_square_limit(256), "{statistic}");
}

/// A pass that was to write a device once left out a third of it.
#[test]
fn every_block_comes_once_before_any_comes_again_in_another_order() {
    let fields = "block-size = '4K'\nevery-block = true\nregion = '4K..1M'";
    let found = offsets(fields, place(2 << 20), 3 * 255);
    for pass in found.chunks(255) {
        let seen = stats(pass);
        assert!(seen.keys().copied().eq((4096..1 << 20).step_by(4096)), "each once");
    }
    assert_ne!(found[..255], found[255..510]);
    let other = offsets(fields, StreamPlace { stream_number: 1, ..place(2 << 20) }, 255);
    assert_ne!(found[..255], other, "each stream has its order");
    let next_to = found.windows(2).filter(|pair| pair[0] + 4096 == pair[1]).count();
    assert!(next_to < 20, "{next_to} of 764 follow the one before");
}

#[test]
fn every_size_of_a_mix_reaches_every_slot_it_fits_in_alike() {
    let size: u64 = 300 * 1024;
    let mut plan = StreamPlan::new(&role("block-size = '8K:3,60K:1,128K:1'"), place(size), None).unwrap();
    let all = requests(&mut plan, 200_000);
    for block in [8_u64 << 10, 60 << 10, 128 << 10] {
        let of_size: Vec<u64> =
            all.iter().filter(|r| u64::from(r.length) == block).map(|r| r.offset).collect();
        let slots: Vec<u64> = (0..=size - block).step_by(8192).collect();
        let seen = stats(&of_size);
        assert!(seen.keys().copied().eq(slots.iter().copied()), "{block}");
        let statistic = chi_square_uniform(&seen, slots.len(), of_size.len());
        assert!(statistic < chi_square_limit(slots.len()), "{block}: {statistic}");
    }
}

#[test]
fn zipf_is_as_skewed_as_asked_and_its_hot_blocks_are_apart_and_the_same_for_all() {
    let fields = "block-size = '8K'\ndistribution = 'zipf:1'";
    let slots = 1024_u64;
    let hottest = |stream_number| {
        let at = StreamPlace { stream_number, ..place(slots * 8192) };
        let mut seen: Vec<(u32, u64)> =
            stats(&offsets(fields, at, 200_000)).into_iter().map(|(at, n)| (n, at)).collect();
        seen.sort_unstable_by(|left, right| right.cmp(left));
        seen
    };
    let (one, other) = (hottest(1), hottest(2));
    let harmonic: f64 = (1..=slots).map(|rank| 1.0 / rank as f64).sum();
    for rank in 1..=5_u32 {
        let expected = 200_000.0 / (f64::from(rank) * harmonic);
        let index = usize::try_from(rank).unwrap() - 1;
        let seen = f64::from(one[index].0);
        assert!((seen - expected).abs() < 5.0 * expected.sqrt(), "rank {rank}: {seen}, not {expected}");
        assert_eq!(one[index].1, other[index].1, "workers must agree on what is hot");
    }
    let gap_min = one[..5].windows(2).map(|pair| pair[0].1.abs_diff(pair[1].1)).min().unwrap();
    assert!(gap_min > 8192, "the hottest blocks are neighbours");
    assert_eq!(one.len(), 1024, "every slot is reachable");
}

/// Share of the offsets below `end`.
fn share_below(found: &[u64], end: u64) -> f64 {
    found.iter().filter(|&&offset| offset < end).count() as f64 / found.len() as f64
}

#[test]
fn hot_and_ranges_send_their_shares_where_they_say() {
    let size = 1000 * 4096;
    let hot = offsets("block-size = '4K'\ndistribution = 'hot:90/10'", place(size), 100_000);
    assert!((share_below(&hot, size / 10) - 0.9).abs() < 0.005);
    assert!(stats(&hot).len() > 990, "the cold part is reached too");

    let fields = "block-size = '4K'\ndistribution = 'ranges:50/10,0/20,50/70'";
    let ranges = offsets(fields, place(size), 100_000);
    assert!((share_below(&ranges, size / 10) - 0.5).abs() < 0.008);
    assert!(!ranges.iter().any(|offset| (size / 10..size * 3 / 10).contains(offset)), "a hole stays empty");
}

#[test]
fn spans_send_their_shares_to_lengths_and_grow_when_the_target_ends_before_them() {
    let size: u64 = 10 << 20;
    let share_below = |offsets: &[u64], end: u64| {
        offsets.iter().filter(|offset| **offset < end).count() as f64 / offsets.len() as f64
    };
    let fields = "block-size = '4K'\ndistribution = 'spans:50/1M,0/2M,50/0'";
    let found = offsets(fields, place(size), 100_000);
    assert!((share_below(&found, 1 << 20) - 0.5).abs() < 0.008);
    assert!(!found.iter().any(|offset| (1 << 20..3 << 20).contains(offset)), "a hole stays empty");
    assert_eq!(found.iter().max(), Some(&(size - 4096)));
    let small =
        offsets("block-size = '4K'\ndistribution = 'spans:10/1M,30/1M,60/1M'", place(2 << 20), 100_000);
    assert!((share_below(&small, 1 << 20) - 0.25).abs() < 0.008);
}

#[test]
fn ranges_thinner_than_a_slot_leave_their_share_to_a_neighbour() {
    let fields = "block-size = '4K'\ndistribution = 'ranges:30/1,40/98,30/1'";
    let found = offsets(fields, place(4 * 4096), 1000);
    assert_eq!(stats(&found).len(), 4);
}

#[test]
fn mixed_access_jumps_as_often_as_asked_and_keeps_a_runs_kind() {
    let fields = "block-size = '4K'\nrandom-pct = 20\nwrite-pct = 50";
    let mut plan = StreamPlan::new(&role(fields), place(1 << 34), None).unwrap();
    let all = requests(&mut plan, 100_000);
    let mut jumps = 0;
    for pair in all.windows(2) {
        if pair[1].offset == pair[0].offset + u64::from(pair[0].length) {
            assert_eq!(pair[0].op, pair[1].op, "a run changed its kind");
        } else {
            jumps += 1;
        }
    }
    let share = f64::from(jumps) / (all.len() - 1) as f64;
    assert!((share - 0.2).abs() < 0.005, "{share}");
    let writes = all.iter().filter(|request| request.op == Op::Write).count() as f64 / all.len() as f64;
    assert!((writes - 0.5).abs() < 0.02, "{writes}");
}

#[test]
fn mixed_access_without_jumps_starts_somewhere_and_wraps() {
    let found = offsets("block-size = '4K'\nrandom-pct = 0", place(16 * 4096), 40);
    for pair in found.windows(2) {
        assert_eq!(pair[1], (pair[0] + 4096) % (16 * 4096));
    }
}
