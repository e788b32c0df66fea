//! The request for a paced write.

use std::path::PathBuf;

use iostall_measure::{ByteCount, Nanos};
use iostall_model::paced::{Pace, WriteMethod};

/// What to write, and how.
#[derive(Clone, Debug)]
pub struct PacedRequest {
    pub file: PathBuf,
    /// Used one after the other.
    pub methods: Vec<WriteMethod>,
    /// Each method runs at every pace.
    pub paces: Vec<Pace>,
    /// Bytes per method and pace; `None`: as many as fit into `duration`.
    pub total_bytes: Option<u64>,
    /// Time limit per method and pace.
    pub duration: Option<Nanos>,
    pub interval: ByteCount,
    /// Memory limit of the process, page cache included.
    pub memory_limit: Option<ByteCount>,
    /// Existing files that may be overwritten.
    pub overwrite: Vec<PathBuf>,
    /// The file stays.
    pub keep: bool,
}
