//! Both sides are alike, a thousand times over: how often chance is called a difference.

use super::{ALPHA, compare_runs, compare_seconds, correct_for_many};
use crate::noise::Normal;

const PAIRS: u32 = 1000;
const RUNS: [usize; 4] = [1, 2, 4, 8];
const RUN_SPREADS: [f64; 3] = [0.0, 0.02, 0.05];
const CORRELATIONS: [f64; 3] = [0.0, 0.5, 0.9];
/// How much seconds of one run scatter, as a share of their mean.
const SECOND_SPREAD: f64 = 0.05;
/// What 1000 tries at 5 % stay below in 9,999 of 10,000 cases: 50 + 3.72 × √(1000 × 0.05 × 0.95).
const FALSE_MAX: u32 = 76;

/// Seconds of one run: a level of its own around 1000, and an autoregression around that.
fn run(normal: &mut Normal, seconds: usize, run_spread: f64, correlation: f64) -> Vec<f64> {
    let level = 1000.0 * (1.0 + run_spread * normal.draw());
    let fresh = (1.0 - correlation * correlation).sqrt();
    let mut deviation = normal.draw();
    let mut next = || {
        let now = deviation;
        deviation = correlation * deviation + fresh * normal.draw();
        level * (1.0 + SECOND_SPREAD * now)
    };
    (0..seconds).map(|_| next()).collect()
}

fn side(normal: &mut Normal, runs: usize, seconds: usize, spread: f64, correlation: f64) -> Vec<Vec<f64>> {
    (0..runs).map(|_| run(normal, seconds, spread, correlation)).collect()
}

fn means(side: &[Vec<f64>]) -> Vec<f64> {
    side.iter().map(|seconds| seconds.iter().sum::<f64>() / seconds.len() as f64).collect()
}

/// The story: `compare` of two equal loads called 33 to 68 of 100 pairs "significant" with 2 % between runs, and 10 to 62 where
/// seconds resembled their neighbours.
#[test]
fn equal_sides_are_called_significant_in_at_most_five_of_a_hundred_cases() {
    let mut normal = Normal::new(11);
    for runs in RUNS {
        for spread in RUN_SPREADS {
            for correlation in CORRELATIONS {
                let is_false = |normal: &mut Normal| {
                    let (first, second) = (
                        side(normal, runs, 30, spread, correlation),
                        side(normal, runs, 30, spread, correlation),
                    );
                    compare_runs(&means(&first), &means(&second)).is_some_and(|found| found.p_value < ALPHA)
                };
                let count = (0..PAIRS).filter(|_| is_false(&mut normal)).count();
                let cell = format!("{runs} runs, {spread} between runs, {correlation} between seconds");
                assert!(u32::try_from(count).unwrap() <= FALSE_MAX, "{cell}: {count} of {PAIRS}");
                assert!(
                    runs >= super::RUNS_MIN || count == 0,
                    "{cell}: {count}, but so few runs have no verdict"
                );
            }
        }
    }
}

/// Runs of one and the same level: whatever is called a difference between *these* runs is chance. Between runs that do have
/// levels of their own there is a difference, so such cells have no false alarm to count.
#[test]
fn runs_of_one_level_are_said_to_differ_in_at_most_five_of_a_hundred_cases() {
    let mut normal = Normal::new(12);
    for (runs, seconds) in [(1, 15), (1, 30), (1, 60), (1, 240), (2, 30), (2, 120), (3, 60)] {
        for correlation in CORRELATIONS {
            let is_false = |normal: &mut Normal| {
                let first = side(normal, runs, seconds, 0.0, correlation);
                let second = side(normal, runs, seconds, 0.0, correlation);
                compare_seconds(&first, &second).is_some_and(|found| found.p_value < ALPHA)
            };
            let count = (0..PAIRS).filter(|_| is_false(&mut normal)).count();
            let cell = format!("{runs} runs of {seconds} s, {correlation} between seconds");
            assert!(u32::try_from(count).unwrap() <= FALSE_MAX, "{cell}: {count} of {PAIRS}");
        }
    }
}

/// Five metrics, as in a table of `compare`: one false alarm in any of them counts.
#[test]
fn a_table_of_many_metrics_has_a_false_alarm_in_at_most_five_of_a_hundred_cases() {
    let mut normal = Normal::new(13);
    let mut p_value = || {
        let mut values = || (0..4).map(|_| 1000.0 * (1.0 + 0.02 * normal.draw())).collect::<Vec<f64>>();
        compare_runs(&values(), &values()).map(|found| found.p_value)
    };
    let mut is_false = || {
        let table: Vec<Option<f64>> = (0..5).map(|_| p_value()).collect();
        correct_for_many(&table).into_iter().flatten().any(|p_value| p_value < ALPHA)
    };
    let count = (0..PAIRS).filter(|_| is_false()).count();
    assert!(u32::try_from(count).unwrap() <= FALSE_MAX, "{count} of {PAIRS}");
}

/// Silence would hold any rate: what does differ must be found.
#[test]
fn a_tenth_more_is_found_with_four_runs_a_side_that_spread_by_two_percent() {
    let mut normal = Normal::new(14);
    let mut values = |level: f64| (0..4).map(|_| level * (1.0 + 0.02 * normal.draw())).collect::<Vec<f64>>();
    let found = (0..PAIRS).filter(|_| {
        compare_runs(&values(1000.0), &values(1100.0)).is_some_and(|found| found.p_value < ALPHA)
    });
    assert!(found.count() > 950);
}
