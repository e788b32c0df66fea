//! The pipeline: what a [`Source`] names is read, goes through stages, and is written where [`Sink`]s say.
//!
//! ```text
//! Source ── extents ──► reads ──► Frame ──► stages, each on its workers ──► Sinks ──► writes
//!                         ▲                                                            │
//!                         └──────────────────── free buffers ◄─────────────────────────┘
//! ```
//!
//! One thread does the I/O of a job and owns its state; workers of stages are handed one frame at a time. There are
//! as many buffers as the pipeline was made with and never more: when all are in use nothing is read, so a slow sink
//! or stage holds the source back. A frame owns its buffer, so nothing is ever written that was not read, and its bytes
//! are where they were read: copying is this pipeline without a stage that changes them, and with one sink.
//!
//! Reads and writes are in flight together and complete in any order. What a short read leaves is read again, what a
//! short write leaves is written again. The first failure stops new requests; the pipeline then waits for those in
//! flight, so that no buffer is lost and no request outlives its file.

mod checksums;
mod error;
mod flow;
mod frame;
mod job;
mod sink;
mod source;
mod stage;
#[cfg(test)]
mod tests;
mod workers;

use iostall_engine::{Buffer, Engine};
use iostall_measure::Clock;

pub use checksums::{Checksums, FileHashes, HashWanted};
pub use error::PipelineError;
pub use frame::{Extent, Frame};
pub use job::{Job, Moved};
pub use sink::{Checkpoint, Placement, Sink, Written};
pub use source::{Source, Step};
pub use stage::{OrderedStage, Stage, StageFailure, StageWorkers};

/// Moves what jobs name, one job at a time.
pub struct Pipeline<E, C>(job::Equipment<E, C>);

impl<E: Engine, C: Clock> Pipeline<E, C> {
    /// A pipeline over `engine`. Buffers must come from one pool and be of one size. The engine needs a capacity above
    /// their number; where sinks have checkpoints, a request for each buffer and one for each sink.
    ///
    /// # Panics
    /// When there is no buffer or the engine's capacity is not above their number.
    pub fn new(engine: E, clock: C, buffers: Vec<Buffer>) -> Self {
        let buffer_count = u32::try_from(buffers.len()).unwrap_or(u32::MAX);
        assert!(buffer_count > 0, "a pipeline needs a buffer");
        assert!(engine.capacity() > buffer_count, "a pipeline needs a request more than it has buffers");
        Self(job::Equipment { engine, clock, free: buffers, buffer_count, completions: Vec::new() })
    }

    /// Carries out one job. After an error that is not the engine's own, the pipeline is ready for the next job.
    ///
    /// # Panics
    /// When an extent is larger than a buffer, when the job's workers leave no buffer to read into, when more sinks have
    /// checkpoints than the engine's capacity allows, and with the panic of a worker.
    pub fn run(&mut self, job: Job<'_>) -> Result<Moved, PipelineError> {
        let spares: usize = job.stages.iter().map(StageWorkers::spare_buffers).sum();
        assert!(spares < self.0.free.len(), "{spares} workers leave no buffer to read into");
        std::thread::scope(|scope| flow::Flow::new(&mut self.0, job, scope)?.run())
    }

    /// The engine.
    pub fn engine(&self) -> &E {
        &self.0.engine
    }

    /// Takes it apart, to use the buffers with another engine.
    pub fn into_buffers(self) -> Vec<Buffer> {
        self.0.free
    }
}
