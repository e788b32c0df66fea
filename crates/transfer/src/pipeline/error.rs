//! Why a job stopped.

use iostall_engine::{EngineError, IoFailure};
use thiserror::Error;

use super::stage::StageFailure;

/// Why a job stopped: the first thing that failed.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum PipelineError {
    /// The system failed a read.
    #[error("reading {length} bytes at offset {offset}: {cause}")]
    Read { offset: u64, length: u32, cause: IoFailure },
    /// The system failed a write.
    #[error("writing {length} bytes at offset {offset}: {cause}")]
    Write { offset: u64, length: u32, cause: IoFailure },
    /// The system failed `fdatasync` of a destination.
    #[error("making written data durable: {0}")]
    Sync(IoFailure),
    /// The source is shorter than it was.
    #[error("the source became shorter while it was read: nothing at offset {offset}")]
    SourceShrank { offset: u64 },
    /// The system takes no bytes and gives no reason.
    #[error("no byte could be written at offset {offset}, and the system gives no reason")]
    NothingWritten { offset: u64 },
    /// A stage could not work on a frame.
    #[error("the data at offset {offset}: {cause}")]
    Stage { offset: u64, cause: StageFailure },
    /// Every sink left a frame to the others.
    #[error("no destination takes the data at offset {offset}")]
    NoSink { offset: u64 },
    /// A thread for a stage could not be started.
    #[error("starting a thread: {0}")]
    Thread(std::io::Error),
    /// A sink could not note what is durable.
    #[error("writing the journal: {0}")]
    Journal(std::io::Error),
    /// The engine broke.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The user stopped it.
    #[error("cancelled")]
    Cancelled,
}
