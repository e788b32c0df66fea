//! The pipeline: reads what a [`Source`] names, passes it through stages, and writes it where [`Sink`]s say.
//!
//! ```text
//! Source ── extents ──► reads ──► Frame ──► stages, each on its workers ──► Sinks ──► writes
//!                         ▲                                                            │
//!                         └──────────────────── free buffers ◄─────────────────────────┘
//! ```
//!
//! One thread does the I/O of a job and owns its state; stage workers get one frame at a time. The number of
//! buffers is fixed: when all are in use nothing is read, so a slow sink or stage slows the source down. A
//! frame owns its buffer, so only bytes that were read can be written, and they stay where they were read:
//! copying is this pipeline with one sink and without a stage that changes data.
//!
//! Reads and writes are in flight together and complete in any order. Short reads and short writes are
//! continued. The first failure stops new requests; the pipeline then waits for those in flight, so that no
//! buffer is lost and no request outlives its file.

mod checksums;
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
pub use frame::{Extent, Frame};
pub use job::{FileUse, Job, Moved, PipelineError};
pub use sink::{Checkpoint, Placement, Sink, Written};
pub use source::{Source, Step};
pub use stage::{OrderedStage, Stage, StageFailure, StageWorkers};

pub struct Pipeline<E, C>(job::Equipment<E, C>);

impl<E: Engine, C: Clock> Pipeline<E, C> {
    /// A pipeline on `engine`. All buffers must be of one size and from one pool. The engine's capacity must
    /// exceed their number; if sinks have checkpoints, it needs one request per buffer and one per sink.
    ///
    /// # Panics
    /// If there is no buffer or the engine's capacity does not exceed their number.
    pub fn new(engine: E, clock: C, buffers: Vec<Buffer>) -> Self {
        let buffer_count = u32::try_from(buffers.len()).unwrap_or(u32::MAX);
        assert!(buffer_count > 0, "a pipeline needs a buffer");
        assert!(engine.capacity() > buffer_count, "a pipeline needs a request more than it has buffers");
        Self(job::Equipment { engine, clock, free: buffers, buffer_count, completions: Vec::new() })
    }

    /// Carries out one job. After any error except the engine's own, the pipeline is ready for the next job.
    ///
    /// # Panics
    /// If an extent is larger than a buffer, if the job's workers leave no buffer to read into, if more sinks
    /// have checkpoints than the engine's capacity allows, and if a worker panics.
    pub fn run(&mut self, job: Job<'_>) -> Result<Moved, PipelineError> {
        let spares: usize = job.stages.iter().map(StageWorkers::spare_buffers).sum();
        assert!(spares < self.0.free.len(), "{spares} workers leave no buffer to read into");
        std::thread::scope(|scope| flow::Flow::new(&mut self.0, job, scope)?.run())
    }

    pub fn engine(&self) -> &E {
        &self.0.engine
    }

    pub fn into_buffers(self) -> Vec<Buffer> {
        self.0.free
    }
}
