//! Whether a volume is slower than it was, or than was paid for.

use iostall_model::guard::GuardFigure;
use iostall_model::{GuardOutcome, Point, Repeat, Run};
use iostall_stats::guard::Guarding;
pub use iostall_stats::guard::{GuardLook, GuardState};
use iostall_stats::trend::{TimedValue, trend};

/// Probability of a false alarm of a whole guard.
pub const LEVEL: f64 = 0.01;
pub const LOOKS: u32 = 5;
/// Figures that are looked at most: two sizes, against a baseline and a promise.
const FIGURES: u32 = 4;
pub const PROBES_MIN: usize = 4;

/// Shortest history with a trend, days: what probes of one hour say of each other is no change in a month.
const TREND_DAYS_MIN: f64 = 7.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Against {
    /// The mean of the baseline: requests a second, or for a canary nanoseconds.
    Baseline(f64),
    /// What was paid for: requests a second, of which a probe's size makes bytes.
    PaidFor(f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    pub block_bytes: u32,
    pub against: Against,
    /// Requests a second, or for a canary nanoseconds of latency.
    pub now: f64,
    /// Speed now over speed then: of a canary's latencies, then over now.
    pub look: GuardLook,
    /// Something else had the machine, now or when the baseline was measured: then nothing is said of the volume.
    pub is_disturbed: bool,
}

/// Every figure of a run. What is as fast as was paid for although the machine was disturbed is so.
pub fn verdicts(run: &Run, outcome: &GuardOutcome) -> Vec<Judged> {
    let is_disturbed = !run.disturbed_by().is_empty();
    let mut all = judged(outcome);
    for one in &mut all {
        let is_kept = one.look.state == GuardState::Within && matches!(one.against, Against::PaidFor(_));
        one.is_disturbed = is_disturbed && !is_kept;
    }
    all
}

/// Every figure of `outcome`, by the probes that it has; see [`verdicts`] for what may be said of it.
pub fn judged(outcome: &GuardOutcome) -> Vec<Judged> {
    let guarding = Guarding { tolerance: outcome.plan.tolerance, level: LEVEL, looks: LOOKS * FIGURES };
    let is_canary = outcome.plan.rate_iops.is_some();
    let mut found = Vec::new();
    for point in &outcome.points {
        let now = speeds(point, is_canary);
        let block_bytes = point.block_size.largest().bytes();
        if now.len() < PROBES_MIN {
            continue;
        }
        let before = outcome.baseline.iter().flat_map(|baseline| &baseline.points);
        if let Some(before) = before.into_iter().find(|before| before.block_size == point.block_size) {
            let look = guarding.look(&speeds(before, is_canary), &now);
            let against = Against::Baseline(shown(&speeds(before, is_canary), is_canary));
            let now = shown(&now, is_canary);
            found.extend(look.map(|look| Judged { block_bytes, against, now, look, is_disturbed: false }));
        }
        if let Some(promised) = promised(outcome, block_bytes) {
            let look = guarding.look_at_promise(promised, &now);
            let (against, now) = (Against::PaidFor(promised), shown(&now, is_canary));
            found.extend(look.map(|look| Judged { block_bytes, against, now, look, is_disturbed: false }));
        }
    }
    found
}

pub fn is_decided(outcome: &GuardOutcome) -> bool {
    let judged = judged(outcome);
    !judged.is_empty() && judged.iter().all(|one| one.look.state != GuardState::Unclear)
}

/// What was paid for that shows with requests of this size, requests a second: of small ones the requests, of large ones the bytes.
fn promised(outcome: &GuardOutcome, block_bytes: u32) -> Option<f64> {
    if outcome.plan.rate_iops.is_some() {
        return None;
    }
    if block_bytes <= super::limits::PAGE {
        outcome.paid_for.iops
    } else {
        outcome.paid_for.bytes_per_s.map(|bytes| bytes / f64::from(block_bytes))
    }
}

/// What each probe says of the speed: requests a second, or for a canary the inverse of its mean latency.
fn speeds(point: &Point, is_canary: bool) -> Vec<f64> {
    let of = |repeat: &Repeat| {
        if is_canary { repeat.latency_ns_mean.map(|ns| 1e9 / ns.max(1.0)) } else { repeat.iops() }
    };
    point.repeats.iter().filter_map(of).collect()
}

fn shown(speeds: &[f64], is_canary: bool) -> f64 {
    let mean = speeds.iter().sum::<f64>() / speeds.len().max(1) as f64;
    if is_canary { 1e9 / mean } else { mean }
}

/// By what share the speed with the smallest requests changes in 30 days over all guards of the target, and the 95 % interval; `None`
/// unless that excludes no change, and where they are of less than a week.
pub fn trend_per_month(run: &Run, outcome: &GuardOutcome) -> Option<(f64, f64, f64)> {
    let is_canary = outcome.plan.rate_iops.is_some();
    let now: Vec<GuardFigure> = outcome.points.iter().filter_map(GuardFigure::of).collect();
    let past = outcome.history.iter().map(|past| (past.started_utc, &past.figures));
    let all = past.chain([(run.started_utc, &now)]);
    let of = |(at, figures): (jiff::Timestamp, &Vec<GuardFigure>)| {
        let smallest = figures.iter().min_by_key(|figure| figure.block_bytes)?;
        let value = if is_canary { 1e9 / smallest.latency_ns_mean } else { smallest.iops };
        Some(TimedValue { day: at.as_second() as f64 / 86_400.0, value })
    };
    let points: Vec<TimedValue> = all.filter_map(of).collect();
    let days = points.iter().map(|point| point.day);
    let (first, last) = (days.clone().fold(f64::INFINITY, f64::min), days.fold(f64::NEG_INFINITY, f64::max));
    if last - first < TREND_DAYS_MIN {
        return None;
    }
    let mean = points.iter().map(|point| point.value).sum::<f64>() / points.len().max(1) as f64;
    let found = trend(&points, None, 0.95).filter(|found| found.is_sure() && mean > 0.0)?;
    let share = |slope_per_day: f64| slope_per_day * 30.0 / mean;
    Some((share(found.slope_per_day), share(found.slope_per_day_min), share(found.slope_per_day_max)))
}
