//! Random numbers for schedules and the simulated device.

use std::io;

use rand_core::Rng;

/// Uniform in [0, 1), with the 53 bits that an `f64` holds.
#[inline]
pub(crate) fn uniform(rng: &mut impl Rng) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    (rng.next_u64() >> 11) as f64 * STEP
}

/// Exponential with a mean of 1, by inversion: -ln(1 - u). `1 - u` is never 0, so it is finite.
#[inline]
pub(crate) fn exponential(rng: &mut impl Rng) -> f64 {
    -(1.0 - uniform(rng)).ln()
}

/// Uniform in 0 to `bound - 1`; 0 if the bound is 0. The bias of the multiplication is below `bound` in 2^64.
#[inline]
pub(crate) fn below(rng: &mut impl Rng, bound: u64) -> u64 {
    let product = u128::from(rng.next_u64()) * u128::from(bound);
    // The high half of a product of two `u64`.
    u64::try_from(product >> 64).unwrap_or(0)
}

/// Random bytes of the system, for ids that nobody can guess.
pub fn random_bytes<const LENGTH: usize>() -> io::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    // A short answer is possible only for more than 256 bytes.
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes)
}
