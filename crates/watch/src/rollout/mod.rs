//! Pushes releases from the centre to chosen servers: ring after ring, until too many fail.
//!
//! ```text
//! who may log in to it ──► repository ──► the service at the centre ──► agents ──► outcomes ──► next ring, or halt
//! ```
//!
//! The centre does not decide what a server takes: its agent does, by its own policy. What the centre hands on was signed elsewhere.

mod actions;
mod drift;
mod rings;
mod serve;

pub use crate::error::RolloutError;
pub use actions::{
    PlannedServer, PushPlan, PushRequest, Unreached, begin, chosen_by, end, plan, skip, undo, unreached,
};
pub use drift::{Drift, DriftState, PushEntry, drift, status};
pub use iostall_store::{PushCounts, PushedServer, StoredPush};
pub use rings::{FailedMax, Rings};
pub use serve::{note_outcome, part, wanted};
