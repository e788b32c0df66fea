//! Load generation: a profile says what to do, a plan says which request comes next, a filler what is
//! written.

mod collector;
mod draw;
mod failures;
pub mod fill;
mod job;
pub mod needs;
pub mod plan;
pub mod prepare;
pub mod preset;
pub mod profile;
mod run_error;
pub mod runner;
mod seat;
mod simulate;
mod source;
mod spelling;
mod stream;
mod sum;
mod tally;
pub mod trust;
mod watcher;
pub mod window;
mod worker;

pub use fill::BlockFiller;
pub use job::{EngineKind, LoadTarget, SpanJob};
pub use plan::{PlanError, Planned, SharedSequence, StreamPlace, StreamPlan};
pub use preset::{Preset, PresetError, preset, presets};
pub use profile::{OverrideError, Overrides, ProfileError, check, parse_profile};
pub use run_error::RunError;
