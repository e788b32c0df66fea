//! Moves large files: one pipeline from a source through stages to any number of sinks, with a bounded buffer
//! pool.

pub mod backup;
mod buffers;
pub mod copy;
#[cfg(feature = "fuzzing")]
pub use copy::fuzzing;
pub mod hash;
pub mod manifest;
pub mod paced;
mod page_cache;
pub mod pipeline;
pub mod plan;
pub mod progress;
pub mod rate;
pub mod shape;
pub mod verify;

pub use copy::{Copier, CopyError, CopyLog, CopyOptions};
pub use progress::Progress;
