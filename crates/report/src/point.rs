//! A point in words.

use iostall_measure::Percentile;
pub use iostall_model::point::setting as setting_of;
use iostall_model::{Point, Repeat};
use iostall_stats::confidence::{Estimate, LEVEL, estimate};

use crate::format::rates;

/// Half width of the 95 % confidence interval of a point's IOPS relative to their mean; `None` for a single
/// interval.
pub fn precision(point: &Point) -> Option<f64> {
    let iops: Vec<f64> = point.repeats.iter().filter_map(Repeat::iops).collect();
    estimate(&iops, LEVEL).map(Estimate::relative).filter(|share| share.is_finite())
}

/// The result of a point: `45,210 IOPS · 353 MiB/s · p99 1.20 ms`.
pub fn in_words(point: &Point) -> String {
    let p99 = point.latency_ns.value_at(Percentile::P99);
    rates(point.iops().unwrap_or(0.0), point.mib_per_s().unwrap_or(0.0), p99)
}
