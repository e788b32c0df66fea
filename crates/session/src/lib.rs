//! Use cases that measure or move: a plain request and dependencies in, a run and typed events out.
//!
//! Nothing here knows a terminal, a command line or a signal. What is worth a word while a use case runs is an event; what went
//! wrong is an error that carries what to do about it as data.

pub mod analysis;
pub mod comparison;
pub mod copy;
mod depth_search;
pub mod diskspd;
mod engine;
mod error;
pub mod event;
pub mod input;
pub mod load;
pub mod matrix;
pub mod names;
pub mod output;
pub mod paced;
pub mod point_runner;
mod rate_search;
pub mod recorder;
pub mod run_writer;
mod session;
pub mod sweep;
pub mod targets;
pub mod transfer;
pub mod verify;

pub use engine::EngineChoice;
pub use error::SessionError;
pub use event::{Event, Observer};
pub use iostall_engine::files::remove_unfinished;
pub use session::{Dependencies, Session};
