//! The tests beside IOPS and saturation, each on a drive whose answer is known beforehand.

use std::sync::Mutex;

use iostall_engine::RequestOp;
use iostall_engine::sim::{Arrival, DeviceModel};
use iostall_flash::FlashBuild;
use iostall_flash::theory::{NandTimes, greedy};
use iostall_load::window::StopToken;
use iostall_measure::{BlockSize, Nanos};
use iostall_model::QualifyOutcome;
use iostall_model::qualify::{Deviation, QualifyPlan, QualifyScale, QualifyTest, Stopped};
use iostall_session::analysis::qualify::{
    cross_recovery, demand, depth_curves, fast_cache, idle_recovery, points_of, shown_window, stages,
    steady_window_of,
};
use iostall_session::qualify::{QualifyRequest, QualifyStores};
use iostall_store::{SqliteStore, Store};

use crate::StopAfter;
use crate::drive::{PAGES_PER_BLOCK, alone, build, device, drive, drive_with, flash, on, request};

/// Slow reads, so that there are few requests to simulate in measurements that are long enough for steady writes.
const TIMES: NandTimes = NandTimes { read_us: 600.0, ..NandTimes::TYPICAL };

fn near(found: f64, wanted: f64, within: f64, what: &str) {
    assert!((found / wanted - 1.0).abs() < within, "{what}: {found} for {wanted}");
}

fn standard(test: QualifyTest, cell_ms: u64) -> QualifyRequest {
    request(test, QualifyScale::Standard, cell_ms)
}

#[test]
fn throughput_of_each_size_is_steady_at_the_rate_of_writes_that_move_nothing() {
    let outcome = alone(&drive_with(TIMES, 1.28, 100, false), standard(QualifyTest::Throughput, 8000));
    let all = stages(&outcome);
    assert_eq!(outcome.stopped, Stopped::Steady, "{:?}", shown_window(&outcome));
    assert_eq!(outcome.preconditioning.written_bytes, 4 * outcome.active_bytes, "each size fills it twice");
    let page_us = TIMES.write_us(1.0, PAGES_PER_BLOCK);
    for (one, size) in all.iter().zip([1_u32 << 20, 128 << 10]) {
        let window = steady_window_of(one).expect("a steady state");
        assert_eq!(window.tracked[0].size.bytes(), size);
        near(window.tracked[0].determination.average, 4096.0 / page_us, 0.05, "MB/s of writes");
        let read = points_of(one)[0].mib_per_s().unwrap() * 1.048_576;
        near(read, 4096.0 / (TIMES.read_us + 1.0), 0.05, "MB/s of reads");
    }
}

#[test]
fn latency_is_that_of_one_request_and_its_histogram_has_the_waits_for_collection() {
    let mut short = standard(QualifyTest::Latency, 3000);
    short.plan.queue_depth = 1;
    let outcome = alone(&drive_with(TIMES, 1.28, 60, false), short);
    assert_eq!(outcome.rounds.last().map(|round| round.stage), Some(1));
    let window = shown_window(&outcome).unwrap();
    assert!(window.is_steady(), "{:?} {:?}", window.checks, window.tracked);
    let wanted = TIMES.write_us(greedy(1.28, PAGES_PER_BLOCK), PAGES_PER_BLOCK) / 1000.0;
    near(window.tracked[0].determination.average, wanted, 0.07, "ms of a write");
    let all = stages(&outcome);
    let point = |index: usize| points_of(&all[0])[index].latency_ns.mean().unwrap() / 1000.0;
    near(point(0), 2.0 * TIMES.read_us + 1.0, 0.05, "8 KiB read");
    near(point(1), TIMES.read_us + 1.0, 0.05, "4 KiB read");
    // Twenty times as long as the others.
    let long = &points_of(&all[1])[0];
    assert_eq!(long.measured_ns(), 60_000_000_000);
    // A write in a block that is full waits until another one is collected and erased.
    let most_us = long.latency_ns.max().unwrap() as f64 / 1000.0;
    assert!(most_us > TIMES.program_us + TIMES.erase_us, "{most_us}");
}

