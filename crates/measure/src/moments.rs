//! Mean and deviation of a stream of floats without storing it.

use serde::{Deserialize, Serialize};

/// Count, mean and deviation by Welford's method (B. P. Welford, Technometrics 4(3), 1962), which is stable
/// for long streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    count: u64,
    mean: f64,
    sum_of_squared_differences: f64,
}

impl Moments {
    pub fn record(&mut self, value: f64) {
        self.count += 1;
        let difference = value - self.mean;
        self.mean += difference / self.count as f64;
        self.sum_of_squared_differences += difference * (value - self.mean);
    }

    /// Adds all values of `other` (Chan, Golub and LeVeque, 1979).
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let count = (self.count + other.count) as f64;
        let difference = other.mean - self.mean;
        self.mean += difference * other.count as f64 / count;
        self.sum_of_squared_differences += other.sum_of_squared_differences
            + difference * difference * self.count as f64 * other.count as f64 / count;
        self.count += other.count;
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Population standard deviation (÷ N); `None` when empty.
    pub fn stdev(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.sum_of_squared_differences / self.count as f64).sqrt())
    }

    /// Standard deviation divided by mean; `None` when empty or if the mean is not positive.
    pub fn coefficient_of_variation(&self) -> Option<f64> {
        let mean = self.mean()?;
        (mean > 0.0).then_some(self.stdev()? / mean)
    }
}

impl Extend<f64> for Moments {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.record(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_two_streams_equals_one_long_stream() {
        let (mut left, mut right, mut whole) = (Moments::default(), Moments::default(), Moments::default());
        left.extend([1.0, 2.5, 3.0]);
        right.extend([10.0, -4.0]);
        whole.extend([1.0, 2.5, 3.0, 10.0, -4.0]);
        left.merge(&right);
        left.merge(&Moments::default());
        assert!((left.mean().unwrap() - whole.mean().unwrap()).abs() < 1e-12);
        assert!((left.stdev().unwrap() - whole.stdev().unwrap()).abs() < 1e-12);
    }

    #[test]
    fn moments_agree_with_the_textbook() {
        let mut moments = Moments::default();
        assert_eq!(moments.mean(), None);
        moments.extend([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert!((moments.mean().unwrap() - 5.0).abs() < 1e-12);
        assert!((moments.stdev().unwrap() - 2.0).abs() < 1e-12);
        assert!((moments.coefficient_of_variation().unwrap() - 0.4).abs() < 1e-12);
    }
}
