//! `iostall sweep`.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::{Capacity, IoShape, by_shape};
use crate::entry::Summary;
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepOutcome {
    /// The load, except depth and workers, which are in each point.
    pub profile: Profile,
    /// How much of each target was used, from its start, bytes. Empty in older runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_bytes: Vec<u64>,
    pub engine: EngineUse,
    /// The latency target for the 99th percentile, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns_p99_target: Option<u64>,
    /// Half width of the 95 % confidence interval of IOPS at which a point is done, in percent of the mean.
    pub precision_pct: f64,
    /// Most intervals of a point.
    pub repeats_max: u32,
    pub points: Vec<Point>,
    /// The recommended point measured again at the end, to see whether the storage still gives as much.
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
