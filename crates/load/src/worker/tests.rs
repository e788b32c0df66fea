//! The worker on simulated devices and clocks: every failure repeats from its seed.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::channel;

use iostall_engine::cpu::thread_cpu;
use iostall_engine::sim::{Faults, SimFile, Stall};
use iostall_engine::{
    Buffer, BufferPool, Engine, FileIndex, NullEngine, Pages, Schedule, SimConfig, SimDevice, SimEngine,
};
use iostall_measure::{Clock, ManualClock, Nanos, Op, Percent, Percentile, SyncCall};
use iostall_model::profile::{Access, Arrivals, SyncRule};
use iostall_model::{Cell, OpOutcome, RoleProfile, SpanProfile};

use super::{Worker, WorkerOutcome, WorkerParts};
use crate::fill::BlockFiller;
use crate::job::Speed;
use crate::plan::{StreamPlace, StreamPlan};
use crate::source::WriteSource;
use crate::stream::{OpenPace, Pace, Stream, SyncState};
use crate::window::{SpanEnd, StopToken, Window};
use crate::worker_stats::WorkerStats;

const MIB: u64 = 1 << 20;
const MS: u64 = 1_000_000;

/// A role of 4K requests.
fn role(write_pct: f64, queue_depth: u32) -> RoleProfile {
    let mut role: RoleProfile =
        serde_json::from_value(serde_json::json!({"name": "data", "block-size": "4K"})).unwrap();
    role.write_pct = Percent::new(write_pct).unwrap();
    role.queue_depth = queue_depth;
    role
}

fn device(clock: &ManualClock, change: impl FnOnce(&mut SimConfig)) -> SimDevice {
    let mut config = SimConfig {
        seed: 7,
        files: vec![SimFile { size_bytes: MIB, ..SimFile::default() }],
        channels: 4,
        service_ns_base: 100_000,
        service_ns_tail_mean: 20_000,
        ..SimConfig::default()
    };
    change(&mut config);
    SimDevice::new(config, clock.clone())
}

fn pace(role: &RoleProfile, start_ns: u64) -> Pace {
    let Some(rate) = role.rate else { return Pace::Closed };
    let iops = rate.iops(4096.0);
    let schedule = match role.arrivals {
        Arrivals::Constant => Schedule::constant(iops, start_ns),
        Arrivals::Poisson => Schedule::poisson(iops, start_ns, 11),
    };
    Pace::Open(Box::new(OpenPace::new(schedule, iops, Speed::default())))
}

/// Runs one worker for `measured_ms` after 10 ms of warm-up.
fn run(engine: impl Engine, clock: &ManualClock, role: &RoleProfile, measured_ms: u64) -> WorkerOutcome {
    with_worker(engine, clock, role, measured_ms, |worker| worker.run().unwrap())
}

