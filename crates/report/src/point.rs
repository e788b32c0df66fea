//! A point in words.

use iostall_measure::Percentile;
use iostall_model::Point;
pub use iostall_model::point::setting as setting_of;
use iostall_session::analysis::points::iops_half_width;

use crate::format::{percent, rates};

/// How sure the IOPS of a point are: ` ± 2.1 %`; nothing for a single interval.
pub fn give_or_take(point: &Point) -> String {
    iops_half_width(&point.repeats).map_or_else(String::new, |share| format!(" ± {}", percent(share)))
}

/// The result of a point: `45,210 IOPS · 353 MiB/s · p99 1.20 ms`.
pub fn in_words(point: &Point) -> String {
    let p99 = point.latency_ns.value_at(Percentile::P99);
    rates(point.iops().unwrap_or(0.0), point.mib_per_s().unwrap_or(0.0), p99)
}
