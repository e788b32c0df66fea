//! `iostall verify`.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::Capacity;
use crate::entry::Summary;
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;
use crate::transfer::{Mismatch, TransferPoint};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VerifyOutcome {
    pub manifest: String,
    pub files: u64,
    pub equal: u64,
    /// Different or missing files.
    pub mismatches: Vec<Mismatch>,
    /// Names that were not expected: not in the manifest, or not in the first of two trees. Invalid UTF-8 is
    /// replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Vec<String>,
    pub bytes: u64,
    pub elapsed_ns: u64,
    pub series: Vec<TransferPoint>,
}

impl VerifyOutcome {
    pub fn unchecked(&self) -> u64 {
        self.files.saturating_sub(self.equal).saturating_sub(self.mismatches.len() as u64)
    }
}

impl Outcome for VerifyOutcome {
    fn kind(&self) -> &'static str {
        "verify"
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
        Summary::of_moved(self.bytes, self.elapsed_ns)
    }
}
