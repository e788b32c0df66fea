//! Whether a number grows over weeks, and how fast: the Theil–Sen slope with an interval, unaffected by a
//! weekly rhythm.
//!
//! The slope is the median of the slopes between all pairs of points in the same phase of the rhythm (Hirsch,
//! Slack and Smith 1982, "Techniques of trend analysis for monthly water quality data"); without a rhythm all
//! points are in one phase, and it is Theil's and Sen's. A night of bulk loads, or one extreme day, hardly
//! changes it. The interval is Sen's, from the variance of Kendall's statistic, widened as by Hamed and Rao
//! (1998) if neighbouring points are correlated: yesterday's load says much about today's, so such points
//! carry less information.

use crate::distribution::normal_above;
use crate::summary::median;

/// Fewest points of one phase for a trend.
const PAIRS_MIN: usize = 3;

/// Fewest points to detect autocorrelation.
const DEPENDENCE_POINTS_MIN: usize = 10;

/// Upper bound for the autocorrelation: beyond it nothing could ever be called a trend.
const MEMORY_MAX: f64 = 0.95;

pub const WEEK_DAYS: f64 = 7.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedValue {
    /// Days since a time of the caller's choice.
    pub day: f64,
    /// In a unit of the caller's choice.
    pub value: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rhythm {
    pub period_days: f64,
    /// Only points of the same phase are compared: 7 for the days of a week, 168 for its hours.
    pub phases: u32,
}

impl Rhythm {
    /// Days of the week, for one point a day.
    pub const WEEK_OF_DAYS: Self = Self { period_days: WEEK_DAYS, phases: 7 };
    /// Hours of the week, for one point an hour.
    pub const WEEK_OF_HOURS: Self = Self { period_days: WEEK_DAYS, phases: 168 };

    fn phase(self, day: f64) -> u32 {
        let share = (day / self.period_days).rem_euclid(1.0);
        // Rounding may put a phase boundary slightly below its phase.
        let phase = (share * f64::from(self.phases) + 1e-6).floor();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the phases"
        )]
        let phase = phase as u32;
        phase % self.phases.max(1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    pub slope_per_day: f64,
    pub slope_per_day_min: f64,
    pub slope_per_day_max: f64,
    /// Median of the values with the slope removed: the line at day 0.
    pub value_at_day_zero: f64,
    pub points: usize,
    /// Factor by which autocorrelation widened the variance; 1 for independent points.
    pub dependence: f64,
}

impl Trend {
    pub fn is_sure(&self) -> bool {
        self.slope_per_day_min > 0.0 || self.slope_per_day_max < 0.0
    }

    pub fn value_at(&self, day: f64) -> f64 {
        self.value_at_day_zero + self.slope_per_day * day
    }

    /// The day on which the line reaches `limit`, seen from `today`: the earliest and the latest by the
    /// slope's interval. `None` if the line never reaches it with that slope.
    pub fn day_of(&self, limit: f64, today: f64) -> (Option<f64>, Option<f64>) {
        let height = self.value_at(today);
        if height >= limit {
            return (Some(today), Some(today));
        }
        let day = |slope: f64| (slope > 0.0).then(|| today + (limit - height) / slope);
        (day(self.slope_per_day_max), day(self.slope_per_day_min))
    }
}

/// The trend of `points` in order of time, with an interval that contains the true slope with probability
/// `level` (such as
/// 0.95). With a `rhythm`, only points of the same phase are compared. `None` if there are too few such
/// pairs, or if a number is not finite.
///
/// Takes time and memory proportional to the square of the points: pass days or hours, not seconds.
pub fn trend(points: &[TimedValue], rhythm: Option<Rhythm>, level: f64) -> Option<Trend> {
    let is_number = |point: &TimedValue| point.day.is_finite() && point.value.is_finite();
    if !(level > 0.0 && level < 1.0 && points.iter().all(is_number)) {
        return None;
    }
    let phases = phases(points, rhythm);
    let mut slopes = Vec::new();
    let mut variance = 0.0;
    for phase in phases.iter().filter(|phase| phase.len() >= PAIRS_MIN) {
        slopes.extend(slopes_of(phase));
        variance += kendall_variance(phase);
    }
    if slopes.len() < PAIRS_MIN {
        return None;
    }
    slopes.sort_by(f64::total_cmp);
    let slope_per_day = median(&slopes)?;
    let dependence = dependence(points, slope_per_day, rhythm);
    let z = normal_above((1.0 - level) / 2.0);
    let spread = z * (variance * dependence).sqrt();
    let pairs = slopes.len() as f64;
    let heights: Vec<f64> = points.iter().map(|point| point.value - slope_per_day * point.day).collect();
    Some(Trend {
        slope_per_day,
        slope_per_day_min: at_rank(&slopes, (pairs - spread) / 2.0),
        slope_per_day_max: at_rank(&slopes, f64::midpoint(pairs, spread) + 1.0),
        value_at_day_zero: median(&heights)?,
        points: points.len(),
        dependence,
    })
}

fn phases(points: &[TimedValue], rhythm: Option<Rhythm>) -> Vec<Vec<TimedValue>> {
    let Some(rhythm) = rhythm else { return vec![points.to_vec()] };
    let mut phases = vec![Vec::new(); rhythm.phases.max(1) as usize];
    for point in points {
        phases[rhythm.phase(point.day) as usize].push(*point);
    }
    phases
}

/// Slopes between all pairs at different times.
fn slopes_of(points: &[TimedValue]) -> impl Iterator<Item = f64> {
    points.iter().enumerate().flat_map(move |(index, first)| {
        points[index + 1..].iter().filter_map(move |second| {
            let days = second.day - first.day;
            (days.abs() > 0.0).then(|| (second.value - first.value) / days)
        })
    })
}

/// The variance of Kendall's S without a trend, corrected for ties (Kendall 1975).
fn kendall_variance(points: &[TimedValue]) -> f64 {
    let of = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0);
    let mut values: Vec<f64> = points.iter().map(|point| point.value).collect();
    values.sort_by(f64::total_cmp);
    let ties: f64 =
        values.chunk_by(|one, other| one.total_cmp(other).is_eq()).map(|tie| of(tie.len() as f64)).sum();
    (of(points.len() as f64) - ties) / 18.0
}

