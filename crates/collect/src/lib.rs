//! Reads the cumulative I/O counters of databases and hosts, on time and as they are.
//!
//! A [`Source`] gives one complete [`Sample`](iostall_model::Sample) at a time; [`Sampler`] asks many of them on
//! a common, clock-aligned beat, each on a thread of its own, so that a slow one delays nobody. Nothing is
//! subtracted here: that is `iostall_model::delta`.

pub mod address;
mod allowance;
pub mod grants;
mod identifier;
mod linux;
mod moment;
mod mysql;
mod open;
mod postgres;
mod remote;
pub mod sampler;
pub mod schedule;
mod secret;
pub mod source;
mod sqlserver;
mod tls;

pub use address::{Address, AddressError, Engine};
pub use open::open;
pub use sampler::{Event, Gap, Retry, Sampler, SamplerOptions};
pub use secret::Secret;
pub use source::{Filter, Source, SourceError};
pub use sqlserver::{Batch, History, HistoryGap, Position};
