use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iostall_measure::{ByteCount, Op, Percent};
use iostall_model::RoleProfile;
use proptest::prelude::*;

use super::*;

const BASE: &str = "name = 'data'\n";

fn role(fields: &str) -> RoleProfile {
    toml::from_str(&format!("{BASE}{fields}")).unwrap()
}

fn place(target_size_bytes: u64) -> StreamPlace {
    StreamPlace {
        target_size_bytes,
        worker_index: 0,
        workers: 1,
        stream_number: 0,
        seed: 42,
        sector_align: 512,
    }
}

fn requests(plan: &mut StreamPlan, count: usize) -> Vec<Planned> {
    (0..count).map(|_| plan.next()).collect()
}

fn offsets(fields: &str, place: StreamPlace, count: usize) -> Vec<u64> {
    let mut plan = StreamPlan::new(&role(fields), place, None).unwrap();
    requests(&mut plan, count).iter().map(|request| request.offset).collect()
}

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

fn tally(offsets: &[u64]) -> BTreeMap<u64, u32> {
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
    let seen = tally(&found);
    assert!(seen.keys().copied().eq((0..size).step_by(4096)));
    let statistic = chi_square_uniform(&seen, 256, found.len());
    assert!(statistic < chi_square_limit(256), "{statistic}");
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
        let seen = tally(&of_size);
        assert!(seen.keys().copied().eq(slots.iter().copied()), "{block}");
        let statistic = chi_square_uniform(&seen, slots.len(), of_size.len());
        assert!(statistic < chi_square_limit(slots.len()), "{block}: {statistic}");
    }
}

#[test]
fn a_mix_and_a_write_share_are_kept() {
    let mut plan =
        StreamPlan::new(&role("block-size = '8K:80,64K:20'\nwrite-pct = 12.5"), place(1 << 30), None)
            .unwrap();
    let all = requests(&mut plan, 400_000);
    let share = |count: usize| count as f64 / all.len() as f64;
    let large = share(all.iter().filter(|r| r.length == 65536).count());
    let writes = share(all.iter().filter(|r| r.op == Op::Write).count());
    let large_writes = share(all.iter().filter(|r| r.length == 65536 && r.op == Op::Write).count());
    assert!((large - 0.2).abs() < 0.003, "{large}");
    assert!((writes - 0.125).abs() < 0.003, "{writes}");
    assert!((large_writes - 0.025).abs() < 0.0015, "size and kind depend on each other: {large_writes}");
}

#[test]
fn a_write_share_of_all_or_nothing_is_exact() {
    for (share, op) in [(0, Op::Read), (100, Op::Write)] {
        let fields = format!("block-size = '4K'\nwrite-pct = {share}");
        let mut plan = StreamPlan::new(&role(&fields), place(1 << 20), None).unwrap();
        assert!(requests(&mut plan, 10_000).iter().all(|request| request.op == op));
    }
}

#[test]
fn a_seed_repeats_the_sequence_and_another_one_does_not() {
    for fields in [
        "block-size = '8K'",
        "block-size = '8K:1,64K:1'\nrandom-pct = 50\nwrite-pct = 30",
        "block-size = '8K'\ndistribution = 'zipf:0.99'",
    ] {
        let plan =
            |seed| StreamPlan::new(&role(fields), StreamPlace { seed, ..place(1 << 30) }, None).unwrap();
        let first = requests(&mut plan(1), 1000);
        assert_eq!(first, requests(&mut plan(1), 1000));
        assert_ne!(first, requests(&mut plan(2), 1000));
    }
}

// All threads of the Linux port of DiskSpd share one seed: each reads the blocks that the one before has
// just read.
#[test]
fn no_two_streams_of_a_run_issue_the_same_sequence() {
    for fields in [
        "block-size = '8K'",
        "block-size = '8K'\ndistribution = 'zipf:0.99'",
        "block-size = '8K'\ndistribution = 'hot:90/10'",
        "block-size = '8K'\nrandom-pct = 90",
    ] {
        for seed in [0, 1, u64::MAX] {
            let streams: BTreeSet<Vec<u64>> = (0..64)
                .map(|stream_number| {
                    let at = StreamPlace { stream_number, seed, ..place(1 << 30) };
                    offsets(fields, at, 1000)
                })
                .collect();
            assert_eq!(streams.len(), 64, "{fields}");
            let firsts: BTreeSet<u64> = streams.iter().map(|offsets| offsets[0]).collect();
            assert!(firsts.len() > 40, "{fields}: {} different first offsets of 64", firsts.len());
        }
    }
}

