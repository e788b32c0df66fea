//! What a device did.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub host_pages: u64,
    pub trimmed_pages: u64,
    /// Pages that collection moved.
    pub moved_pages: u64,
    /// Pages of the host that a cache took and that never came to the blocks behind it.
    pub absorbed_pages: u64,
    /// Pages that were moved for another reason: wear levelling, and the refresh of old or much-read blocks.
    pub refreshed_pages: u64,
    pub erased_blocks: u64,
}

impl Counts {
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            host_pages: self.host_pages - earlier.host_pages,
            trimmed_pages: self.trimmed_pages - earlier.trimmed_pages,
            moved_pages: self.moved_pages - earlier.moved_pages,
            absorbed_pages: self.absorbed_pages - earlier.absorbed_pages,
            refreshed_pages: self.refreshed_pages - earlier.refreshed_pages,
            erased_blocks: self.erased_blocks - earlier.erased_blocks,
        }
    }

    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            host_pages: self.host_pages + other.host_pages,
            trimmed_pages: self.trimmed_pages + other.trimmed_pages,
            moved_pages: self.moved_pages + other.moved_pages,
            absorbed_pages: self.absorbed_pages + other.absorbed_pages,
            refreshed_pages: self.refreshed_pages + other.refreshed_pages,
            erased_blocks: self.erased_blocks + other.erased_blocks,
        }
    }

    /// Pages programmed, without those of a cache, for each page that the host wrote; `None` if it wrote none.
    pub fn write_amplification(&self) -> Option<f64> {
        let programmed = self.host_pages - self.absorbed_pages + self.moved_pages + self.refreshed_pages;
        (self.host_pages > 0).then(|| programmed as f64 / self.host_pages as f64)
    }
}
