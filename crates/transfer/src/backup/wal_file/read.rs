//! Reads a file of an archive, and checks all of it.

use std::fs::File;
use std::io::{self, Read};

use xxhash_rust::xxh3::Xxh3;
use zstd::bulk::Decompressor;

use super::error::WalFileError;
use crate::backup::format::{
    CodecKind, WAL_FRAME_BYTES_MAX, WAL_FRAME_HEADER_BYTES, WAL_HEADER_BYTES, WalFrameHeader, WalHeader,
};

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
