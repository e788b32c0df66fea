//! What the repeats of points tell: how sure a point is, and which of several cannot be told apart.

use iostall_model::{Point, Repeat};
use iostall_stats::confidence::{Estimate, LEVEL, estimate};
use iostall_stats::knee::CurvePoint;
pub use iostall_stats::plateau::Cap;
use iostall_stats::plateau::cap;

/// Half width of the 95 % confidence interval of IOPS as a share of their mean; `None` for a single interval.
pub fn iops_half_width(repeats: &[Repeat]) -> Option<f64> {
    let iops: Vec<f64> = repeats.iter().filter_map(Repeat::iops).collect();
    estimate(&iops, LEVEL).map(Estimate::relative).filter(|share| share.is_finite())
}

/// Requests in flight as throughput and latency have it (Little's law); `None` in open loop and where nothing completed.
pub fn in_flight_by_little(point: &Point) -> Option<f64> {
    CurvePoint::measured(point.in_flight(), point.iops(), &point.latency_ns)
        .filter(|_| point.rate_iops.is_none())
        .map(|point| point.in_flight_by_little())
}

pub fn limit(best: &[&Point]) -> Option<Cap> {
    let rate = |point: &&Point| (point.block_size.mean_bytes(), point.iops().unwrap_or(0.0));
    cap(&best.iter().map(rate).collect::<Vec<_>>())
}
