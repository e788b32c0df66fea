//! The pipeline: reads, checksums and writes of one file at once, through a bounded set of buffers.
//!
//! Each buffer goes read → (checksum) → write → free. Reads and writes are in flight together and
//! complete in any order; a buffer carries the offset and the length of what is in it, so nothing is
//! ever written that was not read. What a short read leaves is read again, what a short write leaves is
//! written again. The first failure stops new requests; the pipeline then waits for those in flight, so that
//! no buffer is lost and no request outlives its file.

mod flow;
mod hashing;
#[cfg(test)]
mod tests;

use iostall_engine::{Buffer, Completion, Engine, EngineError, FileIndex, IoFailure};
use iostall_measure::Clock;
use iostall_model::transfer::BufferTime;
use thiserror::Error;

pub use hashing::{FileHashes, HashStage, HashWanted};

use crate::plan::Plan;
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

/// One file to move.
pub struct Job<'a> {
    /// Index of the source in the engine's files.
    pub source: FileIndex,
    /// Index of the destination; `None` reads only.
    pub target: Option<FileIndex>,
    /// The steps.
    pub plan: Plan,
    /// What offsets and lengths of reads must be multiples of, bytes; 1 for buffered reads.
    pub source_align: u32,
    /// What offsets and lengths of writes must be multiples of, bytes; 1 for buffered writes. The last write is
    /// padded with zeros up to it: trim the file afterwards.
    pub target_align: u32,
    /// Most reads in flight.
    pub reads_max: u32,
    /// Most writes in flight.
    pub writes_max: u32,
    /// Checksums between reading and writing.
    pub hashes: Option<HashStage>,
    /// How fast.
    pub rate: Option<&'a RateLimit>,
    /// Where pieces known to be on stable media are written down.
    pub journal: Option<&'a mut dyn Journal>,
    /// Who gives back what passes through the page cache, where it is not passed by.
    pub behind: Option<&'a mut dyn Behind>,
    /// Who looks on, and may cancel.
    pub progress: &'a Progress,
}

/// A piece that has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// XXH3 of its data.
    pub hash: u64,
}

/// Keeps what is durable, so that a copy can be continued after a crash.
pub trait Journal {
    /// How many bytes are written between two entries.
    fn interval_bytes(&self) -> u64;

    /// These pieces are on stable media: the destination was synced after they were written.
    fn append(&mut self, pieces: &[Written]) -> std::io::Result<()>;
}

/// Follows behind a transfer.
pub trait Behind {
    /// So many bytes at this offset of the source were read.
    fn read(&mut self, offset: u64, length: u32);

    /// So many bytes at this offset of the destination were written.
    fn written(&mut self, offset: u64, length: u32);
}

/// What a job did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes of the file read.
    pub read_bytes: u64,
    /// Bytes of the file written, padding not counted.
    pub written_bytes: u64,
    /// Bytes in holes.
    pub hole_bytes: u64,
    /// Checksums that were wanted.
    pub hashes: FileHashes,
    /// Where buffers spent their time.
    pub time: BufferTime,
}

/// Why a job stopped.
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
    /// The system failed `fdatasync` of the destination.
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
    /// The journal could not be written.
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
    /// A pipeline over `engine`, whose capacity must be above the number of `buffers`: one more request is
    /// needed for syncing. Buffers must come from one pool and be of one size.
    ///
    /// # Panics
    /// When there is no buffer or the engine's capacity is too small.
    pub fn new(engine: E, clock: C, buffers: Vec<Buffer>) -> Self {
        let buffer_count = u32::try_from(buffers.len()).unwrap_or(u32::MAX);
        assert!(buffer_count > 0, "a pipeline needs a buffer");
        assert!(engine.capacity() > buffer_count, "a pipeline needs a request more than it has buffers");
        Self { engine, clock, free: buffers, buffer_count, completions: Vec::new() }
    }

    /// Carries out one job. After an error that is not the engine's own, the pipeline is ready for the next job.
    ///
    /// # Panics
    /// When a piece of the plan is larger than a buffer.
    pub fn run(&mut self, job: Job<'_>) -> Result<Moved, PipelineError> {
        flow::Flow::new(self, job).run()
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
