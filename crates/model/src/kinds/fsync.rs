//! `iostall fsync`.

use iostall_measure::{BlockSize, Percentile};
use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::Capacity;
use crate::entry::Summary;
use crate::measured::{IntervalFigures, Measured};
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::{BlockMix, Profile, Thresholds};
use crate::sync::{ServerSync, SyncStep};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FsyncOutcome {
    /// Bytes of a commit's record, which is one write.
    pub block_bytes: u64,
    /// Bytes of a log segment, which was written in full before.
    pub segment_bytes: u64,
    /// Requested length of a step's measured part, nanoseconds.
    pub duration_ns: u64,
    pub steps: Vec<SyncStep>,
    /// The PostgreSQL server that the directory belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSync>,
    /// What its results are compared with. Absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thresholds: Option<Thresholds>,
}

impl FsyncOutcome {
    /// The most commits a second with a durable method, among steps with `committers`, or all if `None`.
    pub fn fastest(&self, committers: Option<u32>) -> Option<&SyncStep> {
        let rate = |step: &&SyncStep| step.commits_per_s().unwrap_or(0.0);
        let steps =
            self.steps.iter().filter(|step| step.method.is_durable() && step.commits_per_s().is_some());
        steps
            .filter(|step| committers.is_none_or(|wanted| step.committers == wanted))
            .max_by(|left, right| rate(left).total_cmp(&rate(right)))
    }

    /// The different numbers of committers, in order of measurement.
    pub fn committers(&self) -> Vec<u32> {
        let mut all: Vec<u32> = Vec::new();
        for step in &self.steps {
            if !all.contains(&step.committers) {
                all.push(step.committers);
            }
        }
        all
    }
}

impl Outcome for FsyncOutcome {
    fn kind(&self) -> &'static str {
        "fsync"
    }

    fn used_bytes(&self, _index: usize, _whole_bytes: u64) -> Option<u64> {
        None
    }

    fn profile(&self) -> Option<&Profile> {
        None
    }

    // It makes the calls that a database makes, and its own report names them.
    fn engines(&self) -> Vec<&EngineUse> {
        Vec::new()
    }

    fn points(&self) -> &[Point] {
        &[]
    }

    fn measured(&self) -> Vec<Measured> {
        let measured = |step: &SyncStep| Measured {
            name: step.label(),
            count: step.commit_ns.count(),
            bytes: step.commit_ns.count() * self.block_bytes,
            measured_ns: step.measured_ns,
            latency_ns: step.commit_ns.clone(),
            intervals: step.slices.iter().map(|commits| self.of_slice(*commits, step.slice_ns)).collect(),
        };
        self.steps.iter().filter(|step| !step.commit_ns.is_empty()).map(measured).collect()
    }

    fn capacities(&self, _targets: usize) -> Vec<Capacity> {
        Vec::new()
    }

    fn summary(&self) -> Summary {
        let Some(best) = self.fastest(None) else { return Summary::default() };
        let rate = best.commits_per_s();
        Summary {
            measured_ns: Some(self.steps.iter().map(|step| step.measured_ns).sum()),
            block_size: BlockSize::new(self.block_bytes).ok().map(|size| BlockMix::single(size).to_string()),
            iops: rate,
            mib_per_s: rate.map(|rate| rate * self.block_bytes as f64 / 1_048_576.0),
            latency_ns_p99: best.commit_ns.value_at(Percentile::P99),
        }
    }
}

impl FsyncOutcome {
    fn of_slice(&self, commits: u64, slice_ns: u64) -> IntervalFigures {
        let seconds = slice_ns as f64 / 1e9;
        IntervalFigures {
            iops: Some(commits as f64 / seconds),
            mib_per_s: Some(commits as f64 * self.block_bytes as f64 / 1_048_576.0 / seconds),
            ..IntervalFigures::default()
        }
    }
}
