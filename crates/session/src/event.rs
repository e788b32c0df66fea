//! What a use case tells while it runs. Whoever listens puts it on a screen, on a page, or nowhere.

use std::io;
use std::path::Path;

use iostall_engine::EngineError;
pub use iostall_load::runner::Phase;
use iostall_measure::{ByteCount, Nanos};
use iostall_model::Point;
use iostall_model::outcome::IntervalPoint;
use iostall_model::paced::{MethodOutcome, Pace, PacedInterval, WriteMethod};
pub use iostall_transfer::copy::CopyFailure;
pub use iostall_transfer::progress::ProgressNow;

/// One thing worth knowing.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// io_uring cannot be had, so threads do the I/O.
    EngineFallback {
        /// Why not.
        cause: &'a EngineError,
    },
    /// A file is made, or made larger.
    FileBegun {
        /// As it was named.
        path: &'a Path,
        /// What it will have.
        size: ByteCount,
    },
    /// How far that is; often.
    FileProgress {
        /// As it was named.
        path: &'a Path,
        /// Written so far.
        done: ByteCount,
        /// What it will have.
        size: ByteCount,
    },
    /// Where a span is; about ten times a second.
    SpanProgress(SpanProgress<'a>),
    /// A setting was measured.
    PointMeasured {
        /// What it is called.
        label: &'a str,
        /// Not for the first time: whether storage still gives as much.
        again: bool,
        /// What it gave.
        point: &'a Point,
    },
    /// A rate was tried.
    RateTried {
        /// Arrivals a second.
        rate_iops: f64,
        /// Whether they were answered in time.
        in_time: bool,
        /// What it gave.
        point: &'a Point,
    },
    /// Where a copy, a verification or a paced write is; five times a second.
    TransferProgress {
        /// What is done, and what is in flight.
        now: &'a ProgressNow,
        /// How fast it is.
        speed: Speed,
    },
    /// Files that cannot be copied, as soon as that is known.
    NotCopied(&'a [CopyFailure]),
    /// A part of a paced write was measured.
    PacedInterval {
        /// How it writes.
        method: WriteMethod,
        /// At which pace.
        pace: Pace,
        /// What was measured.
        interval: &'a PacedInterval,
    },
    /// A method of a paced write has ended at one pace.
    MethodEnded(&'a MethodOutcome),
    /// A file that was there before a paced write stays.
    FileStays {
        /// As it was named.
        path: &'a Path,
    },
    /// The file of a paced write could not be removed.
    FileLeft {
        /// The file.
        path: &'a Path,
        /// What the system said.
        cause: &'a io::Error,
    },
    /// What was in progress has ended.
    ProgressEnded,
}

/// Where a span is.
#[derive(Clone, Copy, Debug)]
pub struct SpanProgress<'a> {
    /// Which part of the run it is, where there are several.
    pub part: Part<'a>,
    /// Its phase.
    pub phase: Phase,
    /// Until the phase ends, nanoseconds.
    pub left_ns: u64,
    /// Length of the phases: warm-up, measured, cool-down.
    pub lengths: [Nanos; 3],
    /// Each role's newest whole second, where there is one.
    pub newest: &'a [Option<&'a IntervalPoint>],
}

/// Bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Over the last two seconds.
    pub bytes_per_s_now: f64,
    /// Since the beginning.
    pub bytes_per_s_mean: f64,
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// A run of one span.
    Whole,
    /// One span of several, counted from 1.
    Span {
        /// This one.
        number: usize,
        /// All of them.
        of: usize,
    },
    /// An interval of the point with this label.
    Point(&'a str),
}

/// Listens to a use case, on whichever of its threads something happens.
pub trait Observer: Sync {
    /// Takes one event. The use case waits meanwhile.
    fn on(&self, event: &Event<'_>);
}

/// Listens to nothing.
impl Observer for () {
    fn on(&self, _: &Event<'_>) {}
}
