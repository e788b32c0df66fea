//! Compression of frames, and decoding of what is stored.

use std::io;

use iostall_model::backup::{Compression, SetId};
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;
use zstd::bulk::Decompressor;

use super::keys::{KeyError, SetKeys};
use super::seal::Opener;
use crate::backup::format::{CodecKind, FRAME_HEADER_BYTES, FormatError, FrameHeader, stored_hash};

/// Compresses frames one by one. Each worker has its own, with the tables that zstd needs.
pub struct Compressor(Kind);

enum Kind {
    None,
    Zstd(zstd::bulk::Compressor<'static>),
    Lz4,
}

/// Room that LZ4 wants for `plain_bytes`, whatever it then uses; the others need no more than the plain bytes.
pub fn compressed_bytes_max(compression: Compression, plain_bytes: u32) -> u32 {
    match compression {
        Compression::None | Compression::Zstd(_) => plain_bytes,
        Compression::Lz4 => {
            let bytes = lz4_flex::block::get_maximum_output_size(plain_bytes as usize);
            u32::try_from(bytes).unwrap_or(u32::MAX)
        }
    }
}

impl Compressor {
    /// With the tables of `compression`.
    pub fn new(compression: Compression) -> io::Result<Self> {
        Ok(Self(match compression {
            Compression::None => Kind::None,
            Compression::Zstd(level) => Kind::Zstd(zstd::bulk::Compressor::new(level)?),
            Compression::Lz4 => Kind::Lz4,
        }))
    }

    /// Puts `plain` at the beginning of `into`, compressed if that makes it smaller; returns how, and the length.
    ///
    /// # Panics
    /// If `into` is shorter than `plain`.
    pub fn compress(&mut self, plain: &[u8], into: &mut [u8]) -> (CodecKind, usize) {
        let compressed = match &mut self.0 {
            Kind::None => None,
            // One byte less than the plain bytes: what does not fit there is not worth it, and zstd says so by an error.
            Kind::Zstd(zstd) => zstd
                .compress_to_buffer(plain, &mut into[..plain.len().saturating_sub(1)])
                .ok()
                .map(|length| (CodecKind::Zstd, length)),
            Kind::Lz4 => {
                lz4_flex::block::compress_into(plain, into).ok().map(|length| (CodecKind::Lz4, length))
            }
        };
        compressed
            .filter(|(_, length)| (1..plain.len()).contains(length))
            .unwrap_or_else(|| Self::store(plain, into))
    }

    /// Puts `plain` at the beginning of `into` as it is.
    ///
    /// # Panics
    /// If `into` is shorter than `plain`.
    pub fn store(plain: &[u8], into: &mut [u8]) -> (CodecKind, usize) {
        into[..plain.len()].copy_from_slice(plain);
        (CodecKind::None, plain.len())
    }
}

/// What is wrong with a frame.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrameFault {
    #[error(transparent)]
    Format(#[from] FormatError),
    #[error("the frame is of another set, {found}")]
    OtherSet { found: SetId },
    #[error("the frame is of stripe {}, not of this one", found + 1)]
    OtherStripe { found: u16 },
    #[error("another frame than the index says stands here")]
    OtherFrame,
    #[error("the stored bytes are damaged: their checksum does not match")]
    Stored,
    #[error("the frame is not encrypted, but its set is")]
    NotSealed,
    #[error("the frame is encrypted, but its set is not")]
    Sealed,
    #[error("the encrypted bytes are not what was written: they were changed, or made with another key")]
    Forged,
    #[error("the stored bytes cannot be decompressed: {0}")]
    Compressed(String),
    #[error("the content is damaged: its checksum does not match")]
    Plain,
    #[error("the frame holds something else than what the increment was compared with")]
    OtherContent,
}

/// Checks, decrypts and decompresses frames of one set. Each worker has its own.
pub struct Decoder {
    set: SetId,
    opener: Option<Opener>,
    zstd: Decompressor<'static>,
}

impl Decoder {
    /// For the frames of `set`, with its keys if it is encrypted.
    pub fn new(set: SetId, keys: Option<&SetKeys>) -> Result<Self, KeyError> {
        let zstd = Decompressor::new().map_err(|_| KeyError::Library)?;
        Ok(Self { set, opener: keys.map(Opener::new).transpose()?, zstd })
    }

