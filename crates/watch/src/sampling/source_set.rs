//! Sources that come and go while others are sampled.

use iostall_collect::Source;

use super::event::{SamplerOptions, Sampling};
use super::sampler::Stopper;

pub(crate) struct SetSource {
    pub(crate) source: Box<dyn Source>,
    /// Its name, which no other source of the set has.
    pub(crate) name: String,
    /// The server that it is read from: several sources may have the same.
    pub(crate) server: String,
    pub(crate) options: SamplerOptions,
}

pub(crate) trait SourceSet: Sampling {
    /// Samples `source` as number `index`, replacing the previous one.
    fn put(&mut self, index: usize, source: SetSource);

    /// Stops sampling source number `index`. A reading in progress is not awaited, and still sends its event.
    fn remove(&mut self, index: usize);

    /// A handle to end all sampling, from any thread.
    fn stopper(&self) -> Stopper;
}
