//! First reads against second ones on simulated volumes, in their time: one that is filled from its snapshot is found, and caches, noise
//! and devices that wake up are not taken for one.

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;

use iostall_engine::guard::WriteConsent;
use iostall_engine::sim::{Arrival, DeviceModel, SimFile};
use iostall_engine::{SimConfig, SimDevice};
use iostall_load::window::StopToken;
use iostall_measure::clock::NoRealSleep;
use iostall_measure::{ByteCount, Clock as _, ManualClock, Nanos, RunClock};
use iostall_model::LimitsOutcome;
use iostall_model::limits::{LimitsEnd, LimitsPlan, LimitsTask};
use iostall_session::analysis::first_reads::{Filling, filling};
use iostall_session::limits::{LimitsRequest, LimitsStores, limits};
use iostall_session::recorder::Program;
use iostall_session::{Dependencies, EngineChoice, Session};

const SECOND_NS: u64 = 1_000_000_000;
const MS_NS: u64 = 1_000_000;
const PIECE: u64 = 512 << 10;

fn plan(task: LimitsTask, seed: u64) -> LimitsPlan {
    LimitsPlan {
        task,
        writes: false,
        queue_depth: 16,
        workers: 2,
        size: None,
        seed,
        time_limit: Nanos(300 * SECOND_NS),
        byte_limit: ByteCount(64 << 30),
        bytes_per_s: None,
    }
}

fn on(model: Box<dyn DeviceModel>, plan: LimitsPlan) -> (LimitsOutcome, u64) {
    let _guard = NoRealSleep::on_this_thread();
    let file = SimFile { size_bytes: 4 << 30, ..SimFile::default() };
    let config = SimConfig { seed: plan.seed, files: vec![file], ..SimConfig::default() };
    let device = SimDevice::with_model(config, model, ManualClock::new());
    let clock = RunClock::Manual(device.clock().clone());
    let stop = StopToken::default();
    let given = Dependencies { program: Program::default(), clock, stop: &stop, observer: &() };
    let session = Session::begin(EngineChoice::Simulated(device.clone()), given).unwrap();
    let request = LimitsRequest {
        targets: vec![PathBuf::from("volume")],
        consent: WriteConsent::none(),
        plan,
        name: "limits".to_owned(),
    };
    let run = limits(request, LimitsStores::default(), &session).unwrap();
    (run.body.as_kind::<LimitsOutcome>().unwrap().clone(), device.clock().now_ns())
}

fn found(model: Box<dyn DeviceModel>, seed: u64) -> Filling {
    let (outcome, _) = on(model, plan(LimitsTask::FirstReads, seed));
    filling(outcome.first_reads.as_ref().expect("it was large enough"))
}

/// Fetches a piece from far away when it is first asked for; every `there`th piece is there already.
#[derive(Debug)]
struct Filled {
    fetched: HashSet<u64>,
    there: u64,
}

impl Filled {
    fn new(there: u64) -> Self {
        Self { fetched: HashSet::new(), there }
    }
}