    /// Checks what can be checked without a key: the header belongs to `stripe` of this set, and the stored bytes and the
    /// zeros after them are what the header says. `frame` is everything from the header to the next block.
    pub fn check_stored(&self, frame: &[u8], stripe: u16) -> Result<FrameHeader, FrameFault> {
        let header = FrameHeader::decode(frame)?;
        if header.set != self.set {
            return Err(FrameFault::OtherSet { found: header.set });
        }
        if header.stripe != stripe {
            return Err(FrameFault::OtherStripe { found: header.stripe });
        }
        let stored = frame.get(FRAME_HEADER_BYTES..).unwrap_or_default();
        let padding = stored.get(header.stored_length as usize..).ok_or(FrameFault::Stored)?;
        if stored_hash(stored) != header.stored_hash || padding.iter().any(|byte| *byte != 0) {
            return Err(FrameFault::Stored);
        }
        Ok(header)
    }

    /// Checks a frame and puts its plain bytes at the beginning of `into`. Decrypts in place, so `frame` is not to be used
    /// again.
    pub fn decode<'a>(
        &mut self,
        frame: &mut [u8],
        stripe: u16,
        into: &'a mut [u8],
    ) -> Result<(FrameHeader, &'a mut [u8]), FrameFault> {
        let header = self.check_stored(frame, stripe)?;
        let stored = &mut frame[FRAME_HEADER_BYTES..][..header.stored_length as usize];
        let (length, mask) = match (&self.opener, header.is_sealed) {
            (None, false) => (stored.len(), 0),
            (None, true) => return Err(FrameFault::Sealed),
            (Some(_), false) => return Err(FrameFault::NotSealed),
            (Some(opener), true) => {
                (opener.open(&header, stored).ok_or(FrameFault::Forged)?, opener.mask(header.sequence))
            }
        };
        let too_small = || FrameFault::Compressed("it is larger than a frame of this set".to_owned());
        let plain = into.get_mut(..header.plain_length as usize).ok_or_else(too_small)?;
        let found = self.decompress(header.codec, &stored[..length], plain)?;
        if found != plain.len() {
            let message = format!("{found} bytes instead of {}", plain.len());
            return Err(FrameFault::Compressed(message));
        }
        if xxh3_64(plain) ^ mask != header.plain_hash {
            return Err(FrameFault::Plain);
        }
        Ok((header, plain))
    }

    fn decompress(&mut self, codec: CodecKind, stored: &[u8], plain: &mut [u8]) -> Result<usize, FrameFault> {
        let fault = |error: io::Error| FrameFault::Compressed(error.to_string());
        match codec {
            CodecKind::None if stored.len() == plain.len() => {
                plain.copy_from_slice(stored);
                Ok(plain.len())
            }
            CodecKind::None => Ok(stored.len()),
            CodecKind::Zstd => self.zstd.decompress_to_buffer(stored, plain).map_err(fault),
            CodecKind::Lz4 => lz4_flex::block::decompress_into(stored, plain)
                .map_err(|error| FrameFault::Compressed(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(size: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        };
        (0..size).map(|_| next()).collect()
    }

    #[test]
    fn what_does_not_become_smaller_is_stored_as_it_is() {
        for compression in [Compression::None, Compression::Zstd(1), Compression::Zstd(9), Compression::Lz4] {
            let mut compressor = Compressor::new(compression).unwrap();
            for plain in [noise(1), noise(4095), noise(100_000), b"ab".to_vec()] {
                let room = compressed_bytes_max(compression, u32::try_from(plain.len()).unwrap());
                let mut into = vec![7; room as usize];
                assert_eq!(compressor.compress(&plain, &mut into), (CodecKind::None, plain.len()));
                assert_eq!(into[..plain.len()], plain);
            }
        }
    }

    #[test]
    fn what_is_compressed_is_smaller_and_reads_back() {
        let plain = b"the same again and again; ".repeat(2000);
        let mut into = vec![0; plain.len() * 2];
        let (codec, length) = Compressor::new(Compression::Zstd(1)).unwrap().compress(&plain, &mut into);
        assert_eq!(codec, CodecKind::Zstd);
        assert_eq!(zstd::bulk::decompress(&into[..length], plain.len()).unwrap(), plain);
        let (codec, length) = Compressor::new(Compression::Lz4).unwrap().compress(&plain, &mut into);
        assert_eq!(codec, CodecKind::Lz4);
        assert_eq!(lz4_flex::block::decompress(&into[..length], plain.len()).unwrap(), plain);
        // A second frame does not depend on the first.
        let mut zstd = Compressor::new(Compression::Zstd(3)).unwrap();
        let (_, first) = zstd.compress(&plain, &mut into);
        let copy = into[..first].to_vec();
        let (_, second) = zstd.compress(&plain, &mut into);
        assert_eq!(copy, into[..second]);
    }
}
