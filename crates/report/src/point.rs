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

/// How many of `points` are less sure than was asked for, in a clause; `None` if all are as sure, or were measured once.
pub fn imprecise(points: &[Point], what: &str, precision_pct: f64) -> Option<String> {
    let count = points.iter().filter(|point| is_imprecise(point, precision_pct)).count();
    (count > 0).then(|| format!("{count} of {} {what} are not within ± {precision_pct} %", points.len()))
}

pub fn is_imprecise(point: &Point, precision_pct: f64) -> bool {
    iops_half_width(&point.repeats).is_some_and(|share| share * 100.0 > precision_pct)
}

/// The result of a point: `45,210 IOPS · 353 MiB/s · p99 1.20 ms`.
pub fn in_words(point: &Point) -> String {
    let p99 = point.latency_ns.value_at(Percentile::P99);
    rates(point.iops().unwrap_or(0.0), point.mib_per_s().unwrap_or(0.0), p99)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// The story: "up to 18,629 IOPS" stood on a cell of 8,375 ± 173.7 %.
    #[test]
    fn what_is_less_sure_than_was_asked_for_is_counted() {
        let run = fixture::sweep();
        let points = run.body.outcome().points();
        let sure = points.iter().filter(|point| iops_half_width(&point.repeats).is_some()).count();
        assert_eq!(imprecise(points, "cells", 1e9), None);
        let said = imprecise(points, "cells", -1.0);
        assert_eq!(said.is_some(), sure > 0);
        assert!(said.is_none_or(|said| said.starts_with(&format!("{sure} of {} cells", points.len()))));
    }
}
