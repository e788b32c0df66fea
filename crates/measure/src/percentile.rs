//! Percentiles: which ones are shown, and how many samples they need.

use std::fmt;

/// A percentile between 0 and 100 inclusive.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Percentile(f64);

/// Samples that must lie beyond a percentile for it to be supported.
pub const SAMPLES_BEYOND_MIN: f64 = 10.0;

impl Percentile {
    pub const P50: Self = Self(50.0);
    pub const P95: Self = Self(95.0);
    pub const P99: Self = Self(99.0);
    pub const P99_9: Self = Self(99.9);

    /// The percentiles in reports, from the median to nine nines, with DiskSpd's labels.
    pub const LEVELS: [(Self, &'static str); 13] = [
        (Self(25.0), "25th"),
        (Self(50.0), "50th"),
        (Self(75.0), "75th"),
        (Self(90.0), "90th"),
        (Self(95.0), "95th"),
        (Self(99.0), "99th"),
        (Self(99.9), "3-nines"),
        (Self(99.99), "4-nines"),
        (Self(99.999), "5-nines"),
        (Self(99.9999), "6-nines"),
        (Self(99.999_99), "7-nines"),
        (Self(99.999_999), "8-nines"),
        (Self(99.999_999_9), "9-nines"),
    ];

    /// `percent` within 0..=100; `None` for anything else, including NaN.
    pub fn new(percent: f64) -> Option<Self> {
        (0.0..=100.0).contains(&percent).then_some(Self(percent))
    }

    pub fn percent(self) -> f64 {
        self.0
    }

    /// The rank (1-based) of the sample at this percentile: the smallest whose cumulative share reaches it.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 <= p * count <= count")]
    pub fn rank(self, count: u64) -> u64 {
        // The subtraction compensates for rounding where p * N should be whole (0.999 * 1000).
        let exact = self.0 / 100.0 * count as f64;
        ((exact - exact * 1e-12).ceil() as u64).clamp(1, count.max(1))
    }

    /// Whether `count` samples support it: at least ten must lie beyond, otherwise it is little more than the
    /// maximum.
    pub fn is_supported_by(self, count: u64) -> bool {
        count as f64 * (100.0 - self.0) / 100.0 >= SAMPLES_BEYOND_MIN * (1.0 - 1e-6)
    }
}

impl fmt::Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_is_the_smallest_sample_whose_share_reaches_the_percentile() {
        assert_eq!(Percentile::P99_9.rank(1000), 999);
        assert_eq!(Percentile::P50.rank(1), 1);
        assert_eq!(Percentile::P50.rank(4), 2);
        assert_eq!(Percentile::P50.rank(5), 3);
        assert_eq!(Percentile::new(0.0).unwrap().rank(7), 1);
        assert_eq!(Percentile::new(100.0).unwrap().rank(7), 7);
    }

    #[test]
    fn ten_samples_beyond_are_what_a_percentile_needs() {
        assert!(Percentile::P99.is_supported_by(1000));
        assert!(!Percentile::P99.is_supported_by(999));
        assert!(!Percentile::LEVELS[12].0.is_supported_by(1_000_000_000));
        assert!(Percentile::LEVELS[12].0.is_supported_by(10_000_000_000));
    }

    #[test]
    fn nonsense_is_no_percentile() {
        assert!(Percentile::new(f64::NAN).is_none());
        assert!(Percentile::new(-0.1).is_none());
        assert!(Percentile::new(100.1).is_none());
    }
}
