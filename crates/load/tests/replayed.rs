//! Spans whose requests were recorded and whose rate changes while they run, on a simulated device and in its time.

use std::sync::Arc;

use iostall_engine::guard::HeaderKind;
use iostall_engine::sim::{Channels, SimFile};
use iostall_engine::{SimConfig, SimDevice};
use iostall_load::runner::{Observer, Phase, run_span};
use iostall_load::window::StopToken;
use iostall_load::{EngineKind, LoadTarget, Planned, RunError, SpanJob, Speed};
use iostall_measure::{ManualClock, Op};
use iostall_model::outcome::IntervalPoint;
use iostall_model::{SpanOutcome, SpanProfile};

const MIB: u64 = 1 << 20;

fn span(role: &str) -> SpanProfile {
    let head = "warmup = '0'\nduration = '4s'\ncooldown = '0'\n[[roles]]\nname = 'data'\n";
    toml::from_str(&format!("{head}{role}")).unwrap()
}

/// Runs `span` on a device of four channels of a millisecond each; `tick` hears of each tick.
fn run(
    span: &SpanProfile,
    recorded: &[(String, Arc<[Planned]>)],
    speed: &Speed,
    tick: impl FnMut(Phase, u64),
) -> Result<SpanOutcome, RunError> {
    struct OnTick<F>(F);
    impl<F: FnMut(Phase, u64)> Observer for OnTick<F> {
        fn tick(&mut self, phase: Phase, left_ns: u64, _newest: &[Option<&IntervalPoint>]) {
            (self.0)(phase, left_ns);
        }
    }
    let file = SimFile { size_bytes: MIB, ..SimFile::default() };
    let config = SimConfig { seed: 1, files: vec![file], ..SimConfig::default() };
    let device = SimDevice::with_model(config, Box::new(Channels::fixed(4, 1_000_000)), ManualClock::new());
    let clock = device.clock().clone();
    let target = LoadTarget {
        name: None,
        path: "volume".into(),
        open_path: "volume".into(),
        size_bytes: MIB,
        first_header: HeaderKind::Block,
    };
    let (engine, targets) = (EngineKind::Sim(device), [target]);
    let job = SpanJob {
        span,
        seed: 1,
        targets: &targets,
        engine: &engine,
        fallback: None,
        devices: &[],
        speed,
        recorded,
    };
    run_span(job, &clock, &StopToken::default(), &mut OnTick(tick))
}

fn counts(outcome: &SpanOutcome, op: Op) -> (u64, u64) {
    let cells = outcome.roles[0].cells.iter().filter(|cell| cell.op == op);
    cells.fold((0, 0), |sum, cell| (sum.0 + cell.service_ns.count(), sum.1 + cell.bytes))
}

#[test]
fn recorded_requests_are_made_again_in_their_mix_by_all_workers_together() {
    let request = |op, offset, length| Planned { op, offset, length };
    let requests: Arc<[Planned]> = Arc::new([
        request(Op::Read, 0, 8192),
        request(Op::Write, 65_536, 512),
        request(Op::Read, MIB - 4096, 4096),
    ]);
    let recorded = [("data".to_owned(), Arc::clone(&requests))];
    let role = "block-size = '8K'\nwrite-pct = 50\nqueue-depth = 1\nworkers = 3";
    let outcome = run(&span(role), &recorded, &Speed::default(), |_, _| ()).unwrap();
    let ((reads, read_bytes), (writes, write_bytes)) =
        (counts(&outcome, Op::Read), counts(&outcome, Op::Write));
    // Three workers of a request a millisecond, for four seconds; two of three requests read.
    assert!(reads.abs_diff(8000) <= 4 && writes.abs_diff(4000) <= 2, "{reads} reads, {writes} writes");
    assert_eq!(write_bytes, writes * 512);
    assert!(read_bytes.abs_diff(reads / 2 * (8192 + 4096)) <= 8192, "{read_bytes} of {reads}");
}

#[test]
fn a_recorded_request_that_does_not_fit_is_refused_before_anything_runs() {
    let role = "block-size = '8K'\nqueue-depth = 1";
    for (op, offset, length) in
        [(Op::Read, MIB, 512), (Op::Read, 0, 16_384), (Op::Write, 0, 512), (Op::Read, u64::MAX - 511, 512)]
    {
        let recorded = [("data".to_owned(), Arc::from([Planned { op, offset, length }]))];
        let refused = run(&span(role), &recorded, &Speed::default(), |_, _| ()).unwrap_err();
        assert!(matches!(refused, RunError::Plan { .. }), "{refused:?}");
    }
}

#[test]
fn the_rate_of_an_open_loop_follows_a_speed_that_changes_while_it_runs() {
    for arrivals in ["constant", "poisson"] {
        let role = format!("block-size = '8K'\nqueue-depth = 64\nrate = '500'\narrivals = '{arrivals}'");
        let speed = Speed::default();
        // Three times as fast for the second half.
        let outcome = run(&span(&role), &[], &speed, |phase, left_ns| {
            if matches!(phase, Phase::Measured) && left_ns <= 2_000_000_000 {
                speed.set(3.0);
            }
        })
        .unwrap();
        let per_second: Vec<u64> = outcome.roles[0].series.iter().map(|point| point.ops[0].count).collect();
        let near = |count: u64, expected: u64| count.abs_diff(expected) <= expected / 5;
        assert!(near(per_second[0], 500) && near(per_second[1], 500), "{arrivals}: {per_second:?}");
        assert!(near(per_second[3], 1500), "{arrivals}: {per_second:?}");
        let open = outcome.roles[0].open_loop.as_ref().unwrap();
        assert!(open.backlog_at_end <= 2 && open.arrivals.abs_diff(4000) <= 400, "{open:?}");
    }
}
