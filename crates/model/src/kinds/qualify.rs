//! `iostall drive qualify`.

use iostall_measure::{Caching, Durability};
use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::{Capacity, IoShape, by_shape};
use crate::entry::{RunId, Summary};
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;
use crate::qualify::{
    Deviation, Disturbance, DriveConditions, Preconditioning, QualifyPlan, QualifyRound, QualifyTest,
    RoundSpan, Stopped,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QualifyOutcome {
    pub plan: QualifyPlan,
    pub engine: EngineUse,
    /// The part of the target that was used, from its start, bytes.
    pub active_bytes: u64,
    pub preconditioning: Preconditioning,
    /// In the order of measurement, those of earlier runs included.
    pub rounds: Vec<QualifyRound>,
    pub stopped: Stopped,
    /// The window whose figures are those of the steady state. Absent: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<RoundSpan>,
    /// Every mix and size over that window, or over the last rounds if there is none. An interval for each round.
    pub points: Vec<Point>,
    /// What may have slowed the drive down. Absent where no device is known, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<DriveConditions>,
    pub deviations: Vec<Deviation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<RunId>,
}

impl QualifyOutcome {
    pub fn rounds_bytes(&self) -> u64 {
        self.rounds.last().map_or(0, |round| round.written_bytes)
    }

    /// The points, each with what tells it from another one with the same mix, size and depth: empty, or such as `50 % of the range`.
    pub fn named_points(&self) -> Vec<(String, &Point)> {
        let mut points = self.points.iter();
        let mut named = Vec::with_capacity(self.points.len());
        for (index, stage) in (0_u32..).zip(self.plan.stages()) {
            if !self.rounds.iter().any(|round| round.stage == index) {
                continue;
            }
            for (cell, point) in stage.cells.iter().zip(points.by_ref()) {
                let is_durable = cell.durability != Durability::None;
                let durable = if is_durable { "write-through" } else { "" };
                let words = [stage.name.as_str(), durable];
                let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
                named.push((words.join(", "), point));
            }
        }
        named
    }

    pub fn written_bytes(&self) -> u64 {
        let before = &self.preconditioning;
        before.made_bytes.saturating_add(before.written_bytes).saturating_add(self.rounds_bytes())
    }

    /// What kept the drive from what it can do; empty where nothing is known.
    pub fn disturbances(&self) -> Vec<Disturbance> {
        self.conditions.as_ref().map(DriveConditions::disturbances).unwrap_or_default()
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
        let of = |(name, point): (String, &Point)| {
            let measured = Measured::of_point(point);
            let name =
                if name.is_empty() { measured.name.clone() } else { format!("{name}: {}", measured.name) };
            Measured { name, ..measured }
        };
        self.named_points().into_iter().map(of).collect()
    }

    // What a drive does before it is steady is no capacity.
    fn capacities(&self, _targets: usize) -> Vec<Capacity> {
        // Parts of the range, pauses and writes that must be durable have shapes that would be taken for others.
        let is_plain = matches!(
            self.plan.test,
            QualifyTest::Iops | QualifyTest::Saturation | QualifyTest::Throughput | QualifyTest::Sizes
        );
        if self.steady.is_none() || !is_plain {
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
