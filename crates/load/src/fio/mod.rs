//! fio's jobs: from its options, on a command line or in a job file, to a profile and to a line of ours.
//!
//! What an option means is said once, in [`job`], and what options mean together, in `whole`. What has no equal here is refused by
//! name; what is done otherwise than fio does it is said with the result; what only changes how fio counts, such as
//! `group_reporting`, has no effect.

pub mod error;
pub mod file;
pub mod job;
mod number;
mod others;
mod profile;
mod values;
mod whole;
mod words;

#[cfg(test)]
mod tests;

pub use error::FioError;
pub use file::read_jobs;
pub use job::{Effect, FioEngine, FioJob};
pub use profile::{FioFile, FioProfile};
pub use words::{to_options, to_words};
