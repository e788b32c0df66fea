//! HTTP servers of iostall.
//!
//! A server has threads of its own: nothing asynchronous leaves this crate, and a client that hangs blocks only itself.

pub mod centre;
mod listen;
mod metrics;
pub mod receive;
mod tls_server;

pub use metrics::{MetricsPage, MetricsServer, WebError};
pub use tls_server::{ServeError, Stopper, TlsError};
