//! The sampling loop: when each source is read, and the results.

mod event;
mod grace;
mod pool;
mod sampler;
mod schedule;
mod source_threads;
mod ticker;

pub use event::{Event, Missed, Next, Retry, SamplerOptions, Sampling};
pub(crate) use pool::{PoolLimits, SourcePool};
pub use sampler::{Sampler, Stopper};
pub(crate) use source_threads::{SetSource, SourceSet, SourceThreads};
#[cfg(test)]
pub(crate) use ticker::Ticker;
