//! Writes a file of an archive.

use std::fs::File;
use std::io;

use iostall_engine::files::write_all_at;
use iostall_model::backup::Compression;
use xxhash_rust::xxh3::Xxh3;

use crate::backup::codec::{Compressor, compressed_bytes_max};
use crate::backup::format::{
    WAL_FRAME_BYTES_MAX, WAL_FRAME_HEADER_BYTES, WAL_HEADER_BYTES, WalFrameHeader, WalHeader,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    pub plain_bytes: u64,
    pub stored_bytes: u64,
    /// XXH3 of the content.
    pub plain_hash: u64,
    /// XXH3 of everything after the header.
    pub stored_hash: u64,
}

/// Writes the content of a file, frame by frame, behind the place of its header.
pub struct WalFileWriter<'a> {
    file: &'a File,
    compressor: Compressor,
    plain_hash: Xxh3,
    stored_hash: Xxh3,
    plain_bytes: u64,
    stored_bytes: u64,
    /// A frame with its header.
    frame: Vec<u8>,
}

impl<'a> WalFileWriter<'a> {
    /// Into `file`, which is empty.
    pub fn new(file: &'a File, compression: Compression) -> io::Result<Self> {
        let room = compressed_bytes_max(compression, WAL_FRAME_BYTES_MAX).max(WAL_FRAME_BYTES_MAX);
        Ok(Self {
            file,
            compressor: Compressor::new(compression)?,
            plain_hash: Xxh3::new(),
            stored_hash: Xxh3::new(),
            plain_bytes: 0,
            stored_bytes: 0,
            frame: vec![0; WAL_FRAME_HEADER_BYTES + usize::try_from(room).unwrap_or(usize::MAX)],
        })
    }

    /// Appends `plain`: a frame for each [`WAL_FRAME_BYTES_MAX`] of it.
    pub fn write(&mut self, plain: &[u8]) -> io::Result<()> {
        for part in plain.chunks(usize::try_from(WAL_FRAME_BYTES_MAX).unwrap_or(usize::MAX)) {
            let (header, stored) = self.frame.split_at_mut(WAL_FRAME_HEADER_BYTES);
            let (codec, length) = self.compressor.compress(part, stored);
            let wide = |length: usize| u32::try_from(length).map_err(io::Error::other);
            let frame =
                WalFrameHeader { codec, plain_length: wide(part.len())?, stored_length: wide(length)? };
            header.copy_from_slice(&frame.encode());
            let frame = &self.frame[..WAL_FRAME_HEADER_BYTES + length];
            write_all_at(self.file, frame, WAL_HEADER_BYTES as u64 + self.stored_bytes)?;
            self.plain_hash.update(part);
            self.stored_hash.update(frame);
            self.plain_bytes += part.len() as u64;
            self.stored_bytes += frame.len() as u64;
        }
        Ok(())
    }

    /// What was written; [`write_header`] must follow.
    pub fn sums(&self) -> Sums {
        Sums {
            plain_bytes: self.plain_bytes,
            stored_bytes: self.stored_bytes,
            plain_hash: self.plain_hash.digest(),
            stored_hash: self.stored_hash.digest(),
        }
    }
}

pub fn write_header(file: &File, header: &WalHeader) -> io::Result<()> {
    write_all_at(file, &header.encode(), 0)
}
