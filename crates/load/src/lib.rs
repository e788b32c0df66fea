//! Load generation: a profile says what to do, a plan says which request comes next, a filler what is
//! written.

pub mod diskspd;
pub mod fill;
pub mod plan;
pub mod preset;
pub mod profile;
mod spelling;

pub use fill::BlockFiller;
pub use plan::{PlanError, Planned, SharedSequence, StreamPlace, StreamPlan};
pub use preset::{Preset, PresetError, preset, presets};
pub use profile::{OverrideError, Overrides, ProfileError, check, parse_profile};