#[test]
fn zipf_is_as_skewed_as_asked_and_its_hot_blocks_are_apart_and_the_same_for_all() {
    let fields = "block-size = '8K'\ndistribution = 'zipf:1'";
    let slots = 1024_u64;
    let hottest = |stream_number| {
        let at = StreamPlace { stream_number, ..place(slots * 8192) };
        let mut seen: Vec<(u32, u64)> =
            tally(&offsets(fields, at, 200_000)).into_iter().map(|(at, n)| (n, at)).collect();
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
    assert!(tally(&hot).len() > 990, "the cold part is reached too");

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
    assert_eq!(tally(&found).len(), 4);
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

#[test]
fn workers_with_an_offset_start_apart_and_wrap_to_their_phase() {
    // 10 blocks of 4K, stride 8K, workers 12K apart: worker 1 starts at 12K and wraps to 12K mod 8K = 4K.
    let fields =
        "access = 'sequential'\nblock-size = '4K'\nstride = '8K'\nworker-offset = '12K'\nworkers = 2";
    let at = |worker_index| StreamPlace { worker_index, workers: 2, ..place(10 * 4096) };
    let kib = |offsets: Vec<u64>| offsets.iter().map(|offset| offset / 1024).collect::<Vec<_>>();
    assert_eq!(kib(offsets(fields, at(0), 7)), [0, 8, 16, 24, 32, 0, 8]);
    assert_eq!(kib(offsets(fields, at(1), 7)), [12, 20, 28, 36, 4, 12, 20]);
}

#[test]
fn a_stride_of_0_repeats_one_block() {
    let fields = "access = 'sequential'\nblock-size = '4K'\nstride = 0";
    assert_eq!(offsets(fields, place(1 << 20), 5), [0; 5]);
    let endless = format!("block-size = '4K'\naccess = 'sequential'\nstride = {}", i64::MAX - 511);
    assert_eq!(offsets(&endless, place(1 << 20), 5), [0; 5], "a stride beyond the region stays at its start");
    let fields = format!("{fields}\nworker-offset = '64K'\nworkers = 3");
    let at = StreamPlace { worker_index: 2, workers: 3, ..place(1 << 20) };
    assert_eq!(offsets(&fields, at, 5), [131_072; 5]);
}

#[test]
fn a_shared_sequence_is_cut_up_without_overlap_across_threads() {
    for fields in ["block-size = '64K'", "block-size = '64K'\nstride = '128K'", "block-size = '8K:1,64K:1'"] {
        let role = role(&format!("{fields}\naccess = 'sequential'\nshared-sequence = true\nworkers = 4"));
        let shared = Arc::new(SharedSequence::new());
        // Fewer requests than a lap holds, so that any overlap is a fault.
        let size = 4 * 500 * 131_072;
        let mut all: Vec<Planned> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|worker_index| {
                    let (role, shared) = (&role, Arc::clone(&shared));
                    scope.spawn(move || {
                        let stream_number = u64::from(worker_index);
                        let at = StreamPlace { worker_index, workers: 4, stream_number, ..place(size) };
                        requests(&mut StreamPlan::new(role, at, Some(shared)).unwrap(), 500)
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        all.sort_unstable_by_key(|request| request.offset);
        let step = role.stride.map_or(0, ByteCount::bytes);
        let mut expected = 0;
        for request in &all {
            assert_eq!(request.offset, expected, "{fields}: a gap or an overlap");
            expected += step.max(u64::from(request.length));
        }
    }
}

#[test]
fn a_shared_sequence_wraps_and_goes_on() {
    let role = role(
        "block-size = '4K'\naccess = 'sequential'\nshared-sequence = true\nworkers = 2\nregion = '4K..'",
    );
    let shared = Arc::new(SharedSequence::new());
    let plan = || StreamPlan::new(&role, place(4 * 4096 + 512), Some(Arc::clone(&shared))).unwrap();
    let (mut one, mut other) = (plan(), plan());
    let mut found: Vec<u64> = requests(&mut one, 4).iter().map(|request| request.offset / 4096).collect();
    found.extend(requests(&mut other, 4).iter().map(|request| request.offset / 4096));
    found.extend(requests(&mut one, 1).iter().map(|request| request.offset / 4096));
    assert_eq!(found, [1, 2, 3, 1, 2, 3, 1, 2, 3]);
}

#[test]
fn a_percentage_never_cuts_a_page_and_neighbours_never_overlap() {
    for size in [1 << 30, (1 << 30) + 12_345, 987_654_321] {
        let data = region_in(&role("block-size = '8K'\nregion = '0%..90%'"), size, 512);
        let log = region_in(&role("block-size = '512'\nregion = '90%..100%'"), size, 512);
        assert_eq!((data.1 % 8192, log.0 % 4096), (0, 0));
        assert!(data.1 <= log.0 && log.0 - data.1 <= 8192);
        assert!(log.1 <= size && size - log.1 < 512);
    }
    let bytes = region_in(&role("block-size = '8K'\nregion = '1000..20000'"), 1 << 20, 512);
    assert_eq!(bytes, (1024, 19_968), "bounds in bytes are kept but for the sector");
}

#[test]
fn what_does_not_fit_is_refused_with_what_to_do() {
    let refusal =
        |fields: &str, at: StreamPlace| StreamPlan::new(&role(fields), at, None).unwrap_err().to_string();
    let message = refusal("block-size = '1M'\nregion = '50%..'", place(1 << 20));
    assert!(message.contains("role \"data\": a block of 1 MiB does not fit"), "{message}");
    assert!(message.contains("larger target"), "{message}");
    let message = refusal("block-size = '4K'", place(0));
    assert!(message.contains("does not fit"), "{message}");

    let coarse = StreamPlace { sector_align: 4096, ..place(1 << 20) };
    let message = refusal("block-size = '4K:1,512:1'", coarse);
    assert!(message.contains("block-size 512 B is not a multiple of 4 KiB"), "{message}");
    let message = refusal("block-size = '4K'\nalign = 512", coarse);
    assert!(message.contains("align 512 B"), "{message}");

    let many = StreamPlace { workers: 8, worker_index: 7, ..place(4 * 65536) };
    let message = refusal("block-size = '64K'\naccess = 'sequential'", many);
    assert!(message.contains("cut among 8 workers"), "{message}");
    let message = refusal("block-size = '64K'\naccess = 'sequential'\nworker-offset = '64K'", many);
    assert!(message.contains("worker 7 would start 448 KiB into a region of 256 KiB"), "{message}");
}

/// A role as a property test draws it, with every number small enough for the oracle to list all slots.
#[derive(Clone, Debug)]
struct Drawn {
    region: (u64, u64),
    block: u64,
    step: u64,
    workers: u32,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    (0_u64..20, 1_u64..60, 1_u64..6, 1_u64..9, 1_u32..5).prop_map(|(start, length, block, step, workers)| {
        Drawn { region: (start * 512, (start + length) * 512), block: block * 512, step: step * 512, workers }
    })
}

impl Drawn {
    fn fields(&self) -> String {
        let (start, end) = self.region;
        format!("block-size = '{}'\nworkers = {}\nregion = '{start}..{end}'\n", self.block, self.workers)
    }

    /// Every start that a pedestrian would list.
    fn slots(&self) -> Vec<u64> {
        let (start, end) = self.region;
        (start..end)
            .step_by(usize::try_from(self.step).unwrap())
            .filter(|at| at + self.block <= end)
            .collect()
    }

    fn plan(&self, fields: &str, worker_index: u32, seed: u64) -> Result<StreamPlan, PlanError> {
        let stream_number = u64::from(worker_index);
        let at = StreamPlace { worker_index, workers: self.workers, stream_number, seed, ..place(1 << 20) };
        StreamPlan::new(&role(fields), at, None)
    }
}

proptest! {
    #[test]
    fn random_slots_are_those_of_a_naive_list(
        drawn in drawn(),
        seed: u64,
        distribution in prop_oneof![
            Just("uniform"), Just("zipf:0.3"), Just("zipf:1"), Just("hot:60/30"), Just("ranges:40/20,60/80"),
        ],
    ) {
        let fields = format!("{}align = {}\ndistribution = '{distribution}'", drawn.fields(), drawn.step);
        let slots = drawn.slots();
        match drawn.plan(&fields, 0, seed) {
            Err(_) => prop_assert!(slots.is_empty()),
            Ok(mut plan) => {
                let seen: BTreeSet<u64> = requests(&mut plan, 20_000).iter().map(|r| r.offset).collect();
                prop_assert_eq!(seen.into_iter().collect::<Vec<_>>(), slots);
            }
        }
    }

    #[test]
    fn sequences_with_an_offset_are_those_of_a_naive_walk(drawn in drawn(), offset in 0_u64..8) {
        let fields = format!(
            "{}access = 'sequential'\nstride = {}\nworker-offset = {}",
            drawn.fields(), drawn.step, offset * 512,
        );
        let (start, end) = drawn.region;
        for worker in 0..drawn.workers {
            let first = start + u64::from(worker) * offset * 512;
            match drawn.plan(&fields, worker, 1) {
                Err(_) => prop_assert!(first + drawn.block > end),
                Ok(mut plan) => {
                    let mut at = first;
                    for request in requests(&mut plan, 200) {
                        prop_assert_eq!(request.offset, at);
                        at += drawn.step;
                        if at + drawn.block > end {
                            at = start + (first - start) % drawn.step;
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn workers_that_cut_a_region_touch_each_position_once_a_lap(drawn in drawn()) {
        let fields = format!("{}access = 'sequential'\nstride = {}", drawn.fields(), drawn.step);
        let slots = drawn.slots();
        let mut seen = Vec::new();
        for worker in 0..drawn.workers {
            let Ok(mut plan) = drawn.plan(&fields, worker, 1) else {
                prop_assert!(slots.len() < drawn.workers as usize);
                return Ok(());
            };
            let first = plan.next().offset;
            seen.push(first);
            seen.extend(std::iter::repeat_with(|| plan.next().offset).take_while(|at| *at != first));
        }
        seen.sort_unstable();
        prop_assert_eq!(seen, slots);
    }

    #[test]
    fn nothing_ever_leaves_the_region(
        drawn in drawn(),
        seed: u64,
        jump in 0_u32..=100,
        sequential: bool,
        larger in 1_u64..12,
    ) {
        let (start, end) = drawn.region;
        let access = if sequential { "access = 'sequential'".into() } else { format!("random-pct = {jump}") };
        let fields = format!(
            "block-size = '{}:2,{}:1'\nregion = '{start}..{end}'\nworkers = {}\nwrite-pct = 50\n{access}",
            drawn.block, larger * 512, drawn.workers,
        );
        for worker in 0..drawn.workers {
            if let Ok(mut plan) = drawn.plan(&fields, worker, seed) {
                for request in requests(&mut plan, 500) {
                    prop_assert!(request.offset >= start && request.offset + u64::from(request.length) <= end);
                    prop_assert_eq!(request.offset % 512, 0);
                }
            }
        }
    }
}

#[test]
fn a_region_in_percent_holds_no_more_than_its_share() {
    let role = role("block-size = '8K'\nregion = '25%..50%'");
    assert_eq!(role.write_pct, Percent::ZERO);
    let found = StreamPlan::new(&role, place(1 << 24), None).map(|mut plan| requests(&mut plan, 10_000));
    let inside = 1 << 22..(1 << 23) - 8191;
    assert!(found.unwrap().iter().all(|request| inside.contains(&request.offset)));
}
