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
mod flow;
mod frame;
mod sink;
mod source;
mod stage;
#[cfg(test)]
mod tests;
mod workers;

use iostall_engine::{Buffer, Completion, Engine, EngineError, IoFailure};
use iostall_measure::Clock;
use iostall_model::transfer::BufferTime;
use thiserror::Error;

pub use checksums::{Checksums, FileHashes, HashWanted};
pub use frame::{Extent, Frame};
pub use sink::{Checkpoint, Placement, Sink, Written};
pub use source::{Source, Step};
pub use stage::{OrderedStage, Stage, StageFailure, StageWorkers};

use crate::progress::Progress;
use crate::rate::RateLimit;

/// An engine, a clock and the buffers that go around.
pub struct Pipeline<E, C> {
    engine: E,
    clock: C,
    free: Vec<Buffer>,
    buffer_count: u32,
    completions: Vec<Completion>,
}

/// What to move.
pub struct Job<'a> {
    /// What is read.
    pub source: &'a mut dyn Source,
    /// What happens to each frame, one stage after the other.
    pub stages: Vec<StageWorkers<'a>>,
    /// Where frames go; with none, they are only read.
    pub sinks: Vec<&'a mut dyn Sink>,
    /// For each of the engine's files, what offsets and lengths of requests must be multiples of, bytes: a power of
    /// two, 1 for buffered ones. The last write to a file is padded with zeros up to it: trim the file afterwards.
    pub aligns: &'a [u32],
    /// Most reads in flight.
    pub reads_max: u32,
    /// How fast bytes may be read.
    pub rate: Option<&'a RateLimit>,
    /// Is told what is done, and stops the job when it is cancelled.
    pub progress: &'a Progress,
}

/// What a job did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written, padding not counted.
    pub written_bytes: u64,
    /// Bytes in holes.
    pub hole_bytes: u64,
    /// Where buffers spent their time.
    pub time: BufferTime,
}

/// Why a job stopped: the first thing that failed.
#[derive(Debug, Error)]
pub enum PipelineError {
    /// The system failed a read.
    #[error("reading {length} bytes at offset {offset}: {cause}")]
    Read {
        /// Where.
        offset: u64,
        /// How much.
        length: u32,
        /// What the system said.
        cause: IoFailure,
    },
    /// The system failed a write.
    #[error("writing {length} bytes at offset {offset}: {cause}")]
    Write {
        /// Where.
        offset: u64,
        /// How much.
        length: u32,
        /// What the system said.
        cause: IoFailure,
    },
    /// The system failed `fdatasync` of a destination.
    #[error("making written data durable: {0}")]
    Sync(IoFailure),
    /// The source is shorter than it was.
    #[error("the source became shorter while it was read: nothing at offset {offset}")]
    SourceShrank {
        /// Where data was expected.
        offset: u64,
    },
    /// The system takes no bytes and gives no reason.
    #[error("no byte could be written at offset {offset}, and the system gives no reason")]
    NothingWritten {
        /// Where.
        offset: u64,
    },
    /// A stage could not work on a frame.
    #[error("the data at offset {offset}: {cause}")]
    Stage {
        /// Where the frame comes from.
        offset: u64,
        /// What the stage said.
        cause: StageFailure,
    },
    /// Every sink left a frame to the others.
    #[error("no destination takes the data at offset {offset}")]
    NoSink {
        /// Where the frame comes from.
        offset: u64,
    },
    /// A thread for a stage could not be started.
    #[error("starting a thread: {0}")]
    Thread(std::io::Error),
    /// A sink could not note what is durable.
    #[error("writing the journal: {0}")]
    Journal(std::io::Error),
    /// The engine broke.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// It was told to stop.
    #[error("cancelled")]
    Cancelled,
}

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
        Self { engine, clock, free: buffers, buffer_count, completions: Vec::new() }
    }

    /// Carries out one job. After an error that is not the engine's own, the pipeline is ready for the next job.
    ///
    /// # Panics
    /// When an extent is larger than a buffer, when the job's workers leave no buffer to read into, when more sinks have
    /// checkpoints than the engine's capacity allows, and with the panic of a worker.
    pub fn run(&mut self, job: Job<'_>) -> Result<Moved, PipelineError> {
        let spares: usize = job.stages.iter().map(StageWorkers::spare_buffers).sum();
        assert!(spares < self.free.len(), "{spares} workers leave no buffer to read into");
        std::thread::scope(|scope| flow::Flow::new(self, job, scope)?.run())
    }

    /// The engine.
    pub fn engine(&self) -> &E {
        &self.engine
    }

    /// Takes it apart, to use the buffers with another engine.
    pub fn into_buffers(self) -> Vec<Buffer> {
        self.free
    }
}
