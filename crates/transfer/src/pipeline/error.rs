//! Errors of a job.

use iostall_engine::{EngineError, FileIndex, IoFailure};
use thiserror::Error;

use super::stage::StageFailure;

/// Why a job stopped: the first error.
#[derive(Debug, Error)]
pub enum PipelineError {
    #[error("reading {length} bytes at offset {offset}: {cause}")]
    Read { file: FileIndex, offset: u64, length: u32, cause: IoFailure },
    #[error("writing {length} bytes at offset {offset}: {cause}")]
    Write { file: FileIndex, offset: u64, length: u32, cause: IoFailure },
    #[error("making written data durable: {0}")]
    Sync(IoFailure),
    #[error("the source became shorter while it was read: nothing at offset {offset}")]
    SourceShrank { offset: u64 },
    #[error("no byte could be written at offset {offset}, without an error from the system")]
    NothingWritten { offset: u64 },
    #[error("the data at offset {offset}: {cause}")]
    Stage { offset: u64, cause: StageFailure },
    #[error("no destination takes the data at offset {offset}")]
    NoSink { offset: u64 },
    #[error("starting a thread: {0}")]
    Thread(std::io::Error),
    #[error("writing the journal: {0}")]
    Journal(std::io::Error),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("cancelled")]
    Cancelled,
}
