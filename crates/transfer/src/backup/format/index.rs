//! The index of a stripe, which says where its frames stand, and the end of it.

use super::bytes::{Fields, FormatError, Put};
use super::frame_header::{FrameHeader, FrameKind};

const PART: &str = "the index of the stripe";
const COUNT_BYTES: usize = 4;
const ROW_BYTES: usize = 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexRecord {
    /// Where the frame's header begins in the stripe; a multiple of the block.
    pub position: u64,
    pub sequence: u64,
    pub file: u64,
    pub offset: u64,
    pub plain_length: u32,
    pub stored_length: u32,
    pub kind: FrameKind,
}

impl IndexRecord {
    pub fn of(header: &FrameHeader, position: u64) -> Self {
        Self {
            position,
            sequence: header.sequence,
            file: header.file,
            offset: header.offset,
            plain_length: header.plain_length,
            stored_length: header.stored_length,
            kind: header.kind,
        }
    }

    pub fn is_of(&self, header: &FrameHeader) -> bool {
        *self == Self::of(header, self.position)
    }
}

pub(super) fn records_max(frame_bytes: u32) -> usize {
    (frame_bytes as usize).saturating_sub(COUNT_BYTES) / ROW_BYTES
}

/// Takes as many records as fit into one frame of `frame_bytes` from the front of `records` and returns its plain bytes, and the
/// records that are left.
pub fn put_index(records: &[IndexRecord], frame_bytes: u32) -> (Vec<u8>, &[IndexRecord]) {
    let (here, left) = records.split_at(records.len().min(records_max(frame_bytes)));
    let mut plain = vec![0; COUNT_BYTES + here.len() * ROW_BYTES];
    let mut put = Put::into(&mut plain);
    put.u32(u32::try_from(here.len()).unwrap_or(u32::MAX));
    let mut end = COUNT_BYTES;
    for record in here {
        end += ROW_BYTES;
        put.u64(record.position)
            .u64(record.sequence)
            .u64(record.file)
            .u64(record.offset)
            .u32(record.plain_length)
            .u32(record.stored_length)
            .u8(record.kind.code())
            .zeros_to(end);
    }
    (plain, left)
}

pub fn index_records(
    plain: &[u8],
) -> Result<impl Iterator<Item = Result<IndexRecord, FormatError>>, FormatError> {
    let mut fields = Fields::of(PART, plain);
    let count = fields.u32()?;
    let rows = fields.take((count as usize).saturating_mul(ROW_BYTES))?;
    if !fields.rest().is_empty() {
        return Err(fields.bad("the number of frames", count));
    }
    Ok(rows.chunks_exact(ROW_BYTES).map(record))
}

fn record(row: &[u8]) -> Result<IndexRecord, FormatError> {
    let mut fields = Fields::of(PART, row);
    let (position, sequence) = (fields.u64()?, fields.u64()?);
    let (file, offset) = (fields.u64()?, fields.u64()?);
    let (plain_length, stored_length) = (fields.u32()?, fields.u32()?);
    let kind = fields.u8()?;
    let kind = FrameKind::from_code(kind).ok_or_else(|| fields.bad("a kind", kind))?;
    fields.zeros(fields.rest().len())?;
    Ok(IndexRecord { position, sequence, file, offset, plain_length, stored_length, kind })
}

/// Plain bytes of it. With its header and a tag it takes one block, the last one of the stripe.
pub const END_BYTES: usize = 80;

const END_PART: &str = "the end of the stripe";

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

    pub fn decode(plain: &[u8]) -> Result<Self, FormatError> {
        let mut fields = Fields::of(END_PART, plain);
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
