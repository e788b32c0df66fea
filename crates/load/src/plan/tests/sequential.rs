//! Sequences: one a worker, or one for all.

use std::sync::Arc;

use iostall_measure::ByteCount;

use super::*;

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

/// As fio's rw=rw: read 0, write 0, read 4K, write 4K.
#[test]
fn reads_and_writes_apart_each_go_through_the_region() {
    let fields = "access = 'sequential'\nblock-size = '4K'\nwrite-pct = 50\napart = true";
    let mut plan = StreamPlan::new(&role(fields), place(1 << 20), None).unwrap();
    let all = requests(&mut plan, 200);
    for op in [Op::Read, Op::Write] {
        let own: Vec<u64> =
            all.iter().filter(|request| request.op == op).map(|request| request.offset).collect();
        assert!(own.len() > 50 && own.iter().copied().eq((0..).step_by(4096).take(own.len())), "{own:?}");
    }
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
