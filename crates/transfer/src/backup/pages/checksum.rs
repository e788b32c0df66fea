//! The checksum of a PostgreSQL page.
//!
//! It is FNV-1a with a shift for better mixing, in 32 lanes at once, so that a processor's vector units can compute it. The
//! number of the block is part of it: a page in the wrong place is wrong too.

const LANES: usize = 32;
const ROW_BYTES: usize = LANES * 4;
const FNV_PRIME: u32 = 16_777_619;
/// Where the lanes begin. The values are part of PostgreSQL's file format.
const BASES: [u32; LANES] = [
    0x5B1F_36E9,
    0xB852_5960,
    0x02AB_50AA,
    0x1DE6_6D2A,
    0x79FF_467A,
    0x9BB9_F8A3,
    0x217E_7CD2,
    0x83E1_3D2C,
    0xF8D4_474F,
    0xE39E_B970,
    0x42C6_AE16,
    0x9932_16FA,
    0x7B09_3B5D,
    0x98DA_FF3C,
    0xF718_902A,
    0x0B1C_9CDB,
    0xE58F_764B,
    0x1876_36BC,
    0x5D7B_3BB1,
    0xE73D_E7DE,
    0x92BE_C979,
    0xCCA6_C0B2,
    0x304A_0979,
    0x85AA_43D4,
    0x7831_25BB,
    0x6CA8_EAA2,
    0xE407_EAC6,
    0x4B5C_FC3E,
    0x9FBF_8C76,
    0x15CA_20BE,
    0xF2CA_9FD3,
    0x959B_D756,
];
/// Where the page's own checksum is, which counts as zero.
const CHECKSUM_AT: usize = 8;
/// Where the page's upper bound is: zero in a page that was never used.
const UPPER_AT: usize = 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// Added to the file and not used yet.
    Zero,
    Valid,
    /// Not as it was written, or written to right now.
    Wrong {
        /// Position of its last change in the log, as far as it can be believed.
        lsn: u64,
    },
}

/// The state of `page`, which is block `block` of its relation. A page is a multiple of 128 bytes.
pub fn state_of(page: &[u8], block: u32) -> PageState {
    let short = |at: usize| u16::from_ne_bytes([page[at], page[at + 1]]);
    let half =
        |at: usize| u64::from(u32::from_ne_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]]));
    if short(UPPER_AT) == 0 && page.iter().all(|byte| *byte == 0) {
        return PageState::Zero;
    }
    if short(UPPER_AT) != 0 && short(CHECKSUM_AT) == checksum(page, block) {
        return PageState::Valid;
    }
    PageState::Wrong { lsn: half(0) << 32 | half(4) }
}

/// The checksum that `page` should have as block `block` of its relation.
///
/// # Panics
/// If the page is shorter than 128 bytes.
pub fn checksum(page: &[u8], block: u32) -> u16 {
    let (first, rest) = page.split_at(ROW_BYTES);
    let mut head = [0; ROW_BYTES];
    head.copy_from_slice(first);
    head[CHECKSUM_AT..CHECKSUM_AT + 2].fill(0);
    let mut sums = BASES;
    mix(&mut sums, &head);
    for row in rest.chunks_exact(ROW_BYTES) {
        mix(&mut sums, row);
    }
    for _ in 0..2 {
        mix(&mut sums, &[0; ROW_BYTES]);
    }
    let folded = sums.into_iter().fold(0, |all, sum| all ^ sum) ^ block;
    // Never 0, which means that there is none.
    u16::try_from(folded % u32::from(u16::MAX)).map_or(0, |sum| sum + 1)
}

fn mix(sums: &mut [u32; LANES], row: &[u8]) {
    for (sum, word) in sums.iter_mut().zip(row.chunks_exact(4)) {
        let mixed = *sum ^ u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
        *sum = mixed.wrapping_mul(FNV_PRIME) ^ (mixed >> 17);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 8192;

    fn page(block: u32) -> Vec<u8> {
        let mut page: Vec<u8> = (0..PAGE).map(|at| u8::try_from(at * 7 % 251).unwrap()).collect();
        page[..8].copy_from_slice(&[1, 0, 0, 0, 0x10, 0x20, 0, 0]);
        let sum = checksum(&page, block);
        page[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&sum.to_ne_bytes());
        page
    }

    /// The checksum itself is compared with a server's own pages in the tests with real servers.
    #[test]
    fn any_changed_bit_and_a_page_in_another_place_are_wrong() {
        let good = page(7);
        assert_eq!(state_of(&good, 7), PageState::Valid);
        assert_eq!(state_of(&good, 8), PageState::Wrong { lsn: 0x1_0000_2010 });
        for at in [8, 9, 16, 127, 128, 4095, PAGE - 1] {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                assert_eq!(state_of(&bad, 7), PageState::Wrong { lsn: 0x1_0000_2010 }, "byte {at} bit {bit}");
            }
        }
    }

    #[test]
    fn a_page_that_was_never_used_is_zero_and_half_of_one_is_wrong() {
        let mut zero = vec![0; PAGE];
        assert_eq!(state_of(&zero, 0), PageState::Zero);
        zero[PAGE - 1] = 1;
        assert_eq!(state_of(&zero, 0), PageState::Wrong { lsn: 0 });
    }
}
