//! The pipeline on a simulated device: whatever goes wrong, the bytes are right or there is an error.

use iostall_engine::sim::{Faults, SimConfig, SimDevice, SimEngine, SimFile};
use iostall_engine::{BufferPool, Pages};
use iostall_measure::ManualClock;
use iostall_model::transfer::{HashKind, LimitSide};
use proptest::prelude::*;

use super::*;
use crate::hash::{Hasher, piece_hash};
use crate::plan::{Plan, SOURCE, TARGET};
use crate::progress::Progress;
use crate::rate::RateLimit;

mod backup;
mod filled;
mod shared;
mod striped;

/// Small, so that a small file has many pieces.
const PIECE: u32 = 4096;

/// Bytes that no two places share, so that a piece in the wrong place is seen.
fn content(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let mut data = Vec::with_capacity(size + 8);
    while data.len() < size {
        // The multiplier of Knuth's MMIX generator.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        data.extend_from_slice(&(state >> 11).to_le_bytes());
    }
    data.truncate(size);
    data
}

struct Bench {
    device: SimDevice,
    data: Vec<u8>,
}

impl Bench {
    fn new(seed: u64, size: usize, config: SimConfig) -> Self {
        let files = vec![
            SimFile { size_bytes: size as u64, ..SimFile::default() },
            SimFile { size_bytes: 0, ..config.files.get(1).copied().unwrap_or_default() },
        ];
        let device = SimDevice::new(SimConfig { seed, files, ..config }, ManualClock::new());
        let data = content(seed, size);
        device.fill(SOURCE, 0, &data);
        Self { device, data }
    }

    fn pipeline(&self, buffers: u32) -> Pipeline<SimEngine, ManualClock> {
        let (_, pool) = BufferPool::new(buffers, PIECE, Pages::Small).unwrap();
        let engine = SimEngine::new(self.device.clone(), buffers + 3);
        Pipeline::new(engine, self.device.clock().clone(), pool)
    }

    fn target(&self, size: usize) -> Vec<u8> {
        let image = self.device.live(TARGET);
        let mut data = vec![0; size];
        let read = image.read(0, &mut data);
        data.truncate(read);
        data
    }
}

/// One file, to which every frame goes where it came from.
#[derive(Default)]
struct OneFile {
    checkpoint_bytes: Option<u64>,
    durable: Vec<Written>,
}

impl Sink for OneFile {
    fn writes_max(&self) -> u32 {
        3
    }

    fn place(&mut self, frame: &mut Frame) -> Placement {
        let Extent { file, offset, .. } = frame.origin();
        if file == TARGET { Placement::Skip } else { Placement::Write { file: TARGET, offset } }
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        Some(Checkpoint { file: TARGET, interval_bytes: self.checkpoint_bytes? })
    }

    fn is_durable(&mut self, frames: &[Written]) -> std::io::Result<()> {
        self.durable.extend_from_slice(frames);
        Ok(())
    }
}

/// How a file is copied here.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Hashed {
    No,
    OnCaller,
    OnThread,
}

fn copy<C: Clock, E: Engine>(
    pipeline: &mut Pipeline<E, C>,
    mut plan: Plan,
    sink: &mut dyn Sink,
    hashed: Hashed,
    rate: Option<&RateLimit>,
    progress: &Progress,
) -> Result<(Moved, FileHashes), PipelineError> {
    let mut checksums = Checksums::new(wanted());
    let stages = match hashed {
        Hashed::No => vec![],
        Hashed::OnCaller => vec![StageWorkers::in_order(&mut checksums).on_caller()],
        Hashed::OnThread => vec![StageWorkers::in_order(&mut checksums).on_threads()],
    };
    let moved = pipeline.run(Job {
        source: &mut plan,
        stages,
        sinks: vec![sink],
        aligns: &[512, 512],
        reads_max: 3,
        rate,
        progress,
    })?;
    Ok((moved, checksums.finish()))
}

