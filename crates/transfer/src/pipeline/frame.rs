//! What moves through a pipeline.

use iostall_engine::{Buffer, FileIndex};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub file: FileIndex,
    pub offset: u64,
    /// Bytes; never 0.
    pub length: u32,
}

/// The bytes of one extent on their way from a source to a sink, in one buffer.
#[derive(Debug)]
pub struct Frame {
    pub(super) head: Head,
    pub(super) buffer: Buffer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) sequence: u64,
    pub(super) origin: Extent,
    pub(super) length: u32,
    pub(super) checksum: u64,
    /// Its bytes come from the first stage instead of a file of the engine.
    pub(super) is_filled: bool,
}

impl Frame {
    /// A frame with the first bytes of `buffer`, as many as `origin` is long.
    ///
    /// # Panics
    /// If the buffer is smaller.
    pub fn new(sequence: u64, origin: Extent, buffer: Buffer) -> Self {
        assert!(origin.length as usize <= buffer.len(), "a frame is larger than its buffer");
        let head = Head { sequence, origin, length: origin.length, checksum: 0, is_filled: false };
        Self { head, buffer }
    }

    /// A frame without bytes, for the first stage to fill.
    pub(super) fn to_fill(sequence: u64, origin: Extent, buffer: Buffer) -> Self {
        Self { head: Head { sequence, origin, length: 0, checksum: 0, is_filled: true }, buffer }
    }

    /// Its position in the source, from 0, including holes.
    pub fn sequence(&self) -> u64 {
        self.head.sequence
    }

    /// Where its bytes come from. A decoding stage sets the original extent here.
    pub fn origin(&self) -> Extent {
        self.head.origin
    }

    pub fn set_origin(&mut self, origin: Extent) {
        self.head.origin = origin;
    }

    /// A checksum from a stage for the sink, such as the XXH3 of the bytes; 0 if none.
    pub fn checksum(&self) -> u64 {
        self.head.checksum
    }

    pub fn set_checksum(&mut self, checksum: u64) {
        self.head.checksum = checksum;
    }

    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.head.length as usize]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.head.length as usize]
    }

    /// The whole buffer, to be filled. Its content is arbitrary; [`Self::set_length`] says how much of it counts.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    /// Makes the first `length` bytes of the buffer the frame's bytes. A frame without bytes is passed on too.
    ///
    /// # Panics
    /// If the buffer is smaller.
    pub fn set_length(&mut self, length: u32) {
        assert!(length as usize <= self.buffer.len(), "a frame is larger than its buffer");
        self.head.length = length;
    }

    /// Makes the first `length` bytes of `spare` the frame's bytes; `spare` becomes the old buffer. Nothing
    /// is copied.
    ///
    /// # Panics
    /// If `spare` is smaller.
    pub fn replace(&mut self, spare: &mut Buffer, length: u32) {
        assert!(length as usize <= spare.len(), "a frame is larger than its buffer");
        std::mem::swap(&mut self.buffer, spare);
        self.head.length = length;
    }
}
