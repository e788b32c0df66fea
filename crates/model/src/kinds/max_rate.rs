//! `iostall sweep --max-rate`.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::{Capacity, IoShape, by_shape};
use crate::entry::Summary;
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MaxRateOutcome {
    /// The load, except rate, depth and workers, which are in each point.
    pub profile: Profile,
    /// How much of each target was used, from its start, bytes. Empty in older runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_bytes: Vec<u64>,
    pub engine: EngineUse,
    /// The target: the 99th percentile of the response time, nanoseconds.
    pub latency_ns_p99_target: u64,
    /// The result of a closed loop before the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Point>,
    /// The rates in the order they were tried, with the confirmations last.
    pub points: Vec<Point>,
    /// How many of the last points were confirmations.
    pub confirmations: u32,
}

impl MaxRateOutcome {
    /// The confirmed point with the highest rate; `None` if there is none.
    pub fn best(&self) -> Option<&Point> {
        let rate = |point: &Point| point.rate_iops.unwrap_or(0.0);
        let first = self.points.len().saturating_sub(self.confirmations as usize);
        let confirmed =
            self.points[first..].iter().filter(|point| point.answers_in_time(self.latency_ns_p99_target));
        confirmed.max_by(|left, right| rate(left).total_cmp(&rate(right)))
    }
}

impl Outcome for MaxRateOutcome {
    fn kind(&self) -> &'static str {
        "max-rate"
    }

    fn used_bytes(&self, index: usize, _whole_bytes: u64) -> Option<u64> {
        self.target_bytes.get(index).copied()
    }

    fn profile(&self) -> Option<&Profile> {
        Some(&self.profile)
    }

    fn engines(&self) -> Vec<&EngineUse> {
        vec![&self.engine]
    }

    fn points(&self) -> &[Point] {
        &self.points
    }

    fn measured(&self) -> Vec<Measured> {
        self.points.iter().map(Measured::of_point).collect()
    }

    fn capacities(&self, _targets: usize) -> Vec<Capacity> {
        // What a rate was asked for and reached is no capacity, but the closed loop before it is.
        let points: Vec<Point> = self.probe.iter().chain(&self.points).cloned().collect();
        IoShape::of_profile(&self.profile).map_or_else(Vec::new, |shape| by_shape(&points, |_| shape.clone()))
    }

    fn summary(&self) -> Summary {
        Summary::of_points(&self.points, self.best())
    }
}
