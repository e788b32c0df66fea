//! Draws the stream of the next request by weight.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Clone, Debug)]
pub(crate) struct StreamDraw {
    random: Xoshiro256PlusPlus,
    /// Cumulative weights, one per stream.
    ends: Vec<u64>,
}

impl StreamDraw {
    /// `None` if no weight is above zero.
    pub(crate) fn new(weights: &[u32], seed: u64) -> Option<Self> {
        let mut end = 0;
        let ends: Vec<u64> = weights
            .iter()
            .map(|weight| {
                end += u64::from(*weight);
                end
            })
            .collect();
        (end > 0).then(|| Self { random: Xoshiro256PlusPlus::seed_from_u64(seed), ends })
    }

    /// Index of the next stream. The bias of taking the high half of a product is below 2^-32 for 32-bit weights.
    pub(crate) fn next(&mut self) -> usize {
        let total = self.ends.last().copied().unwrap_or(1);
        let ticket = ((u128::from(self.random.next_u64()) * u128::from(total)) >> 64) as u64;
        self.ends.partition_point(|end| *end <= ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_drawn_in_proportion_to_their_weights() {
        let mut draw = StreamDraw::new(&[1, 0, 3], 5).unwrap();
        let mut seen = [0_u32; 3];
        for _ in 0..40_000 {
            seen[draw.next()] += 1;
        }
        assert_eq!(seen[1], 0);
        assert!((9_500..10_500).contains(&seen[0]), "{seen:?}");
        assert!(StreamDraw::new(&[0, 0], 5).is_none());
    }
}
