//! Noise for tests, the same each time.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// About -1 to 1, deterministic.
pub(crate) fn noise(number: u64) -> f64 {
    Normal::new(number).uniform() * 2.0 - 1.0
}

pub(crate) struct Normal(Xoshiro256PlusPlus);

impl Normal {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 0 to 1.
    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Mean 0, deviation 1 (Box and Muller).
    pub(crate) fn draw(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
