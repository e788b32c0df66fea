//! Processing of frames between reading and writing.

use std::error::Error;

use iostall_engine::Buffer;

use super::frame::Frame;

pub type StageFailure = Box<dyn Error + Send + Sync>;

/// Processes frames one by one in any order: checksums of frames, compression, encryption.
///
/// Each worker has its own instance, so it may keep state (a compressor's tables), but none that depends on
/// the order.
pub trait Stage: Send {
    /// Processes one frame. If its length changes, the result goes into `spare`, a buffer of the same size
    /// with arbitrary content, and [`Frame::replace`] swaps the two.
    fn apply(&mut self, frame: &mut Frame, spare: &mut Buffer) -> Result<(), StageFailure>;
}

/// Sees every frame and hole in source order, for checksums of whole files.
pub trait OrderedStage: Send {
    /// The next frame. May set its checksum but not change its bytes.
    fn frame(&mut self, frame: &mut Frame) -> Result<(), StageFailure>;

    /// The next hole, in bytes.
    fn hole(&mut self, length: u64);
}

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
    /// A stage that sees everything in order, on its own thread; on the caller's thread if there is only one
    /// CPU.
    pub fn in_order(stage: &'a mut dyn OrderedStage) -> Self {
        // On one CPU a second thread only costs context switches.
        let on_caller = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) == 1;
        Self { workers: vec![StageWorker::Ordered(stage)], in_order: true, on_caller }
    }

    /// A stage with a thread for each worker. Each keeps one of the pipeline's buffers as a spare.
    ///
    /// # Panics
    /// If there is no worker.
    pub fn any_order(stages: impl IntoIterator<Item = &'a mut dyn Stage>) -> Self {
        let workers: Vec<_> = stages.into_iter().map(StageWorker::AnyOrder).collect();
        assert!(!workers.is_empty(), "a stage needs a worker");
        Self { workers, in_order: false, on_caller: false }
    }

    /// Runs it on the I/O thread, with only the first worker.
    #[must_use]
    pub fn on_caller(mut self) -> Self {
        self.workers.truncate(1);
        self.on_caller = true;
        self
    }

    /// Runs it on its own threads, whatever the number of CPUs.
    #[must_use]
    pub fn on_threads(mut self) -> Self {
        self.on_caller = false;
        self
    }

    pub(super) fn spare_buffers(&self) -> usize {
        self.workers.iter().filter(|worker| matches!(worker, StageWorker::AnyOrder(_))).count()
    }
}
