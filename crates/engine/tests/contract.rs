//! What every engine must do, run over all of them.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use iostall_engine::sim::SimFile;
use iostall_engine::{
    Access, Buffer, BufferPool, Completion, Engine, FileHandle, FileIndex, IoFailure, NullEngine,
    OpenOptions, Pages, PsyncEngine, Request, RequestOp, SimConfig, SimDevice, SimEngine, UringConfig,
    UringEngine, Wait, open_target,
};
use iostall_measure::{Caching, ManualClock};

const BLOCK: u32 = 4096;
const BLOCKS: u32 = 64;
/// The file ends within a block, behind the blocks that are written.
const FILE_BYTES: u64 = 64 * 4096 + 1000;
const CAPACITIES: [u32; 3] = [1, 3, 64];

/// An engine on a file of `FILE_BYTES`, and buffers for all its tokens.
struct Bench {
    engine: Box<dyn Engine>,
    buffers: Vec<Buffer>,
    keeps_data: bool,
}

impl Bench {
    fn read(&mut self, token: u32, offset: u64, length: u32) {
        self.push(token, RequestOp::Read, offset, length);
    }

    fn push(&mut self, token: u32, op: RequestOp, offset: u64, length: u32) {
        let buffer = self.buffers.pop();
        self.engine.push(Request { token, op, file: FileIndex(0), offset, length, buffer });
    }

    fn sync(&mut self, token: u32, op: RequestOp) {
        self.engine.push(Request { token, op, file: FileIndex(0), offset: 0, length: 0, buffer: None });
    }

    /// Waits for everything in flight, in order of tokens.
    fn finish(&mut self) -> Vec<Completion> {
        let mut completions = Vec::new();
        while self.engine.in_flight() > 0 {
            self.engine.submit(Wait::ONE, &mut completions).unwrap();
        }
        completions.sort_by_key(|completion| completion.token);
        completions
    }

    fn take_back(&mut self, completions: Vec<Completion>) {
        self.buffers.extend(completions.into_iter().filter_map(|completion| completion.buffer));
    }
}

fn pattern(block: u32) -> u8 {
    u8::try_from(block % 251).unwrap() + 1
}

/// Writes every block with what only it holds, in batches as large as the engine takes, and reads all back.
fn what_is_written_is_read_back(bench: &mut Bench) {
    let capacity = bench.engine.capacity();
    for op in [RequestOp::Write, RequestOp::Read] {
        for first in (0..BLOCKS).step_by(capacity as usize) {
            let batch = first..BLOCKS.min(first + capacity);
            for (token, block) in (0..).zip(batch.clone()) {
                let value = if op == RequestOp::Write { pattern(block) } else { 0 };
                bench.buffers.last_mut().unwrap().fill(value);
                bench.push(token, op, u64::from(block * BLOCK), BLOCK);
            }
            assert_eq!(bench.engine.in_flight(), u32::try_from(batch.len()).unwrap());
            let completions = bench.finish();
            assert_eq!(completions.len(), batch.len());
            for ((completion, token), block) in completions.iter().zip(0..).zip(batch) {
                assert_eq!((completion.token, completion.result), (token, Ok(BLOCK)));
                let data = completion.buffer.as_ref().expect("the buffer comes back");
                if bench.keeps_data {
                    assert!(data.iter().all(|byte| *byte == pattern(block)), "block {block} after {op:?}");
                }
            }
            bench.take_back(completions);
        }
    }
}

fn syncs_move_nothing_and_need_no_buffer(bench: &mut Bench) {
    for op in [RequestOp::Fdatasync, RequestOp::Fsync, RequestOp::SyncFileRange] {
        bench.sync(0, op);
        let completions = bench.finish();
        assert_eq!(completions[0].result, Ok(0), "{op:?}");
        assert!(completions[0].buffer.is_none());
    }
}

fn reads_at_the_end_are_short_and_behind_it_empty(bench: &mut Bench) {
    if !bench.keeps_data {
        return;
    }
    for (offset, moved) in [(FILE_BYTES - 1000, 1000), (FILE_BYTES - 1000 + 4096, 0)] {
        bench.read(0, offset, BLOCK);
        let completions = bench.finish();
        assert_eq!(completions[0].result, Ok(moved), "at {offset}");
        bench.take_back(completions);
    }
}

