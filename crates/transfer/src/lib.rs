//! Moving large files: one pipeline of readers, a bounded pool of buffers, and writers.

pub mod copy;
#[cfg(feature = "fuzzing")]
pub use copy::fuzzing;
pub mod hash;
pub mod manifest;
pub mod paced;
pub mod pipeline;
pub mod plan;
pub mod progress;
pub mod rate;
mod rig;
pub mod shape;
pub mod verify;

pub use copy::{Copier, CopyError, CopyLog, CopyOptions};
pub use progress::Progress;
