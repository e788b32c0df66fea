//! Whole use cases on simulated devices, in their time: a wait in real time fails the test, and what is found is held against what
//! the device is known to give.

use std::path::PathBuf;
use std::sync::Mutex;

use iostall_engine::guard::WriteConsent;
use iostall_engine::sim::{Channels, DeviceModel, SimFile, TokenBucket};
use iostall_engine::{SimConfig, SimDevice};
use iostall_load::Overrides;
use iostall_load::preset::preset;
use iostall_load::window::StopToken;
use iostall_measure::clock::NoRealSleep;
use iostall_measure::{
    BlockSize, Caching, Clock, Durability, ManualClock, Nanos, Percent, Percentile, RunClock,
};
use iostall_model::profile::Access;
use iostall_model::sync::{LogLayout, SyncMethod, SyncStep};
use iostall_model::{
    FsyncOutcome, LoadOutcome, MatrixOutcome, MatrixPlan, MaxRateOutcome, Point, Run, SweepOutcome,
    WarningCode,
};
use iostall_session::fsync::{FsyncRequest, fsync};
use iostall_session::load::{LoadRequest, load};
use iostall_session::matrix::{MatrixRequest, cells, matrix};
use iostall_session::point_runner::Precision;
use iostall_session::recorder::Program;
use iostall_session::sweep::{SweepRequest, sweep, sweep_profile};
use iostall_session::targets::TargetRequest;
use iostall_session::{Dependencies, EngineChoice, Event, Observer, Session};
use iostall_stats::knee::{CurvePoint, Knees};
use iostall_store::{SqliteStore, Store};

const MS_NS: u64 = 1_000_000;

/// A device with one file, all of whose writes are durable when they complete.
fn device(model: impl DeviceModel + 'static) -> SimDevice {
    let file = SimFile { size_bytes: 16 << 20, durability: Durability::WriteThrough, ..SimFile::default() };
    let config = SimConfig { seed: 7, files: vec![file], ..SimConfig::default() };
    SimDevice::with_model(config, Box::new(model), ManualClock::new())
}

