//! A job: what to move, with what, and the result.

use iostall_engine::{Buffer, Completion, EngineError, FileIndex, IoFailure};
use iostall_model::transfer::BufferTime;
use thiserror::Error;

use super::sink::Sink;
use super::source::Source;
use super::stage::{StageFailure, StageWorkers};
use crate::progress::Progress;
use crate::rate::RateLimit;

pub struct Job<'a> {
    pub source: &'a mut dyn Source,
    pub stages: Vec<StageWorkers<'a>>,
    /// Destinations; without any, frames are only read.
    pub sinks: Vec<&'a mut dyn Sink>,
    /// For each of the engine's files, the required alignment of offsets and lengths, bytes: a power of two,
    /// 1 for buffered files. The last write to a file is padded with zeros up to it; truncate the file
    /// afterwards.
    pub aligns: &'a [u32],
    pub reads_max: u32,
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

#[derive(Debug, Default)]
pub(super) struct BusyFiles(Vec<BusyFile>);

#[derive(Clone, Copy, Debug, Default)]
struct BusyFile {
    total: FileUse,
    in_flight: u32,
    since_ns: u64,
}

impl BusyFiles {
    fn file(&mut self, file: FileIndex) -> &mut BusyFile {
        let at = usize::from(file.0);
        if at >= self.0.len() {
            self.0.resize(at + 1, BusyFile::default());
        }
        &mut self.0[at]
    }

    pub(super) fn begin(&mut self, file: FileIndex, now_ns: u64) {
        let file = self.file(file);
        if file.in_flight == 0 {
            file.since_ns = now_ns;
        }
        file.in_flight += 1;
    }

    pub(super) fn end(&mut self, file: FileIndex, now_ns: u64, bytes: u32) {
        let file = self.file(file);
        file.total.bytes += u64::from(bytes);
        file.in_flight -= 1;
        if file.in_flight == 0 {
            file.total.busy_ns += now_ns.saturating_sub(file.since_ns);
        }
    }

    pub(super) fn into_totals(self) -> Vec<FileUse> {
        self.0.into_iter().map(|file| file.total).collect()
    }
}

#[derive(Debug, Error)]
pub enum PipelineError {
    #[error("reading {length} bytes at offset {offset}: {cause}")]
    Read { file: FileIndex, offset: u64, length: u32, cause: IoFailure },
    #[error("writing {length} bytes at offset {offset}: {cause}")]
    Write { file: FileIndex, offset: u64, length: u32, cause: IoFailure },
    #[error("making written data durable: {0}")]
    Sync(IoFailure),
    #[error("the source became shorter while it was read: nothing at offset {offset}")]
    SourceShrank { offset: u64 },
    #[error("no byte could be written at offset {offset}, without an error from the system")]
    NothingWritten { offset: u64 },
    #[error("the data at offset {offset}: {cause}")]
    Stage { offset: u64, cause: StageFailure },
    #[error("no destination takes the data at offset {offset}")]
    NoSink { offset: u64 },
    #[error("starting a thread: {0}")]
    Thread(std::io::Error),
    #[error("writing the journal: {0}")]
    Journal(std::io::Error),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("cancelled")]
    Cancelled,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_overlap_count_once_and_pauses_not_at_all() {
        let (mut busy, file) = (BusyFiles::default(), FileIndex(2));
        busy.begin(file, 100);
        busy.begin(file, 150);
        busy.end(file, 200, 10);
        busy.end(file, 300, 20);
        busy.begin(file, 1000);
        busy.end(file, 1050, 5);
        let totals = busy.into_totals();
        assert_eq!(totals, [FileUse::default(), FileUse::default(), FileUse { bytes: 35, busy_ns: 250 }]);
    }
}
