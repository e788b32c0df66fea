//! fio's jobs: from its options, on a command line or in a job file, to a profile and to a line of ours.
//!
//! What an option means is said once, in [`job`]. What has no equal here is refused by name; what only changes how fio does a
//! thing, such as `group_reporting`, has no effect.

pub mod error;
pub mod file;
pub mod job;
mod number;
mod others;
mod profile;
mod words;
mod write;

#[cfg(test)]
mod tests;

pub use error::FioError;
pub use file::{FioFile, FioProfile, read_jobs};
pub use job::{Effect, FioJob};
pub use words::{to_options, to_words};
pub use write::{NotInFio, write_jobs};
