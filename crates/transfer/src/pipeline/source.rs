//! Sources of a pipeline.

use iostall_engine::FileIndex;

use super::frame::Extent;

/// The next part of a source. Each step gets the next sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Bytes to read, which become one frame.
    Read(Extent),
    /// A frame without bytes, for the first stage to fill: small files, or a stream. The extent is the source's own note of what it
    /// is for; its length, which counts for the rate limit, is the most that it will get. The stage sets the extent that it got.
    Fill(Extent),
    /// Nothing to move; ordered stages see zeros.
    Hole { file: FileIndex, offset: u64, length: u64 },
}

/// Says what to read: extents of any of the engine's files, in the order in which frames are numbered.
///
/// An extent is at most one buffer long. It begins at a multiple of its file's alignment and may end
/// anywhere.
pub trait Source {
    /// The next step; `None` at the end and from then on.
    fn next(&mut self) -> Option<Step>;

    fn was_read(&mut self, _extent: &Extent) {}

    /// The file ended within an extent, of which only `read_bytes` could be read. Whether that is accepted: the frame then has
    /// only these bytes, and possibly none.
    fn ended_early(&mut self, _extent: &Extent, _read_bytes: u32) -> bool {
        false
    }
}
