//! The request for commits by sync method.

use std::path::PathBuf;

use iostall_measure::{BlockSize, Nanos};
use iostall_model::sync::{LogLayout, SyncMethod};

#[derive(Clone, Debug)]
pub struct FsyncRequest {
    /// Where the log is, or would be.
    pub directory: PathBuf,
    pub methods: Vec<SyncMethod>,
    /// Each method is measured with each number.
    pub committers: Vec<u32>,
    pub log: LogLayout,
    /// Time for each method with each number of committers.
    pub duration: Nanos,
    pub block: BlockSize,
    /// The data directory of the server whose settings are shown; `None`: the one that the directory is in.
    pub data_directory: Option<PathBuf>,
    /// The directory or the segment in it, if that may be a new file in a database's directory.
    pub overwrite: Vec<PathBuf>,
    pub name: String,
}
