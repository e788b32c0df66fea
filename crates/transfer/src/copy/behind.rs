//! Gives pages back behind a transfer that goes through the page cache.

use std::collections::VecDeque;
use std::fs::File;

use iostall_engine::files;

use crate::pipeline::Behind;

/// Dirty bytes that may be on their way to the destination before the oldest are waited for: enough for the
/// device to have work, too little to be in anybody's way.
const WINDOW_BYTES: u64 = 64 << 20;

/// Keeps the cache that a transfer uses small.
pub(super) struct DropBehind {
    source: Option<File>,
    target: Option<File>,
    on_the_way: VecDeque<(u64, u32)>,
    bytes_on_the_way: u64,
}

impl DropBehind {
    /// For those sides that are buffered; `None` where neither is.
    pub(super) fn new(source: Option<File>, target: Option<File>) -> Option<Self> {
        (source.is_some() || target.is_some()).then_some(Self {
            source,
            target,
            on_the_way: VecDeque::new(),
            bytes_on_the_way: 0,
        })
    }
}

impl Behind for DropBehind {
    fn read(&mut self, offset: u64, length: u32) {
        if let Some(source) = &self.source {
            files::drop_read(source, &(offset..offset + u64::from(length)));
        }
    }

    fn written(&mut self, offset: u64, length: u32) {
        let Some(target) = &self.target else { return };
        files::start_writeback(target, &(offset..offset + u64::from(length)));
        self.on_the_way.push_back((offset, length));
        self.bytes_on_the_way += u64::from(length);
        while self.bytes_on_the_way > WINDOW_BYTES {
            let Some((offset, length)) = self.on_the_way.pop_front() else { return };
            files::drop_written(target, &(offset..offset + u64::from(length)));
            self.bytes_on_the_way -= u64::from(length);
        }
    }
}