/// Factor on the variance for autocorrelation, estimated after removing slope and rhythm. Never below 1:
/// negative correlation does not narrow the interval.
fn dependence(points: &[TimedValue], slope_per_day: f64, rhythm: Option<Rhythm>) -> f64 {
    if points.len() < DEPENDENCE_POINTS_MIN {
        return 1.0;
    }
    let mut rests: Vec<f64> = points.iter().map(|point| point.value - slope_per_day * point.day).collect();
    if let Some(rhythm) = rhythm {
        without_rhythm(points, &mut rests, rhythm);
    }
    let ranks = ranks(&rests);
    let n = ranks.len() as f64;
    let correlation = |lag: usize| autocorrelation(&ranks, lag);
    // Independent points exceed this correlation once in twenty lags.
    let noise = 1.96 / n.sqrt();
    let weighted = (1..=ranks.len() / 4)
        .map(|lag| (lag as f64, correlation(lag)))
        .filter(|(_, found)| found.abs() > noise);
    let sum: f64 = weighted.map(|(lag, found)| (n - lag) * (n - lag - 1.0) * (n - lag - 2.0) * found).sum();
    let of_lags = 1.0 + 2.0 / (n * (n - 1.0) * (n - 2.0)) * sum;
    // Removing the slope removed some of the correlation too, and late lags are mostly noise: if the first
    // lag is significant, the rest is extrapolated as a first-order autoregressive process.
    let first = (n * correlation(1) + 2.0) / (n - 4.0);
    let of_memory =
        if first > noise { (1.0 + first.min(MEMORY_MAX)) / (1.0 - first.min(MEMORY_MAX)) } else { 1.0 };
    of_lags.max(of_memory).max(1.0)
}

fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let total: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products = values.iter().zip(&values[lag..]).map(|(one, other)| (one - mean) * (other - mean));
    if total > 0.0 { products.sum::<f64>() / total } else { 0.0 }
}

/// Subtracts the median of each phase from the values of that phase.
fn without_rhythm(points: &[TimedValue], rests: &mut [f64], rhythm: Rhythm) {
    let mut phases = vec![Vec::new(); rhythm.phases.max(1) as usize];
    for (point, rest) in points.iter().zip(rests.iter()) {
        phases[rhythm.phase(point.day) as usize].push(*rest);
    }
    let medians: Vec<f64> = phases.iter().map(|phase| median(phase).unwrap_or_default()).collect();
    for (point, rest) in points.iter().zip(rests.iter_mut()) {
        *rest -= medians[rhythm.phase(point.day) as usize];
    }
}

/// Ranks from 1; ties share their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for tie in order.chunk_by(|one, other| values[*one].total_cmp(&values[*other]).is_eq()) {
        let shared = f64::midpoint((before + 1) as f64, (before + tie.len()) as f64);
        for index in tie {
            ranks[*index] = shared;
        }
        before += tie.len();
    }
    ranks
}

/// The value at rank `rank` (from 1), interpolated between neighbours and clamped at the ends.
fn at_rank(sorted: &[f64], rank: f64) -> f64 {
    let rank = rank.clamp(1.0, sorted.len() as f64);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the length")]
    let below = rank.floor() as usize;
    let share = rank - rank.floor();
    let low = sorted[below - 1];
    let high = sorted[below.min(sorted.len() - 1)];
    low + (high - low) * share
}

#[cfg(test)]
mod tests {
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn line(days: usize, value: impl Fn(f64) -> f64) -> Vec<TimedValue> {
        (0..days).map(|day| day as f64).map(|day| TimedValue { day, value: value(day) }).collect()
    }

    /// Normal noise as the sum of twelve uniform numbers.
    struct Noise(Xoshiro256PlusPlus);

    impl Noise {
        fn new(seed: u64) -> Self {
            Self(Xoshiro256PlusPlus::seed_from_u64(seed))
        }

