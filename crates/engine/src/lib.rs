//! All `unsafe` code and most Linux system calls: aligned buffers, direct I/O, the I/O engines, pacing, and
//! the checks before a target is written.

pub mod buffer;
pub mod content;
pub mod cpu;
mod dependent;
pub mod files;
pub mod guard;
pub mod input;
#[cfg(test)]
mod made_up;
pub mod null;
pub mod nvme;
pub mod open;
pub mod output;
pub mod pacing;
pub mod psync;
mod random;
mod report;
mod request;
pub mod sim;
mod target;
pub mod terminal;
pub mod uring;

pub use buffer::{Buffer, BufferPool, Pages};
pub use dependent::quits_with_us;
pub use input::{Input, InputError};
pub use null::NullEngine;
pub use open::{Access, OpenError, OpenOptions, OpenTarget, open_again, open_path, open_target};
pub use pacing::Schedule;
pub use psync::PsyncEngine;
pub use random::random_bytes;
pub use report::EngineReport;
pub use request::{
    Completion, Engine, EngineError, FileHandle, FileIndex, IoFailure, Request, RequestOp, Wait,
};
pub use sim::{SimConfig, SimDevice, SimEngine};
pub use target::target_facts;
pub use uring::{UringConfig, UringEngine};
