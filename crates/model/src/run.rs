//! A run: everything one command measured, with its settings and environment.

use iostall_measure::platform::{Host, Target};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::device::DeviceIdentity;
use crate::entry::RunId;
use crate::kinds::RunBody;
use crate::target_identity::TargetIdentity;
use crate::verdict::Verdict;
use crate::warning::{Rank, Warning, WarningCode, names};

pub const SCHEMA: &str = "iostall-run";
/// Version of the stored form; incremented when an old reader would misread the new form.
pub const SCHEMA_VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub schema: String,
    pub schema_version: u32,
    pub id: RunId,
    /// The name given by the user; the profile's name by default.
    pub name: String,
    pub tool_version: String,
    pub command_line: Vec<String>,
    /// Time of the first request, UTC.
    pub started_utc: Timestamp,
    /// Time of the last completion, UTC.
    pub ended_utc: Timestamp,
    /// Stopped early: the results are valid for the part that ran.
    pub interrupted: bool,
    pub host: Host,
    /// The targets; outcomes refer to this list by index.
    pub targets: Vec<Target>,
    /// The devices under the targets, in the same order; `None` for one without a device. Empty in older
    /// runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Option<DeviceIdentity>>,
    /// What the targets are, in the same order; `None` for one that nothing identifies. Empty in older runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identities: Vec<Option<TargetIdentity>>,
    pub warnings: Vec<Warning>,
    /// What was required of it, in the order in which it was required.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<Verdict>,
    #[serde(flatten)]
    pub body: RunBody,
}

impl Run {
    pub fn codes(&self) -> impl Iterator<Item = WarningCode> {
        self.warnings.iter().map(|warning| warning.code)
    }

    /// Whether its numbers are those of the storage, and of what was asked for.
    pub fn is_valid(&self) -> bool {
        self.codes().all(|code| code.rank() != Rank::Invalidates)
    }

    /// What had the machine beside it, in words: `device-busy`; empty if nothing did. Then nothing can be judged.
    pub fn disturbed_by(&self) -> String {
        names(self.codes(), WarningCode::is_disturbance)
    }

    /// Whether it was a run on this machine, of these targets and no others. What cannot be told is no.
    pub fn is_of(&self, host: &Host, identities: &[Option<TargetIdentity>]) -> bool {
        let is_known = !identities.is_empty() && identities.iter().all(Option::is_some);
        is_known && self.identities == identities && self.host.is_same_machine(host)
    }

    /// How much of target `index` the run used, from its start, bytes: all of it if unknown.
    pub fn used_bytes(&self, index: usize) -> u64 {
        let whole = self.targets.get(index).map_or(0, |target| target.size_bytes);
        self.body.outcome().used_bytes(index, whole).unwrap_or(whole)
    }
}
