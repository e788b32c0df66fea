//! The nouns that iostall stores and shows. Pure data: no I/O, no clock, no formatting.

pub mod distribution;
pub mod outcome;
pub mod paced;
pub mod point;
pub mod profile;
pub mod run;
pub mod transfer;
pub mod warning;
pub mod write_data;

pub use outcome::{Cell, LoadOutcome, OpOutcome, RoleOutcome, SpanOutcome};
pub use point::{MatrixOutcome, MatrixPlan, MaxRateOutcome, Point, Repeat, SweepOutcome};
pub use profile::{Profile, RoleProfile, SpanProfile};
pub use run::{Run, RunBody, RunId};
pub use warning::{Warning, WarningCode};
