//! Keeps the page cache small where a transfer goes through it.

use std::collections::VecDeque;
use std::fs::File;

use iostall_engine::files;

use crate::pipeline::{Extent, Source, Step};
use crate::plan::{Plan, SOURCE};

/// Dirty bytes that may be on their way to the destination before the oldest are waited for: enough for the
/// device to have work, too little to be in anybody's way.
const WINDOW_BYTES: u64 = 64 << 20;

/// The steps of a plan; what was read of a buffered source leaves the page cache.
pub(super) struct PlannedSource {
    plan: Plan,
    buffered: Option<File>,
}

impl PlannedSource {
    pub(super) fn new(plan: Plan, buffered: Option<File>) -> Self {
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

/// Starts the write-back of what was written to a buffered destination, and drops its pages a little later.
pub(super) struct PageCacheDropper {
    file: File,
    on_the_way: VecDeque<Extent>,
    bytes_on_the_way: u64,
}

impl PageCacheDropper {
    pub(super) fn new(file: File) -> Self {
        Self { file, on_the_way: VecDeque::new(), bytes_on_the_way: 0 }
    }

    pub(super) fn was_written(&mut self, at: Extent) {
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
