//! Random numbers of a simulation.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A seeded stream: the same seed gives the same numbers.
#[derive(Clone, Debug)]
pub(crate) struct Stream(Xoshiro256PlusPlus);

impl Stream {
    pub(crate) fn of_seed(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in 0 to `bound - 1`; 0 if the bound is 0. The bias is below `bound` in 2^64.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the high half of a product with a u32 is below it")]
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u32
    }

    /// Uniform in [0, 1).
    #[inline]
    pub(crate) fn fraction(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        (self.bits() >> 11) as f64 * STEP
    }
}

/// A probability as a number that 64 random bits lie below that often.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped, and casts saturate")]
pub(crate) fn threshold(probability: f64) -> u64 {
    (probability.clamp(0.0, 1.0) * 2f64.powi(64)) as u64
}
