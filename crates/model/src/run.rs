//! A run: everything one command measured, with what it was asked and what it ran on.

use iostall_measure::platform::{Host, Target};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::device::DeviceIdentity;
use crate::kinds::RunBody;
use crate::run_id::RunId;
use crate::warning::Warning;

/// Name of the stored form.
pub const SCHEMA: &str = "iostall-run";
/// Version of the stored form; goes up when a reader of the old one would misread the new one.
pub const SCHEMA_VERSION: u32 = 1;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Identity.
    pub id: RunId,
    /// What the user calls it; the profile's name unless they said otherwise.
    pub name: String,
    /// Version of iostall that measured it.
    pub tool_version: String,
    /// The command line, word by word.
    pub command_line: Vec<String>,
    /// When the first request was made, UTC.
    pub started_utc: Timestamp,
    /// When the last answer was in, UTC.
    pub ended_utc: Timestamp,
    /// Stopped before its end: what is here is valid for the part that ran.
    pub interrupted: bool,
    /// The machine.
    pub host: Host,
    /// The targets; outcomes point into this list by index.
    pub targets: Vec<Target>,
    /// The devices under the targets, in their order; `None` for one without a device. Empty in runs kept before this was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Option<DeviceIdentity>>,
    /// Doubts.
    pub warnings: Vec<Warning>,
    /// What was measured.
    #[serde(flatten)]
    pub body: RunBody,
}

impl Run {
    /// How much of target `index`, from its start, the run used, bytes: all of it where it does not say.
    pub fn used_bytes(&self, index: usize) -> u64 {
        let whole = self.targets.get(index).map_or(0, |target| target.size_bytes);
        self.body.outcome().used_bytes(index, whole).unwrap_or(whole)
    }
}
