//! Load generation: a profile says what to do, a plan says which request comes next.

pub mod plan;
pub mod profile;
mod spelling;

pub use plan::{PlanError, Planned, SharedSequence, StreamPlace, StreamPlan};
pub use profile::{OverrideError, Overrides, ProfileError, check, parse_profile};