fn failures_are_the_request_s_own(bench: &mut Bench) {
    if !bench.keeps_data {
        return;
    }
    // Beyond the largest offset there is.
    bench.read(0, 1 << 63, BLOCK);
    let completions = bench.finish();
    assert_eq!(completions[0].result, Err(IoFailure(libc::EINVAL)));
    assert!(completions[0].buffer.is_some(), "the buffer comes back from a failure too");
    bench.take_back(completions);
}

fn waiting_never_asks_for_more_than_is_in_flight(bench: &mut Bench) {
    let mut completions = Vec::new();
    for wait in [Wait::NO, Wait::ONE, Wait { completions: 1000, timeout_ns: None, batch_ns: None }] {
        bench.engine.submit(wait, &mut completions).unwrap();
        assert!(completions.is_empty());
    }
    bench.read(0, 0, BLOCK);
    bench
        .engine
        .submit(Wait { completions: 1000, timeout_ns: None, batch_ns: None }, &mut completions)
        .unwrap();
    assert_eq!((completions.len(), bench.engine.in_flight()), (1, 0));
    bench.take_back(completions);
}

fn a_wait_gives_at_least_what_was_asked_for(bench: &mut Bench) {
    let count = bench.engine.capacity();
    for token in 0..count {
        bench.read(token, u64::from(token) * 4096, BLOCK);
    }
    let mut completions = Vec::new();
    for wanted in [1, count / 2, count] {
        let before = completions.len();
        let in_flight = bench.engine.in_flight();
        bench
            .engine
            .submit(Wait { completions: wanted, timeout_ns: None, batch_ns: None }, &mut completions)
            .unwrap();
        let given = completions.len() - before;
        assert!(given >= wanted.min(in_flight) as usize, "{given} of {wanted} with {in_flight} in flight");
        assert_eq!(bench.engine.in_flight() as usize, count as usize - completions.len());
    }
    // Whether its time or its size comes first, a batch is at least one.
    while bench.engine.in_flight() > 0 {
        let before = completions.len();
        let wait = Wait { completions: count, timeout_ns: None, batch_ns: Some(1_000) };
        bench.engine.submit(wait, &mut completions).unwrap();
        assert!(completions.len() > before);
    }
    let again = completions.len();
    bench.take_back(completions);
    let mut completions = Vec::new();
    for token in 0..count {
        bench.read(token, u64::from(token) * 4096, BLOCK);
    }
    assert_eq!(again, count as usize);
    // A wait that may not wait gets everything in the end, too.
    while bench.engine.in_flight() > 0 {
        bench
            .engine
            .submit(Wait { completions: 1, timeout_ns: Some(0), batch_ns: None }, &mut completions)
            .unwrap();
        bench
            .engine
            .submit(Wait { completions: 1, timeout_ns: Some(50_000), batch_ns: None }, &mut completions)
            .unwrap();
    }
    assert_eq!(completions.len(), count as usize);
    bench.take_back(completions);
}

fn a_caller_s_mistake_panics_and_leaves_the_engine_whole(bench: &mut Bench) {
    let capacity = bench.engine.capacity();
    let mut refused = |token: u32, file: u16, length: u32, with_buffer: bool| {
        let buffer = if with_buffer { bench.buffers.pop() } else { None };
        let request =
            Request { token, op: RequestOp::Read, file: FileIndex(file), offset: 0, length, buffer };
        let pushed = catch_unwind(AssertUnwindSafe(|| bench.engine.push(request)));
        assert!(pushed.is_err(), "token {token} file {file} length {length} buffer {with_buffer}");
        assert_eq!(bench.engine.in_flight(), 0);
    };
    refused(capacity, 0, BLOCK, true);
    refused(0, 9, BLOCK, true);
    refused(0, 0, BLOCK + 1, true);
    refused(0, 0, BLOCK, false);
    bench.read(0, 0, BLOCK);
    let buffer = bench.buffers.pop();
    let again =
        Request { token: 0, op: RequestOp::Read, file: FileIndex(0), offset: 0, length: BLOCK, buffer };
    assert!(catch_unwind(AssertUnwindSafe(|| bench.engine.push(again))).is_err());
    let completions = bench.finish();
    assert_eq!(completions.len(), 1);
    bench.take_back(completions);
}

