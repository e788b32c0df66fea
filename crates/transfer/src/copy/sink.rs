//! The destination of a copy.

use std::io;

use super::journal::{DurableRange, FileJournal};
use crate::page_cache::PageCacheDropper;
use crate::pipeline::{Checkpoint, Extent, Frame, Placement, Sink, Written};
use crate::plan::TARGET;

/// One file in which every frame goes to the offset it came from.
pub(super) struct FileSink<'a> {
    pub(super) writes_max: u32,
    pub(super) journal: Option<&'a mut FileJournal>,
    pub(super) dropper: Option<PageCacheDropper>,
}

impl Sink for FileSink<'_> {
    fn writes_max(&self) -> u32 {
        self.writes_max
    }

    fn place(&mut self, frame: &mut Frame) -> Placement {
        let Extent { file, offset, .. } = frame.origin();
        // A resumed range was read from the destination only for its checksum.
        if file == TARGET { Placement::Skip } else { Placement::Write { file: TARGET, offset } }
    }

    fn was_written(&mut self, written: &Written) {
        if let Some(dropper) = &mut self.dropper {
            dropper.was_written(written.at);
        }
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        let interval_bytes = self.journal.as_ref()?.interval_bytes();
        Some(Checkpoint { file: TARGET, interval_bytes })
    }

    fn is_durable(&mut self, frames: &[Written]) -> io::Result<()> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let range = |frame: &Written| DurableRange {
            offset: frame.at.offset,
            length: frame.at.length,
            hash: frame.checksum,
        };
        journal.append(&frames.iter().map(range).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use iostall_engine::sim::{SimConfig, SimDevice, SimEngine, SimFile};
    use iostall_engine::{BufferPool, Pages};
    use iostall_measure::clock::NoRealSleep;
    use iostall_measure::{Clock as _, ManualClock};

    use super::*;
    use crate::pipeline::{Job, Pipeline};
    use crate::plan::Plan;
    use crate::progress::Progress;

    const BLOCK_BYTES: u32 = 4096;

    /// The simulated time of copying 64 blocks on a device that serves 32 requests at once.
    fn copying_ns(writes_max: u32) -> u64 {
        let _guard = NoRealSleep::on_this_thread();
        let size_bytes = u64::from(64 * BLOCK_BYTES);
        let files = [size_bytes, 0].map(|size_bytes| SimFile { size_bytes, ..SimFile::default() }).into();
        let config = SimConfig { files, service_ns_tail_mean: 0, ..SimConfig::default() };
        let device = SimDevice::new(config, ManualClock::new());
        let (_, buffers) = BufferPool::new(16, BLOCK_BYTES, Pages::Small).unwrap();
        let engine = SimEngine::new(device.clone(), 32);
        let mut pipeline = Pipeline::new(engine, device.clock().clone(), buffers);
        let mut sink = FileSink { writes_max, journal: None, dropper: None };
        let moved = pipeline.run(Job {
            source: &mut Plan::whole(size_bytes, BLOCK_BYTES),
            stages: Vec::new(),
            sinks: vec![&mut sink],
            aligns: &[512, 512],
            reads_max: 8,
            rate: None,
            progress: &Progress::default(),
        });
        assert_eq!(moved.unwrap().written_bytes, size_bytes);
        device.clock().now_ns()
    }

    /// With one write at a time a drive that takes many in parallel stands idle, whatever depth was asked for.
    #[test]
    fn as_many_writes_are_in_flight_as_were_asked_for() {
        let (one, eight) = (copying_ns(1), copying_ns(8));
        assert!(eight * 4 < one, "{eight} ns with eight at once, {one} ns with one");
    }
}
