//! A lasting change of level in a series, such as when burst credits run out.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    pub at: usize,
    pub before: f64,
    pub after: f64,
}

impl Change {
    /// The change relative to the level before; negative for a drop.
    pub fn share(&self) -> f64 {
        (self.after - self.before) / self.before
    }
}

/// The one lasting change of level in `series`: the split with the smallest sum of squares, if both sides
/// have at least `side_min` values, the levels differ by at least `share_min` of the first, and the
/// difference is clear relative to the variation around the levels (t of 6 or more: far more than the best
/// split of pure noise reaches). A drop late in a long run at full rate is typical of burst credits running
/// out.
///
/// The variation is the larger of two estimates: Welch's, which allows a different one for each level, and
/// the pooled one. Welch's alone fails if a side has few values that happen to lie close together; the pooled
/// one alone fails if the levels vary differently.
pub fn change(series: &[f64], side_min: usize, share_min: f64) -> Option<Change> {
    const T_MIN: f64 = 6.0;
    let side_min = side_min.max(2);
    if series.len() < 2 * side_min {
        return None;
    }
    let (heads, tails) = (running(series.iter()), running(series.iter().rev()));
    let splits =
        (side_min..=series.len() - side_min).map(|at| (at, heads[at - 1], tails[series.len() - at - 1]));
    let (at, before, after) = splits.min_by(|left, right| {
        (left.1.squares + left.2.squares).total_cmp(&(right.1.squares + right.2.squares))
    })?;
    let change = Change { at, before: before.mean, after: after.mean };
    let welch = before.variance_of_mean() + after.variance_of_mean();
    let pooled = (before.squares + after.squares) / (before.count + after.count - 2.0);
    let error = welch.max(pooled * (1.0 / before.count + 1.0 / after.count)).sqrt();
    let is_significant = (after.mean - before.mean).abs() >= T_MIN * error;
    (before.mean > 0.0 && change.share().abs() >= share_min && is_significant).then_some(change)
}

#[derive(Clone, Copy)]
struct Moments {
    count: f64,
    mean: f64,
    /// Sum of squared differences from the mean.
    squares: f64,
}

impl Moments {
    fn variance_of_mean(&self) -> f64 {
        self.squares / (self.count - 1.0) / self.count
    }
}

/// The moments of the first value, of the first two, and so on (Welford): a split of a long series costs as little as one of a short
/// one.
fn running<'a>(values: impl Iterator<Item = &'a f64>) -> Vec<Moments> {
    let mut sofar = Moments { count: 0.0, mean: 0.0, squares: 0.0 };
    let added = values.map(|value| {
        sofar.count += 1.0;
        let distance = value - sofar.mean;
        sofar.mean += distance / sofar.count;
        sofar.squares += distance * (value - sofar.mean);
        sofar
    });
    added.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn credits_that_run_out_are_found_with_both_levels() {
        let series: Vec<f64> =
            (0..60).map(|second| if second < 37 { 3000.0 } else { 300.0 } + f64::from(second % 3)).collect();
        let found = change(&series, 5, 0.1).unwrap();
        assert_eq!(found.at, 37);
        assert!((found.before - 3001.0).abs() < 0.1 && (found.after - 301.0).abs() < 0.1, "{found:?}");
        assert!((found.share() + 0.9).abs() < 0.01);
    }

    /// A volume with a limit is perfectly flat until its credits are gone: the split was put into the flat part.
    #[test]
    fn a_level_without_any_variation_is_left_where_it_ends() {
        let series: Vec<f64> = (0..60)
            .map(|second| if second < 37 { 3000.0 } else { 300.0 + f64::from(second % 7) * 9.0 })
            .collect();
        assert_eq!(change(&series, 5, 0.1).map(|found| found.at), Some(37));
        let reversed: Vec<f64> = series.iter().rev().copied().collect();
        assert_eq!(change(&reversed, 5, 0.1).map(|found| found.at), Some(23));
    }

    #[test]
    fn a_dip_that_recovers_and_a_small_drift_are_no_change_of_level() {
        let mut series = vec![3000.0; 40];
        series[20] = 100.0;
        assert_eq!(change(&series, 5, 0.1), None);
        let drift: Vec<f64> = (0..40).map(|second| 3000.0 - f64::from(second)).collect();
        assert_eq!(change(&drift, 5, 0.1), None);
        assert_eq!(change(&[1.0, 2.0], 5, 0.1), None);
    }

    #[test]
    fn a_few_values_that_are_low_together_by_chance_are_no_change() {
        // One random series of uniform noise in 100,000 begins like this. Welch's t of the first seven values
        // is 10.
        let low = [901.0, 908.0, 903.0, 912.0, 904.0].into_iter();
        let rest = (0..55).map(|second| 900.0 + f64::from(second * 37 % 200));
        assert_eq!(change(&low.chain(rest).collect::<Vec<_>>(), 5, 0.1), None);
    }

    proptest! {
        #[test]
        fn noise_alone_is_never_a_change(values in prop::collection::vec(900.0_f64..1100.0, 30..120)) {
            prop_assert_eq!(change(&values, 5, 0.1), None);
        }
    }
}