impl DeviceModel for Filled {
    fn end_ns(&mut self, arrival: &Arrival) -> u64 {
        let last = arrival.offset + u64::from(arrival.length.max(1)) - 1;
        let pieces = arrival.offset / PIECE..=last / PIECE;
        let is_slow =
            pieces.filter(|piece| piece % self.there != 0 && self.fetched.insert(*piece)).count() > 0;
        let far_ns = if is_slow { 8.0 * (1.0 + arrival.exponential) } else { 0.0 };
        arrival.now_ns + whole((far_ns + 0.4 + 0.2 * arrival.exponential) * MS_NS as f64)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time above 0")]
fn whole(ns: f64) -> u64 {
    ns as u64
}

#[test]
fn a_volume_that_is_being_filled_is_found_with_its_share_and_how_many_times_as_long_it_takes() {
    for (there, share) in [(1000, 1.0), (2, 0.5), (3, 0.667)] {
        for seed in 0..5 {
            let found = found(Box::new(Filled::new(there)), seed);
            let Filling::Yes(slow) = found else { panic!("{there}, seed {seed}: {found:?}") };
            assert!((15.0..50.0).contains(&slow.times()), "{there}, seed {seed}: {slow:?}");
            assert!((slow.share - share).abs() < 0.15, "{there}, seed {seed}: {slow:?}");
        }
    }
}

/// One head, and a cache of `pages` pages of 4 KiB that keeps what was read last.
#[derive(Debug)]
struct Disk {
    pages: usize,
    cached: HashSet<u64>,
    order: VecDeque<u64>,
    free_ns: u64,
}

impl Disk {
    fn new(mebibytes: usize) -> Self {
        let (cached, order) = (HashSet::new(), VecDeque::new());
        Self { pages: mebibytes * 256, cached, order, free_ns: 0 }
    }
}

impl DeviceModel for Disk {
    fn end_ns(&mut self, arrival: &Arrival) -> u64 {
        let first = arrival.offset / 4096;
        let pages = first..first + u64::from(arrival.length) / 4096;
        let is_hit = pages.clone().all(|page| self.cached.contains(&page));
        for page in pages {
            if self.pages > 0 && self.cached.insert(page) {
                self.order.push_back(page);
            }
        }
        while self.order.len() > self.pages {
            let oldest = self.order.pop_front();
            oldest.map(|page| self.cached.remove(&page));
        }
        let ms = if is_hit { 0.1 } else { 4.0 + 4.0 * arrival.exponential };
        let moved_ms = f64::from(arrival.length) / 150e3;
        self.free_ns = self.free_ns.max(arrival.now_ns) + whole((ms + moved_ms) * MS_NS as f64);
        self.free_ns
    }
}

#[test]
fn the_cache_of_a_disk_is_called_a_cache_and_one_that_forgets_nothing_is_not_called_filling_without_a_caution()
 {
    for seed in 0..5 {
        assert_eq!(found(Box::new(Disk::new(0)), seed), Filling::No, "seed {seed}");
        let cached = found(Box::new(Disk::new(256)), seed);
        assert!(matches!(cached, Filling::Cached(_)), "seed {seed}: {cached:?}");
    }
}

/// Requests take what chance says, now and then a hundred times as long.
#[derive(Debug)]
struct Noise(u64);

impl DeviceModel for Noise {
    fn end_ns(&mut self, arrival: &Arrival) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let is_slow = (self.0 >> 40).is_multiple_of(5);
        let ms = arrival.exponential * if is_slow { 100.0 } else { 1.0 };
        arrival.now_ns + whole(ms * MS_NS as f64) + 50_000
    }
}

/// Slow for its first second, as a device is that was asleep, or whose neighbour ends just then.
#[derive(Debug)]
struct Wakes;

impl DeviceModel for Wakes {
    fn end_ns(&mut self, arrival: &Arrival) -> u64 {
        let ms = if arrival.now_ns < SECOND_NS { 30.0 } else { 0.3 };
        arrival.now_ns + whole(ms * (0.5 + arrival.exponential) * MS_NS as f64)
    }
}

#[test]
fn noise_and_devices_that_wake_up_are_not_called_filling() {
    for seed in 0..300 {
        let noise = found(Box::new(Noise(seed)), seed);
        assert!(!matches!(noise, Filling::Yes(_)), "seed {seed}: {noise:?}");
        let wakes = found(Box::new(Wakes), seed);
        assert!(!matches!(wakes, Filling::Yes(_)), "seed {seed}: {wakes:?}");
    }
}

/// Asked for before anything else, so that the search does not fill what it is to find.
#[test]
fn a_search_says_that_its_limits_are_those_of_filling() {
    let (outcome, _) = on(
        Box::new(Filled::new(1000)),
        LimitsPlan { time_limit: Nanos(100 * SECOND_NS), ..plan(LimitsTask::Whole, 3) },
    );
    assert!(matches!(filling(outcome.first_reads.as_ref().unwrap()), Filling::Yes(_)));
    assert!(outcome.probes.len() > 3);
}

#[test]
fn every_block_is_read_once_and_no_faster_than_asked() {
    let rate = 400e6;
    let (outcome, elapsed_ns) = on(
        Box::new(Filled::new(1000)),
        LimitsPlan { bytes_per_s: Some(rate), ..plan(LimitsTask::ReadAll, 0) },
    );
    let read = outcome.read_all.as_ref().unwrap();
    assert!(read.is_whole() && read.failed == 0 && outcome.ended == LimitsEnd::Complete, "{read:?}");
    assert_eq!(outcome.moved_bytes(), 4 << 30);
    let least_ns = (4_u64 << 30) as f64 / rate * 1e9;
    assert!(elapsed_ns as f64 > least_ns * 0.99 && (elapsed_ns as f64) < least_ns * 1.1, "{elapsed_ns}");
}
