//! A run: everything one command measured, with its settings and environment.

use iostall_measure::platform::{Host, Target};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::device::DeviceIdentity;
use crate::entry::RunId;
use crate::kinds::RunBody;
use crate::verdict::Verdict;
use crate::warning::Warning;

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
    pub warnings: Vec<Warning>,
    /// What was required of it, in the order in which it was required.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<Verdict>,
    #[serde(flatten)]
    pub body: RunBody,
}

impl Run {
    /// How much of target `index` the run used, from its start, bytes: all of it if unknown.
    pub fn used_bytes(&self, index: usize) -> u64 {
        let whole = self.targets.get(index).map_or(0, |target| target.size_bytes);
        self.body.outcome().used_bytes(index, whole).unwrap_or(whole)
    }
}
