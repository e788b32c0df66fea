//! What a pipeline is asked to do, what it does it with, and what it has done.

use iostall_engine::{Buffer, Completion};
use iostall_model::transfer::BufferTime;

use super::sink::Sink;
use super::source::Source;
use super::stage::StageWorkers;
use crate::progress::Progress;
use crate::rate::RateLimit;

/// What to move.
pub struct Job<'a> {
    /// What is read.
    pub source: &'a mut dyn Source,
    /// What happens to each frame, one stage after the other.
    pub stages: Vec<StageWorkers<'a>>,
    /// Where frames go; with none, they are only read.
    pub sinks: Vec<&'a mut dyn Sink>,
    /// For each of the engine's files, what offsets and lengths of requests must be multiples of, bytes: a power of
    /// two, 1 for buffered ones. The last write to a file is padded with zeros up to it: trim the file afterwards.
    pub aligns: &'a [u32],
    /// Most reads in flight.
    pub reads_max: u32,
    /// How fast bytes may be read.
    pub rate: Option<&'a RateLimit>,
    /// Is told what is done, and stops the job when it is cancelled.
    pub progress: &'a Progress,
}

/// What a job did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written, padding not counted.
    pub written_bytes: u64,
    /// Bytes in holes.
    pub hole_bytes: u64,
    /// Where buffers spent their time.
    pub time: BufferTime,
}

/// An engine, a clock and the buffers that go around.
pub(super) struct Equipment<E, C> {
    pub(super) engine: E,
    pub(super) clock: C,
    pub(super) free: Vec<Buffer>,
    pub(super) buffer_count: u32,
    /// Kept from one wait to the next, so that none is allocated for each.
    pub(super) completions: Vec<Completion>,
}
