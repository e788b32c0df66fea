//! `iostall drive limits`.

use iostall_measure::{Caching, Durability};
use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::{Capacity, IoShape, by_shape};
use crate::entry::Summary;
use crate::limits::{FirstReads, LimitsEnd, LimitsPlan, LimitsProbe, ReadAll, VolumeLogs};
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitsOutcome {
    pub plan: LimitsPlan,
    pub engine: EngineUse,
    /// How much of each target was used, from its start, bytes.
    pub used_bytes: Vec<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_reads: Option<FirstReads>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_all: Option<ReadAll>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_logs: Option<VolumeLogs>,
    pub probes: Vec<LimitsProbe>,
    /// The sizes at the rate that lasts: an interval each.
    pub points: Vec<Point>,
    pub ended: LimitsEnd,
}

impl LimitsOutcome {
    pub fn moved_bytes(&self) -> u64 {
        let first = self.first_reads.as_ref().map_or(0, FirstReads::bytes);
        let all = self.read_all.as_ref().map_or(0, ReadAll::bytes);
        let probe = |probe: &LimitsProbe| probe.asked_bytes.unwrap_or_else(|| probe.bytes());
        self.probes.iter().map(probe).sum::<u64>() + first + all
    }
}

impl Outcome for LimitsOutcome {
    fn kind(&self) -> &'static str {
        "limits"
    }

    fn used_bytes(&self, index: usize, whole_bytes: u64) -> Option<u64> {
        self.used_bytes.get(index).map(|used| (*used).min(whole_bytes))
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
        Summary { measured_ns: None, ..Summary::of_points(&self.points, smallest) }
    }
}