/// One that collects in pauses is faster after them, and one that does not is not.
#[test]
fn pauses_bring_back_a_drive_that_collects_in_them() {
    let recover = |idle_us: Option<f64>| {
        let with = FlashBuild { idle_us, times: TIMES, ..build(1.28, 100) };
        let mut short = standard(QualifyTest::IdleRecovery, 500);
        short.plan.rounds_max = 60;
        let outcome = alone(&flash(&with, true), short);
        idle_recovery(&outcome).unwrap()
    };
    let (baseline, with) = recover(Some(1000.0));
    let waits: Vec<u64> = with.iter().map(|one| one.wait.0 / 500_000_000).collect();
    assert_eq!(waits, [1, 2, 3, 5, 10]);
    near(with[0].duty, 0.5, 1e-9, "duty");
    near(with[4].duty, 1.0 / 11.0, 1e-9, "duty");
    assert!(with.iter().all(|one| one.of_baseline > 1.4), "{baseline} {with:?}");
    let (_, without) = recover(None);
    assert!(without.iter().all(|one| (0.8..1.25).contains(&one.of_baseline)), "{without:?}");
}

#[test]
fn large_writes_are_slow_after_small_ones_until_what_these_left_is_collected() {
    let mut short = standard(QualifyTest::CrossStimulus, 1000);
    let size = |bytes| BlockSize::new(bytes).unwrap();
    (short.plan.rounds_max, short.plan.sizes) = (12, vec![size(65_536), size(8192)]);
    let outcome = alone(&drive_with(TIMES, 1.12, 100, true), short);
    let found = cross_recovery(&outcome).unwrap();
    let rates: Vec<f64> = found.segments.iter().map(|(_, rates)| rates.mb_per_s).collect();
    assert_eq!(rates.len(), 3);
    near(rates[0], 4096.0 / TIMES.write_us(1.0, PAGES_PER_BLOCK), 0.05, "in order");
    assert!(rates[1] < rates[0] * 0.5, "{rates:?}");
    let third = &stages(&outcome)[2];
    let first_of_it = third.rounds[0].points[0].mib_per_s().unwrap() * 1.048_576;
    assert!(first_of_it < rates[0] * 0.9, "{first_of_it} after {rates:?}");
    assert!(outcome.steady.is_none() && outcome.deviations.iter().all(|one| *one != Deviation::OwnTest));
}

/// Four planes serve four requests at a time, if these fall on all of them.
fn four_planes() -> FlashBuild {
    let one = build(1.28, 200);
    FlashBuild { planes: 4, channels: 4, times: TIMES, ..one }
}

#[test]
fn the_demand_curve_names_its_points_and_more_threads_wait_longer() {
    let mut short = standard(QualifyTest::Demand, 50);
    (short.plan.queue_depth, short.plan.workers, short.plan.rounds_max) = (8, 4, 60);
    let times = NandTimes { read_us: 20.0, program_us: 75.0, erase_us: 380.0 };
    let outcome = alone(&flash(&FlashBuild { times, ..four_planes() }, true), short);
    let found = demand(&outcome).expect("a curve");
    // 8, 4 and 1 in flight of 4 and 1 threads.
    assert_eq!(found.points.len(), 6);
    let least = &found.points[found.least.unwrap()];
    assert_eq!((least.workers, least.queue_depth), (1, 1));
    let most = &found.points[found.most.unwrap()];
    assert!(most.iops() > least.iops() && found.middle.is_some());
    // Little's law, for each point of a closed loop.
    for point in &found.points {
        let in_flight = point.iops().unwrap() * point.latency_ns.mean().unwrap() / 1e9;
        near(in_flight, f64::from(point.workers * point.queue_depth), 0.05, "in flight");
    }
}

