//! A search for the highest rate: the rate that was confirmed.

use iostall_measure::Nanos;
use iostall_model::MaxRateOutcome;
use iostall_model::part::{Part, PartName};

use super::points::of_point;

pub(super) fn parts(outcome: &MaxRateOutcome) -> Vec<Part> {
    let whole = outcome.best().map_or_else(Part::default, |point| {
        let rate = point.rate_iops.map(|rate| format!("{rate:.0} a second"));
        Part { iops: point.rate_iops, ..of_point(point, PartName::Whole, rate) }
    });
    vec![whole]
}

pub(super) fn failures(outcome: &MaxRateOutcome) -> Vec<String> {
    let target = Nanos(outcome.latency_ns_p99_target);
    let sentence =
        || format!("no rate is confirmed whose 99th percentile of response time is within {target}");
    if outcome.best().is_some() { Vec::new() } else { vec![sentence()] }
}
