//! Numbers of pages and blocks, and their division.

/// A number of a page or a block as an index.
#[inline]
pub(crate) const fn index(number: u32) -> usize {
    number as usize
}

/// A number of pages or blocks, of which there are fewer than 2^32.
pub(crate) fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Divides by a number that is known only at run time, without the slow instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divider {
    /// 2^64 / divisor, rounded up: exact for all 32-bit dividends (Lemire, Kaser and Kurz, 2019). 0 divides by one.
    reciprocal: u64,
}

impl Divider {
    /// `divisor` at least 1.
    pub(crate) fn by(divisor: u32) -> Self {
        Self { reciprocal: if divisor <= 1 { 0 } else { u64::MAX / u64::from(divisor) + 1 } }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a quotient of a 32-bit number is one")]
    pub(crate) fn quotient(self, dividend: u32) -> u32 {
        if self.reciprocal == 0 {
            return dividend;
        }
        ((u128::from(self.reciprocal) * u128::from(dividend)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_quotient_is_that_of_the_instruction(dividend: u32, divisor in 1u32.., small in 1u32..2000) {
            for divisor in [divisor, small] {
                prop_assert_eq!(Divider::by(divisor).quotient(dividend), dividend / divisor);
                let multiple = dividend / divisor * divisor;
                prop_assert_eq!(Divider::by(divisor).quotient(multiple), multiple / divisor);
            }
        }
    }
}
