//! HTTP servers of iostall.
//!
//! A server has threads of its own: nothing asynchronous leaves this crate, and a client that hangs blocks only itself.

mod listen;
mod metrics;
pub mod receive;

pub use metrics::{MetricsPage, MetricsServer, WebError};