/// A session on `device`, and what it makes of it.
fn on<T>(
    device: &SimDevice,
    stop: &StopToken,
    observer: &dyn Observer,
    work: impl FnOnce(&Session<'_>) -> T,
) -> T {
    let _guard = NoRealSleep::on_this_thread();
    let clock = RunClock::Manual(device.clock().clone());
    let given = Dependencies { program: Program::default(), clock, stop, observer };
    work(&Session::begin(EngineChoice::Simulated(device.clone()), given).unwrap())
}

fn nothing_named() -> TargetRequest {
    TargetRequest::of_paths(Vec::new(), None, WriteConsent::none())
}

fn sweep_request(in_flight_max: u64, interval_s: u64) -> SweepRequest {
    SweepRequest {
        targets: nothing_named(),
        profile: sweep_profile(Overrides { seed: Some(3), ..Overrides::default() }).unwrap(),
        precision: Precision {
            warmup: Nanos(100 * MS_NS),
            interval: Nanos(interval_s * 1000 * MS_NS),
            half_width: Percent::new(3.0).unwrap(),
            repeats_min: 3,
            repeats_max: 8,
        },
        in_flight_max,
        workers_max: Some(1),
        target_latency: None,
        promise: None,
        name: "sweep".to_owned(),
    }
}

fn sweep_on(device: &SimDevice, request: SweepRequest) -> Run {
    on(device, &StopToken::default(), &(), |session| sweep(request, session).unwrap())
}

fn is_near(found: f64, expected: f64, share: f64) -> bool {
    (found / expected - 1.0).abs() <= share
}

fn mean_ns(point: &Point) -> f64 {
    point.latency_ns.mean().unwrap()
}

/// N channels of D each: Q in flight give min(Q, N) / D, and each takes max(1, Q / N) D. The knee is at N.
#[test]
fn a_sweep_finds_the_knee_at_the_number_of_channels() {
    let device = device(Channels::fixed(8, MS_NS));
    let run = sweep_on(&device, sweep_request(64, 1));
    let outcome = run.body.as_kind::<SweepOutcome>().unwrap();
    assert_eq!(
        (outcome.engine.name.as_str(), outcome.target_bytes.as_slice()),
        ("sim", [16 << 20].as_slice())
    );
    for point in &outcome.points {
        let depth = f64::from(point.queue_depth);
        assert!(is_near(point.iops().unwrap(), depth.min(8.0) * 1000.0, 0.005), "{point:?}");
        let latency_ns = (depth / 8.0).max(1.0) * MS_NS as f64;
        assert!(is_near(mean_ns(point), latency_ns, 0.005), "depth {depth}: {} ns", mean_ns(point));
    }
    let curve: Vec<CurvePoint> = outcome
        .points
        .iter()
        .filter_map(|point| CurvePoint::measured(point.in_flight(), point.iops(), &point.latency_ns))
        .collect();
    let knee = Knees::of(&curve, None).power.unwrap();
    assert_eq!(outcome.points[knee].queue_depth, 8);
    let checked = outcome.checked.as_ref().unwrap();
    assert!(checked.queue_depth == 8 && is_near(checked.iops().unwrap(), 8000.0, 0.005));
}

#[test]
fn several_workers_share_a_simulated_device_and_a_run_repeats_with_its_seed() {
    let sweep_of = |workers_max| {
        let config = SimConfig {
            seed: 5,
            channels: 8,
            service_ns_base: 800_000,
            service_ns_tail_mean: 200_000,
            ..SimConfig::default()
        };
        let device = SimDevice::new(config, ManualClock::new());
        let run = sweep_on(&device, SweepRequest { workers_max: Some(workers_max), ..sweep_request(32, 1) });
        run.body.as_kind::<SweepOutcome>().unwrap().points.clone()
    };
    let points = sweep_of(4);
    assert!(points.iter().any(|point| point.workers > 1), "{}", points.len());
    assert_eq!(points, sweep_of(4));
}

/// The share of arrivals at a single channel (Poisson at `rho` over its service, service 1) that waits no longer than `wait`:
/// the known series for M/D/1.
fn share_within(rho: f64, wait: f64) -> f64 {
    let mut sum = 0.0;
    let mut k = 0.0;
    while k <= wait {
        let x = rho * (k - wait);
        let factorial = (1..=20_u32).map(f64::from).take_while(|n| *n <= k).product::<f64>();
        sum += x.powf(k) / factorial * (-x).exp();
        k += 1.0;
    }
    (1.0 - rho) * sum
}

/// The rate at which 99 % of the responses of one channel take `promise` services at most.
fn highest_load(promise: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if share_within(middle, promise - 1.0) >= 0.99 { low = middle } else { high = middle }
    }
    low
}

#[test]
fn the_highest_rate_under_a_promise_is_that_of_queueing_theory() {
    let device = device(Channels::fixed(1, MS_NS));
    let request = SweepRequest { promise: Some(Nanos(5 * MS_NS)), ..sweep_request(4096, 120) };
    let run = sweep_on(&device, request);
    let outcome = run.body.as_kind::<MaxRateOutcome>().unwrap();
    let confirmed = outcome.best().unwrap();
    assert!(outcome.confirmations > 0 && confirmed.answers_in_time(5 * MS_NS), "{confirmed:?}");
    let expected = highest_load(5.0) * 1000.0;
    let found = confirmed.rate_iops.unwrap();
    // The search ends within 5 % below, and gives way by 5 % more where one of three confirmations misses the promise by chance.
    assert!(found / expected > 0.9 && found / expected < 1.02, "found {found}, expected {expected}");
}

