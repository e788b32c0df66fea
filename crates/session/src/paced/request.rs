//! What a user asks a paced write to do.

use std::path::PathBuf;

use iostall_measure::{ByteCount, Nanos};
use iostall_model::paced::{Pace, WriteMethod};

/// A paced write that is asked for.
#[derive(Clone, Debug)]
pub struct PacedRequest {
    /// The file.
    pub file: PathBuf,
    /// How it is written, one after the other.
    pub methods: Vec<WriteMethod>,
    /// At which paces, each method at every one.
    pub paces: Vec<Pace>,
    /// Bytes that each writes; `None`: as many as fit into `duration`.
    pub total_bytes: Option<u64>,
    /// How long each writes.
    pub duration: Option<Nanos>,
    /// Bytes of an interval.
    pub interval: ByteCount,
    /// Memory that the process may use, page cache included.
    pub memory_limit: Option<ByteCount>,
    /// Files of others that may be overwritten.
    pub overwrite: Vec<PathBuf>,
    /// The file stays.
    pub keep: bool,
}
