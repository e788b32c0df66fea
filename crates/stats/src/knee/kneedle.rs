//! Kneedle: finds where a curve bends most, as the largest distance from the diagonal of its unit square
//! (Satopaa, Albrecht, Irwin and Raghavan, "Finding a 'Kneedle' in a Haystack", 2011).

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bend {
    /// Rises and flattens: throughput over queue depth.
    ConcaveRising,
    /// Rises and steepens: latency over throughput.
    ConvexRising,
    /// Falls, ever less.
    ConvexFalling,
    /// Falls, ever more.
    ConcaveFalling,
}

/// Index of the first knee of `points`, which are `(x, y)` with ascending x. `sensitivity` is S in the paper:
/// how many mean steps of x the curve must drop below the diagonal before a maximum counts; the paper
/// recommends 1. `None` if the curve has no knee, fewer than three points, or no extent.
pub fn kneedle(points: &[(f64, f64)], bend: Bend, sensitivity: f64) -> Option<usize> {
    let last = points.len().checked_sub(1).filter(|last| *last >= 2)?;
    let xs = unit(points.iter().map(|point| point.0))?;
    let ys = unit(points.iter().map(|point| point.1))?;
    // Mirrored so that every shape becomes concave and rising, with the point `place(i)` at step i.
    let mirrored = matches!(bend, Bend::ConvexRising | Bend::ConcaveFalling);
    let upside_down = matches!(bend, Bend::ConvexRising | Bend::ConvexFalling);
    let place = |step: usize| if mirrored { last - step } else { step };
    let above: Vec<f64> = (0..=last)
        .map(|step| {
            let (x, y) = (xs[place(step)], ys[place(step)]);
            (if upside_down { 1.0 - y } else { y }) - (if mirrored { 1.0 - x } else { x })
        })
        .collect();
    let mean_step = 1.0 / last as f64;
    let is_peak = |step: usize| {
        above[step] >= above[step.saturating_sub(1)] && above[step] >= above[(step + 1).min(last)]
    };
    let peaks: Vec<usize> = (0..=last).filter(|step| is_peak(*step)).collect();
    for (index, peak) in peaks.iter().enumerate() {
        let threshold = above[*peak] - sensitivity * mean_step;
        let next = peaks.get(index + 1).copied().unwrap_or(last);
        if (peak + 1..=next).any(|step| above[step] < threshold) {
            return Some(place(*peak));
        }
    }
    None
}

/// The values scaled to 0..1; `None` if they are all equal or not finite.
fn unit(values: impl Iterator<Item = f64> + Clone) -> Option<Vec<f64>> {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let extent = values.clone().fold(f64::NEG_INFINITY, f64::max) - low;
    (extent > 0.0 && extent.is_finite()).then(|| values.map(|value| (value - low) / extent).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ys: &[f64], bend: Bend) -> Option<usize> {
        let points: Vec<(f64, f64)> = (0_u32..).map(f64::from).zip(ys.iter().copied()).collect();
        kneedle(&points, bend, 1.0)
    }

    #[test]
    fn the_published_curves_of_all_four_bends_turn_where_they_should() {
        let concave = [0.0, 60.0, 80.0, 85.0, 90.0, 95.0, 96.0, 97.0, 98.0, 99.0];
        let convex = [1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 15.0, 20.0, 40.0, 100.0];
        let reversed = |ys: &[f64]| ys.iter().rev().copied().collect::<Vec<_>>();
        assert_eq!(of(&concave, Bend::ConcaveRising), Some(2));
        assert_eq!(of(&convex, Bend::ConvexRising), Some(7));
        assert_eq!(of(&reversed(&convex), Bend::ConvexFalling), Some(2));
        assert_eq!(of(&reversed(&concave), Bend::ConcaveFalling), Some(7));
    }

    #[test]
    fn the_curve_of_the_paper_s_second_figure_turns_at_two_ninths() {
        let points: Vec<(f64, f64)> =
            (0..10).map(|step| f64::from(step) / 9.0).map(|x| (x, 5.0 - 1.0 / (x + 0.1))).collect();
        let knee = kneedle(&points, Bend::ConcaveRising, 1.0).unwrap();
        assert!((points[knee].0 - 0.222).abs() < 1e-3);
    }

    #[test]
    fn a_device_of_c_parallel_units_turns_at_c_on_even_and_on_doubling_grids() {
        let throughput = |in_flight: u32, units: u32| f64::from(in_flight.min(units)) / 1e-4;
        let doubling: Vec<u32> = (0..8).map(|power| 1 << power).collect();
        for units in [8, 32] {
            for grid in [(1..=128).collect::<Vec<u32>>(), doubling.clone()] {
                let points: Vec<(f64, f64)> =
                    grid.iter().map(|n| (f64::from(*n), throughput(*n, units))).collect();
                let knee = kneedle(&points, Bend::ConcaveRising, 1.0).unwrap();
                assert_eq!(grid[knee], units);
            }
        }
    }

    /// The paper asks for more than the sensitivity: a curve that comes down to it and stays there goes on as a line.
    #[test]
    fn a_bend_counts_only_where_the_curve_falls_below_the_threshold() {
        assert_eq!(of(&[0.0, 2.0, 2.0, 3.0, 4.0], Bend::ConcaveRising), None);
        assert_eq!(of(&[0.0, 2.0, 1.9, 3.0, 4.0], Bend::ConcaveRising), Some(1));
    }

    #[test]
    fn a_line_a_point_and_a_constant_have_no_knee() {
        assert_eq!(of(&[0.0, 1.0, 2.0, 3.0, 4.0], Bend::ConcaveRising), None);
        assert_eq!(of(&[7.0, 7.0, 7.0], Bend::ConcaveRising), None);
        assert_eq!(of(&[7.0], Bend::ConcaveRising), None);
    }
}