/// The rest of the drive holds data, so all spare area serves the part that is written.
#[test]
fn a_smaller_active_range_is_as_much_faster_as_its_spare_area_says() {
    let mut plan = standard(QualifyTest::ActiveRange, 1000);
    plan.plan.rounds_max = 2000;
    let outcome = alone(&drive_with(TIMES, 1.12, 400, false), plan);
    for (one, part) in stages(&outcome).iter().zip([0.1, 0.25, 0.5, 0.75, 1.0]) {
        let window = steady_window_of(one);
        let iops = points_of(one)[0].iops().unwrap();
        let alpha = 1.0 + 0.12 / part;
        let wanted = 1e6 / TIMES.write_us(greedy(alpha, PAGES_PER_BLOCK), PAGES_PER_BLOCK);
        near(iops, wanted, 0.1, &format!("{part} of the range, steady {}", window.is_some()));
    }
}

#[test]
fn requests_of_two_pages_are_half_as_many_and_as_many_bytes() {
    let outcome = alone(&drive_with(TIMES, 1.28, 60, false), standard(QualifyTest::Sizes, 5000));
    let window = shown_window(&outcome).unwrap();
    assert!(window.is_steady() && window.tracked.len() == 2, "{:?} {:?}", window.checks, window.tracked);
    // 8 KiB, then 4 KiB.
    let ratio = window.tracked[1].determination.average / window.tracked[0].determination.average;
    near(ratio, 2.0, 0.05, "4 KiB over 8 KiB");
}

#[test]
fn depth_beyond_the_planes_only_waits() {
    let mut short = standard(QualifyTest::Depth, 1000);
    (short.plan.queue_depth, short.plan.rounds_max) = (64, 10);
    let outcome = alone(&flash(&four_planes(), true), short);
    let curves = depth_curves(&outcome);
    assert_eq!(curves.len(), 2);
    for curve in &curves {
        assert_eq!(curve.points.len(), 7);
        let enough = curve.enough.unwrap();
        assert!((4..=64).contains(&enough), "{enough}");
        let (first, last) = (curve.points[0].iops().unwrap(), curve.points[6].iops().unwrap());
        assert!(last > 2.5 * first && last < 4.4 * first, "{first} {last}");
    }
}

/// The model has no cache, so a guarantee costs nothing.
#[test]
fn a_drive_without_a_cache_answers_durable_writes_like_others() {
    let outcome = alone(&drive_with(TIMES, 1.28, 60, true), standard(QualifyTest::WriteCache, 4000));
    let window = shown_window(&outcome).unwrap();
    assert!(window.is_steady(), "{:?} {:?}", window.checks, window.tracked);
    let points = points_of(&stages(&outcome)[0]);
    assert_eq!(points.len(), 4);
    for pair in points.chunks(2) {
        near(pair[0].iops().unwrap(), pair[1].iops().unwrap(), 0.05, "any over durable");
    }
    assert!(outcome.deviations.contains(&Deviation::CacheByWriteThrough));
}

/// A drive that writes a part of its cells with one bit each: fast until that part is full, and it empties it when it has time.
#[derive(Debug)]
struct OneBit {
    size_bytes: f64,
    used_bytes: f64,
    free_ns: u64,
}

impl OneBit {
    const FAST: f64 = 1e8;
    const SLOW: f64 = 2e7;
    /// Bytes a second that leave it while nothing is asked.
    const EMPTIES: f64 = 8e5;

    fn of(size_bytes: f64) -> Self {
        Self { size_bytes, used_bytes: 0.0, free_ns: 0 }
    }
}

impl DeviceModel for OneBit {
    fn end_ns(&mut self, arrival: &Arrival) -> u64 {
        let idle_s = arrival.now_ns.saturating_sub(self.free_ns) as f64 / 1e9;
        self.used_bytes = (self.used_bytes - idle_s * Self::EMPTIES).max(0.0);
        let bytes = f64::from(arrival.length);
        let is_write = !matches!(arrival.op, RequestOp::Read | RequestOp::Fsync | RequestOp::Fdatasync);
        let fast = if is_write { bytes.min(self.size_bytes - self.used_bytes).max(0.0) } else { bytes };
        if is_write {
            self.used_bytes += fast;
        }
        let seconds = fast / Self::FAST + (bytes - fast) / Self::SLOW;
        self.free_ns = self.free_ns.max(arrival.now_ns) + Nanos::from_seconds(seconds).0;
        self.free_ns
    }
}

