//! Pushes releases from the centre to chosen servers: ring after ring, until too many fail.
//!
//! ```text
//! who may log in to it ──► repository ──► the service at the centre ──► agents ──► outcomes ──► next ring, or halt
//! ```
//!
//! The centre does not decide what a server takes: its agent does, by its own policy. What the centre hands on was signed elsewhere.

mod actions;
mod drift;
mod intervene;
mod rings;
mod serve;
mod status;

pub use crate::rollout_error::RolloutError;
pub use actions::{PlannedServer, PushPlan, PushRequest, Unreached, begin, chosen_by, plan, undo, unreached};
pub use drift::{Drift, DriftState, drift};
pub use intervene::{end, skip};
pub use iostall_store::{PushCounts, PushedServer, StoredPush};
pub use rings::{FailedMax, Rings};
pub use serve::{note_outcome, part, wanted};
pub use status::{PushEntry, status};
