//! The nouns that iostall stores and shows. Pure data: no I/O, no clock, no formatting.

pub mod outcome;
pub mod paced;
pub mod profile;
pub mod run;
pub mod transfer;
pub mod warning;

pub use outcome::{Cell, LoadOutcome, OpOutcome, RoleOutcome, SpanOutcome};
pub use profile::{Profile, RoleProfile, SpanProfile};
pub use run::{Run, RunBody, RunId};
pub use warning::{Warning, WarningCode};
