//! What a search for the highest rate tells.

use iostall_model::{MaxRateOutcome, Point};

#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// A rate that was confirmed, and the lowest one above it that was not answered in time.
    Confirmed {
        point: &'a Point,
        too_late: Option<f64>,
    },
    /// Rates were answered in time in one short interval, this one the highest, and none of them when looked at longer.
    NotConfirmed(&'a Point),
    None,
}

pub fn found(outcome: &MaxRateOutcome) -> Found<'_> {
    let rate = |point: &Point| point.rate_iops.unwrap_or(0.0);
    let is_in_time = |point: &Point| point.answers_in_time(outcome.latency_ns_p99_target);
    if let Some(point) = outcome.best() {
        let above =
            outcome.points.iter().filter(|other| rate(other) > rate(point) && !is_in_time(other)).map(rate);
        return Found::Confirmed { point, too_late: above.reduce(f64::min) };
    }
    let in_time = outcome.points.iter().filter(|point| is_in_time(point));
    in_time.max_by(|left, right| rate(left).total_cmp(&rate(right))).map_or(Found::None, Found::NotConfirmed)
}
