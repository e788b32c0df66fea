//! Files of PostgreSQL's write-ahead log in an archive: a header, then frames. docs/formats.md draws them.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read};

use iostall_engine::files::write_all_at;
use iostall_model::backup::Compression;
use thiserror::Error;
use xxhash_rust::xxh3::Xxh3;
use zstd::bulk::Decompressor;

use crate::backup::codec::{Compressor, compressed_bytes_max};
use crate::backup::format::{
    CodecKind, FormatError, WAL_FRAME_BYTES_MAX, WAL_FRAME_HEADER_BYTES, WAL_HEADER_BYTES, WalFrameHeader,
    WalHeader,
};

#[derive(Debug, Error)]
pub enum WalFileError {
    #[error(transparent)]
    System(#[from] io::Error),
    #[error(transparent)]
    Format(#[from] FormatError),
    #[error("it ends after {found} bytes instead of {wanted}")]
    Short { found: u64, wanted: u64 },
    #[error("it goes on after its end")]
    Long,
    #[error("the stored bytes are damaged: their checksum does not match")]
    Stored,
    #[error("the content is damaged: its checksum does not match")]
    Plain,
    #[error("the stored bytes cannot be decompressed: {0}")]
    Compressed(String),
}

impl WalFileError {
    /// Whether the file itself is wrong, not the system that reads it.
    pub fn is_damage(&self) -> bool {
        !matches!(self, Self::System(_))
    }
}

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

/// Reads the header of an archived file, and checks that the file has the length that it names.
pub fn read_header(mut file: &File) -> Result<WalHeader, WalFileError> {
    let mut bytes = Vec::with_capacity(WAL_HEADER_BYTES);
    file.by_ref().take(WAL_HEADER_BYTES as u64).read_to_end(&mut bytes)?;
    let header = WalHeader::decode(&bytes)?;
    let wanted = header.stored_bytes.saturating_add(WAL_HEADER_BYTES as u64);
    match file.metadata()?.len() {
        found if found < wanted => Err(WalFileError::Short { found, wanted }),
        found if found > wanted => Err(WalFileError::Long),
        _ => Ok(header),
    }
}

/// Reads the content behind `header`, hands it to `sink` frame by frame, and checks all of it. What was handed over counts only
/// if this succeeds.
pub fn read_content(
    mut file: &File,
    header: &WalHeader,
    sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), WalFileError> {
    let most = usize::try_from(WAL_FRAME_BYTES_MAX).unwrap_or(usize::MAX);
    let (mut stored, mut plain) = (vec![0; most], vec![0; most]);
    let (mut stored_hash, mut plain_hash) = (Xxh3::new(), Xxh3::new());
    let (mut left, mut plain_left) = (header.stored_bytes, header.plain_bytes);
    let mut zstd = Decompressor::new()?;
    let short = |left: u64| WalFileError::Short {
        found: (header.stored_bytes - left).saturating_add(WAL_HEADER_BYTES as u64),
        wanted: header.stored_bytes.saturating_add(WAL_HEADER_BYTES as u64),
    };
    while left > 0 {
        let mut head = [0; WAL_FRAME_HEADER_BYTES];
        fill(&mut file, &mut head).map_err(|error| error.unwrap_or_else(|| short(left)))?;
        let frame = WalFrameHeader::decode(&head)?;
        let stored = &mut stored[..usize::try_from(frame.stored_length).unwrap_or(most)];
        left = left.checked_sub(frame.bytes()).ok_or_else(|| short(left))?;
        plain_left = plain_left.checked_sub(frame.plain_length.into()).ok_or(WalFileError::Plain)?;
        fill(&mut file, stored).map_err(|error| error.unwrap_or_else(|| short(left)))?;
        stored_hash.update(&head);
        stored_hash.update(stored);
        let plain = &mut plain[..usize::try_from(frame.plain_length).unwrap_or(most)];
        decompress(&mut zstd, frame.codec, stored, plain)?;
        plain_hash.update(plain);
        sink(plain)?;
    }
    if stored_hash.digest() != header.stored_hash {
        return Err(WalFileError::Stored);
    }
    if plain_left != 0 || plain_hash.digest() != header.plain_hash {
        return Err(WalFileError::Plain);
    }
    Ok(())
}

impl WalFrameHeader {
    /// Of the whole frame.
    fn bytes(self) -> u64 {
        u64::from(self.stored_length) + WAL_FRAME_HEADER_BYTES as u64
    }
}

/// The error is `None` where the file ends.
fn fill(file: &mut &File, bytes: &mut [u8]) -> Result<(), Option<WalFileError>> {
    file.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => None,
        _ => Some(error.into()),
    })
}

fn decompress(
    zstd: &mut Decompressor<'_>,
    codec: CodecKind,
    stored: &[u8],
    plain: &mut [u8],
) -> Result<(), WalFileError> {
    let failed = |error: &dyn std::fmt::Display| WalFileError::Compressed(error.to_string());
    let length = match codec {
        CodecKind::None if stored.len() == plain.len() => {
            plain.copy_from_slice(stored);
            stored.len()
        }
        CodecKind::None => stored.len(),
        CodecKind::Zstd => zstd.decompress_to_buffer(stored, plain).map_err(|error| failed(&error))?,
        CodecKind::Lz4 => lz4_flex::block::decompress_into(stored, plain).map_err(|error| failed(&error))?,
    };
    if length == plain.len() {
        Ok(())
    } else {
        Err(WalFileError::Compressed(format!("{length} bytes instead of {}", plain.len())))
    }
}
