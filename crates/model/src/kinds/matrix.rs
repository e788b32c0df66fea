//! `iostall matrix`.

use iostall_measure::{BlockSize, ByteCount, Caching, Durability, Nanos, Percent};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::{Capacity, IoShape, by_shape};
use crate::entry::{RunId, Summary};
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::{Access, Profile};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatrixPlan {
    pub sizes: Vec<BlockSize>,
    pub accesses: Vec<Access>,
    /// Shares of writes: 0 for reads, 100 for writes.
    pub write_pcts: Vec<Percent>,
    /// Requests in flight per worker.
    pub depths: Vec<u32>,
    pub workers: u32,
    pub caching: Caching,
    pub durability: Durability,
    /// How much of each target is used, from its start; absent: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<ByteCount>,
    pub seed: u64,
    pub warmup: Nanos,
    pub interval: Nanos,
    /// Half width of the 95 % confidence interval of IOPS at which a cell is done, in percent of the mean.
    pub precision_pct: f64,
    pub repeats_max: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatrixOutcome {
    pub plan: MatrixPlan,
    pub engine: EngineUse,
    pub points: Vec<Point>,
    /// The stopped run that this one went on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<RunId>,
    /// The cells that earlier runs measured. Absent in runs kept before this was: then `resumed` measured the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierCells>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EarlierCells {
    pub run: RunId,
    /// When it began, UTC. The times of these cells are from then.
    pub started_utc: Timestamp,
    /// Indices in the points.
    pub points: Vec<u32>,
}

impl MatrixOutcome {
    /// The earlier run that measured point `index`; `None` for this run.
    pub fn earlier_of(&self, index: usize) -> Option<&EarlierCells> {
        let has = |cells: &&EarlierCells| cells.points.iter().any(|known| *known as usize == index);
        self.earlier.iter().find(has)
    }
}

impl Outcome for MatrixOutcome {
    fn kind(&self) -> &'static str {
        "matrix"
    }

    fn used_bytes(&self, _index: usize, whole_bytes: u64) -> Option<u64> {
        self.plan.size.map(|size| size.bytes().min(whole_bytes))
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
            caching: self.plan.caching,
            durability: self.plan.durability,
        })
    }

    fn summary(&self) -> Summary {
        Summary::of_points(&self.points, Point::fastest(&self.points))
    }
}
