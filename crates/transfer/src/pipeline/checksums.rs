//! Computes checksums of a file between reading and writing.

use iostall_model::transfer::HashKind;

use super::frame::Frame;
use super::stage::{OrderedStage, StageFailure};
use crate::hash::{BlockHashes, Digest, Hasher, piece_hash};

#[derive(Clone, Copy, Debug, Default)]
pub struct HashWanted {
    /// Of the whole file.
    pub whole: Option<HashKind>,
    /// Of each block of this many bytes, to locate differences.
    pub block_bytes: Option<u64>,
    /// Of each frame, for the journal.
    pub frames: bool,
}

impl HashWanted {
    pub fn is_nothing(&self) -> bool {
        self.whole.is_none() && self.block_bytes.is_none() && !self.frames
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileHashes {
    pub whole: Option<Digest>,
    /// XXH3 of each block, in order.
    pub blocks: Vec<u64>,
}

/// The stage that computes them. Reads complete in any order, but a file's checksum needs them in sequence.
pub struct Checksums {
    whole: Option<Hasher>,
    blocks: Option<BlockHashes>,
    frames: bool,
}

impl Checksums {
    pub fn new(wanted: HashWanted) -> Self {
        Self {
            whole: wanted.whole.map(Hasher::new),
            blocks: wanted.block_bytes.map(BlockHashes::new),
            frames: wanted.frames,
        }
    }

    pub fn finish(self) -> FileHashes {
        FileHashes {
            whole: self.whole.map(Hasher::finish),
            blocks: self.blocks.map(BlockHashes::finish).unwrap_or_default(),
        }
    }
}

impl OrderedStage for Checksums {
    fn frame(&mut self, frame: &mut Frame) -> Result<(), StageFailure> {
        self.whole.iter_mut().for_each(|hasher| hasher.update(frame.bytes()));
        self.blocks.iter_mut().for_each(|blocks| blocks.update(frame.bytes()));
        if self.frames {
            frame.set_checksum(piece_hash(frame.bytes()));
        }
        Ok(())
    }

    fn hole(&mut self, length: u64) {
        self.whole.iter_mut().for_each(|hasher| hasher.update_zeros(length));
        self.blocks.iter_mut().for_each(|blocks| blocks.update_zeros(length));
    }
}
