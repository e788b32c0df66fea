//! Use cases that measure or move data: a plain request and dependencies in, a run and typed events out.
//!
//! Nothing here knows about terminals, command lines or signals. Progress is reported as events, and errors
//! carry their hints as data.

pub mod analysis;
pub mod atomic;
pub mod backup;
pub mod build;
pub mod comparison;
pub mod copy;
mod depth_search;
pub mod diskspd;
mod engine;
mod error;
pub mod event;
pub mod flash;
pub mod fsync;
pub mod give_way;
pub mod guard;
mod identity;
mod kinds;
pub mod limits;
pub mod load;
mod machine;
pub mod matrix;
pub mod names;
pub mod output;
pub mod paced;
mod past;
pub mod point_runner;
pub mod powerfail;
pub mod qualify;
mod rate_search;
pub mod recorder;
pub mod requirements;
pub mod run_writer;
mod session;
pub mod sweep;
mod target_identity;
pub mod targets;
pub mod transfer;
pub mod translate;
pub mod verify;

pub use engine::EngineChoice;
pub use error::{SessionError, UseCaseError};
pub use event::{Event, Observer};
pub use iostall_engine::files::remove_unfinished;
pub use session::{Dependencies, Session};
