//! Use cases that measure or move: a plain request and dependencies in, a run and typed events out.
//!
//! Nothing here knows a terminal, a command line or a signal. What is worth a word while a use case runs is an event; what went
//! wrong is an error that carries what to do about it as data.

mod error;
pub mod names;

pub use error::SessionError;
