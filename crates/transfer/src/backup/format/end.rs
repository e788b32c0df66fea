//! The last frame of a stripe. A stripe without it was not completed.

use super::bytes::{Fields, Put};
use super::error::FormatError;

/// Plain bytes of it. With its header and a tag it takes one block, the last one of the stripe.
pub const END_BYTES: usize = 80;

const PART: &str = "the end of the stripe";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Frames before it, those of the index included.
    pub frames: u64,
    /// Bytes of the source in its data and bundles, without tables.
    pub source_bytes: u64,
    /// Where this frame begins, which is the length of everything before it.
    pub position: u64,
    /// Where the first frame of the index begins; where this frame begins if there is none.
    pub index_position: u64,
    /// BLAKE3 of the headers of all frames before it, in the order in which they stand.
    pub headers_hash: [u8; 32],
}

impl End {
    /// Its plain bytes.
    pub fn encode(&self) -> [u8; END_BYTES] {
        let mut plain = [0; END_BYTES];
        Put::into(&mut plain)
            .u64(self.frames)
            .u64(self.source_bytes)
            .u64(self.position)
            .u64(self.index_position)
            .bytes(&self.headers_hash);
        plain
    }

    /// From its plain bytes.
    pub fn decode(plain: &[u8]) -> Result<Self, FormatError> {
        let mut fields = Fields::of(PART, plain);
        let end = Self {
            frames: fields.u64()?,
            source_bytes: fields.u64()?,
            position: fields.u64()?,
            index_position: fields.u64()?,
            headers_hash: fields.array()?,
        };
        fields.zeros(END_BYTES - 64)?;
        if !fields.rest().is_empty() {
            return Err(fields.bad("the length", plain.len() as u64));
        }
        if end.index_position > end.position {
            return Err(fields.bad("the position of the index", end.index_position));
        }
        Ok(end)
    }
}