fn keep_contract(make: impl Fn(u32) -> Bench) {
    for capacity in CAPACITIES {
        let mut bench = make(capacity);
        assert_eq!((bench.engine.capacity(), bench.engine.in_flight()), (capacity, 0));
        assert!(!bench.engine.report().name.is_empty());
        what_is_written_is_read_back(&mut bench);
        syncs_move_nothing_and_need_no_buffer(&mut bench);
        reads_at_the_end_are_short_and_behind_it_empty(&mut bench);
        failures_are_the_request_s_own(&mut bench);
        waiting_never_asks_for_more_than_is_in_flight(&mut bench);
        a_wait_gives_at_least_what_was_asked_for(&mut bench);
        a_caller_s_mistake_panics_and_leaves_the_engine_whole(&mut bench);
    }
    // What is handed over, and what is only pushed, when the engine goes.
    for round in 0..50 {
        let mut bench = make(64);
        for token in 0..64 {
            let op = if token % 2 == 0 { RequestOp::Write } else { RequestOp::Read };
            bench.push(token, op, u64::from(token * BLOCK), BLOCK);
            if token == round {
                bench.engine.submit(Wait::NO, &mut Vec::new()).unwrap();
            }
        }
        drop(bench);
    }
}

fn buffers(count: u32) -> (BufferPool, Vec<Buffer>) {
    // A caller's mistakes cost a buffer each.
    BufferPool::new(count + 16, BLOCK, Pages::Small).unwrap()
}

fn file_in(dir: &Path, caching: Caching) -> iostall_engine::OpenTarget {
    let path = dir.join("data");
    fs::write(&path, vec![0; usize::try_from(FILE_BYTES).unwrap()]).unwrap();
    open_target(&path, &OpenOptions { access: Access::ReadWrite, caching, ..OpenOptions::default() }).unwrap()
}

fn on_real_files(make: impl Fn(u32, &iostall_engine::OpenTarget, &BufferPool) -> Box<dyn Engine>) {
    for place in [std::env::temp_dir().as_path(), Path::new("/dev/shm")] {
        for caching in [Caching::Direct, Caching::Buffered] {
            let dir = tempfile::tempdir_in(place).unwrap();
            let target = file_in(dir.path(), caching);
            keep_contract(|capacity| {
                let (pool, buffers) = buffers(capacity);
                Bench { engine: make(capacity, &target, &pool), buffers, keeps_data: true }
            });
        }
    }
}

#[test]
fn the_ring_keeps_the_contract_with_registered_buffers() {
    on_real_files(|capacity, target, pool| {
        let config = UringConfig { capacity, files: &[FileHandle::from(&target)], buffers: Some(pool) };
        Box::new(UringEngine::new(&config).unwrap())
    });
}

#[test]
fn the_ring_keeps_the_contract_with_any_other_buffers() {
    on_real_files(|capacity, target, _pool| {
        let config = UringConfig { capacity, files: &[FileHandle::from(&target)], buffers: None };
        Box::new(UringEngine::new(&config).unwrap())
    });
}

#[test]
fn threads_keep_the_contract() {
    on_real_files(|capacity, target, _pool| {
        Box::new(PsyncEngine::new(capacity, &[FileHandle::from(target)]).unwrap())
    });
}

#[test]
fn the_null_engine_keeps_the_contract() {
    keep_contract(|capacity| Bench {
        engine: Box::new(NullEngine::new(capacity, 1)),
        buffers: buffers(capacity).1,
        keeps_data: false,
    });
}

#[test]
fn the_simulated_device_keeps_the_contract() {
    keep_contract(|capacity| {
        let files = vec![SimFile { size_bytes: FILE_BYTES, ..SimFile::default() }];
        let device = SimDevice::new(SimConfig { files, ..SimConfig::default() }, ManualClock::new());
        Bench {
            engine: Box::new(SimEngine::new(device, capacity)),
            buffers: buffers(capacity).1,
            keeps_data: true,
        }
    });
}
