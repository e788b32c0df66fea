//! When a series has become steady: the five-round criterion for storage devices, and checks for what it overlooks.

#[cfg(test)]
mod tests;

/// A value of a window may differ from the average by this share of it.
const DEVIATION_MAX: f64 = 0.10;
/// The averages of two windows that confirm each other differ by this share of the first at most.
const AGREEMENT_MAX: f64 = 0.10;
/// The range of 99th percentiles in a window, as a share of their average.
const TAIL_RANGE_MAX: f64 = 0.50;
/// The worst maximum of a window over the median maximum.
const TAIL_WORST_MAX: f64 = 10.0;

/// Whether no value of the window is further from the average than a tenth of it. The criterion alone passes a window with one low
/// value and one that swings between two levels.
pub fn is_even(values: &[f64]) -> bool {
    let Some(found) = Determination::of(1, values) else { return false };
    deviation(values, found.average).is_some_and(|share| at_most(share, DEVIATION_MAX))
}

/// The largest distance of a value from `average`, as a share of it; `None` if that is not above 0.
pub fn deviation(values: &[f64], average: f64) -> Option<f64> {
    let largest = values.iter().map(|value| (value - average).abs()).fold(0.0, f64::max);
    (average > 0.0).then(|| largest / average)
}

/// Whether a later window confirms the `first`: it meets the criterion too, and its average is within a tenth.
pub fn confirms(first: &Determination, second: &Determination) -> bool {
    let apart = (second.average - first.average).abs();
    second.is_met() && at_most(apart, AGREEMENT_MAX * first.average)
}

/// How far the slow requests of a window's rounds are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// Largest minus smallest 99th percentile, as a share of their average.
    pub p99_range: f64,
    /// The largest maximum over the median one.
    pub worst: f64,
}

impl Tail {
    /// From the 99th percentiles and the maxima of the rounds, in any unit of time; `None` without values, or if they are 0.
    pub fn of(p99: &[f64], max: &[f64]) -> Option<Self> {
        let average = crate::summary::mean(p99).filter(|average| *average > 0.0)?;
        let median = crate::summary::median(max).filter(|median| *median > 0.0)?;
        let (low, high) = range(p99);
        Some(Self { p99_range: (high - low) / average, worst: range(max).1 / median })
    }

    pub fn is_stable(&self) -> bool {
        at_most(self.p99_range, TAIL_RANGE_MAX) && at_most(self.worst, TAIL_WORST_MAX)
    }
}

fn range(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (low, high)
}

/// `value <= limit`, where rounding of the last digits does not decide.
fn at_most(value: f64, limit: f64) -> bool {
    const EPSILON: f64 = 1e-9;
    value <= limit + EPSILON * limit.abs()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation {
    pub left_out: usize,
    /// Whether what is left is more than the half that is always kept. Otherwise the transition may not be over.
    pub is_over: bool,
}

/// Which values at the start of a series belong to a transition: the marginal standard error rule (MSER-5; White 1997).
/// Means of `batch` values each are formed, and as many of them left out, at most half, as make the standard error of the mean of
/// the rest smallest. `None` for fewer than four means.
pub fn truncation(series: &[f64], batch: usize) -> Option<Truncation> {
    const BATCHES_MIN: usize = 4;
    let batch = batch.max(1);
    let means: Vec<f64> =
        series.chunks_exact(batch).map(|part| part.iter().sum::<f64>() / batch as f64).collect();
    if means.len() < BATCHES_MIN || means.iter().any(|mean| !mean.is_finite()) {
        return None;
    }
    let half = means.len() / 2;
    let error = |left_out: &usize| {
        let rest = &means[*left_out..];
        let count = rest.len() as f64;
        let mean = rest.iter().sum::<f64>() / count;
        rest.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count * count)
    };
    let left_out = (0..=half).min_by(|left, right| error(left).total_cmp(&error(right)))?;
    Some(Truncation { left_out: left_out * batch, is_over: left_out < half })
}

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
