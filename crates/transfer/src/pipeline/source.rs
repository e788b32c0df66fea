//! Sources of a pipeline.

use iostall_engine::FileIndex;

use super::frame::Extent;

/// The next part of a source. Each step gets the next sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Bytes to read, which become one frame.
    Read(Extent),
    /// Nothing to move; ordered stages see zeros.
    Hole {
        file: FileIndex,
        offset: u64,
        /// Bytes.
        length: u64,
    },
}

/// Says what to read: extents of any of the engine's files, in the order in which frames are numbered.
///
/// An extent is at most one buffer long. It begins at a multiple of its file's alignment and may end
/// anywhere.
pub trait Source {
    /// The next step; `None` at the end and from then on.
    fn next(&mut self) -> Option<Step>;

    /// Called when all of an extent has been read.
    fn was_read(&mut self, _extent: &Extent) {}
}
