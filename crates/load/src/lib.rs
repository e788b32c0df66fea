//! Load generation: a profile describes the load, a plan determines the next request, a filler the data to
//! write.

mod aggregate;
pub mod checks;
mod collector;
pub mod commits;
pub mod fill;
pub mod fio;
mod job;
pub mod plan;
pub mod prepare;
pub mod preset;
pub mod profile;
pub mod read_places;
pub mod resource_limits;
mod run_error;
pub mod runner;
mod source;
mod spelling;
mod stream;
mod watcher;
pub mod window;
mod worker;
mod worker_spec;
mod worker_stats;

pub use fill::BlockFiller;
pub use job::{EngineKind, LoadTarget, SpanJob, Speed};
pub use plan::{PlanError, Planned, SharedSequence, StreamPlace, StreamPlan};
pub use preset::{Preset, PresetError, preset, presets};
pub use profile::{OverrideError, Overrides, ProfileError, check, parse_profile};
pub use run_error::RunError;
