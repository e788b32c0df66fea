//! Reads the cumulative I/O counters of databases and hosts.
//!
//! A [`Source`] returns one complete [`Sample`](iostall_model::Sample) at a time. `watch` decides when to
//! read, and `iostall_model::delta` computes differences.

pub mod address;
mod allowance;
mod entra;
pub mod grants;
mod identifier;
mod linux;
mod mysql;
mod open;
mod pooler;
mod postgres;
mod remote;
mod sample_time;
mod secret;
pub mod source;
mod sqlserver;
mod tls;

pub use address::{Address, AddressError, Engine};
pub use open::open;
pub use secret::Secret;
pub use source::{Filter, Source, SourceError};
pub use sqlserver::{Batch, History, Position};
