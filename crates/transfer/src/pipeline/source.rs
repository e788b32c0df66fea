//! What a pipeline reads.

use iostall_engine::FileIndex;

use super::frame::Extent;

/// What comes next in a source. Each step gets the next sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Bytes to read: they become one frame.
    Read(Extent),
    /// Nothing to move; zeros for the stages that see everything in order.
    Hole {
        /// In which file.
        file: FileIndex,
        /// Where it begins, bytes.
        offset: u64,
        /// Bytes.
        length: u64,
    },
}

/// Says what to read: extents of any number of the engine's files, in the order in which frames are numbered.
///
/// An extent is at most a buffer long. It begins at a multiple of its file's alignment and may end anywhere.
pub trait Source {
    /// The next step; `None` at the end, and from then on.
    fn next(&mut self) -> Option<Step>;

    /// All of an extent has been read.
    fn was_read(&mut self, _extent: &Extent) {}
}
