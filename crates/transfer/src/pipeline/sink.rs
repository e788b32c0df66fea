//! Sinks: they write frames, and decide where.

use std::io;

use iostall_engine::FileIndex;

use super::frame::{Extent, Frame};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Write it to this place. The request is as long as the frame, rounded up with zeros to the file's
    /// alignment, of which `offset` must be a multiple.
    Write { file: FileIndex, offset: u64 },
    /// Done without writing: the data is already there, or is not needed.
    Skip,
    /// Not now: another sink may take it, and this one is asked again. A pipeline in which nothing moves any
    /// more and no sink takes what is ready ends with an error.
    Later,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its position in the source.
    pub sequence: u64,
    pub origin: Extent,
    pub at: Extent,
    /// The checksum from a stage, such as the XXH3 of the bytes.
    pub checksum: u64,
}

/// A file to be synced while it is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub file: FileIndex,
    /// Sync after this many bytes written by this sink.
    pub interval_bytes: u64,
}

/// Decides where frames are written: to one destination, or to one of several that share the frames. The sink
/// with the fewest writes in flight is asked first, so that a slow one gets fewer frames; of several the one that
/// has got the fewest bytes.
///
/// All calls come from the I/O thread and must be quick.
pub trait Sink {
    /// Maximum number of writes in flight to it. At least 1.
    fn writes_max(&self) -> u32;

    /// Where a frame goes. The sink may change the frame's bytes, for example to put its number into a
    /// header.
    fn place(&mut self, frame: &mut Frame) -> Placement;

    /// A frame was written but is not yet durable. Called in any order.
    fn was_written(&mut self, _written: &Written) {}

    /// What to sync regularly; `None` if that is not needed. The caller syncs what is written after the last
    /// checkpoint.
    fn checkpoint(&self) -> Option<Checkpoint> {
        None
    }

    /// These frames are on stable media: the file was synced after they were written. An error ends the job.
    fn is_durable(&mut self, _frames: &[Written]) -> io::Result<()> {
        Ok(())
    }
}