#[test]
fn a_cloud_volume_bursts_for_its_credits_and_is_measured_at_its_base_rate_at_the_end() {
    let bucket = TokenBucket::new(500.0, 3000.0, 20_000.0, MS_NS);
    assert!((bucket.burst_s() - 8.0).abs() < 1e-9);
    let device = device(bucket);
    let mut profile = preset("random-read").unwrap();
    let changes = Overrides {
        warmup: Some(Nanos(0)),
        duration: Some(Nanos(20_000 * MS_NS)),
        cooldown: Some(Nanos(0)),
        queue_depth: Some(8),
        workers: Some(1),
        ..Overrides::default()
    };
    changes.apply(&mut profile).unwrap();
    let request = LoadRequest { targets: nothing_named(), profile, asked: None, name: "burst".to_owned() };
    let run = on(&device, &StopToken::default(), &(), |session| load(request, session).unwrap());
    let role = &run.body.as_kind::<LoadOutcome>().unwrap().spans[0].roles[0];
    let per_second: Vec<u64> = role.series.iter().map(|point| point.ops[0].count).collect();
    assert_eq!(per_second.len(), 20);
    assert!(per_second[1..7].iter().all(|count| count.abs_diff(3000) <= 3), "{per_second:?}");
    assert!(per_second[9..].iter().all(|count| count.abs_diff(500) <= 3), "{per_second:?}");
    // All credits, and the base rate all the time.
    assert!(per_second.iter().sum::<u64>().abs_diff(20_000 + 500 * 20) <= 30, "{per_second:?}");
    let warning = run.warnings.iter().find(|warning| warning.code == WarningCode::RateChanged).unwrap();
    let said =
        "fell from 3,000 to 500 IOPS (-83 %) after 8 s of the measured part and stayed there: until then ";
    let rest = warning.message.split_once(said).map(|(_, rest)| rest).unwrap_or_default();
    assert!(rest.starts_with("19,99") || rest.starts_with("20,00"), "{}", warning.message);
}

/// A sweep once named a volume's burst as what it can do: the chosen setting is measured again at the end.
#[test]
fn a_sweep_of_a_cloud_volume_ends_with_its_base_rate() {
    let device = device(TokenBucket::new(500.0, 3000.0, 30_000.0, MS_NS));
    let run = sweep_on(&device, sweep_request(256, 1));
    let outcome = run.body.as_kind::<SweepOutcome>().unwrap();
    let best = Point::fastest(&outcome.points).unwrap();
    assert!(is_near(best.iops().unwrap(), 3000.0, 0.01), "{:?}", best.iops());
    let checked = outcome.checked.as_ref().unwrap().iops().unwrap();
    assert!(is_near(checked, 500.0, 0.01), "{checked}");
}

fn plan() -> MatrixPlan {
    MatrixPlan {
        sizes: [8, 64].map(|kib| BlockSize::new(kib * 1024).unwrap()).to_vec(),
        accesses: vec![Access::Random, Access::Sequential],
        write_pcts: vec![Percent::ZERO, Percent::HUNDRED],
        depths: vec![1, 4],
        workers: 1,
        caching: Caching::Direct,
        durability: Durability::None,
        size: None,
        seed: 1,
        warmup: Nanos(100 * MS_NS),
        interval: Nanos(1000 * MS_NS),
        precision_pct: 3.0,
        repeats_max: 3,
    }
}

/// Stops the session after so many points, and counts them.
struct StopAfter<'a> {
    points: Mutex<usize>,
    most: usize,
    stop: &'a StopToken,
    clock: &'a ManualClock,
}

impl Observer for StopAfter<'_> {
    fn on(&self, event: &Event<'_>) {
        if let Event::PointMeasured { .. } = event {
            let mut points = self.points.lock().unwrap();
            *points += 1;
            if *points == self.most {
                self.stop.raise(self.clock.now_ns());
            }
        }
    }
}

