//! The header that the blocks written by iostall begin with.
//!
//! ```text
//!  0         7      8        16         24       32
//!  | IOSTALL | kind | offset | sequence | seed   |      numbers little-endian, 8 bytes each
//! ```
//!
//! Offset and sequence differ from block to block and from write to write, so a device can neither
//! deduplicate the data nor can an old block pass for a new one. The kind tells whose the start of a file is: where a
//! file system keeps no user attributes, nothing else tells a file that iostall made from the image of a device that
//! it loaded.

/// Length of the header.
pub const HEADER_BYTES: usize = 32;

/// What every header begins with.
const MAGIC: &[u8; 7] = b"IOSTALL";

/// What begins with the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderKind {
    /// A file that iostall made: only its very first bytes say so.
    MadeFile,
    /// A block that a load wrote: to a device, to a file of the user's, or further on in a file that iostall made.
    Block,
    /// Either: earlier versions did not tell them apart. Never written any more.
    Unknown,
}

impl HeaderKind {
    const ALL: [Self; 3] = [Self::MadeFile, Self::Block, Self::Unknown];

    fn letter(self) -> u8 {
        match self {
            Self::MadeFile => b'F',
            Self::Block => b'B',
            Self::Unknown => b'1',
        }
    }

    /// The kind of the header that `block` begins with, if it does.
    pub(super) fn of(block: &[u8]) -> Option<Self> {
        let (letter, _) = block.strip_prefix(MAGIC)?.split_first()?;
        Self::ALL.into_iter().find(|kind| kind.letter() == *letter)
    }

    /// Makes the header that `block` already begins with one of this kind.
    #[inline]
    pub fn put(self, block: &mut [u8]) {
        if let Some(letter) = block.get_mut(MAGIC.len()) {
            *letter = self.letter();
        }
    }
}

/// Writes a header of [`HeaderKind::Block`] at the start of `block`, which goes to byte `offset` of its target.
///
/// Of a block shorter than the header as much is written as fits, so even 8 bytes keep magic and kind.
#[inline]
pub fn write_header(block: &mut [u8], offset: u64, sequence: u64, run_seed: u64) {
    let mut header = [0; HEADER_BYTES];
    header[..7].copy_from_slice(MAGIC);
    header[7] = HeaderKind::Block.letter();
    header[8..16].copy_from_slice(&offset.to_le_bytes());
    header[16..24].copy_from_slice(&sequence.to_le_bytes());
    header[24..].copy_from_slice(&run_seed.to_le_bytes());
    let length = block.len().min(HEADER_BYTES);
    block[..length].copy_from_slice(&header[..length]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_laid_out_as_drawn_and_leaves_the_rest_of_the_block() {
        let mut block = [0xEE; 40];
        write_header(&mut block, 4096, 7, 0x0102_0304_0506_0708);
        assert_eq!(block[..8], *b"IOSTALLB");
        assert_eq!(block[8..16], [0, 16, 0, 0, 0, 0, 0, 0]);
        assert_eq!(block[16..24], [7, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(block[24..32], [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(block[32..], [0xEE; 8]);
        let before = block;
        HeaderKind::MadeFile.put(&mut block);
        assert_eq!(block[..8], *b"IOSTALLF");
        assert_eq!(block[8..], before[8..]);
    }

    #[test]
    fn a_block_shorter_than_the_header_keeps_what_fits() {
        for length in 0..HEADER_BYTES {
            let mut short = vec![0; length];
            let mut whole = [0; HEADER_BYTES];
            write_header(&mut short, 1, 2, 3);
            write_header(&mut whole, 1, 2, 3);
            assert_eq!(short, whole[..length]);
            HeaderKind::MadeFile.put(&mut short);
            assert_eq!(HeaderKind::of(&short), (length >= 8).then_some(HeaderKind::MadeFile));
        }
    }

    #[test]
    fn kinds_are_told_apart_and_other_data_has_none() {
        assert_eq!(HeaderKind::of(b"IOSTALLF and more"), Some(HeaderKind::MadeFile));
        assert_eq!(HeaderKind::of(b"IOSTALLB"), Some(HeaderKind::Block));
        assert_eq!(HeaderKind::of(b"IOSTALL1"), Some(HeaderKind::Unknown));
        for other in [&b""[..], b"IOSTALL", b"IOSTALLX", b"iostallF", b"precious"] {
            assert_eq!(HeaderKind::of(other), None);
        }
    }
}
