//! Limits of simulated volumes, in their time: what is found of a bucket, and that nothing is found where there is none.

use std::path::PathBuf;

use iostall_engine::guard::WriteConsent;
use iostall_engine::sim::{Arrival, DeviceModel, SimFile, TokenBucket};
use iostall_engine::{SimConfig, SimDevice};
use iostall_load::window::StopToken;
use iostall_measure::clock::NoRealSleep;
use iostall_measure::{ByteCount, Clock as _, ManualClock, Nanos, RunClock};
use iostall_model::LimitsOutcome;
use iostall_model::limits::{LimitsEnd, LimitsPlan, LimitsTask};
use iostall_session::analysis::limits::{Accounting, Counted, Credit, Found, Sharing, found};
use iostall_session::limits::{LimitsRequest, LimitsStores, limits};
use iostall_session::recorder::Program;
use iostall_session::{Dependencies, EngineChoice, Event, Observer, Session};

const SECOND_NS: u64 = 1_000_000_000;

fn plan(seconds: u64) -> LimitsPlan {
    LimitsPlan {
        task: LimitsTask::Search,
        writes: false,
        queue_depth: 16,
        workers: 1,
        size: None,
        seed: 1,
        time_limit: Nanos(seconds * SECOND_NS),
        byte_limit: ByteCount(1 << 50),
        bytes_per_s: None,
    }
}

fn device(model: Box<dyn DeviceModel>, files: usize) -> SimDevice {
    let file = SimFile { size_bytes: 1 << 30, ..SimFile::default() };
    let config = SimConfig { seed: 7, files: vec![file; files], ..SimConfig::default() };
    SimDevice::with_model(config, model, ManualClock::new())
}

fn watched(device: &SimDevice, plan: LimitsPlan, stop: &StopToken, observer: &dyn Observer) -> LimitsOutcome {
    let _guard = NoRealSleep::on_this_thread();
    let clock = RunClock::Manual(device.clock().clone());
    let given = Dependencies { program: Program::default(), clock, stop, observer };
    let session = Session::begin(EngineChoice::Simulated(device.clone()), given).unwrap();
    let files = device.file_sizes_bytes().len();
    let request = LimitsRequest {
        targets: (0..files).map(|file| PathBuf::from(format!("volume-{file}"))).collect(),
        consent: WriteConsent::none(),
        plan,
        name: "limits".to_owned(),
    };
    limits(request, LimitsStores::default(), &session)
        .unwrap()
        .body
        .as_kind::<LimitsOutcome>()
        .unwrap()
        .clone()
}

