//! Reads the cumulative I/O counters of databases and hosts.
//!
//! A [`Source`] returns one complete [`Sample`](iostall_model::Sample) at a time. `watch` decides when to
//! read, and `iostall_model::delta` computes differences.

pub mod grants;
mod identifier;
mod linux;
mod mysql;
mod open;
mod postgres;
mod remote;
mod sample_time;
mod settings;
pub mod smart;
pub mod source;
mod sqlserver;

pub use iostall_connect::{Address, AddressError, Engine, Secret, SourceError, address};
pub use open::open;
pub use source::{Filter, Source};
pub use sqlserver::{Batch, History, Position};
