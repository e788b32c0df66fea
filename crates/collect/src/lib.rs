//! Reads the cumulative I/O counters of databases and hosts, on time and as they are.
//!
//! A [`Source`] gives one complete [`Sample`](iostall_model::Sample) at a time. When it is asked is decided in `watch`;
//! nothing is subtracted here: that is `iostall_model::delta`.

pub mod address;
mod allowance;
pub mod grants;
mod identifier;
mod linux;
mod mysql;
mod open;
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