fn of(model: Box<dyn DeviceModel>, seconds: u64) -> (Found, LimitsOutcome) {
    let outcome = watched(&device(model, 1), plan(seconds), &StopToken::default(), &());
    (found(&outcome), outcome)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time above 0")]
fn whole(ns: f64) -> u64 {
    ns as u64
}

fn close(found: f64, expected: f64, share: f64) -> bool {
    (found / expected - 1.0).abs() <= share
}

/// Draws that a seed determines (the generator of Steele, Lea and Flood).
struct Draws(u64);

impl Draws {
    fn between(&mut self, from: f64, to: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        from + (to - from) * (((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

#[test]
fn twenty_random_buckets_are_found_with_their_size_refill_and_cap() {
    for seed in 0..20 {
        let mut draws = Draws(seed);
        let base = draws.between(60.0, 400.0).round();
        let burst = (base * draws.between(2.0, 8.0)).round();
        let credits = ((burst - base) * draws.between(4.0, 25.0)).round();
        let model = TokenBucket::new(base, burst, credits, 500_000);
        let (found, outcome) = of(Box::new(model), 300);
        let about = format!("seed {seed}: {base} {burst} {credits}: {found:?} {:?}", outcome.ended);
        let Credit::Bucket(bucket) = found.credit else { panic!("{about}") };
        assert_eq!(bucket.counted, Counted::Requests, "{about}");
        assert!(close(bucket.size, credits, 0.1), "{about}");
        assert!(close(bucket.refill_per_s, base, 0.1), "{about}");
        assert!(close(bucket.burst_per_s, burst, 0.1), "{about}");
        assert!(bucket.earned_per_s.is_some_and(|earned| close(earned, base, 0.25)), "{about}");
        assert_eq!(found.accounting, Accounting::Units { unit_bytes: 16 << 10 }, "{about}");
    }
}

/// A device of `channels` whose requests take `base_us` and an exponential `tail_us`.
fn plain(channels: u32, base_us: u64, tail_us: u64) -> SimDevice {
    let config = SimConfig {
        channels,
        service_ns_base: base_us * 1000,
        service_ns_tail_mean: tail_us * 1000,
        ..SimConfig::default()
    };
    SimDevice::new(config, ManualClock::new())
}

#[test]
fn a_disk_has_neither_bucket_nor_cap() {
    for (channels, base_us, tail_us) in [(1, 3000, 4000), (2, 500, 2000), (4, 100, 900)] {
        let disk = plain(channels, base_us, tail_us);
        let found = found(&watched(&disk, plan(40), &StopToken::default(), &()));
        assert!(matches!(found.credit, Credit::None { .. }), "{found:?}");
        let iops = found.iops.unwrap();
        let expected = f64::from(channels) * 1e6 / (base_us + tail_us) as f64;
        assert!(close(iops.per_s, expected, 0.1), "{found:?}");
        if channels == 1 {
            assert!(!iops.is_held, "{found:?}");
        }
    }
}

/// A volume whose neighbours come and go: the rate falls and rises for good, but no pause has anything to do with it.
#[derive(Debug)]
struct Neighbours {
    draws: Draws,
    level: f64,
    until_ns: u64,
    next_ns: f64,
}

impl std::fmt::Debug for Draws {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Draws({})", self.0)
    }
}

impl DeviceModel for Neighbours {
    fn end_ns(&mut self, arrival: &Arrival) -> u64 {
        while arrival.now_ns >= self.until_ns {
            self.level = self.draws.between(60.0, 400.0);
            self.until_ns += whole(self.draws.between(3e9, 20e9));
        }
        let start_ns = self.next_ns.max(arrival.now_ns as f64);
        self.next_ns = start_ns + 1e9 / self.level * self.draws.between(0.5, 1.5);
        whole(self.next_ns) + 100_000
    }
}

#[test]
fn neighbours_that_come_and_go_are_no_bucket() {
    for seed in 0..20 {
        let model = Neighbours { draws: Draws(seed), level: 200.0, until_ns: 5_000_000_000, next_ns: 0.0 };
        let (found, _) = of(Box::new(model), 100);
        assert!(!matches!(found.credit, Credit::Bucket(_)), "seed {seed}: {found:?}");
    }
}

/// A cap with nothing to save up, whose requests are one each however large they are.
#[derive(Debug)]
struct Cap {
    iops: f64,
    bytes_per_s: f64,
    /// One limit for all files, or each its own.
    is_shared: bool,
    next_ns: [f64; 2],
}

impl DeviceModel for Cap {
    fn end_ns(&mut self, arrival: &Arrival) -> u64 {
        let next_ns = &mut self.next_ns[if self.is_shared { 0 } else { usize::from(arrival.file.0) }];
        let start_ns = next_ns.max(arrival.now_ns as f64);
        *next_ns = start_ns + (1e9 / self.iops).max(f64::from(arrival.length) / self.bytes_per_s * 1e9);
        whole(start_ns) + 400_000
    }
}

#[test]
fn caps_on_requests_and_on_bytes_are_found_and_named_as_limits() {
    let cap = Cap { iops: 3000.0, bytes_per_s: 125e6, is_shared: true, next_ns: [0.0; 2] };
    let (found, outcome) = of(Box::new(cap), 40);
    let (iops, bytes) = (found.iops.unwrap(), found.bytes.unwrap());
    assert!(iops.is_held && close(iops.per_s, 3000.0, 0.02), "{found:?}");
    assert!(bytes.is_held && close(bytes.per_s, 125e6, 0.05), "{found:?}");
    assert_eq!(found.accounting, Accounting::Each { up_to: 16 << 10 }, "{found:?}");
    assert!(matches!(found.credit, Credit::None { .. }), "{found:?}");
    assert_eq!(outcome.ended, LimitsEnd::Complete);
    assert!(outcome.points.iter().all(|point| point.iops().is_some_and(|iops| iops > 0.0)));
}

#[test]
fn two_volumes_share_a_limit_or_have_their_own() {
    for is_shared in [true, false] {
        let cap = Cap { iops: 1000.0, bytes_per_s: 50e6, is_shared, next_ns: [0.0; 2] };
        let outcome = watched(&device(Box::new(cap), 2), plan(40), &StopToken::default(), &());
        let found = found(&outcome);
        for sharing in [found.sharing_iops.unwrap(), found.sharing_bytes.unwrap()] {
            let is_found = matches!(sharing, Sharing::Shared { .. });
            assert_eq!(is_found, is_shared, "{found:?}");
            assert!(is_shared || matches!(sharing, Sharing::Own { .. }), "{found:?}");
        }
    }
}

#[test]
fn time_and_bytes_are_limits() {
    let volume = || device(Box::new(TokenBucket::new(300.0, 3000.0, 5.4e6, 500_000)), 1);
    let timed = volume();
    let outcome = watched(&timed, plan(20), &StopToken::default(), &());
    // The last requests of a probe are waited for.
    assert!(timed.clock().now_ns() < 25 * SECOND_NS, "{}", timed.clock().now_ns());
    assert!(matches!(found(&outcome).credit, Credit::None { .. }), "the bucket is larger than that");
    let byte_limit = ByteCount(40 << 20);
    let few = watched(&volume(), LimitsPlan { byte_limit, ..plan(300) }, &StopToken::default(), &());
    assert_eq!(few.ended, LimitsEnd::Bytes);
    assert!((39 << 20..=40 << 20).contains(&few.moved_bytes()), "{}", few.moved_bytes());
}

/// Stops the search when it makes progress for the 65th time.
struct Impatient<'a>(&'a StopToken, std::sync::atomic::AtomicU64, ManualClock);

impl Observer for Impatient<'_> {
    fn on(&self, event: &Event<'_>) {
        if matches!(event, Event::SpanProgress(_))
            && self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 65
        {
            self.0.raise(self.2.now_ns());
        }
    }
}

#[test]
fn what_was_found_before_an_interruption_is_kept() {
    let volume = device(Box::new(TokenBucket::new(100.0, 1000.0, 2700.0, 500_000)), 1);
    let stop = StopToken::default();
    let observer = Impatient(&stop, 0.into(), volume.clock().clone());
    let outcome = watched(&volume, plan(300), &stop, &observer);
    assert_eq!(outcome.ended, LimitsEnd::Interrupted);
    let Credit::Unconfirmed(bucket) = found(&outcome).credit else { panic!("{:?}", found(&outcome)) };
    assert!(close(bucket.size, 2700.0, 0.1), "{bucket:?}");
}
