//! Chooses the next block size.

use iostall_model::profile::BlockMix;

use super::rng::{Choices, StreamRng};

#[derive(Clone, Debug)]
pub(super) struct SizeMix {
    sizes: Box<[u32]>,
    /// Cumulative weights, one per size.
    sums: Box<[u64]>,
    total: Choices,
}

impl SizeMix {
    pub(super) fn new(mix: &BlockMix) -> Self {
        let sizes = mix.parts().iter().map(|(size, _)| size.bytes()).collect();
        let mut sum = 0;
        let sums = mix
            .parts()
            .iter()
            .map(|(_, weight)| {
                sum += u64::from(*weight);
                sum
            })
            .collect();
        Self { sizes, sums, total: Choices::new(sum) }
    }

    /// Index of the next size; a single size uses no random number.
    #[inline]
    pub(super) fn pick(&self, rng: &mut StreamRng) -> usize {
        if self.sizes.len() == 1 {
            return 0;
        }
        let drawn = self.total.draw(rng);
        self.sums.iter().take_while(|sum| **sum <= drawn).count()
    }

    #[inline]
    pub(super) fn bytes(&self, index: usize) -> u32 {
        self.sizes[index]
    }
}
