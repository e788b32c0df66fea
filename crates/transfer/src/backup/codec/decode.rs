//! From the stored bytes of a frame to what was backed up.

use std::io;

use iostall_model::backup::SetId;
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;
use zstd::bulk::Decompressor;

use super::keys::{KeyError, SetKeys};
use super::seal::Opener;
use crate::backup::format::{CodecKind, FRAME_HEADER_BYTES, FormatError, FrameHeader, stored_hash};

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
