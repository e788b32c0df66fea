//! Files of a relation in an increment that PostgreSQL has made: the blocks that changed since its base.
//!
//! ```text
//! header   0xd3ae1f0d u32   blocks in the file u32   truncation length u32   number of each block u32
//!          zeros up to a multiple of the block size, unless there are no blocks
//! blocks   as many as the header says, in its order
//! ```
//!
//! Numbers are in the byte order of the server's machine, which is that of ours: another could not use its files either. Blocks before
//! the truncation length that are not in the file are those of the base; from it on, the base has nothing that is still valid.

use thiserror::Error;

const MAGIC: u32 = 0xd3ae_1f0d;
const FIELD_BYTES: usize = 4;
/// Magic, number of blocks and truncation length.
const FIXED_BYTES: usize = 3 * FIELD_BYTES;
/// A file of a relation never has more blocks: its size is a number of 32 bits in the server.
const BLOCKS_MAX: u32 = 1 << 30;

/// How the names of such files begin, in the place of the relation's.
pub const INCREMENTAL: &str = "INCREMENTAL.";

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IncrementalError {
    #[error("it has no header of an increment")]
    NoHeader,
    #[error("its header names {blocks} blocks and a length of {truncation}, which no file has")]
    TooMuch { blocks: u32, truncation: u32 },
    #[error("its blocks are not in order")]
    Order,
    #[error("it has {bytes} bytes instead of {expected}")]
    Length { bytes: u64, expected: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncrementalFile {
    /// Numbers of its blocks in the relation's file, ascending.
    pub blocks: Vec<u32>,
    /// Blocks of the base that are still valid.
    pub truncation: u32,
    pub data_at: u64,
}

impl IncrementalFile {
    /// How many bytes of a file of `file_bytes` must be there to read its header, if `start` is its beginning.
    pub fn header_bytes(start: &[u8], file_bytes: u64) -> Result<usize, IncrementalError> {
        let field = |at| field(start, at).ok_or(IncrementalError::NoHeader);
        let (magic, blocks, truncation) = (field(0)?, field(FIELD_BYTES)?, field(2 * FIELD_BYTES)?);
        if magic != MAGIC {
            return Err(IncrementalError::NoHeader);
        }
        let bytes = FIXED_BYTES as u64 + u64::from(blocks) * FIELD_BYTES as u64;
        if blocks > BLOCKS_MAX || truncation > BLOCKS_MAX || bytes > file_bytes {
            return Err(IncrementalError::TooMuch { blocks, truncation });
        }
        usize::try_from(bytes).map_err(|_| IncrementalError::TooMuch { blocks, truncation })
    }

    /// Reads a whole header of a file of `file_bytes` with blocks of `block_bytes`.
    pub fn parse(header: &[u8], file_bytes: u64, block_bytes: u32) -> Result<Self, IncrementalError> {
        let header_bytes = Self::header_bytes(header, file_bytes)?;
        let numbers = header.get(FIXED_BYTES..header_bytes).ok_or(IncrementalError::NoHeader)?;
        let blocks: Vec<u32> =
            numbers.chunks_exact(FIELD_BYTES).filter_map(|number| field(number, 0)).collect();
        let truncation = field(header, 2 * FIELD_BYTES).ok_or(IncrementalError::NoHeader)?;
        if blocks.windows(2).any(|pair| pair[0] >= pair[1])
            || blocks.last().is_some_and(|last| *last >= BLOCKS_MAX)
        {
            return Err(IncrementalError::Order);
        }
        let block_bytes = u64::from(block_bytes.max(1));
        let header_bytes = header_bytes as u64;
        let data_at =
            if blocks.is_empty() { header_bytes } else { header_bytes.next_multiple_of(block_bytes) };
        let expected = data_at + blocks.len() as u64 * block_bytes;
        if file_bytes != expected {
            return Err(IncrementalError::Length { bytes: file_bytes, expected });
        }
        Ok(Self { blocks, truncation, data_at })
    }

    pub fn length_blocks(&self) -> u32 {
        self.blocks.last().map_or(0, |last| last + 1).max(self.truncation)
    }
}

fn field(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + FIELD_BYTES)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(blocks: &[u32], truncation: u32) -> Vec<u8> {
        let count = u32::try_from(blocks.len()).unwrap();
        [&[MAGIC, count, truncation][..], blocks]
            .concat()
            .iter()
            .flat_map(|field| field.to_ne_bytes())
            .collect()
    }

    #[test]
    fn blocks_follow_the_header_at_a_multiple_of_their_size() {
        let bytes = header(&[0, 3, 7], 5);
        let file = IncrementalFile::parse(&bytes, 4 * 8192, 8192).unwrap();
        assert_eq!(file, IncrementalFile { blocks: vec![0, 3, 7], truncation: 5, data_at: 8192 });
        assert_eq!(file.length_blocks(), 8);
        let bytes = header(&[], 5);
        let file = IncrementalFile::parse(&bytes, 12, 8192).unwrap();
        assert_eq!((file.data_at, file.length_blocks()), (12, 5));
    }

    #[test]
    fn what_is_no_header_or_has_another_length_is_refused() {
        let good = header(&[0, 3], 5);
        let parse = |bytes: &[u8], length| IncrementalFile::parse(bytes, length, 8192).unwrap_err();
        assert_eq!(parse(&good[..11], 3 * 8192), IncrementalError::NoHeader);
        assert_eq!(parse(&good[..16], 3 * 8192), IncrementalError::NoHeader);
        assert_eq!(parse(&[0; 20], 3 * 8192), IncrementalError::NoHeader);
        let expected = IncrementalError::Length { bytes: 2 * 8192, expected: 3 * 8192 };
        assert_eq!(parse(&good, 2 * 8192), expected);
        assert_eq!(parse(&header(&[3, 3], 5), 3 * 8192), IncrementalError::Order);
        assert_eq!(parse(&header(&[u32::MAX], 5), 2 * 8192), IncrementalError::Order);
        assert!(matches!(parse(&header(&[0], u32::MAX), 2 * 8192), IncrementalError::TooMuch { .. }));
        let mut many = good;
        many[4..8].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert!(matches!(parse(&many, 3 * 8192), IncrementalError::TooMuch { .. }));
    }
}
