//! What a user asks to load.

use std::path::PathBuf;

use iostall_engine::guard::WriteConsent;
use iostall_measure::ByteCount;

/// Name of the file that is made where none is named.
pub const SCRATCH_NAME: &str = "iostall-scratch.dat";

/// What is loaded where `paths` are named: they, or else the scratch file.
pub fn named_or_scratch(paths: &[PathBuf]) -> Vec<PathBuf> {
    if paths.is_empty() { vec![PathBuf::from(SCRATCH_NAME)] } else { paths.to_vec() }
}

/// A file or device that roles ask for by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetBinding {
    /// As roles call it.
    pub name: String,
    /// What it is.
    pub path: PathBuf,
}

/// What the user asked to load.
#[derive(Clone, Debug)]
pub struct TargetRequest {
    /// Files and devices without a name. Neither these nor bindings: a scratch file in the working directory.
    pub paths: Vec<PathBuf>,
    /// Files and devices that roles ask for by name.
    pub bindings: Vec<TargetBinding>,
    /// Sizes of bound files that have some of their own, by name.
    pub sizes: Vec<(String, OwnSize)>,
    /// Size of a file that is made; of an existing target, how much of it is used.
    pub size: Option<ByteCount>,
    /// What may be overwritten.
    pub consent: WriteConsent,
}

impl TargetRequest {
    /// Plain targets, all with one size.
    pub fn of_paths(paths: Vec<PathBuf>, size: Option<ByteCount>, consent: WriteConsent) -> Self {
        Self { paths, bindings: Vec::new(), sizes: Vec::new(), size, consent }
    }
}

/// The size of one target, for itself alone.
#[derive(Clone, Debug, Default)]
pub struct OwnSize {
    /// A file is made in this size, and one of ours made as large.
    pub made: Option<ByteCount>,
    /// How much of it each span uses; `None`: as much as was found. Spans beyond the last use all.
    pub in_spans: Vec<Option<ByteCount>>,
}
