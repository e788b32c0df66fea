//! `iostall drive guard`.

use iostall_measure::{Caching, Durability};
use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::{Capacity, IoShape, by_shape};
use crate::entry::Summary;
use crate::guard::{DatabaseNear, GuardBaseline, GuardEnd, GuardPast, GuardPlan, PaidFor};
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuardOutcome {
    pub plan: GuardPlan,
    pub engine: EngineUse,
    /// The part of the target that was used, from its start, bytes.
    pub used_bytes: u64,
    /// Each size: a repeat is a probe.
    pub points: Vec<Point>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<GuardBaseline>,
    #[serde(default)]
    pub paid_for: PaidFor,
    /// Earlier guards of the same target with the same probes, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<GuardPast>,
    /// Before a canary: the watched databases on its volume.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub databases: Vec<DatabaseNear>,
    pub ended: GuardEnd,
}

impl GuardOutcome {
    pub fn moved_bytes(&self) -> u64 {
        self.points.iter().flat_map(|point| &point.repeats).map(|repeat| repeat.bytes).sum()
    }
}

impl Outcome for GuardOutcome {
    fn kind(&self) -> &'static str {
        "guard"
    }

    fn used_bytes(&self, _index: usize, whole_bytes: u64) -> Option<u64> {
        Some(self.used_bytes.min(whole_bytes))
    }

    fn profile(&self) -> Option<&Profile> {
        None
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
        by_shape(&self.points, |point| IoShape {
            block_size: point.block_size.clone(),
            access: point.access,
            write_pct: point.write_pct,
            caching: Caching::Direct,
            durability: Durability::None,
        })
    }

    fn summary(&self) -> Summary {
        let smallest = self.points.iter().min_by_key(|point| point.block_size.largest());
        Summary::of_points(&self.points, smallest)
    }
}
