//! The sampling loop: when each source is read, and the results.

mod event;
mod sampler;
mod schedule;
mod source_threads;
mod ticker;

pub use event::{Event, Missed, Next, Retry, SamplerOptions, Sampling};
pub use sampler::{Sampler, Stopper};
pub(crate) use source_threads::SourceThreads;
#[cfg(test)]
pub(crate) use ticker::Ticker;
