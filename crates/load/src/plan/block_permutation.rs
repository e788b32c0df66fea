//! A fixed permutation of slots, so that the hot blocks of a skewed load are not neighbours.

use super::rng::mix;

/// A pseudo-random permutation of 0 .. `count` without a table.
///
/// Three rounds of "multiply by an odd number, add, fold the upper half onto the lower" on the next power of
/// two, each of which is invertible. A result outside the range is mapped again until it falls inside (cycle
/// walking, Black & Rogaway 2002), which takes fewer than four rounds on average.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockPermutation {
    count: u64,
    mask: u64,
    shift: u32,
    factors: [u64; 3],
    summands: [u64; 3],
}

impl BlockPermutation {
    /// A permutation of 0 .. `count` (at least 1) for `seed`. If `widest` is at most twice `count`, the map
    /// agrees with that of `widest` except for slots that only the wider one has, so that the block sizes of
    /// a mix share their hot spots.
    pub(super) fn new(count: u64, widest: u64, seed: u64) -> Self {
        let domain = if widest / 2 <= count { widest.max(count) } else { count };
        let bits = u64::BITS - (domain - 1).leading_zeros();
        let mask = if bits == 0 { 0 } else { u64::MAX >> (u64::BITS - bits) };
        let key = |number: u64| mix(seed ^ mix(number));
        Self {
            count,
            mask,
            shift: bits.div_ceil(2).max(1),
            factors: [key(1) | 1, key(2) | 1, key(3) | 1],
            summands: [key(4), key(5), key(6)],
        }
    }

    /// The slot for `index`, which must be below `count`.
    #[inline]
    pub(super) fn at(&self, index: u64) -> u64 {
        let mut slot = index;
        loop {
            for (factor, summand) in self.factors.iter().zip(self.summands) {
                slot = slot.wrapping_mul(*factor).wrapping_add(summand) & self.mask;
                slot ^= slot >> self.shift;
            }
            if slot < self.count {
                return slot;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_is_hit_exactly_once_whatever_the_count() {
        for count in (1..200).chain([255, 256, 257, 1000, 4095, 4096, 4097]) {
            for seed in 0..3 {
                let permutation = BlockPermutation::new(count, count, seed);
                let mut slots: Vec<u64> = (0..count).map(|index| permutation.at(index)).collect();
                slots.sort_unstable();
                assert!(slots.iter().copied().eq(0..count), "count {count}, seed {seed}");
            }
        }
    }

    #[test]
    fn neighbours_do_not_stay_neighbours() {
        let permutation = BlockPermutation::new(1 << 20, 1 << 20, 7);
        let close =
            (0..1000).filter(|&rank| permutation.at(rank).abs_diff(permutation.at(rank + 1)) < 1000).count();
        assert!(close < 10, "{close} of 1000 neighbouring ranks stayed close");
    }

    #[test]
    fn block_sizes_of_a_mix_share_their_hot_spots() {
        let (small, large) =
            (BlockPermutation::new(100_000, 100_000, 3), BlockPermutation::new(99_969, 100_000, 3));
        let moved = (0..1000).filter(|&rank| small.at(rank) != large.at(rank)).count();
        assert!(moved <= 5, "{moved} of the 1000 hottest ranks differ");
    }
}
