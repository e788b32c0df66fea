//! The profile: the load of a run. One form for TOML files, JSON results and flags.
//!
//! Parsing and checking are in the `load` crate; the types are here, because the store keeps them with each
//! run and reports show them.

mod block_mix;
mod region;
mod role;
#[cfg(test)]
mod tests;

use iostall_measure::Nanos;
use serde::{Deserialize, Serialize};

pub use block_mix::BlockMix;
pub use region::{Bound, Region};
pub use role::{Access, Arrivals, Burst, RoleProfile, SyncRule, Thresholds, WriteData};

pub use crate::distribution::{Distribution, RangeShare, SpanShare};
pub use crate::spelling::SpellingError;

/// A load: one or more spans in sequence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Profile {
    pub name: String,
    /// One sentence on what it represents.
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub seed: u64,
    pub spans: Vec<SpanProfile>,
}

/// A load with one set of settings: warm-up, measured part, cool-down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SpanProfile {
    #[serde(default = "SpanProfile::default_warmup")]
    pub warmup: Nanos,
    #[serde(default = "SpanProfile::default_duration")]
    pub duration: Nanos,
    #[serde(default)]
    pub cooldown: Nanos,
    /// Length of the intervals of the series.
    #[serde(default = "SpanProfile::default_interval")]
    pub interval: Nanos,
    /// Also keeps a series for each worker, target and operation ([`crate::outcome::CellInterval`]), not only
    /// for each role.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub worker_series: bool,
    /// Roles that run together and are reported separately; never empty in a checked profile.
    pub roles: Vec<RoleProfile>,
}

impl SpanProfile {
    /// Length of all three parts, nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.warmup.0.saturating_add(self.duration.0).saturating_add(self.cooldown.0)
    }

    pub fn default_warmup() -> Nanos {
        Nanos(5_000_000_000)
    }

    pub fn default_interval() -> Nanos {
        Nanos(1_000_000_000)
    }

    pub fn default_duration() -> Nanos {
        Nanos(30_000_000_000)
    }
}
