//! Limits the use of the page cache by a buffered transfer.

use std::collections::VecDeque;
use std::fs::File;

use iostall_engine::files;

use crate::pipeline::{Extent, Source, Step};
use crate::plan::{Plan, SOURCE};

/// Dirty bytes allowed before waiting for the oldest: enough to keep the device busy, too few to disturb
/// other programs.
const WINDOW_BYTES: u64 = 64 << 20;

/// The steps of a plan; drops pages of a buffered source after reading them.
pub(crate) struct PlannedSource {
    plan: Plan,
    buffered: Option<File>,
}

impl PlannedSource {
    pub(crate) fn new(plan: Plan, buffered: Option<File>) -> Self {
        Self { plan, buffered }
    }
}

impl Source for PlannedSource {
    fn next(&mut self) -> Option<Step> {
        self.plan.next()
    }

    fn was_read(&mut self, extent: &Extent) {
        if let Some(file) = self.buffered.as_ref().filter(|_| extent.file == SOURCE) {
            files::drop_read(file, &(extent.offset..extent.offset + u64::from(extent.length)));
        }
    }
}

/// Starts write-back of a buffered destination, and drops its pages a little later.
pub(crate) struct PageCacheDropper {
    file: File,
    on_the_way: VecDeque<Extent>,
    bytes_on_the_way: u64,
}

impl PageCacheDropper {
    pub(crate) fn new(file: File) -> Self {
        Self { file, on_the_way: VecDeque::new(), bytes_on_the_way: 0 }
    }

    pub(crate) fn was_written(&mut self, at: Extent) {
        files::start_writeback(&self.file, &(at.offset..at.offset + u64::from(at.length)));
        self.on_the_way.push_back(at);
        self.bytes_on_the_way += u64::from(at.length);
        while self.bytes_on_the_way > WINDOW_BYTES {
            let Some(Extent { offset, length, .. }) = self.on_the_way.pop_front() else { return };
            files::drop_written(&self.file, &(offset..offset + u64::from(length)));
            self.bytes_on_the_way -= u64::from(length);
        }
    }
}