        fn next(&mut self) -> f64 {
            let mut uniform = || (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            (0..12).map(|_| uniform()).sum::<f64>() - 6.0
        }
    }

    #[test]
    fn a_straight_line_is_found_exactly_and_reaches_its_limit_on_its_day() {
        let found = trend(&line(20, |day| 100.0 + 2.5 * day), None, 0.95).unwrap();
        assert!((found.slope_per_day - 2.5).abs() < 1e-12 && (found.value_at_day_zero - 100.0).abs() < 1e-9);
        assert!(found.is_sure());
        let (earliest, latest) = found.day_of(200.0, 20.0);
        assert!((earliest.unwrap() - 40.0).abs() < 1e-9 && (latest.unwrap() - 40.0).abs() < 1e-9);
        assert_eq!(found.day_of(120.0, 20.0), (Some(20.0), Some(20.0)));
    }

    /// Seven points have 21 slopes; the ends of the interval are at ranks (21 ∓ 1.645 √(133/3)) / 2, worked
    /// out by hand.
    #[test]
    fn the_slope_and_interval_are_at_the_ranks_that_kendall_gives() {
        let values = [10.0, 22.0, 21.0, 30.0, 23.0, 31.0, 40.0];
        let points = (0_u8..).zip(values).map(|(day, value)| TimedValue { day: f64::from(day), value });
        let found = trend(&points.collect::<Vec<_>>(), None, 0.90).unwrap();
        let mut slopes = Vec::new();
        for (later, value) in values.iter().enumerate() {
            slopes.extend((0..later).map(|earlier| (value - values[earlier]) / (later - earlier) as f64));
        }
        slopes.sort_by(f64::total_cmp);
        assert!((found.slope_per_day - slopes[10]).abs() < 1e-12);
        // Ranks 5.02 and 16.98.
        assert!(found.slope_per_day_min >= slopes[4] && found.slope_per_day_min <= slopes[5], "{found:?}");
        assert!(found.slope_per_day_max >= slopes[15] && found.slope_per_day_max <= slopes[17], "{found:?}");
    }

    #[test]
    fn one_wild_day_moves_the_slope_little() {
        let mut points = line(28, |day| 50.0 + day);
        points[20].value = 1e6;
        let found = trend(&points, None, 0.95).unwrap();
        assert!((found.slope_per_day - 1.0).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn a_week_that_rises_to_its_end_is_no_trend() {
        // Constant from Saturday to Sunday, rising from Monday to Friday. Ten and a half weeks, which
        // misleads plain slopes.
        let weekly = |day: f64| (day.rem_euclid(7.0)).min(5.0) * 100.0;
        let points = line(24, weekly);
        let found = trend(&points, Some(Rhythm::WEEK_OF_DAYS), 0.95).unwrap();
        assert!(found.slope_per_day.abs() < 1e-9 && !found.is_sure(), "{found:?}");
        let growing = line(70, |day| weekly(day) + 3.0 * day);
        let found = trend(&growing, Some(Rhythm::WEEK_OF_DAYS), 0.95).unwrap();
        assert!((found.slope_per_day - 3.0).abs() < 1e-9 && found.is_sure(), "{found:?}");
    }

    #[test]
    fn too_little_and_what_is_no_number_give_no_trend() {
        assert_eq!(trend(&line(2, |day| day), None, 0.95), None);
        assert_eq!(trend(&line(13, |day| day), Some(Rhythm::WEEK_OF_DAYS), 0.95), None);
        assert_eq!(trend(&line(20, |_| f64::NAN), None, 0.95), None);
        assert_eq!(trend(&line(20, |day| day), None, 1.0), None);
        let same = vec![TimedValue { day: 1.0, value: 1.0 }; 10];
        assert_eq!(trend(&same, None, 0.95), None);
    }

    #[test]
    fn a_growth_that_is_not_sure_has_no_latest_day() {
        let mut noise = Noise::new(7);
        let points = line(20, |_| 0.0).into_iter().map(|point| TimedValue { value: noise.next(), ..point });
        let found = trend(&points.collect::<Vec<_>>(), None, 0.95).unwrap();
        let (_, latest) = found.day_of(100.0, 20.0);
        assert!(!found.is_sure() && latest.is_none(), "{found:?}");
    }

    /// A/A: values without a trend, independent or correlated, must not be called a trend more often than the
    /// level allows.
    #[test]
    fn chance_is_called_a_trend_no_more_often_than_the_level_says() {
        const TRIALS: u64 = 600;
        for (dependence, most) in [(0.0, 0.075), (0.6, 0.075)] {
            let mut sure = 0;
            for trial in 0..TRIALS {
                let mut noise = Noise::new(trial);
                let mut last = 0.0;
                let points: Vec<TimedValue> = (0..60)
                    .map(|day| {
                        last = dependence * last + noise.next();
                        TimedValue { day: f64::from(day), value: last }
                    })
                    .collect();
                sure += u64::from(trend(&points, None, 0.95).unwrap().is_sure());
            }
            let share = sure as f64 / TRIALS as f64;
            assert!(share <= most, "{share} of series with dependence {dependence} were called a trend");
        }
    }
}