/// "The drive writes 1 GB/s", until the backup is larger than its fast part.
#[test]
fn the_fast_cache_is_measured_with_what_follows_it_and_what_a_rest_brings_back() {
    let cache = 55e6;
    let mut short = standard(QualifyTest::FastCache, 100);
    (short.plan.sizes, short.plan.queue_depth) = (vec![BlockSize::new(65_536).unwrap()], 2);
    let outcome = alone(&device(128 << 20, Box::new(OneBit::of(cache))), short);
    let (found, rests) = fast_cache(&outcome).expect("a cache");
    near(found.bytes, cache, 0.05, "size");
    near(found.fast, OneBit::FAST, 0.03, "at first");
    near(found.slow, OneBit::SLOW, 0.03, "after it");
    near(found.seconds_for(2e9), 0.55 + (2e9 - cache) / 2e7, 0.03, "a load of 2 GB");
    near(found.seconds_for(1e7), 0.1, 0.03, "one that fits");
    // 3, 12 and 60 s of rest, at 0.8 MB/s.
    let back: Vec<f64> = rests.iter().map(|one| one.bytes / 1e6).collect();
    assert_eq!(rests.len(), 3);
    for (bytes, wanted) in back.iter().zip([2.4, 9.6, 48.0]) {
        assert!((bytes - wanted).abs() < 0.1 * wanted + 0.5, "{back:?}");
    }
    // It does not write more than it must to see that.
    assert!(outcome.rounds_bytes() < (128 << 20) + 3 * 75_000_000, "{}", outcome.rounds_bytes());
}

#[test]
fn a_drive_without_a_fast_part_has_none_and_is_not_rested() {
    let mut short = standard(QualifyTest::FastCache, 100);
    short.plan.sizes = vec![BlockSize::new(65_536).unwrap()];
    let outcome = alone(&device(32 << 20, Box::new(OneBit::of(0.0))), short);
    assert_eq!(fast_cache(&outcome), None);
    assert!(outcome.rounds.iter().all(|round| round.stage == 0));
}

/// The round in progress and no more is lost, also in a stage that is not the first.
#[test]
fn a_later_stage_that_was_interrupted_is_continued_where_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let open = || SqliteStore::open(directory.path().join("runs.sqlite")).unwrap();
    let simulated = drive(1.28, 50, true);
    let short = || {
        let mut request = request(QualifyTest::IdleRecovery, QualifyScale::Quick, 50);
        request.plan = QualifyPlan { rounds_max: 4, ..request.plan };
        request
    };
    let stop = StopToken::default();
    // Four samples, three bursts, and the first of those back.
    let observer = StopAfter { rounds: Mutex::new(0), most: 8, stop: &stop };
    let first = on(&simulated, short(), QualifyStores::default(), &stop, &observer).unwrap();
    let outcome = |run: &iostall_model::Run| run.body.as_kind::<QualifyOutcome>().unwrap().clone();
    assert_eq!((outcome(&first).rounds.len(), outcome(&first).rounds[7].stage), (8, 2));
    open().keep(&first).unwrap();
    let earlier = open();
    let stores = QualifyStores { earlier: Some(&earlier), checkpoints: None };
    let second = on(&simulated, short(), stores, &StopToken::default(), &()).unwrap();
    let whole = outcome(&second);
    assert_eq!(whole.rounds[..8], outcome(&first).rounds[..]);
    let of_stage: Vec<usize> = stages(&whole).iter().map(|one| one.rounds.len()).collect();
    assert_eq!(of_stage, [4, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]);
    assert_eq!((whole.stopped, second.interrupted), (Stopped::Rounds, false));
}
