//! What to tune.

use std::path::PathBuf;

use iostall_measure::Nanos;
use iostall_model::backup::Compression;
use iostall_transfer::backup::codec::Lock;

/// What to tune. What is `None` is open.
pub struct TuneRequest {
    pub sources: Vec<PathBuf>,
    /// Where stripes may go; none for `null:`.
    pub targets: Vec<PathBuf>,
    pub compression: Option<Compression>,
    pub frame_bytes: Option<u32>,
    pub transfer_bytes: Option<u32>,
    pub buffers: Option<u32>,
    pub workers: Option<u32>,
    pub lock: Option<Lock>,
    pub budget: Nanos,
    pub memory_bytes: Option<u64>,
    /// Further words of the command line for a backup, such as its encryption.
    pub kept: Vec<String>,
}
