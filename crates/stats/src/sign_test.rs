//! The sign test: of pairs that differ, how often is the first one larger?

/// Probability that of `more + fewer` pairs at least `more` favour the same side by chance: the upper tail of a fair coin.
///
/// ```
/// assert!((iostall_stats::sign_test::sign_test(3, 0) - 0.125).abs() < 1e-12);
/// ```
pub fn sign_test(more: u32, fewer: u32) -> f64 {
    let count = more.saturating_add(fewer);
    // From all of one side down, each term by the one before it, in logarithms: many pairs are small numbers.
    let mut log_term = -f64::from(count) * std::f64::consts::LN_2;
    let mut sum = 0.0;
    for minority in 0..=fewer {
        sum += log_term.exp();
        log_term += (f64::from(count - minority) / f64::from(minority + 1)).ln();
    }
    f64::min(sum, 1.0)
}

#[cfg(test)]
mod tests {
    use super::sign_test;

    /// Counted by hand: 1, 5 and 10 of the 32 ways in which five coins fall.
    #[test]
    fn five_coins() {
        for (more, fewer, ways) in [(5, 0, 1.0), (4, 1, 6.0), (3, 2, 16.0), (2, 3, 26.0), (0, 5, 32.0)] {
            assert!((sign_test(more, fewer) - ways / 32.0).abs() < 1e-12, "{more} {fewer}");
        }
    }

    #[test]
    fn no_pair_says_nothing_and_many_do_not_overflow() {
        assert!((sign_test(0, 0) - 1.0).abs() < 1e-12);
        assert!((sign_test(5000, 5000) - 0.5).abs() < 0.01);
        assert!(sign_test(6000, 4000) < 1e-80);
    }
}
