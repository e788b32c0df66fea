//! Random numbers without division: one generator per stream, choices, and block sizes.

pub(super) use iostall_engine::content::mix;

use iostall_measure::Percent;
use iostall_model::profile::BlockMix;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator of a stream, xoshiro256++ (Blackman & Vigna 2019).
#[derive(Clone, Debug)]
pub(super) struct StreamRng(Xoshiro256PlusPlus);

impl StreamRng {
    /// The generator of stream `stream_number`. For a given seed the map from stream to state is one to one,
    /// so no two streams of a run start alike.
    pub(super) fn new(seed: u64, stream_number: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(mix(mix(seed) ^ stream_number)))
    }

    #[inline]
    pub(super) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in (0, 1], a multiple of 2^-53.
    #[inline]
    pub(super) fn fraction(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }
}

/// A number of equally likely choices.
///
/// Lemire's bounded random integers ("Fast Random Integer Generation in an Interval", 2019), with a
/// multiplication instead of a division. The threshold below which a draw must be repeated for exact fairness
/// is computed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choices {
    count: u64,
    threshold: u64,
}

impl Choices {
    /// `count` choices; at least 1.
    pub(super) fn new(count: u64) -> Self {
        assert!(count > 0, "there must be something to choose from");
        Self { count, threshold: count.wrapping_neg() % count }
    }

    #[inline]
    pub(super) fn draw(self, rng: &mut StreamRng) -> u64 {
        loop {
            let bits = rng.bits();
            if bits.wrapping_mul(self.count) >= self.threshold {
                return high_half(bits, self.count);
            }
        }
    }
}

#[inline]
fn high_half(left: u64, right: u64) -> u64 {
    ((u128::from(left) * u128::from(right)) >> 64) as u64
}

/// An event with a given probability, to a resolution of 2^-53 or better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bernoulli {
    Never,
    Always,
    /// Occurs if 64 random bits are below this.
    Below(u64),
}

impl Bernoulli {
    pub(super) fn new(share: Percent) -> Self {
        if share >= Percent::HUNDRED {
            Self::Always
        } else if share <= Percent::ZERO {
            Self::Never
        } else {
            Self::Below(scaled(share.fraction()))
        }
    }

    /// Whether it occurs now. Uses no random bits if the result is certain.
    #[inline]
    pub(super) fn hits(self, rng: &mut StreamRng) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::Below(threshold) => rng.bits() < threshold,
        }
    }
}

/// `fraction` of 2^64; the largest number for 1 and above.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
pub(super) fn scaled(fraction: f64) -> u64 {
    (fraction * 18_446_744_073_709_551_616.0) as u64
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of SplitMix64 with the seed 0, as its authors publish them. Every offset of every run follows from
    /// them: another function would give other runs for the same seed.
    #[test]
    fn the_mixing_function_is_the_published_one() {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let numbers = [0, 1, 2].map(|index: u64| mix(STEP.wrapping_mul(index)));
        assert_eq!(numbers, [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]);
    }
}
