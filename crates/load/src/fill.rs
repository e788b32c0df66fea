//! The data that is written.
//!
//! Storage that compresses or finds duplicates answers zeros and repeated blocks from its own memory, and
//! the result then says nothing about the media. So a buffer is filled once with random data, each write
//! makes other data of it, and every 4 KiB get a header that no other write has. That costs a pass over the
//! block's memory, where fresh random numbers would cost several times as much.

use iostall_engine::content::{mix, renew};
use iostall_engine::guard::write_header;
use iostall_measure::Percent;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Unit of filling and headers: a page of most file systems, and the unit of deduplication or larger.
pub const PIECE_BYTES: usize = 4096;

#[derive(Clone, Debug)]
pub struct BlockFiller {
    random: Xoshiro256PlusPlus,
    seed: u64,
    zero_bytes: usize,
}

/// How much of a piece of `length` bytes is zeros, at its end. A piece cut short keeps the share, not the number.
fn zeros_of(length: usize, zero_bytes: usize) -> usize {
    zero_bytes * length / PIECE_BYTES
}

impl BlockFiller {
    /// `seed` goes into each piece's header; `compressible` is the share of zeros in each piece.
    pub fn new(seed: u64, compressible: Percent) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 4096")]
        let zero_bytes = (PIECE_BYTES as f64 * compressible.fraction()).round() as usize;
        Self { random: Xoshiro256PlusPlus::seed_from_u64(seed), seed, zero_bytes }
    }

    /// Fills a buffer once before its first write. Each call gives different data, so that no two buffers are
    /// equal.
    ///
    /// The compressible share of each 4 KiB piece is zeros at its end. A piece keeps its header even if all
    /// of it is compressible.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        for piece in buffer.chunks_mut(PIECE_BYTES) {
            let (random, zeros) = piece.split_at_mut(piece.len() - zeros_of(piece.len(), self.zero_bytes));
            self.random.fill_bytes(random);
            zeros.fill(0);
        }
    }

    /// Makes the block in `buffer`, to be written at `offset`, differ from every other in each of its words:
    /// `sequence` must be another for every write of the run. A piece shorter than a header takes as much of it
    /// as fits.
    #[inline]
    pub fn prepare(&self, buffer: &mut [u8], offset: u64, sequence: u64) {
        let key = mix(self.seed ^ mix(sequence));
        let mut piece_offset = offset;
        for (piece, number) in buffer.chunks_mut(PIECE_BYTES).zip(0_u64..) {
            let random_bytes = piece.len() - zeros_of(piece.len(), self.zero_bytes);
            renew(&mut piece[..random_bytes], key.wrapping_add(number));
            write_header(piece, piece_offset, sequence, self.seed);
            piece_offset = piece_offset.wrapping_add(PIECE_BYTES as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use iostall_engine::guard::HEADER_BYTES;

    use super::*;

    fn compressed_share(compressible: f64) -> f64 {
        let mut filler = BlockFiller::new(3, Percent::new(compressible).unwrap());
        let mut buffer = vec![0; 1 << 20];
        filler.fill(&mut buffer);
        filler.prepare(&mut buffer, 8192, 1);
        miniz_oxide::deflate::compress_to_vec(&buffer, 6).len() as f64 / buffer.len() as f64
    }

    #[test]
    fn data_compresses_as_far_as_asked_and_no_further() {
        assert!(compressed_share(0.0) > 0.99);
        for share in [25.0, 50.0, 90.0] {
            let left = compressed_share(share);
            assert!((left - (1.0 - share / 100.0)).abs() < 0.03, "{share} %: {left} is left");
        }
        assert!(compressed_share(100.0) < 0.03, "all but the headers");
    }

    #[test]
    fn no_two_pieces_are_alike_whatever_the_writes() {
        let mut filler = BlockFiller::new(3, Percent::HUNDRED);
        let mut buffer = vec![0; 64 << 10];
        filler.fill(&mut buffer);
        let mut seen = HashSet::new();
        let mut written = 0;
        for (sequence, offset) in (0_u64..200).map(|sequence| (sequence, sequence % 7 * 65_536)) {
            filler.prepare(&mut buffer, offset, sequence);
            written += buffer.len() / PIECE_BYTES;
            seen.extend(buffer.chunks(PIECE_BYTES).map(<[u8]>::to_vec));
        }
        assert_eq!(seen.len(), written);
    }

    /// The story: each slot wrote one body over and over under new headers, which storage that looks for duplicates in pieces of
    /// 512 bytes kept once for 7.6, and xz made a fifteenth of.
    #[test]
    fn what_one_buffer_writes_over_and_over_has_no_duplicates_and_does_not_compress() {
        let mut filler = BlockFiller::new(3, Percent::ZERO);
        let mut buffer = vec![0; 8192];
        filler.fill(&mut buffer);
        let mut written = Vec::new();
        for sequence in 0..500 {
            filler.prepare(&mut buffer, sequence % 5 * 8192, sequence);
            written.extend_from_slice(&buffer);
        }
        let sectors: HashSet<&[u8]> = written.chunks(512).collect();
        assert_eq!(sectors.len(), written.len() / 512);
        // What follows itself within a window of 32 KiB is found by any compressor.
        let compressed = miniz_oxide::deflate::compress_to_vec(&written, 6);
        assert!(
            compressed.len() as f64 * 1.01 > written.len() as f64,
            "{} of {}",
            compressed.len(),
            written.len()
        );
    }

    #[test]
    fn zeros_that_were_asked_for_stay_zeros_with_every_write() {
        let mut filler = BlockFiller::new(3, Percent::new(50.0).unwrap());
        let mut buffer = vec![0; PIECE_BYTES + 512];
        filler.fill(&mut buffer);
        for sequence in 0..3 {
            filler.prepare(&mut buffer, 0, sequence);
            assert!(buffer[2048..4096].iter().chain(&buffer[4352..]).all(|byte| *byte == 0));
            assert!(buffer[4096 + 32..4352].iter().any(|byte| *byte != 0));
        }
    }

    #[test]
    fn two_buffers_of_one_filler_differ_beyond_their_headers() {
        let mut filler = BlockFiller::new(3, Percent::ZERO);
        let (mut one, mut other) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
        filler.fill(&mut one);
        filler.fill(&mut other);
        let same = one.iter().zip(&other).filter(|(left, right)| left == right).count();
        assert!(same < 64, "{same} of 4096 bytes are the same");
    }

    #[test]
    fn a_header_says_where_when_and_by_whom() {
        let filler = BlockFiller::new(0x0102, Percent::ZERO);
        let mut buffer = vec![0; PIECE_BYTES + 512 + HEADER_BYTES];
        filler.prepare(&mut buffer, 1 << 20, 9);
        for (piece, offset) in [(&buffer[..32], 1_u64 << 20), (&buffer[4096..4128], (1 << 20) + 4096)] {
            assert_eq!(piece[..8], *b"IOSTALLB");
            assert_eq!(piece[8..16], offset.to_le_bytes());
            assert_eq!(piece[16..24], 9_u64.to_le_bytes());
            assert_eq!(piece[24..32], 0x0102_u64.to_le_bytes());
        }
        filler.prepare(&mut [0; 16], 0, 0);
    }
}
