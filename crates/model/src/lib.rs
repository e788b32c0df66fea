//! The nouns that iostall stores and shows. Pure data: no I/O, no clock, no formatting.

pub mod alert;
pub mod comparable;
pub mod counter;
pub mod delta;
pub mod device;
pub mod distribution;
pub mod kind;
pub mod level;
pub mod outcome;
pub mod paced;
pub mod point;
pub mod profile;
pub mod requirement;
pub mod rollup;
pub mod run;
pub mod sample;
pub mod scope;
pub mod totals;
pub mod transfer;
pub mod warning;
pub mod write_data;

pub use counter::{Counter, Counters};
pub use delta::{Change, ResetReason};
pub use kind::Kind;
pub use level::Level;
pub use outcome::{Cell, LoadOutcome, OpOutcome, RoleOutcome, SpanOutcome};
pub use point::{MatrixOutcome, MatrixPlan, MaxRateOutcome, Point, Repeat, SweepOutcome};
pub use profile::{Profile, RoleProfile, SpanProfile};
pub use rollup::{Peak, Rollup, StallHistogram, Tier};
pub use run::{Run, RunBody, RunId};
pub use sample::{Epoch, Moment, Row, Sample, Subject};
pub use scope::{DeviceRole, Scope};
pub use totals::Totals;
pub use warning::{Warning, WarningCode};
