//! The inputs of a span: engine, targets and profile.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iostall_engine::SimDevice;
use iostall_engine::guard::HeaderKind;
use iostall_measure::Unavailable;
use iostall_model::SpanProfile;

use crate::plan::Planned;

#[derive(Clone, Debug)]
pub enum EngineKind {
    Uring,
    Psync,
    /// No I/O: measures the limit of the generator.
    Null,
    /// A simulated device, whose clock is the run's: a span takes no real time. Target N of a run is its file
    /// N.
    Sim(SimDevice),
}

impl EngineKind {
    pub fn opens_files(&self) -> bool {
        match self {
            Self::Uring | Self::Psync => true,
            Self::Null | Self::Sim(_) => false,
        }
    }
}

#[derive(Clone, Debug)]
pub struct LoadTarget {
    /// The name from `--target NAME=PATH`; `None` for a plain positional target.
    pub name: Option<String>,
    pub path: PathBuf,
    /// The path to open: `path`, or the already checked descriptor behind it.
    pub open_path: PathBuf,
    /// How much of it, from its start, the run uses.
    pub size_bytes: u64,
    /// Header of the block at offset 0, if it is written: a file that iostall created keeps its mark.
    pub first_header: HeaderKind,
}

#[derive(Clone, Copy)]
pub struct SpanJob<'a> {
    pub span: &'a SpanProfile,
    pub seed: u64,
    pub targets: &'a [LoadTarget],
    pub engine: &'a EngineKind,
    /// Why io_uring is unavailable although requested; stored with the outcome.
    pub fallback: Option<&'a Unavailable>,
    pub devices: &'a [String],
    pub speed: &'a Speed,
    /// Recorded requests that take the place of what roles draw, by the role's name.
    pub recorded: &'a [(String, Arc<[Planned]>)],
}

/// A factor on the rates of all open loops of a span: 1 is what was asked for. Its copies are one and the same.
#[derive(Clone, Debug)]
pub struct Speed(Arc<AtomicU64>);

impl Default for Speed {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(1.0_f64.to_bits())))
    }
}

impl Speed {
    /// Changes the factor from now on. Values not above 0 are ignored, because the next request would never be due.
    pub fn set(&self, factor: f64) {
        if factor.is_finite() && factor > 0.0 {
            self.0.store(factor.to_bits(), Ordering::Relaxed);
        }
    }

    #[inline]
    pub fn factor(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }
}
