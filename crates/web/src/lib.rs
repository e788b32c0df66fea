//! What iostall serves over HTTP.
//!
//! A server has a thread with a runtime of its own: nothing asynchronous leaves this crate, and a client that
//! hangs holds up nobody but itself.

mod metrics;

pub use metrics::{MetricsPage, MetricsServer, WebError};
