//! `iostall sweep`.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::{Capacity, IoShape, by_shape};
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;
use crate::summary::Summary;

/// A sweep: one load with ever more requests in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepOutcome {
    /// The load, but for depth and workers, which each point has.
    pub profile: Profile,
    /// How much of each target, from its start, was used, bytes. Empty in runs kept before this was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_bytes: Vec<u64>,
    /// What carried the requests out.
    pub engine: EngineUse,
    /// The 99th percentile that must not be exceeded, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns_p99_target: Option<u64>,
    /// Half width of the 95 % confidence interval of IOPS at which a point is done, in percent of the mean.
    pub precision_pct: f64,
    /// Most intervals of a point.
    pub repeats_max: u32,
    /// In the order they were measured.
    pub points: Vec<Point>,
    /// The intervals measured last, at the point to use, to see whether the storage still gives what it gave at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<Point>,
}

impl Outcome for SweepOutcome {
    fn kind(&self) -> &'static str {
        "sweep"
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
        IoShape::of_profile(&self.profile)
            .map_or_else(Vec::new, |shape| by_shape(&self.points, |_| shape.clone()))
    }

    fn summary(&self) -> Summary {
        Summary::of_points(&self.points, Point::fastest(&self.points))
    }
}
