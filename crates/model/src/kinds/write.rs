//! `iostall write`: a paced writing.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::Capacity;
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::paced::{MethodOutcome, WriteMethod};
use crate::point::Point;
use crate::profile::Profile;
use crate::summary::Summary;

/// A paced writing: every method with its own file, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PacedOutcome {
    /// Bytes of a sampling interval.
    pub interval_bytes: u64,
    /// Bytes each method was to write; `None` where a time was asked for instead.
    pub total_bytes: Option<u64>,
    /// Memory limit that was set for this process, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// One a method and pace, in the order of their running.
    pub methods: Vec<MethodOutcome>,
    /// Of each method that was tried at several paces, the best of them; empty where there was nothing to choose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweet_spots: Vec<SweetSpot>,
}

/// The pace with the highest throughput before the peak write time jumps or the pace is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweetSpot {
    /// Of which method.
    pub method: WriteMethod,
    /// Its packets a burst; `None` where already the first step lost its pace.
    pub packets_per_burst: Option<u32>,
}

impl PacedOutcome {
    /// The step that `spot` names.
    pub fn step_of(&self, spot: &SweetSpot) -> Option<&MethodOutcome> {
        let packets = spot.packets_per_burst?;
        self.methods.iter().find(|step| step.method == spot.method && step.pace.packets_per_burst == packets)
    }
}

impl Outcome for PacedOutcome {
    fn kind(&self) -> &'static str {
        "write"
    }

    fn used_bytes(&self, _index: usize, _whole_bytes: u64) -> Option<u64> {
        None
    }

    fn profile(&self) -> Option<&Profile> {
        None
    }

    // It opens files in more than one way, and its own report says how.
    fn engines(&self) -> Vec<&EngineUse> {
        Vec::new()
    }

    fn points(&self) -> &[Point] {
        &[]
    }

    fn measured(&self) -> Vec<Measured> {
        Vec::new()
    }

    fn capacities(&self, _targets: usize) -> Vec<Capacity> {
        Vec::new()
    }

    fn summary(&self) -> Summary {
        let sum = |of: fn(&MethodOutcome) -> u64| self.methods.iter().map(of).sum();
        Summary::of_moved(sum(|method| method.bytes), sum(|method| method.elapsed_ns))
    }
}
