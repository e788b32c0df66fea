//! The criterion itself: five rounds whose range and slope are small.

use super::limits::{at_most, range};

pub const WINDOW: usize = 5;

/// The range may be this share of the average.
const RANGE_MAX: f64 = 0.20;
/// The fitted line may rise or fall over the window by this share of the average.
const SLOPE_MAX: f64 = 0.10;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Determination {
    pub first_round: usize,
    pub average: f64,
    /// Largest minus smallest value.
    pub range: f64,
    pub range_allowed: f64,
    /// Change of the fitted line from one round to the next.
    pub slope: f64,
    /// Of the fitted line, at round 0.
    pub intercept: f64,
    /// Change of the fitted line over the window, without its sign.
    pub slope_excursion: f64,
    pub slope_excursion_allowed: f64,
    /// Correlation of values and rounds; `None` if all values are equal.
    pub correlation: Option<f64>,
}

impl Determination {
    /// Of `values`, the first of which is that of round `first_round`. `None` for fewer than two, or if one is no number.
    pub fn of(first_round: usize, values: &[f64]) -> Option<Self> {
        if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let count = values.len() as f64;
        let average = values.iter().sum::<f64>() / count;
        let middle = (count - 1.0) / 2.0;
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for (index, value) in values.iter().enumerate() {
            let (x, y) = (index as f64 - middle, value - average);
            xx += x * x;
            xy += x * y;
            yy += y * y;
        }
        let slope = xy / xx;
        let (low, high) = range(values);
        Some(Self {
            first_round,
            average,
            range: high - low,
            range_allowed: RANGE_MAX * average,
            slope,
            intercept: average - slope * (first_round as f64 + middle),
            slope_excursion: slope.abs() * (count - 1.0),
            slope_excursion_allowed: SLOPE_MAX * average,
            correlation: (yy > 0.0).then(|| xy / (xx * yy).sqrt()),
        })
    }

    /// Whether the range is small enough. Nothing is small beside an average of 0.
    pub fn is_range_met(&self) -> bool {
        self.average > 0.0 && at_most(self.range, self.range_allowed)
    }

    pub fn is_slope_met(&self) -> bool {
        self.average > 0.0 && at_most(self.slope_excursion, self.slope_excursion_allowed)
    }

    pub fn is_met(&self) -> bool {
        self.is_range_met() && self.is_slope_met()
    }

    pub fn fitted(&self, round: usize) -> f64 {
        self.slope * round as f64 + self.intercept
    }
}

/// Index of the first value of the first window in which all of `series` meet the criterion; they have a value for each round.
/// `None` if there is none.
pub fn first_window(series: &[&[f64]]) -> Option<usize> {
    let rounds = series.iter().map(|one| one.len()).min()?;
    (0..(rounds + 1).saturating_sub(WINDOW)).find(|first| {
        let is_met = |one: &&[f64]| {
            Determination::of(first + 1, &one[*first..first + WINDOW]).is_some_and(|found| found.is_met())
        };
        series.iter().all(is_met)
    })
}
