//! The qualification of a drive: what is asked, what was measured round by round, and what may be said of it.

mod deviation;
mod health;
mod plan;
mod round;
mod stage;
mod stages;

pub use deviation::Deviation;
pub use health::{Disturbance, DriveConditions, DriveHealth};
pub use plan::{Purge, QualifyPlan, QualifyScale, QualifyTest};
pub use round::{Preconditioning, Purged, QualifyRound, RoundSpan, Stopped};
pub use stage::{Cell, Figure, Stage};
pub use stages::{DEPTHS, TRACKED};