fn with_worker<E: Engine, T>(
    engine: E,
    clock: &ManualClock,
    role: &RoleProfile,
    measured_ms: u64,
    work: impl FnOnce(Worker<'_, E, ManualClock>) -> T,
) -> T {
    let place = StreamPlace {
        target_size_bytes: MIB,
        worker_index: 0,
        workers: 1,
        stream_number: 0,
        seed: 1,
        sector_align: 512,
    };
    let span = SpanProfile {
        warmup: Nanos(10 * MS),
        duration: Nanos(measured_ms * MS),
        cooldown: Nanos(0),
        interval: SpanProfile::default_interval(),
        worker_series: false,
        roles: Vec::new(),
    };
    let window = Window::of(&span, 0);
    let stream = Stream {
        plans: vec![StreamPlan::new(role, place, None).unwrap()],
        file: FileIndex(0),
        pace: pace(role, window.start_ns),
        sync: role.sync.map(SyncState::new),
        source: role.writes().then(|| WriteSource::with_headers(BlockFiller::new(1, Percent::ZERO))),
        free: Vec::new(),
        to_sync: Vec::new(),
    };
    let (_pool, buffers): (_, Vec<Buffer>) = BufferPool::new(role.queue_depth, 4096, Pages::Small).unwrap();
    let (reports, _ignored) = channel();
    let stats =
        WorkerStats::new(0, 0, &[0], role.rate.is_some(), (window.measure_from_ns, span.interval.0), reports);
    let stop = StopToken::default();
    let parts = WorkerParts {
        engine,
        clock: clock.clone(),
        streams: vec![stream],
        depth: role.queue_depth,
        buffers,
        stats,
        window,
        stop: &stop,
        targets: vec![0],
        batch: role.batch.map(|batch| (batch, RoleProfile::BATCH_WAIT.nanos())),
        draw: None,
        budget: (role.passes.map_or(u64::MAX, |passes| MIB * u64::from(passes)), Arc::new(SpanEnd::of(1))),
    };
    work(Worker::new(parts))
}

fn run_on(device: SimDevice, clock: &ManualClock, role: &RoleProfile, measured_ms: u64) -> WorkerOutcome {
    let engine = SimEngine::new(device, role.queue_depth);
    run(engine, clock, role, measured_ms)
}

/// A load that was to write a device once could only be stopped by time.
#[test]
fn a_worker_with_passes_ends_when_it_has_been_answered_all_that_it_asks_for_syncs_included() {
    for every in [None, Some(3)] {
        let clock = ManualClock::new();
        let mut role = role(100.0, 4);
        role.sync = every.map(|every| SyncRule { every, call: SyncCall::default() });
        (role.every_block, role.passes) = (true, Some(2));
        // The warm-up counts as well: as it does in fio.
        let outcome =
            run_on(device(&clock, |config| config.service_ns_base = 1_000_000), &clock, &role, 3_600_000);
        let writes: u64 = outcome
            .cells
            .iter()
            .filter(|cell| cell.op == Op::Write)
            .map(|cell| cell.service_ns.count())
            .sum();
        assert!((400..=512).contains(&writes) && outcome.unfinished == 0, "{writes}");
        assert!(clock.now_ns() < 3_000 * MS, "{}", clock.now_ns());
    }
}

/// In simulated time a worker gets turns until it says that all is done. It must not say so while requests are in flight, nor
/// go on for ever when none is.
#[test]
fn a_worker_in_turns_is_done_when_its_last_request_is_back() {
    let clock = ManualClock::new();
    let device = device(&clock, |_| {});
    let engine = SimEngine::new(device.clone(), 16);
    let (outcome, turns) = with_worker(engine, &clock, &role(0.0, 16), 100, |mut worker| {
        let mut completions = Vec::new();
        let mut turns = 0;
        while let Some(due_ns) = worker.turn(&mut completions).unwrap() {
            clock.advance_to(due_ns.min(device.next_end_ns().unwrap_or(u64::MAX)));
            turns += 1;
            assert!(turns < 100_000, "it goes on though nothing is in flight");
        }
        (worker.finish(), turns)
    });
    assert!(device.next_end_ns().is_none(), "something is still in flight");
    assert!((3_000..3_600).contains(&sum(&outcome, Op::Read).count()), "{turns} turns");
    assert_eq!(outcome.unfinished, 16, "at the end of the measured part all of them were");
}

/// Warm-up is not measured, and the measured part is all that the worker did in it: CPU time of the last moment alone made
/// every request look free.
#[test]
fn a_worker_says_what_cpu_time_its_measured_part_took() {
    let clock = ManualClock::new();
    let before = thread_cpu();
    let outcome = run_on(device(&clock, |_| {}), &clock, &role(0.0, 16), 3_000);
    let all_ns = thread_cpu().since(before).total_ns();
    let measured_ns = outcome.cpu.total_ns();
    assert!(measured_ns <= all_ns && measured_ns > all_ns / 2, "{measured_ns} of {all_ns}");
}

fn sum(outcome: &WorkerOutcome, op: Op) -> OpOutcome {
    let of_op = |cell: &&Cell| cell.op == op;
    OpOutcome::sum(outcome.cells.iter().filter(of_op)).unwrap_or_default()
}

#[test]
fn a_closed_loop_keeps_its_depth_in_flight_and_obeys_littles_law() {
    let clock = ManualClock::new();
    let outcome = run_on(device(&clock, |_| {}), &clock, &role(0.0, 16), 1000);
    let reads = sum(&outcome, Op::Read);
    let in_flight = reads.service_ns.sum() as f64 / 1e9;
    assert!((in_flight - 16.0).abs() < 0.1, "{in_flight}");
    assert_eq!(reads.bytes, reads.count() * 4096);
    assert!(reads.response_ns.is_none());
    // Four channels of about 120 µs: 33,000 a second, and each request waits for the three before it.
    assert!((30_000..36_000).contains(&reads.count()), "{}", reads.count());
}

/// A worker that takes completions one by one is woken for each; at a high rate that is most of its CPU time.
#[test]
fn batches_of_completions_take_fewer_waits_and_their_latency_includes_the_wait() {
    let measure = |batch| {
        let clock = ManualClock::new();
        let role = RoleProfile { batch, ..role(0.0, 16) };
        sum(&run_on(device(&clock, |_| {}), &clock, &role, 1000), Op::Read)
    };
    let (single, batched) = (measure(None), measure(Some(8)));
    assert!(batched.count() * 10 > single.count() * 8, "half of the depth keeps the device busy");
    let mean = |reads: &OpOutcome| reads.service_ns.mean().unwrap();
    assert!(mean(&batched) > mean(&single), "{} and {}", mean(&batched), mean(&single));
}

#[test]
fn only_what_completes_in_the_measured_part_counts() {
    let clock = ManualClock::new();
    let slow = |config: &mut SimConfig| {
        config.service_ns_base = 30 * MS;
        config.service_ns_tail_mean = 0;
    };
    // One at a time: completions at 30, 60, 90 and 120 ms; the measured part is 10 to 110 ms.
    let outcome = run_on(device(&clock, slow), &clock, &role(0.0, 1), 100);
    assert_eq!(sum(&outcome, Op::Read).count(), 3);
    assert_eq!((outcome.unfinished, outcome.unfinished_age_ns_max), (1, 20 * MS));
}

#[test]
fn failed_and_short_requests_are_counted_apart_with_the_first_place() {
    let clock = ManualClock::new();
    let faults = Faults { eio_at: vec![300, 301, 302], short_probability: 0.01, ..Faults::default() };
    let outcome = run_on(device(&clock, |config| config.faults = faults), &clock, &role(0.0, 4), 1000);
    let kinds: Vec<(&str, u64)> =
        outcome.errors.iter().map(|error| (error.kind.as_str(), error.count)).collect();
    assert!(kinds.contains(&("EIO", 3)), "{kinds:?}");
    let short = outcome.errors.iter().find(|error| error.kind == "short").unwrap();
    assert!(short.count > 50, "{kinds:?}");
    assert!(short.first_moved < short.first_length && short.first_offset.is_multiple_of(4096));
    let reads = sum(&outcome, Op::Read);
    assert_eq!(reads.bytes, reads.count() * 4096, "what was cut short is in no rate");
    assert!(reads.failed > 0 && reads.failed <= 3 + short.count);
}

#[test]
fn a_device_that_is_full_ends_the_run_instead_of_spinning() {
    let clock = ManualClock::new();
    let full = |config: &mut SimConfig| config.files[0].space_bytes = Some(0);
    let outcome = run_on(device(&clock, full), &clock, &role(100.0, 8), 60_000);
    assert_eq!(outcome.errors.len(), 1);
    assert_eq!(outcome.errors[0].kind, "ENOSPC");
    assert!(outcome.errors[0].count < 2000, "{}", outcome.errors[0].count);
    assert_eq!(sum(&outcome, Op::Write).count(), 0);
}

#[test]
fn a_sync_call_follows_every_so_many_writes_with_a_latency_of_its_own() {
    let clock = ManualClock::new();
    let mut log = role(100.0, 1);
    log.sync = Some(SyncRule { every: 4, call: SyncCall::default() });
    let with_sync = |config: &mut SimConfig| {
        config.service_ns_tail_mean = 0;
        config.sync_ns = 2 * MS;
    };
    let outcome = run_on(device(&clock, with_sync), &clock, &log, 1000);
    let (writes, syncs) = (sum(&outcome, Op::Write), sum(&outcome, Op::Sync));
    assert!(writes.count().abs_diff(4 * syncs.count()) <= 4, "{} {}", writes.count(), syncs.count());
    assert_eq!(writes.service_ns.max(), Some(100_000));
    assert_eq!(syncs.service_ns.min(), Some(2 * MS));
    assert_eq!(syncs.bytes, 0);
    let commit = outcome.commit.as_ref().unwrap();
    assert_eq!((commit.count(), commit.min()), (syncs.count(), Some(2 * MS + 100_000)));
}

#[test]
fn a_stall_shows_in_every_response_that_fell_due_in_it_and_in_few_service_times() {
    // The story: a closed loop asks nothing while the device stands still, so its percentiles hide the stall.
    let clock = ManualClock::new();
    let mut open = role(0.0, 1);
    open.rate = Some("1000".parse().unwrap());
    let stall = |config: &mut SimConfig| {
        config.service_ns_tail_mean = 0;
        config.stalls = vec![Stall { from_ns: 500 * MS, to_ns: 1000 * MS }];
    };
    let outcome = run_on(device(&clock, stall), &clock, &open, 2000);
    let reads = sum(&outcome, Op::Read);
    let p90 = Percentile::new(90.0).unwrap();
    let response_ns = reads.response_ns.as_ref().unwrap().value_at(p90).unwrap();
    assert!((200 * MS..400 * MS).contains(&response_ns), "{response_ns}");
    assert_eq!(reads.service_ns.value_at(p90).unwrap() / MS, 0);
    assert_eq!(reads.count(), 2000, "every arrival is served in the end");
    let (kept, _) = &outcome.open_loop[0];
    assert!((400..=520).contains(&kept.backlog_max), "{kept:?}");
    assert_eq!(kept.backlog_at_end, 0);
    assert!(kept.late_starts >= 400);
}

#[test]
fn a_stall_that_lasts_to_the_end_leaves_its_arrivals_counted_and_waiting() {
    // The story: a worker that waited for the device past the end of the measured part never looked at its schedule again,
    // so that half a second of arrivals was missing from the report, and the backlog at the end was that before the stall.
    let clock = ManualClock::new();
    let mut open = role(0.0, 1);
    open.rate = Some("1000".parse().unwrap());
    let stall = |config: &mut SimConfig| {
        config.service_ns_tail_mean = 0;
        config.stalls = vec![Stall { from_ns: 1500 * MS, to_ns: 5000 * MS }];
    };
    let outcome = run_on(device(&clock, stall), &clock, &open, 2000);
    let (kept, _) = &outcome.open_loop[0];
    assert_eq!(kept.arrivals, 2000);
    let waiting = kept.arrivals - sum(&outcome, Op::Read).count();
    assert!((500..=515).contains(&waiting), "{waiting}");
    assert_eq!(kept.backlog_at_end, waiting - 1, "all but the one in flight");
    assert_eq!(kept.backlog_max, kept.backlog_at_end);
}

#[test]
fn an_open_loop_offers_exactly_its_rate_from_a_thousand_to_a_million_a_second() {
    for (iops, arrivals) in
        [(1e3, "constant"), (1e6, "constant"), (1e3, "poisson"), (1e5, "poisson"), (1e6, "poisson")]
    {
        let clock = ManualClock::new();
        let mut open = role(0.0, 64);
        open.rate = Some(iostall_measure::Rate::Iops(iops));
        open.arrivals = serde_json::from_value(serde_json::json!(arrivals)).unwrap();
        let measured_ms = if iops < 1e4 { 200_000 } else { 2000 };
        let outcome = run(NullEngine::new(64, 1), &clock, &open, measured_ms);
        let done = sum(&outcome, Op::Read).count() as f64;
        let wanted = iops * measured_ms as f64 / 1e3;
        assert!((done / wanted - 1.0).abs() < 0.005, "{iops} {arrivals}: {done} of {wanted}");
        let (_, gaps) = &outcome.open_loop[0];
        let variation = gaps.coefficient_of_variation().unwrap();
        let expected = f64::from(u8::from(arrivals == "poisson"));
        assert!((variation - expected).abs() < 0.02, "{iops} {arrivals}: {variation}");
    }
}

#[test]
fn random_4k_requests_reach_every_4k_slot_of_the_target() {
    // The story: the Linux port of DiskSpd kept an alignment of 64K for -b4K, so a "4K random" run touched one block in 16.
    let clock = ManualClock::new();
    let device = device(&clock, |config| config.service_ns_base = 10_000);
    run_on(device.clone(), &clock, &role(100.0, 4), 400);
    let image = device.live(FileIndex(0));
    let mut block = [0; 4096];
    let untouched: HashSet<u64> = (0..MIB / 4096)
        .filter(|slot| {
            image.read(slot * 4096, &mut block);
            block.iter().all(|byte| *byte == 0)
        })
        .collect();
    assert!(untouched.is_empty(), "{untouched:?}");
}

#[test]
fn a_sequential_writer_leaves_blocks_that_say_where_they_belong() {
    let clock = ManualClock::new();
    let device = device(&clock, |_| {});
    let mut log = role(100.0, 1);
    log.access = Access::Sequential;
    run_on(device.clone(), &clock, &log, 1000);
    let image = device.live(FileIndex(0));
    for slot in 0..MIB / 4096 {
        let mut head = [0; 16];
        image.read(slot * 4096, &mut head);
        assert_eq!(head[..8], *b"IOSTALLB");
        assert_eq!(head[8..16], (slot * 4096).to_le_bytes());
    }
}

#[test]
fn the_same_seed_gives_the_same_run_to_the_nanosecond() {
    let once = || {
        let clock = ManualClock::new();
        let outcome = run_on(device(&clock, |_| {}), &clock, &role(30.0, 8), 300);
        outcome.cells
    };
    assert_eq!(once(), once());
}
