//! Bundles: small files and ends of files in one frame.

use super::bytes::{Fields, FormatError, Put};

const PART: &str = "the table of the bundle";
const COUNT_BYTES: usize = 4;
const ROW_BYTES: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub file: u64,
    pub offset: u64,
    /// Bytes; never 0.
    pub length: u32,
}

#[derive(Clone, Debug, Default)]
pub struct BundleWriter {
    pieces: Vec<Piece>,
    data_bytes: u64,
}

impl BundleWriter {
    pub fn bytes(&self) -> u64 {
        (COUNT_BYTES + self.pieces.len() * ROW_BYTES) as u64 + self.data_bytes
    }

    pub fn bytes_with(&self, length: u32) -> u64 {
        self.bytes() + ROW_BYTES as u64 + u64::from(length)
    }

    pub fn push(&mut self, piece: Piece) {
        self.data_bytes += u64::from(piece.length);
        self.pieces.push(piece);
    }

    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Bytes of the table for `pieces` pieces: their data follows it, one after another.
    pub fn table_bytes(pieces: usize) -> usize {
        COUNT_BYTES + pieces * ROW_BYTES
    }

    /// Puts the table of `pieces` at the beginning of `into`, which must have room for it, and returns its length.
    ///
    /// # Panics
    /// If `into` is shorter than the table.
    pub fn put_table(pieces: &[Piece], into: &mut [u8]) -> usize {
        let mut put = Put::into(into);
        put.u32(u32::try_from(pieces.len()).unwrap_or(u32::MAX));
        for piece in pieces {
            put.u64(piece.file).u64(piece.offset).u32(piece.length);
        }
        Self::table_bytes(pieces.len())
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Bundle<'a> {
    table: &'a [u8],
    data: &'a [u8],
}

impl<'a> Bundle<'a> {
    /// Checks the table: its pieces must fill the frame exactly.
    pub fn decode(plain: &'a [u8]) -> Result<Self, FormatError> {
        let mut fields = Fields::of(PART, plain);
        let count = fields.u32()? as usize;
        let table = fields.take(count.saturating_mul(ROW_BYTES))?;
        let bundle = Self { table, data: fields.rest() };
        let mut data_bytes = 0u64;
        for piece in bundle.rows() {
            let end = piece.offset.checked_add(piece.length.into());
            if end.is_none_or(|end| i64::try_from(end).is_err()) {
                return Err(fields.bad("an offset", piece.offset));
            }
            if piece.length == 0 {
                return Err(fields.bad("a length", piece.length));
            }
            data_bytes += u64::from(piece.length);
        }
        if data_bytes != bundle.data.len() as u64 {
            return Err(fields.bad("the sum of lengths", data_bytes));
        }
        Ok(bundle)
    }

    pub fn pieces(&self) -> impl Iterator<Item = (Piece, &'a [u8])> + use<'a> {
        let mut rest = self.data;
        self.rows().map(move |piece| {
            let (bytes, after) = rest.split_at_checked(piece.length as usize).unwrap_or_default();
            rest = after;
            (piece, bytes)
        })
    }

    fn rows(&self) -> impl Iterator<Item = Piece> + use<'a> {
        self.table.chunks_exact(ROW_BYTES).filter_map(|row| {
            let mut fields = Fields::of(PART, row);
            Some(Piece { file: fields.u64().ok()?, offset: fields.u64().ok()?, length: fields.u32().ok()? })
        })
    }
}