#[test]
fn a_matrix_that_is_stopped_goes_on_where_it_was_and_every_cell_is_as_the_device_is() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(directory.path().join("runs.sqlite")).unwrap();
    let device = device(Channels::fixed(4, MS_NS).with_transfer(10_000));
    let paths = vec![PathBuf::from("volume")];
    let request = MatrixRequest { paths, consent: WriteConsent::none(), plan: plan(), name: "m".to_owned() };
    let all = cells(&plan(), 1);

    let stop = StopToken::default();
    let observer = StopAfter { points: Mutex::new(0), most: 5, stop: &stop, clock: device.clock() };
    let first = on(&device, &stop, &observer, |session| matrix(request.clone(), None, session).unwrap());
    assert!(first.interrupted);
    store.add(&first).unwrap();

    let stop = StopToken::default();
    let observer = StopAfter { points: Mutex::new(0), most: usize::MAX, stop: &stop, clock: device.clock() };
    let second = on(&device, &stop, &observer, |session| {
        matrix(request, Some(&store as &dyn Store), session).unwrap()
    });
    assert_eq!(*observer.points.lock().unwrap(), all.len() - 5, "the others were not measured again");
    let outcome = second.body.as_kind::<MatrixOutcome>().unwrap();
    assert!(!second.interrupted && outcome.resumed == Some(first.id));
    assert_eq!(outcome.points.len(), all.len());
    for (point, cell) in outcome.points.iter().zip(&all) {
        let service_ns = MS_NS + u64::from(cell.size.bytes()) / 1024 * 10_000;
        let expected = f64::from(cell.depth) * 1e9 / service_ns as f64;
        assert!(is_near(point.iops().unwrap(), expected, 0.01), "{cell:?}: {:?}", point.iops());
        let p99 = point.latency_ns.value_at(Percentile::P99).unwrap() as f64;
        assert!(is_near(p99, service_ns as f64, 0.01), "{cell:?}: {p99} ns");
    }
    // A minute and more went by, on the device's clock.
    let earlier = &outcome.earlier;
    assert_eq!(earlier.len(), 1);
    assert_eq!((earlier[0].run, earlier[0].points.as_slice()), (first.id, [0, 1, 2, 3, 4].as_slice()));
    assert!(device.clock().now_ns() > 40_000 * MS_NS);
}

/// The story: after a resumed matrix was complete, `--resume` took the old stopped one again; and of a matrix that was stopped
/// twice, nothing said which cells came from where.
#[test]
fn a_matrix_that_was_stopped_twice_says_where_each_cell_is_from_and_is_not_resumed_once_complete() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(directory.path().join("runs.sqlite")).unwrap();
    let device = device(Channels::fixed(4, MS_NS));
    let paths = vec![PathBuf::from("volume")];
    let request = MatrixRequest { paths, consent: WriteConsent::none(), plan: plan(), name: "m".to_owned() };
    let mut runs: Vec<Run> = Vec::new();
    for most in [2, 3, usize::MAX] {
        let stop = StopToken::default();
        let observer = StopAfter { points: Mutex::new(0), most, stop: &stop, clock: device.clock() };
        let earlier = (!runs.is_empty()).then_some(&store as &dyn Store);
        runs.push(on(&device, &stop, &observer, |session| {
            matrix(request.clone(), earlier, session).unwrap()
        }));
        store.add(runs.last().unwrap()).unwrap();
    }
    let outcome = runs[2].body.as_kind::<MatrixOutcome>().unwrap();
    let from: Vec<_> = outcome.earlier.iter().map(|cells| (cells.run, cells.points.clone())).collect();
    assert_eq!(from, [(runs[0].id, vec![0, 1]), (runs[1].id, vec![2, 3, 4])]);
    assert!(outcome.earlier_of(5).is_none() && outcome.resumed == Some(runs[1].id));
    let stop = StopToken::default();
    let again = on(&device, &stop, &(), |session| matrix(request, Some(&store as &dyn Store), session));
    let said = again.unwrap_err().to_string();
    assert!(said.contains("run 3") && said.contains("is complete"), "{said}");
}

