//! What happens to frames between reading and writing.

use std::error::Error;

use iostall_engine::Buffer;

use super::frame::Frame;

/// Why a stage could not work on a frame.
pub type StageFailure = Box<dyn Error + Send + Sync>;

/// Works on frames one by one, in whatever order they come: checksums of frames, compression, encryption.
///
/// Each worker has one of its own, so it may keep state (a compressor's tables), but none that depends on the order.
pub trait Stage: Send {
    /// Works on one frame. Where its length changes, the result goes into `spare`, a buffer of the same size with
    /// anything in it, and [`Frame::replace`] swaps the two.
    fn apply(&mut self, frame: &mut Frame, spare: &mut Buffer) -> Result<(), StageFailure>;
}

/// Sees every frame and hole in the order of the source: checksums of whole files.
pub trait OrderedStage: Send {
    /// The next frame. It may be given a checksum; its bytes stay as they are.
    fn frame(&mut self, frame: &mut Frame) -> Result<(), StageFailure>;

    /// The next hole, bytes.
    fn hole(&mut self, length: u64);
}

/// A stage of a job with those who work for it.
pub struct StageWorkers<'a> {
    pub(super) workers: Vec<StageWorker<'a>>,
    pub(super) in_order: bool,
    pub(super) on_caller: bool,
}

pub(super) enum StageWorker<'a> {
    Ordered(&'a mut dyn OrderedStage),
    AnyOrder(&'a mut dyn Stage),
}

impl<'a> StageWorkers<'a> {
    /// A stage that sees everything in order, on a thread of its own; on the caller's where there is but one processor.
    pub fn in_order(stage: &'a mut dyn OrderedStage) -> Self {
        // A second thread on one processor only costs switches.
        let on_caller = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) == 1;
        Self { workers: vec![StageWorker::Ordered(stage)], in_order: true, on_caller }
    }

    /// A stage with a thread for each of these workers. Each keeps one of the pipeline's buffers as its spare one.
    ///
    /// # Panics
    /// When there is none.
    pub fn any_order(stages: impl IntoIterator<Item = &'a mut dyn Stage>) -> Self {
        let workers: Vec<_> = stages.into_iter().map(StageWorker::AnyOrder).collect();
        assert!(!workers.is_empty(), "a stage needs a worker");
        Self { workers, in_order: false, on_caller: false }
    }

    /// The same on the thread that does the I/O, by the first worker alone.
    #[must_use]
    pub fn on_caller(mut self) -> Self {
        self.workers.truncate(1);
        self.on_caller = true;
        self
    }

    /// The same on threads of its own, however many processors there are.
    #[must_use]
    pub fn on_threads(mut self) -> Self {
        self.on_caller = false;
        self
    }

    /// Buffers that its workers keep.
    pub(super) fn spare_buffers(&self) -> usize {
        self.workers.iter().filter(|worker| matches!(worker, StageWorker::AnyOrder(_))).count()
    }
}
