//! Numbers of pages and blocks.

/// A number of a page or a block as an index.
#[inline]
pub(crate) const fn index(number: u32) -> usize {
    number as usize
}

/// A number of pages or blocks, of which there are fewer than 2^32.
pub(crate) fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
