//! Events of running use cases, for a terminal, a web page, or nothing at all.

use std::io;
use std::path::Path;

use iostall_engine::EngineError;
pub use iostall_load::runner::Phase;
use iostall_measure::clock::utc_now;
use iostall_measure::{ByteCount, Nanos};
use iostall_model::give_way::Decision;
use iostall_model::outcome::IntervalPoint;
use iostall_model::paced::{MethodOutcome, Pace, PacedInterval, WriteMethod};
use iostall_model::qualify::QualifyRound;
use iostall_model::sync::SyncStep;
use iostall_model::{PartAlone, Point};
pub use iostall_transfer::copy::CopyFailure;
pub use iostall_transfer::progress::ProgressNow;
use jiff::{SignedDuration, Timestamp};

#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    EngineFallback {
        cause: &'a EngineError,
    },
    FileBegun {
        path: &'a Path,
        size: ByteCount,
    },
    FileProgress {
        path: &'a Path,
        done: ByteCount,
        size: ByteCount,
    },
    /// Progress of a span; about ten times a second.
    SpanProgress(SpanProgress<'a>),
    PointMeasured {
        label: &'a str,
        again: bool,
        point: &'a Point,
    },
    QualifyBegins(&'a QualifyCost),
    StageBegins {
        /// From 1.
        number: usize,
        of: usize,
        name: &'a str,
    },
    RoundEnded {
        /// From 1.
        number: usize,
        of: u32,
        /// Active ranges that the rounds have written.
        fills: f64,
        round: &'a QualifyRound,
    },
    LimitsBegins(&'a LimitsCost),
    ReadAllBegins {
        /// Where an earlier run had ended, bytes.
        from_bytes: u64,
        whole_bytes: u64,
        /// The highest rate, bytes a second.
        bytes_per_s: Option<f64>,
    },
    RateTried {
        /// Arrivals a second.
        rate_iops: f64,
        in_time: bool,
        point: &'a Point,
    },
    /// Progress of a copy, a verification or a paced write; five times a second.
    TransferProgress {
        /// Work done so far, and requests in flight.
        now: &'a ProgressNow,
        speed: Speed,
        whole: RunProgress,
    },
    /// Progress of a statement that a server runs; once a second.
    StatementProgress {
        percent_hundredths: u32,
        whole: RunProgress,
    },
    GaveWay(&'a Decision),
    NotCopied(&'a [CopyFailure]),
    PacedInterval {
        method: WriteMethod,
        pace: Pace,
        interval: &'a PacedInterval,
    },
    MethodEnded(&'a MethodOutcome),
    SyncMeasured(&'a SyncStep),
    TuneBegun(&'a TunePlan),
    PartMeasured(&'a PartAlone),
    TuneProgress {
        tried: usize,
        settings: usize,
        bytes_per_s_best: f64,
        whole: RunProgress,
    },
    SimulationProgress {
        doing: &'static str,
        /// The share that is done, 0 to 1.
        done: f64,
        whole: RunProgress,
    },
    /// Something to say also where nobody sees the report.
    MustBeSaid {
        message: &'a str,
        /// Whether it is among the cautions, which are said when quiet.
        is_caution: bool,
    },
    MayNotFit {
        message: &'a str,
    },
    FileStays {
        path: &'a Path,
    },
    FileLeft {
        path: &'a Path,
        cause: &'a io::Error,
    },
    ProgressEnded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitsCost {
    pub time_limit: Nanos,
    /// Read, or written, at most.
    pub byte_limit: ByteCount,
    pub writes: bool,
    pub targets: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct QualifyCost {
    pub active_bytes: u64,
    /// Written to make the file, bytes; 0 if it was there.
    pub made_bytes: u64,
    pub passes_bytes: u64,
    /// How long that takes at the speed of `bytes_per_s`, nanoseconds.
    pub passes_ns: Option<u64>,
    /// Fewest and most rounds.
    pub rounds: (u32, u32),
    /// How long these take, nanoseconds.
    pub rounds_ns: (u64, u64),
    /// How much of that time writes, nanoseconds.
    pub writing_ns: (f64, f64),
    /// The rounds end when they have written this much, bytes.
    pub write_limit_bytes: Option<u64>,
    /// How fast the target was read just now, which it will hardly be written faster than.
    pub bytes_per_s: Option<f64>,
    /// What its data sheet lets hosts write, bytes.
    pub rated_bytes: Option<f64>,
}

impl QualifyCost {
    /// What fewest and most rounds write at that speed and within the limit, bytes; `None` if it is unknown.
    pub fn rounds_bytes(&self) -> Option<(f64, f64)> {
        let limit = self.write_limit_bytes.map_or(f64::INFINITY, |bytes| bytes as f64);
        let of = |writing_ns: f64| self.bytes_per_s.map(|speed| (writing_ns / 1e9 * speed).min(limit));
        Some((of(self.writing_ns.0)?, of(self.writing_ns.1)?))
    }

    /// What is written in all at most, bytes; `None` if it is unknown.
    pub fn written_bytes_max(&self) -> Option<f64> {
        Some(self.rounds_bytes()?.1 + (self.made_bytes + self.passes_bytes) as f64)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunePlan {
    pub settings: u64,
    pub over_memory: u64,
    pub budget: Nanos,
    pub memory_bytes_max: u64,
    /// The most that it writes at a time beside the stripes; 0 for `null:`.
    pub trial_bytes_max: u64,
    /// What a trial is, where it is a whole backup that a server makes.
    pub whole: Option<WholeBackup>,
    pub place: TrialPlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialPlace {
    Beside,
    /// In a store, in uploads that are never completed.
    Uploads,
    /// Below the place of restores.
    Restored,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeBackup {
    /// What it reads; 0 where the server does not say.
    pub bytes: u64,
    /// How long the newest one took; `None` if there is none.
    pub seconds: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
pub struct SpanProgress<'a> {
    /// Which part of the run it is, if there are several.
    pub part: Part<'a>,
    pub phase: Phase,
    pub left_ns: u64,
    /// Lengths of warm-up, measured part and cool-down.
    pub lengths: [Nanos; 3],
    pub whole: RunProgress,
    /// The newest complete second of each role; `None` before the first.
    pub newest: &'a [Option<&'a IntervalPoint>],
}

/// Where the whole run is, of which a span or a file may be a small part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunProgress {
    /// Time since it began to measure or to move data, nanoseconds.
    pub elapsed_ns: u64,
    /// Time until its end, nanoseconds; `None` if nobody can know.
    pub left_ns: Option<u64>,
    /// The calendar time of that end.
    pub ends_utc: Option<Timestamp>,
}

impl RunProgress {
    pub(crate) fn new(elapsed_ns: u64, left_ns: Option<u64>) -> Self {
        let left = left_ns.and_then(|left_ns| i64::try_from(left_ns).ok()).map(SignedDuration::from_nanos);
        let ends_utc = left.and_then(|left| utc_now().checked_add(left).ok());
        Self { elapsed_ns, left_ns, ends_utc }
    }

    /// The share that is done, 0 to 1; `None` if the end is unknown.
    pub fn share(&self) -> Option<f64> {
        let whole_ns = self.elapsed_ns.saturating_add(self.left_ns?);
        Some(if whole_ns == 0 { 0.0 } else { self.elapsed_ns as f64 / whole_ns as f64 })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Over the last two seconds.
    pub bytes_per_s_now: f64,
    pub bytes_per_s_mean: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// A run of one span.
    Whole,
    /// One span of several, from 1.
    Span {
        number: usize,
        of: usize,
    },
    Point(&'a str),
}

/// Receives the events of a use case, on whichever of its threads they occur.
pub trait Observer: Sync {
    /// Receives one event. The use case is blocked until it returns.
    fn on(&self, event: &Event<'_>);
}

impl Observer for () {
    fn on(&self, _: &Event<'_>) {}
}
