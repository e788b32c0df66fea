//! `iostall write`: a paced write.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::Capacity;
use crate::entry::Summary;
use crate::give_way::GiveWay;
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::paced::{MethodOutcome, WriteMethod};
use crate::point::Point;
use crate::profile::Profile;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PacedOutcome {
    pub interval_bytes: u64,
    /// Bytes per method; `None` if a time was given instead.
    pub total_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// One per method and pace, in the order they ran.
    pub methods: Vec<MethodOutcome>,
    /// The best pace of each method that was tried at several; empty without a choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweet_spots: Vec<SweetSpot>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gave_way: Option<GiveWay>,
}

/// The pace with the highest throughput before the peak write time jumps or the pace is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweetSpot {
    pub method: WriteMethod,
    /// Packets per burst; `None` if the first step already lost its pace.
    pub packets_per_burst: Option<u32>,
}

impl PacedOutcome {
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

    // It opens files in several ways, and its own report says how.
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
