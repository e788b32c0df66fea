//! HTTP servers of iostall.
//!
//! A server has threads of its own: nothing asynchronous leaves this crate, and a client that hangs blocks only itself.

pub mod centre;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod metrics;
mod server;

pub use metrics::{MetricsPage, MetricsServer, Trouble};
pub use server::{ServeError, Stopper, TlsError};
