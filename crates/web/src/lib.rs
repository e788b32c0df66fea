//! HTTP servers of iostall.
//!
//! A server has a thread with its own runtime: nothing asynchronous leaves this crate, and a client that
//! hangs blocks only itself.

mod metrics;

pub use metrics::{MetricsPage, MetricsServer, WebError};
