//! What a span is given: the engine, the targets, and what to do with them.

use std::path::PathBuf;

use iostall_engine::SimDevice;
use iostall_engine::guard::HeaderKind;
use iostall_measure::Unavailable;
use iostall_model::SpanProfile;

/// Which engine carries requests out.
#[derive(Clone, Debug)]
pub enum EngineKind {
    /// `io_uring`.
    Uring,
    /// Threads.
    Psync,
    /// Nothing is carried out: the generator's own ceiling.
    Null,
    /// A simulated device, whose clock is then the run's: a span takes no time. Target N of a run is its file N.
    Sim(SimDevice),
}

impl EngineKind {
    /// Whether it carries requests out on files of the system.
    pub fn opens_files(&self) -> bool {
        match self {
            Self::Uring | Self::Psync => true,
            Self::Null | Self::Sim(_) => false,
        }
    }
}

/// A target of the run.
#[derive(Clone, Debug)]
pub struct LoadTarget {
    /// The name it was bound to with `--target NAME=PATH`; `None`: a plain positional target.
    pub name: Option<String>,
    /// As the user named it.
    pub path: PathBuf,
    /// What to open: `path`, or the already checked descriptor behind it.
    pub open_path: PathBuf,
    /// How much of it, from its start, the run uses.
    pub size_bytes: u64,
    /// What its very first block begins with when it is written: that of a file that iostall made keeps the mark.
    pub first_header: HeaderKind,
}

/// What a span needs beside its profile.
#[derive(Clone, Copy)]
pub struct SpanJob<'a> {
    /// What to do.
    pub span: &'a SpanProfile,
    /// The run's seed.
    pub seed: u64,
    /// The run's targets.
    pub targets: &'a [LoadTarget],
    /// Which engine.
    pub engine: &'a EngineKind,
    /// Why not io_uring, where that was wanted and cannot be had; kept with the outcome.
    pub fallback: Option<&'a Unavailable>,
    /// Devices whose counters are kept with the outcome.
    pub devices: &'a [String],
}
