//! Digests, which say what each piece of each file is and which frame holds it, and entries of files that are complete.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::bytes::{Fields, FormatError, Put};

const PART: &str = "the digests";
const COUNT_BYTES: usize = 4;
const ROW_BYTES: usize = 72;

/// A piece of a file: a whole frame of data, or a file in a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PieceRecord {
    pub file: u64,
    /// Where in the file; it has the same place in the frame's file.
    pub offset: u64,
    /// Bytes; never 0.
    pub length: u32,
    /// Which set holds it: 0 this one, 1 the set that it was compared with, 2 what that one is based on, and so on.
    pub set: u16,
    pub sequence: u64,
    pub held_file: u64,
    pub digest: [u8; 32],
}

fn pieces_max(frame_bytes: u32) -> usize {
    (frame_bytes as usize).saturating_sub(COUNT_BYTES) / ROW_BYTES
}

/// Takes as many pieces as fit into one frame of `frame_bytes` from the front of `pieces` and returns its plain bytes, and the
/// pieces that are left.
pub fn put_digests(pieces: &[PieceRecord], frame_bytes: u32) -> (Vec<u8>, &[PieceRecord]) {
    let (here, left) = pieces.split_at(pieces.len().min(pieces_max(frame_bytes)));
    let mut plain = vec![0; COUNT_BYTES + here.len() * ROW_BYTES];
    let mut put = Put::into(&mut plain);
    put.u32(u32::try_from(here.len()).unwrap_or(u32::MAX));
    for piece in here {
        put.u64(piece.file)
            .u64(piece.offset)
            .u32(piece.length)
            .u16(piece.set)
            .u16(0)
            .u64(piece.sequence)
            .u64(piece.held_file)
            .bytes(&piece.digest);
    }
    (plain, left)
}

pub fn pieces_of(plain: &[u8]) -> Result<Vec<PieceRecord>, FormatError> {
    let mut fields = Fields::of(PART, plain);
    let count = fields.u32()?;
    let rows = fields.take((count as usize).saturating_mul(ROW_BYTES))?;
    if !fields.rest().is_empty() {
        return Err(fields.bad("the number of pieces", count));
    }
    rows.chunks_exact(ROW_BYTES).map(piece).collect()
}

fn piece(row: &[u8]) -> Result<PieceRecord, FormatError> {
    let mut fields = Fields::of(PART, row);
    let (file, offset, length, set) = (fields.u64()?, fields.u64()?, fields.u32()?, fields.u16()?);
    fields.zeros(2)?;
    if length == 0 {
        return Err(fields.bad("a length", length));
    }
    if offset.checked_add(length.into()).is_none_or(|end| i64::try_from(end).is_err()) {
        return Err(fields.bad("an offset", offset));
    }
    let (sequence, held_file, digest) = (fields.u64()?, fields.u64()?, fields.array()?);
    Ok(PieceRecord { file, offset, length, set, sequence, held_file, digest })
}

const ENTRIES_PART: &str = "the entries";

pub fn put_entry_line<T: Serialize>(entry: &T, plain: &mut Vec<u8>) -> Result<(), FormatError> {
    serde_json::to_writer(&mut *plain, entry).map_err(text)?;
    plain.push(b'\n');
    Ok(())
}

pub fn entry_lines<T: DeserializeOwned>(plain: &[u8]) -> impl Iterator<Item = Result<T, FormatError>> {
    let lines = plain.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).map_err(text))
}

fn text(error: impl std::fmt::Display) -> FormatError {
    FormatError::Text { part: ENTRIES_PART, cause: error.to_string() }
}
