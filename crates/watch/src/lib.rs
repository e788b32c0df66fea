//! Use cases over history: what samples sources, and what answers questions about the samples.
//!
//! Requests and dependencies (sources, a clock, a store) go in, typed events and plain values come out. Nothing here knows
//! a command line or a terminal.

pub mod sampler;
pub mod schedule;

pub use sampler::{Event, Gap, Retry, Sampler, SamplerOptions};
