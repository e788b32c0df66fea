//! Pushes releases from the centre to chosen servers: ring after ring, until too many fail.
//!
//! ```text
//! operator ──► signed action ──► repository ──► the service at the centre ──► agents ──► outcomes ──► next ring, or halt
//! ```
//!
//! The centre does not decide what a server takes: its agent does, by its own policy. The centre hands on what an operator has signed for.

mod actions;
mod drift;
mod intervene;
mod operator;
mod rings;
mod serve;
mod status;

pub use crate::rollout_error::RolloutError;
pub use actions::{PlannedServer, PushPlan, PushRequest, Unreached, begin, chosen_by, plan, undo, unreached};
pub use drift::{Drift, DriftState, drift};
pub use intervene::{end, skip};
pub use operator::{Operator, Role, put_operator};
pub use rings::{FailedMax, Rings};
pub use serve::{note_outcome, part, wanted};
pub use status::{LogEntry, PushEntry, ServerOutcome, log, status};
