//! The header that every block iostall writes begins with.
//!
//! ```text
//!  0        8        16         24       32
//!  | magic  | offset | sequence | seed   |      each little-endian, 8 bytes
//! ```
//!
//! Offset and sequence differ from block to block and from write to write, so a device can neither
//! deduplicate the data nor can an old block pass for a new one; and what a run left behind is recognised.

/// What a stamped block begins with; the last character is the version of the layout.
pub const STAMP_MAGIC: [u8; 8] = *b"IOSTALL1";

/// Length of the stamp.
pub const STAMP_BYTES: usize = 32;

/// Writes the stamp at the start of `block`, which goes to byte `offset` of its target.
///
/// Of a block shorter than the stamp as much is written as fits, so even 8 bytes at offset 0 keep the magic.
pub fn stamp(block: &mut [u8], offset: u64, sequence: u64, run_seed: u64) {
    let mut header = [0; STAMP_BYTES];
    header[..8].copy_from_slice(&STAMP_MAGIC);
    header[8..16].copy_from_slice(&offset.to_le_bytes());
    header[16..24].copy_from_slice(&sequence.to_le_bytes());
    header[24..].copy_from_slice(&run_seed.to_le_bytes());
    let length = block.len().min(STAMP_BYTES);
    block[..length].copy_from_slice(&header[..length]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_laid_out_as_drawn_and_leaves_the_rest_of_the_block() {
        let mut block = [0xEE; 40];
        stamp(&mut block, 4096, 7, 0x0102_0304_0506_0708);
        assert_eq!(block[..8], STAMP_MAGIC);
        assert_eq!(block[8..16], [0, 16, 0, 0, 0, 0, 0, 0]);
        assert_eq!(block[16..24], [7, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(block[24..32], [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(block[32..], [0xEE; 8]);
    }

    #[test]
    fn a_block_shorter_than_the_stamp_keeps_what_fits() {
        for length in 0..STAMP_BYTES {
            let mut short = vec![0; length];
            let mut whole = [0; STAMP_BYTES];
            stamp(&mut short, 1, 2, 3);
            stamp(&mut whole, 1, 2, 3);
            assert_eq!(short, whole[..length]);
        }
    }
}
