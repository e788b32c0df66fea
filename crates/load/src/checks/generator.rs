//! Checks of the load generator itself: whether it reached the requested depth and rate, and had enough CPU
//! time.

use iostall_measure::platform::DeviceCounters;
use iostall_measure::{ByteCount, Caching, Feature, Op};
use iostall_model::outcome::{RoleOutcome, SpanOutcome};
use iostall_model::profile::RoleProfile;
use iostall_model::{Warning, WarningCode};

use super::Evidence;
use super::machine::processors;

/// A closed loop below this share of its depth did not offer the requested load.
const DEPTH_SHARE: f64 = 0.9;
/// A worker that is busy for this share of the time has no capacity for more requests.
const CPU_SHARE: f64 = 0.9;
/// A rate was not kept if this share of arrivals was late or never started.
const LATE_SHARE: f64 = 0.01;
/// Requests were split if their mean size at the device is below this share of the block size.
const SPLIT_SHARE: f64 = 0.75;

/// Share of the device's traffic that must be ours to draw conclusions from its request sizes.
const OURS_SHARE: f64 = 0.9;

const NULL_ENGINE: &str = "null";
const SIMULATED: &str = "sim";

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (span, asked) in evidence.outcome.spans.iter().zip(&evidence.outcome.profile.spans) {
        for (role, profile) in span.roles.iter().zip(&asked.roles) {
            warnings.extend(fallback(role));
            // With the null engine the generator is supposed to be the limit.
            if role.engine.name != NULL_ENGINE {
                warnings.extend(depth(role, profile));
                warnings.extend(worker_cpu(role, profile, span.measured_ns));
            }
            warnings.extend(rate(role));
        }
        // A simulated device has its own time.
        if span.roles.iter().any(|role| role.engine.name != SIMULATED) {
            warnings.extend(processors(&span.cpus, &span.busiest));
        }
        warnings.extend(split(span, &asked.roles));
    }
    warnings
}

fn fallback(role: &RoleOutcome) -> Option<Warning> {
    let ring = role.engine.refused.iter().find(|refused| refused.feature == Feature::IoUring)?;
    Some(
        Warning::new(
            WarningCode::EngineFallback,
            format!("{} was used instead of io_uring: {}", role.engine.name, ring.cause),
        )
        .about(&role.name),
    )
}

fn depth(role: &RoleOutcome, profile: &RoleProfile) -> Option<Warning> {
    let closed = role.open_loop.is_none() && profile.burst.is_none();
    let asked = role.depth_asked as f64;
    (closed && role.depth_mean > 0.0 && role.depth_mean < asked * DEPTH_SHARE).then(|| {
        Warning::new(
            WarningCode::DepthNotReached,
            format!(
                "{asked} requests in flight were requested, but there were {:.1} on average",
                role.depth_mean
            ),
        )
        .about(&role.name)
        .hint("the generator or the file system holds requests back: more workers, fewer requests each")
    })
}

fn rate(role: &RoleOutcome) -> Option<Warning> {
    let open = role.open_loop.as_ref()?;
    let arrivals = open.arrivals as f64;
    let missed = open.late_starts.max(open.backlog_at_end) as f64;
    (missed > arrivals * LATE_SHARE).then(|| {
        Warning::new(
            WarningCode::RateNotHeld,
            format!(
                "{} of {} arrivals started more than a millisecond late (the worst {:.1} ms), {} had not started at the end",
                open.late_starts,
                open.arrivals,
                open.lateness_ns_max as f64 / 1e6,
                open.backlog_at_end
            ),
        )
        .about(&role.name)
        .hint("response times include the wait, as users feel it; lower --rate or raise --queue-depth to hold the rate")
    })
}

fn worker_cpu(role: &RoleOutcome, profile: &RoleProfile, measured_ns: u64) -> Option<Warning> {
    let available_ns = measured_ns as f64 * f64::from(profile.workers);
    let share = (role.cpu_user_ns + role.cpu_system_ns) as f64 / available_ns;
    (role.open_loop.is_none() && share > CPU_SHARE).then(|| {
        Warning::new(
            WarningCode::GeneratorBound,
            format!(
                "its workers were busy for {:.0} % of the time: the CPU, not the storage, was the bottleneck",
                share * 100.0
            ),
        )
        .about(&role.name)
        .hint("use more --workers; if all CPUs are busy, this machine cannot load the storage any further")
    })
}

fn split(span: &SpanOutcome, roles: &[RoleProfile]) -> Vec<Warning> {
    // A device's mean request size can be compared only if all roles use one size and bypass the page cache,
    // which forms its own requests.
    let Some(first) = roles.first().map(|role| role.block_size.smallest()) else { return Vec::new() };
    let comparable = |role: &RoleProfile| {
        role.block_size.smallest() == first
            && role.block_size.largest() == first
            && role.caching == Caching::Direct
    };
    let block = f64::from(first.bytes());
    if block < 65_536.0 || !roles.iter().all(comparable) {
        return Vec::new();
    }
    let ours = |op: Op| -> u64 {
        let cells = span.roles.iter().flat_map(|role| &role.cells);
        cells.filter(|cell| cell.op == op).map(|cell| cell.bytes).sum()
    };
    let (read, written) = (ours(Op::Read), ours(Op::Write));
    // Other traffic on the device has its own sizes.
    let mean =
        |ours: u64, all: u64, mean: Option<f64>| mean.filter(|_| ours as f64 >= all as f64 * OURS_SHARE);
    let sizes = |device: &DeviceCounters| {
        [
            mean(read, device.read_bytes, device.read_request_bytes_mean()),
            mean(written, device.write_bytes, device.write_request_bytes_mean()),
        ]
        .into_iter()
        .flatten()
        .fold(0.0, f64::max)
    };
    span.devices
        .iter()
        .filter(|device| sizes(device) > 0.0 && sizes(device) < block * SPLIT_SHARE)
        .map(|device| {
            Warning::new(
                WarningCode::RequestsSplit,
                format!(
                    "requests of {} reached the device as {:.0} KiB on average: its limits split them",
                    ByteCount(u64::from(first.bytes())),
                    sizes(device) / 1024.0
                ),
            )
            .about(&device.name)
        })
        .collect()
}
