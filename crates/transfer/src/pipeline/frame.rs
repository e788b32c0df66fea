//! What moves through a pipeline.

use iostall_engine::{Buffer, FileIndex};

/// A part of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Which of the engine's files.
    pub file: FileIndex,
    /// Where it begins, bytes.
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

/// A frame without its bytes, while the engine has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) sequence: u64,
    pub(super) origin: Extent,
    pub(super) length: u32,
    pub(super) checksum: u64,
}

impl Frame {
    /// A frame whose bytes are the first of `buffer`, as many as `origin` is long.
    ///
    /// # Panics
    /// When the buffer is smaller than that.
    pub fn new(sequence: u64, origin: Extent, buffer: Buffer) -> Self {
        assert!(origin.length as usize <= buffer.len(), "a frame is larger than its buffer");
        Self { head: Head { sequence, origin, length: origin.length, checksum: 0 }, buffer }
    }

    /// Its place in the order of the source, from 0, holes counted.
    pub fn sequence(&self) -> u64 {
        self.head.sequence
    }

    /// Where its bytes come from. A stage that decodes what another has stored says here what they are again.
    pub fn origin(&self) -> Extent {
        self.head.origin
    }

    /// Sets where its bytes come from.
    pub fn set_origin(&mut self, origin: Extent) {
        self.head.origin = origin;
    }

    /// What a stage has put there for the sink, such as the XXH3 of the bytes; 0 until then.
    pub fn checksum(&self) -> u64 {
        self.head.checksum
    }

    /// Gives the sink a checksum.
    pub fn set_checksum(&mut self, checksum: u64) {
        self.head.checksum = checksum;
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.head.length as usize]
    }

    /// Its bytes, to be changed in place.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.head.length as usize]
    }

    /// Makes the first `length` bytes of `spare` its bytes; `spare` becomes the buffer that held them. Nothing is copied.
    ///
    /// # Panics
    /// When `spare` is smaller than that.
    pub fn replace(&mut self, spare: &mut Buffer, length: u32) {
        assert!(length as usize <= spare.len(), "a frame is larger than its buffer");
        std::mem::swap(&mut self.buffer, spare);
        self.head.length = length;
    }
}
