//! Sweeps: increases the requests in flight until throughput stops growing, or searches for the highest rate
//! with good response times.

use std::thread::available_parallelism;

use iostall_load::preset::preset;
use iostall_load::profile::{Overrides, check};
use iostall_measure::Nanos;
use iostall_model::{MaxRateOutcome, Profile, Run, RunBody, SweepOutcome};

use crate::depth_search::{DepthSearch, Limits};
use crate::error::SessionError;
use crate::point_runner::{PointRunner, Precision};
use crate::rate_search::RateSearchRun;
use crate::session::Session;
use crate::targets::TargetRequest;

/// More workers than this are tried only if requested.
const WORKERS_MAX: u32 = 16;

#[derive(Clone, Debug)]
pub struct SweepRequest {
    pub targets: TargetRequest,
    pub profile: Profile,
    pub precision: Precision,
    pub in_flight_max: u64,
    /// Most workers; `None`: as many as there are CPUs, up to a limit.
    pub workers_max: Option<u32>,
    pub target_latency: Option<Nanos>,
    /// Target for the 99th percentile in a rate search, which is then done instead.
    pub promise: Option<Nanos>,
    pub name: String,
}

/// The load of a sweep: random reads modified by `shape`, with one request in flight.
pub fn sweep_profile(shape: Overrides) -> Result<Profile, SessionError> {
    let mut profile = preset("random-read")?;
    Overrides { queue_depth: Some(1), workers: Some(1), ..shape }.apply(&mut profile)?;
    "sweep".clone_into(&mut profile.name);
    profile.description.clear();
    check(&profile)?;
    Ok(profile)
}

pub fn sweep(request: SweepRequest, session: &Session<'_>) -> Result<Run, SessionError> {
    let targets = session.prepare(&request.targets, &request.profile)?;
    let roles = request.profile.spans.first().map(|span| span.roles.as_slice()).unwrap_or_default();
    let role = roles.first().ok_or(SessionError::NoRole)?.clone();
    let processors = available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1));
    let limits = Limits {
        in_flight_max: request.in_flight_max,
        workers_max: request.workers_max.unwrap_or(processors.min(WORKERS_MAX)).max(1),
        latency_ns_p99_target: request.target_latency.map(|target| target.0),
    };
    let runner = PointRunner::begin(session, &[&targets]);
    let (seed, precision) = (request.profile.seed, request.precision);
    if let Some(promise) = request.promise {
        let p99_ns_target = promise.0;
        let search =
            RateSearchRun { runner, targets: &targets, role, seed, precision, limits, p99_ns_target };
        return search_rate(search, request.profile, &request.name);
    }
    let mut search = DepthSearch::new(runner, &targets, role, seed, precision, limits);
    search.run()?;
    let (runner, points, checked) = search.finish();
    let outcome = SweepOutcome {
        profile: request.profile,
        target_bytes: targets.used_bytes(),
        engine: runner.engine(),
        latency_ns_p99_target: limits.latency_ns_p99_target,
        precision_pct: precision.half_width.percent(),
        repeats_max: precision.repeats_max,
        points,
        checked,
    };
    Ok(runner.finish(&request.name, RunBody::Sweep(Box::new(outcome))))
}

fn search_rate(search: RateSearchRun<'_>, profile: Profile, name: &str) -> Result<Run, SessionError> {
    let latency_ns_p99_target = search.p99_ns_target;
    let target_bytes = search.targets.used_bytes();
    let (runner, searched) = search.run()?;
    let outcome = MaxRateOutcome {
        profile,
        target_bytes,
        engine: runner.engine(),
        latency_ns_p99_target,
        probe: searched.probe,
        points: searched.points,
        confirmations: searched.confirmations,
    };
    Ok(runner.finish(name, RunBody::MaxRate(Box::new(outcome))))
}
