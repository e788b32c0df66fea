//! Where frames go.

use std::io;

use iostall_engine::FileIndex;

use super::frame::{Extent, Frame};

/// What a sink does with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// It is written: these bytes of this file are the sink's for it. A request is as long as the frame, rounded up
    /// with zeros to the file's alignment, of which `offset` is a multiple.
    Write {
        /// Which of the engine's files.
        file: FileIndex,
        /// Where, bytes.
        offset: u64,
    },
    /// It is done without being written, as what is already there, or what goes nowhere.
    Skip,
    /// Not now, or not here: another sink may have it, and this one is asked again. A pipeline in which nothing moves
    /// any more and no sink takes what is ready ends with an error.
    Later,
}

/// A frame that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its place in the order of the source.
    pub sequence: u64,
    /// Where its bytes come from.
    pub origin: Extent,
    /// Where they are now.
    pub at: Extent,
    /// What a stage has put there, such as the XXH3 of the bytes.
    pub checksum: u64,
}

/// A file to be made durable as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which of the engine's files.
    pub file: FileIndex,
    /// After so many bytes written by this sink.
    pub interval_bytes: u64,
}

/// Decides where frames are written: one destination, or one of several between which frames are shared out. The
/// sink with the fewest writes in flight is asked first, so that a slow one gets fewer frames.
///
/// All calls come from the thread that does the I/O, and delay it as long as they take.
pub trait Sink {
    /// Most writes in flight to it. At least 1.
    fn writes_max(&self) -> u32;

    /// Where a frame goes. The sink may write into the frame's bytes, such as its own number into a header.
    fn place(&mut self, frame: &mut Frame) -> Placement;

    /// A frame is in its place, and not yet durable. Frames come in any order.
    fn was_written(&mut self, _written: &Written) {}

    /// What to make durable now and then; `None` where nobody needs to know. What is written after the last time is
    /// the caller's to sync.
    fn checkpoint(&self) -> Option<Checkpoint> {
        None
    }

    /// These frames are on stable media: the file of the checkpoint was synced after they were written. An error ends
    /// the job.
    fn is_durable(&mut self, _frames: &[Written]) -> io::Result<()> {
        Ok(())
    }
}
