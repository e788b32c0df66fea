//! The header at the start of every block that iostall writes.
//!
//! ```text
//!  0         7      8        16         24       32
//!  | IOSTALL | kind | offset | sequence | seed   |      numbers little-endian, 8 bytes each
//! ```
//!
//! Offset and sequence differ for every block and every write, so a device cannot deduplicate the data and an
//! old block cannot pass for a new one. The kind distinguishes a file that iostall created from the image of
//! a device that it loaded, which is the only way to tell on a file system without user attributes.

pub const HEADER_BYTES: usize = 32;

const MAGIC: &[u8; 7] = b"IOSTALL";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderKind {
    /// A file that iostall created. Only at offset 0.
    MadeFile,
    /// A block written by a load: on a device, in a user's file, or beyond the start of a file that iostall
    /// created.
    Block,
    /// Either one: earlier versions did not distinguish them. No longer written.
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

    pub(super) fn of(block: &[u8]) -> Option<Self> {
        let (letter, _) = block.strip_prefix(MAGIC)?.split_first()?;
        Self::ALL.into_iter().find(|kind| kind.letter() == *letter)
    }

    #[inline]
    pub fn put(self, block: &mut [u8]) {
        if let Some(letter) = block.get_mut(MAGIC.len()) {
            *letter = self.letter();
        }
    }
}

/// Writes a [`HeaderKind::Block`] header at the start of `block`, which goes to byte `offset` of its target.
///
/// A block shorter than the header gets as much as fits, so even 8 bytes hold the magic and the kind.
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
