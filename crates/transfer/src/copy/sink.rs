//! The destination of a copy.

use std::io;

use super::journal::{DurableRange, FileJournal};
use super::page_cache::PageCacheDropper;
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