/// The story: cells of a volume before it was grown and after stood in one table.
#[test]
fn a_matrix_is_not_resumed_on_a_target_of_another_size() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(directory.path().join("runs.sqlite")).unwrap();
    let paths = vec![PathBuf::from("volume")];
    let request = MatrixRequest { paths, consent: WriteConsent::none(), plan: plan(), name: "m".to_owned() };
    let before = device(Channels::fixed(4, MS_NS));
    let stop = StopToken::default();
    let observer = StopAfter { points: Mutex::new(0), most: 2, stop: &stop, clock: before.clock() };
    store
        .add(&on(&before, &stop, &observer, |session| matrix(request.clone(), None, session).unwrap()))
        .unwrap();
    let file = SimFile { size_bytes: 32 << 20, durability: Durability::WriteThrough, ..SimFile::default() };
    let config = SimConfig { seed: 7, files: vec![file], ..SimConfig::default() };
    let after = SimDevice::with_model(config, Box::new(Channels::fixed(4, MS_NS)), ManualClock::new());
    let stop = StopToken::default();
    let refused = on(&after, &stop, &(), |session| matrix(request, Some(&store as &dyn Store), session));
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("size of volume was 16 MiB and is 32 MiB"), "{said}");
}

fn fsync_request(methods: &[SyncMethod], committers: &[u32]) -> FsyncRequest {
    FsyncRequest {
        directory: PathBuf::from("simulated"),
        methods: methods.to_vec(),
        committers: committers.to_vec(),
        log: LogLayout::Shared,
        duration: Nanos(1_000 * MS_NS),
        block: "8K".parse().unwrap(),
        data_directory: None,
        overwrite: Vec::new(),
        name: "fsync".to_owned(),
    }
}

/// A write of 100 µs and a flush of 500 µs: 1,667 commits a second, and eight times as many if eight committers share each flush.
#[test]
fn commits_a_second_are_those_of_a_device_that_is_known() {
    let file = SimFile { size_bytes: 16 << 20, ..SimFile::default() };
    let config = SimConfig {
        files: vec![file],
        service_ns_base: 100_000,
        service_ns_tail_mean: 0,
        sync_ns: 500_000,
        ..SimConfig::default()
    };
    let device = SimDevice::new(config, ManualClock::new());
    let request = fsync_request(&[SyncMethod::Fdatasync, SyncMethod::OpenDatasync], &[1, 8]);
    let run = on(&device, &StopToken::default(), &(), |session| fsync(&request, session).unwrap());
    let outcome = run.body.as_kind::<FsyncOutcome>().unwrap();
    let rates: Vec<f64> = outcome.steps.iter().filter_map(SyncStep::commits_per_s).collect();
    let expected = [1e9 / 600e3, 1e9 / 100e3, 8e9 / 600e3, 8e9 / 100e3];
    assert!(rates.iter().zip(expected).all(|(rate, expected)| is_near(*rate, expected, 0.01)), "{rates:?}");
    let eight = &outcome.steps[2];
    // The flush at the end of a segment has fewer.
    assert!(eight.commits_per_flush().is_some_and(|commits| is_near(commits, 8.0, 0.01)));
    assert!((600_000..605_000).contains(&eight.commit_ns.value_at(Percentile::P99).unwrap()));
    assert!(!run.interrupted && run.warnings.is_empty(), "{:?}", run.warnings);
}

/// Ctrl-C after the first method: its numbers are kept.
#[test]
fn commits_that_are_interrupted_keep_the_methods_that_are_done() {
    struct StopAfterFirst<'a>(&'a StopToken);
    impl Observer for StopAfterFirst<'_> {
        fn on(&self, event: &Event<'_>) {
            if matches!(event, Event::SyncMeasured(_)) {
                self.0.raise(1);
            }
        }
    }
    let stop = StopToken::default();
    let request = fsync_request(&SyncMethod::ALL, &[1]);
    let device = device(TokenBucket::new(500.0, 3000.0, 20_000.0, MS_NS));
    let run = on(&device, &stop, &StopAfterFirst(&stop), |session| fsync(&request, session).unwrap());
    let outcome = run.body.as_kind::<FsyncOutcome>().unwrap();
    assert_eq!(outcome.steps.iter().map(|step| step.method).collect::<Vec<_>>(), [SyncMethod::Fdatasync]);
    assert!(run.interrupted);
}
