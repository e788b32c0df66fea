//! The plan of a stream against what a pedestrian would list.

mod properties;
mod random;
mod regions;
mod sequential;

use std::collections::BTreeSet;

use iostall_measure::Op;
use iostall_model::RoleProfile;

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
