//! The qualification of a drive: what is asked, what was measured round by round, and what may be said of it.

mod deviation;
mod plan;
mod round;

pub use deviation::Deviation;
pub use plan::{Purge, QualifyPlan, QualifyScale, QualifyTest};
pub use round::{Preconditioning, Purged, QualifyRound, RoundSpan, Stopped};
