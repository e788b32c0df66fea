//! A job: what to move, with what, and the result.

use iostall_engine::{Buffer, Completion};
use iostall_model::transfer::BufferTime;

use super::sink::Sink;
use super::source::Source;
use super::stage::StageWorkers;
use crate::progress::Progress;
use crate::rate::RateLimit;

pub struct Job<'a> {
    pub source: &'a mut dyn Source,
    /// Applied to each frame in this order.
    pub stages: Vec<StageWorkers<'a>>,
    /// Destinations; without any, frames are only read.
    pub sinks: Vec<&'a mut dyn Sink>,
    /// For each of the engine's files, the required alignment of offsets and lengths, bytes: a power of two,
    /// 1 for buffered files. The last write to a file is padded with zeros up to it; truncate the file
    /// afterwards.
    pub aligns: &'a [u32],
    pub reads_max: u32,
    /// Limits how fast bytes are read.
    pub rate: Option<&'a RateLimit>,
    pub progress: &'a Progress,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    pub read_bytes: u64,
    /// Without padding.
    pub written_bytes: u64,
    pub hole_bytes: u64,
    pub time: BufferTime,
    pub files: Vec<FileUse>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileUse {
    /// Bytes read from it or written to it, padding included.
    pub bytes: u64,
    /// Time with at least one request in flight, nanoseconds.
    pub busy_ns: u64,
}

pub(super) struct Equipment<E, C> {
    pub(super) engine: E,
    pub(super) clock: C,
    pub(super) free: Vec<Buffer>,
    pub(super) buffer_count: u32,
    /// Reused, to avoid an allocation per wait.
    pub(super) completions: Vec<Completion>,
}
