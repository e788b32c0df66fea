//! The request for a paced write.

use std::path::PathBuf;

use iostall_measure::{ByteCount, Nanos};
use iostall_model::paced::{Pace, WriteMethod};

#[derive(Clone, Debug)]
pub struct PacedRequest {
    pub file: PathBuf,
    pub methods: Vec<WriteMethod>,
    pub paces: Vec<Pace>,
    /// Bytes per method and pace; `None`: as many as fit into `duration`.
    pub total_bytes: Option<u64>,
    /// Time limit per method and pace.
    pub duration: Option<Nanos>,
    pub interval: ByteCount,
    /// Memory limit of the process, page cache included.
    pub memory_limit: Option<ByteCount>,
    pub overwrite: Vec<PathBuf>,
    pub keep: bool,
}
