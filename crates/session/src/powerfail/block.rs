//! What a write of a power-failure test consists of: sectors that each say which write they belong to.
//!
//! ```text
//!  0         32                    508       512
//!  | header  | content             | CRC-32C |      the header is that of every block that iostall writes
//! ```
//!
//! The header's offset is that of the sector, its sequence that of the write, and its seed the number of the run, so that a sector of
//! another place, write or run is never taken for this one.

use iostall_engine::content::mix;
use iostall_engine::guard::{HEADER_BYTES, write_header};

pub(super) const SECTOR_BYTES: usize = 512;
const SUM_BYTES: usize = 4;
/// Where the header has the offset, the sequence and the seed.
const FIELDS: [std::ops::Range<usize>; 3] = [8..16, 16..24, 24..32];

pub(super) fn fill(block: &mut [u8], offset: u64, sequence: u64, run: u64) {
    for (sector, number) in block.chunks_mut(SECTOR_BYTES).zip(0_u64..) {
        let at = offset + number * SECTOR_BYTES as u64;
        let (content, sum) = sector.split_at_mut(SECTOR_BYTES - SUM_BYTES);
        let key = mix(run ^ mix(sequence) ^ at);
        for (word, count) in content[HEADER_BYTES..].chunks_mut(8).zip(0_u64..) {
            word.copy_from_slice(&mix(key.wrapping_add(count)).to_le_bytes()[..word.len()]);
        }
        write_header(content, at, sequence, run);
        sum.copy_from_slice(&crc32c::crc32c(content).to_le_bytes());
    }
}

/// The checksum of a block in its acknowledgement: the CRC-32C of the sums of its sectors. That of the block itself would be the
/// same for every block, because sums follow what they are of.
pub(super) fn checksum(block: &[u8]) -> u32 {
    block.chunks(SECTOR_BYTES).fold(0, |sum, sector| {
        let own = &sector[sector.len().saturating_sub(SUM_BYTES)..];
        crc32c::crc32c_append(sum, own)
    })
}

/// The write that a sector at byte `at` belongs to; `None` if it is none of the run `run`, or is damaged.
pub(super) fn sequence_of(sector: &[u8], at: u64, run: u64) -> Option<u64> {
    let (content, sum) = sector.split_at_checked(SECTOR_BYTES - SUM_BYTES)?;
    let field = |index: usize| {
        let bytes = content.get(FIELDS[index].clone())?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let is_it = content.starts_with(b"IOSTALL")
        && sum == crc32c::crc32c(content).to_le_bytes()
        && field(0) == Some(at)
        && field(2) == Some(run);
    if is_it { field(1) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sector_is_known_by_its_write_and_by_nothing_else() {
        let mut block = vec![0; 4096];
        fill(&mut block, 8192, 7, 99);
        for (sector, at) in block.chunks(SECTOR_BYTES).zip((8192..).step_by(SECTOR_BYTES)) {
            assert_eq!(sequence_of(sector, at, 99), Some(7));
            assert_eq!(sequence_of(sector, at + 512, 99), None, "another place");
            assert_eq!(sequence_of(sector, at, 98), None, "another run");
            let mut damaged = sector.to_vec();
            damaged[100] ^= 1;
            assert_eq!(sequence_of(&damaged, at, 99), None, "damaged");
        }
        assert_eq!(sequence_of(&block[..100], 8192, 99), None, "too short");
    }

    /// Every acknowledgement had one checksum.
    #[test]
    fn blocks_of_different_writes_have_different_checksums() {
        let of = |sequence| {
            let mut block = vec![0; 4096];
            fill(&mut block, 8192, sequence, 99);
            checksum(&block)
        };
        assert_ne!(of(1), of(2));
    }
}
