//! The header of a frame, and where frames stand in a stripe.

use iostall_model::backup::SetId;
use xxhash_rust::xxh3::xxh3_64;

use super::bytes::{FRAME_BYTES_MAX, Fields, FormatError, Put, STRIPES_MAX, TAG_BYTES, blocks_of};
use super::stripe_header::CodecKind;

pub const FRAME_HEADER_BYTES: usize = 128;

const PART: &str = "the header of the frame";
const MARK: &[u8; 4] = b"IOSF";
const SEALED: u16 = 1;
const STRIPE_AT: usize = 72;
const CHECKSUM_AT: usize = FRAME_HEADER_BYTES - 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameKind {
    Data,
    /// Small files and ends of files.
    Bundle,
    /// What the manifest says of files whose data is complete.
    Entries,
    Index,
    End,
    /// What is in which frame, with the digest of each piece.
    Digests,
    Bases,
}

impl FrameKind {
    const ALL: [Self; 7] =
        [Self::Data, Self::Bundle, Self::Entries, Self::Index, Self::End, Self::Digests, Self::Bases];

    pub fn code(self) -> u8 {
        match self {
            Self::Data => 1,
            Self::Bundle => 2,
            Self::Entries => 3,
            Self::Index => 4,
            Self::End => 5,
            Self::Digests => 6,
            Self::Bases => 7,
        }
    }

    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    pub kind: FrameKind,
    pub codec: CodecKind,
    pub is_sealed: bool,
    pub set: SetId,
    pub sequence: u64,
    /// Number of the file in the set; 0 for others than data.
    pub file: u64,
    pub offset: u64,
    pub plain_length: u32,
    /// With the tag of the encryption, without the zeros up to the next block.
    pub stored_length: u32,
    /// XXH3 of the plain bytes; masked if the frame is encrypted.
    pub plain_hash: u64,
    /// XXH3 of the stored bytes and the zeros after them.
    pub stored_hash: u64,
    pub stripe: u16,
}

impl FrameHeader {
    /// Puts it into the first [`FRAME_HEADER_BYTES`] of `into`.
    ///
    /// # Panics
    /// If `into` is shorter.
    pub fn put(&self, into: &mut [u8]) {
        let flags = if self.is_sealed { SEALED } else { 0 };
        Put::into(into)
            .bytes(MARK)
            .u8(self.kind.code())
            .u8(self.codec.code())
            .u16(flags)
            .bytes(&self.set.0)
            .u64(self.sequence)
            .u64(self.file)
            .u64(self.offset)
            .u32(self.plain_length)
            .u32(self.stored_length)
            .u64(self.plain_hash)
            .u64(self.stored_hash)
            .u16(self.stripe)
            .zeros_to(CHECKSUM_AT);
        put_checksum(into);
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let bytes = Fields::of(PART, bytes).take(FRAME_HEADER_BYTES)?;
        let (content, checksum) = bytes.split_at(CHECKSUM_AT);
        let mut fields = Fields::of(PART, content);
        fields.mark(MARK)?;
        if Fields::of(PART, checksum).u32()? != crc32c::crc32c(content) {
            return Err(FormatError::Checksum { part: PART });
        }
        let kind = fields.u8()?;
        let kind = FrameKind::from_code(kind).ok_or_else(|| fields.bad("the kind", kind))?;
        let codec = fields.u8()?;
        let codec = CodecKind::from_code(codec).ok_or_else(|| fields.bad("the codec", codec))?;
        let is_sealed = match fields.u16()? {
            0 => false,
            SEALED => true,
            other => return Err(fields.bad("the flags", other)),
        };
        let header = Self {
            kind,
            codec,
            is_sealed,
            set: SetId(fields.array()?),
            sequence: fields.u64()?,
            file: fields.u64()?,
            offset: fields.u64()?,
            plain_length: fields.u32()?,
            stored_length: fields.u32()?,
            plain_hash: fields.u64()?,
            stored_hash: fields.u64()?,
            stripe: fields.u16()?,
        };
        fields.zeros(fields.rest().len())?;
        header.check(&fields)?;
        Ok(header)
    }

    fn check(&self, fields: &Fields<'_>) -> Result<(), FormatError> {
        let (plain, stored) = (self.plain_length, self.stored_length);
        if plain == 0 || plain > FRAME_BYTES_MAX {
            return Err(fields.bad("the plain length", plain));
        }
        let tag = if self.is_sealed { TAG_BYTES } else { 0 };
        // What does not shrink is stored as it is, so nothing is ever longer than its plain bytes and the tag.
        let fits = match self.codec {
            CodecKind::None => stored == plain + tag,
            CodecKind::Zstd | CodecKind::Lz4 => stored > tag && stored < plain + tag,
        };
        if !fits {
            return Err(fields.bad("the stored length", stored));
        }
        if self.offset.checked_add(plain.into()).is_none_or(|end| i64::try_from(end).is_err()) {
            return Err(fields.bad("the offset", self.offset));
        }
        if self.stripe >= STRIPES_MAX {
            return Err(fields.bad("the stripe", self.stripe));
        }
        Ok(())
    }
}

/// Sets the stripe in an encoded header: which one takes a frame is known only when it is written.
///
/// # Panics
/// If `header` is shorter than a header.
pub fn set_stripe(header: &mut [u8], stripe: u16) {
    Put::into(&mut header[STRIPE_AT..]).u16(stripe);
    put_checksum(header);
}

/// What a header says of its stored bytes and of the zeros after them.
pub fn stored_hash(stored_and_padding: &[u8]) -> u64 {
    xxh3_64(stored_and_padding)
}

fn put_checksum(header: &mut [u8]) {
    let checksum = crc32c::crc32c(&header[..CHECKSUM_AT]);
    Put::into(&mut header[CHECKSUM_AT..]).u32(checksum);
}

/// Bytes that a frame takes in a stripe or in a buffer: header, stored bytes and the zeros up to the next block.
pub fn frame_block_bytes(stored: u32, block: u32) -> u64 {
    blocks_of(u64::from(stored) + FRAME_HEADER_BYTES as u64, block)
}

/// The set of the stripe or manifest that begins with `head`, which may be damaged elsewhere; `None` if it is neither.
pub fn set_in_head(head: &[u8]) -> Option<SetId> {
    let at = match head.get(..8)? {
        b"IOSTRIPE" => 32,
        b"IOSMANIF" => 16,
        _ => return None,
    };
    head.get(at..at + 16)?.try_into().map(SetId).ok()
}