fn simple_copy(bench: &Bench, buffers: u32, plan: Plan) -> Result<(Moved, FileHashes), PipelineError> {
    let mut sink = OneFile::default();
    copy(&mut bench.pipeline(buffers), plan, &mut sink, Hashed::OnCaller, None, &Progress::default())
}

fn wanted() -> HashWanted {
    HashWanted { whole: Some(HashKind::Md5), block_bytes: Some(8192), frames: true }
}

fn faults(short: f64, eio_at: &[u64]) -> SimConfig {
    let faults = Faults { short_probability: short, eio_at: eio_at.to_vec(), ..Faults::default() };
    SimConfig { faults, ..SimConfig::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// UBCopy wrote whole buffers whatever a read had returned: a short read in mid-file put stale bytes into the copy.
    #[test]
    fn short_reads_and_writes_lose_and_shift_nothing(
        seed: u64,
        size in 0usize..200_000,
        short in 0.0..0.7f64,
        buffers in 1u32..9,
        hashed: bool,
    ) {
        let bench = Bench::new(seed, size, faults(short, &[]));
        let mut pipeline = bench.pipeline(buffers);
        let progress = Progress::default();
        let plan = Plan::whole(size as u64, PIECE);
        let on = if hashed { Hashed::OnCaller } else { Hashed::No };
        let (moved, hashes) =
            copy(&mut pipeline, plan, &mut OneFile::default(), on, None, &progress).unwrap();
        prop_assert_eq!(moved.read_bytes, size as u64);
        prop_assert_eq!(moved.written_bytes, size as u64);
        prop_assert_eq!(progress.now().bytes_done, size as u64);
        prop_assert!(bench.target(size) == bench.data, "the copy differs");
        prop_assert_eq!(bench.device.live(TARGET).size_bytes(), (size as u64).next_multiple_of(512));
        prop_assert_eq!(pipeline.into_buffers().len(), buffers as usize);
        if hashed {
            let mut md5 = Hasher::new(HashKind::Md5);
            md5.update(&bench.data);
            prop_assert_eq!(hashes.whole, Some(md5.finish()));
            let blocks: Vec<u64> = bench.data.chunks(8192).map(piece_hash).collect();
            prop_assert_eq!(hashes.blocks, blocks);
        }
    }

    #[test]
    fn a_failure_at_any_request_is_reported_and_loses_no_buffer(
        seed: u64,
        size in 1usize..60_000,
        at in 0u64..40,
        hashed: bool,
    ) {
        let bench = Bench::new(seed, size, faults(0.2, &[at]));
        let mut pipeline = bench.pipeline(5);
        let progress = Progress::default();
        let plan = Plan::whole(size as u64, PIECE);
        let on = if hashed { Hashed::OnCaller } else { Hashed::No };
        match copy(&mut pipeline, plan, &mut OneFile::default(), on, None, &progress) {
            // The n-th request was never made.
            Ok(_) => prop_assert!(bench.target(size) == bench.data),
            Err(PipelineError::Read { cause, .. } | PipelineError::Write { cause, .. }) => {
                prop_assert_eq!(cause.symbol(), "EIO");
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
        prop_assert_eq!(pipeline.into_buffers().len(), 5);
    }

    /// The journal is the base of `--resume`: after a crash at any moment, what it names must be on the medium.
    #[test]
    fn what_the_journal_names_survives_a_crash(seed: u64, size in 1usize..120_000, eio_at in 0u64..80) {
        let bench = Bench::new(seed, size, faults(0.1, &[eio_at]));
        let mut pipeline = bench.pipeline(6);
        let progress = Progress::default();
        let mut sink = OneFile { checkpoint_bytes: Some(16_384), durable: Vec::new() };
        let plan = Plan::whole(size as u64, PIECE);
        let _ = copy(&mut pipeline, plan, &mut sink, Hashed::OnCaller, None, &progress);
        let durable = bench.device.crash(seed ^ 1).swap_remove(1);
        for frame in sink.durable {
            let mut data = vec![0; frame.at.length as usize];
            durable.read(frame.at.offset, &mut data);
            prop_assert_eq!(piece_hash(&data), frame.checksum, "frame at {}", frame.at.offset);
        }
    }
}

/// UBCopy hashed only a short last block, so every larger file failed its verification.
#[test]
fn the_checksum_is_of_the_whole_file_below_at_and_above_a_buffer() {
    for size in [0, 1, 4095, 4096, 4097, 8192, 50_000] {
        for hashed in [Hashed::OnCaller, Hashed::OnThread] {
            let bench = Bench::new(1, size, SimConfig::default());
            let (mut sink, plan) = (OneFile::default(), Plan::whole(size as u64, PIECE));
            let copied = copy(&mut bench.pipeline(7), plan, &mut sink, hashed, None, &Progress::default());
            let (_, hashes) = copied.unwrap();
            let mut md5 = Hasher::new(HashKind::Md5);
            md5.update(&bench.data);
            assert_eq!(hashes.whole, Some(md5.finish()), "{size} bytes");
            assert_eq!(bench.target(size), bench.data);
        }
    }
}

/// UBCopy's writer waited for ever for bytes that a shrunken source no longer had.
#[test]
fn a_source_that_became_shorter_is_an_error_and_not_a_wait() {
    for (size, expected) in [(10_000usize, 20_000u64), (8192, 12_288), (0, 1), (8192, 8193)] {
        let bench = Bench::new(2, size, SimConfig::default());
        let error = simple_copy(&bench, 4, Plan::whole(expected, PIECE)).unwrap_err();
        let PipelineError::SourceShrank { offset } = error else { panic!("{error}") };
        assert!((size as u64..expected).contains(&offset), "{offset}");
    }
}

/// UBCopy's reader waited for ever when the source had grown. Growth itself is found by the file's stamp.
#[test]
fn of_a_source_that_grew_as_much_is_copied_as_there_was() {
    let bench = Bench::new(3, 20_000, SimConfig::default());
    let (moved, _) = simple_copy(&bench, 4, Plan::whole(9_999, PIECE)).unwrap();
    assert_eq!(moved.written_bytes, 9_999);
    assert_eq!(bench.target(9_999), bench.data[..9_999]);
    let mut padding = vec![1; 241];
    assert_eq!(bench.device.live(TARGET).read(9_999, &mut padding), 241);
    assert!(padding.iter().all(|byte| *byte == 0), "the last block is padded with zeros");
}

#[test]
fn a_full_destination_is_an_error_that_says_so() {
    let full = SimFile { size_bytes: 0, space_bytes: Some(30_000), ..SimFile::default() };
    let config = SimConfig { files: vec![SimFile::default(), full], ..SimConfig::default() };
    let bench = Bench::new(4, 100_000, config);
    let error = simple_copy(&bench, 4, Plan::whole(100_000, PIECE)).unwrap_err();
    let PipelineError::Write { cause, .. } = error else { panic!("{error}") };
    assert_eq!(cause.symbol(), "ENOSPC");
}

#[test]
fn holes_are_neither_read_nor_written_and_count_as_zeros() {
    let bench = Bench::new(5, 60_000, SimConfig::default());
    let mut expected = bench.data.clone();
    expected[8192..40_960].fill(0);
    let plan = Plan::new(60_000, &[0..8192, 40_960..60_000], &[], PIECE);
    let (moved, hashes) = simple_copy(&bench, 4, plan).unwrap();
    assert_eq!(moved.hole_bytes, 32_768);
    assert_eq!(moved.read_bytes, 60_000 - 32_768);
    assert_eq!(bench.target(60_000), expected);
    let mut md5 = Hasher::new(HashKind::Md5);
    md5.update(&expected);
    assert_eq!(hashes.whole, Some(md5.finish()));
}

#[test]
fn a_resumed_range_is_read_from_the_destination_and_only_hashed() {
    let bench = Bench::new(6, 40_000, SimConfig::default());
    bench.device.fill(TARGET, 0, &bench.data[..16_384]);
    let plan =
        Plan::new(40_000, std::slice::from_ref(&(0..40_000)), std::slice::from_ref(&(0..16_384)), PIECE);
    let (moved, hashes) = simple_copy(&bench, 4, plan).unwrap();
    assert_eq!(moved.written_bytes, 40_000 - 16_384);
    assert_eq!(bench.target(40_000), bench.data);
    let mut md5 = Hasher::new(HashKind::Md5);
    md5.update(&bench.data);
    assert_eq!(hashes.whole, Some(md5.finish()));
}

#[test]
fn a_cancelled_copy_stops_and_gives_its_buffers_back() {
    let bench = Bench::new(7, 100_000, SimConfig::default());
    let cancel = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let progress = Progress::new(cancel);
    let mut pipeline = bench.pipeline(4);
    let plan = Plan::whole(100_000, PIECE);
    let copied = copy(&mut pipeline, plan, &mut OneFile::default(), Hashed::No, None, &progress);
    let error = copied.unwrap_err();
    assert!(matches!(error, PipelineError::Cancelled));
    assert_eq!(pipeline.into_buffers().len(), 4);
}

/// One write at a time.
struct OneAtATime;

impl Sink for OneAtATime {
    fn writes_max(&self) -> u32 {
        1
    }

    fn place(&mut self, frame: &mut Frame) -> Placement {
        Placement::Write { file: TARGET, offset: frame.origin().offset }
    }
}

#[test]
fn reads_and_writes_overlap_so_that_time_tends_to_the_slower_side() {
    // Each request takes 1 ms, and the device serves as many as there are: 100 pieces one after the other, read
    // and then written, would take 200 ms.
    let config = SimConfig { service_ns_base: 1_000_000, service_ns_tail_mean: 0, ..SimConfig::default() };
    let bench = Bench::new(8, 100 * PIECE as usize, config);
    let progress = Progress::default();
    let (mut plan, mut sink) = (Plan::whole(100 * u64::from(PIECE), PIECE), OneAtATime);
    let job = Job {
        source: &mut plan,
        stages: Vec::new(),
        sinks: vec![&mut sink],
        aligns: &[512, 512],
        reads_max: 1,
        rate: None,
        progress: &progress,
    };
    bench.pipeline(3).run(job).unwrap();
    assert_eq!(bench.device.clock().now_ns(), 101_000_000);
}

#[test]
fn a_rate_is_held_and_named_as_the_limit() {
    let bench = Bench::new(9, 400_000, SimConfig::default());
    let progress = Progress::default();
    let rate = RateLimit::new(1_000_000);
    let plan = Plan::whole(400_000, PIECE);
    let copied =
        copy(&mut bench.pipeline(6), plan, &mut OneFile::default(), Hashed::No, Some(&rate), &progress);
    let (moved, _) = copied.unwrap();
    let seconds = bench.device.clock().now_ns() as f64 / 1e9;
    assert!((0.36..0.42).contains(&seconds), "{seconds} s for 0.4 s of data");
    assert_eq!(moved.time.limit(), Some(LimitSide::Rate));
}

/// The most requests in flight can be changed while a job runs: at one a side a copy of 100 pieces takes about as long as its reads
/// and writes one after the other, and with three it does not.
#[test]
fn requests_in_flight_follow_a_limit_that_is_set_from_outside() {
    let elapsed_ns = |in_flight_max| {
        let config = SimConfig {
            service_ns_base: 1_000_000,
            service_ns_tail_mean: 0,
            channels: 8,
            ..SimConfig::default()
        };
        let bench = Bench::new(8, 100 * PIECE as usize, config);
        let rate = RateLimit::adjustable(u64::MAX, 7);
        rate.set(u64::MAX, in_flight_max);
        let plan = Plan::whole(100 * u64::from(PIECE), PIECE);
        let (mut sink, progress) = (OneFile::default(), Progress::default());
        copy(&mut bench.pipeline(8), plan, &mut sink, Hashed::No, Some(&rate), &progress).unwrap();
        bench.device.clock().now_ns()
    };
    let (one, three) = (elapsed_ns(1), elapsed_ns(3));
    assert!(one >= 100_000_000, "{one}");
    assert!(three * 2 < one, "{three} beside {one}");
}
