//! Use cases over history: what samples sources, and what answers questions about the samples.
//!
//! Requests and dependencies (sources, a clock, a store) go in, typed events and plain values come out. Nothing here knows
//! a command line or a terminal.

mod error;
mod reports;
pub mod sampler;
pub mod schedule;
mod tiers;
pub mod windows;

pub use error::WatchError;
pub use reports::{ReportRequest, TimeRange, compare, report};
pub use sampler::{Event, Missed, Retry, Sampler, SamplerOptions};
