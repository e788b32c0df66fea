//! The request for targets.

use std::path::PathBuf;

use iostall_engine::guard::WriteConsent;
use iostall_measure::ByteCount;

pub const SCRATCH_NAME: &str = "iostall-scratch.dat";

/// The paths to load: `paths`, or else the scratch file.
pub fn named_or_scratch(paths: &[PathBuf]) -> Vec<PathBuf> {
    if paths.is_empty() { vec![PathBuf::from(SCRATCH_NAME)] } else { paths.to_vec() }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetBinding {
    pub name: String,
    pub path: PathBuf,
}

#[derive(Clone, Debug)]
pub struct TargetRequest {
    /// Files and devices without a name. Without these and bindings: a scratch file in the working directory.
    pub paths: Vec<PathBuf>,
    pub bindings: Vec<TargetBinding>,
    pub sizes: Vec<(String, OwnSize)>,
    /// Size of a new file; of an existing target, how much of it is used.
    pub size: Option<ByteCount>,
    pub consent: WriteConsent,
}

impl TargetRequest {
    pub fn of_paths(paths: Vec<PathBuf>, size: Option<ByteCount>, consent: WriteConsent) -> Self {
        Self { paths, bindings: Vec::new(), sizes: Vec::new(), size, consent }
    }
}

#[derive(Clone, Debug, Default)]
pub struct OwnSize {
    /// A file is created with this size, or one of ours extended to it.
    pub made: Option<ByteCount>,
    /// How much of it each span uses; `None`: all of it. Later spans use all.
    pub in_spans: Vec<Option<ByteCount>>,
}
