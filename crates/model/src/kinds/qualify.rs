//! `iostall drive qualify`.

use iostall_measure::{Caching, Durability};
use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::{Capacity, IoShape, by_shape};
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;
use crate::qualify::{Deviation, Preconditioning, QualifyPlan, QualifyRound, RoundSpan, Stopped};
use crate::run_id::RunId;
use crate::summary::Summary;

/// A drive that was loaded until its figures no longer changed, or until the planned rounds were over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QualifyOutcome {
    /// What was asked.
    pub plan: QualifyPlan,
    /// The engine used.
    pub engine: EngineUse,
    /// The part of the target that was used, from its start, bytes.
    pub active_bytes: u64,
    pub preconditioning: Preconditioning,
    /// In the order of measurement, those of earlier runs included.
    pub rounds: Vec<QualifyRound>,
    /// Why there are no more.
    pub stopped: Stopped,
    /// The window whose figures are those of the steady state. Absent: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<RoundSpan>,
    /// Every mix and size over that window, or over the last rounds if there is none. An interval for each round.
    pub points: Vec<Point>,
    /// What was done otherwise than the specification says.
    pub deviations: Vec<Deviation>,
    /// The stopped run that this one continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<RunId>,
}

impl QualifyOutcome {
    /// Written by the rounds, bytes.
    pub fn rounds_bytes(&self) -> u64 {
        self.rounds.last().map_or(0, |round| round.written_bytes)
    }

    /// Everything that was written, bytes.
    pub fn written_bytes(&self) -> u64 {
        let before = &self.preconditioning;
        before.made_bytes.saturating_add(before.written_bytes).saturating_add(self.rounds_bytes())
    }

    /// `bytes` in multiples of the active range.
    pub fn fills(&self, bytes: u64) -> f64 {
        bytes as f64 / self.active_bytes.max(1) as f64
    }
}

impl Outcome for QualifyOutcome {
    fn kind(&self) -> &'static str {
        "qualify"
    }

    fn used_bytes(&self, _index: usize, whole_bytes: u64) -> Option<u64> {
        Some(self.active_bytes.min(whole_bytes))
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

    // What a drive does before it is steady is no capacity.
    fn capacities(&self, _targets: usize) -> Vec<Capacity> {
        if self.steady.is_none() {
            return Vec::new();
        }
        by_shape(&self.points, |point| IoShape {
            block_size: point.block_size.clone(),
            access: point.access,
            write_pct: point.write_pct,
            caching: Caching::Direct,
            durability: Durability::None,
        })
    }

    fn summary(&self) -> Summary {
        let tracked = self.points.iter().filter(|point| point.write_pct.percent() >= 100.0);
        let smallest = tracked.min_by_key(|point| point.block_size.largest().bytes().abs_diff(4096));
        Summary {
            measured_ns: None,
            ..Summary::of_points(&self.points, smallest.filter(|_| self.steady.is_some()))
        }
    }
}
