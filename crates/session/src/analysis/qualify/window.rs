//! Whether the rounds of a stage became steady, and why not.

use iostall_measure::{BlockSize, Percent};
use iostall_model::qualify::{Figure, RoundSpan};
use iostall_model::{Point, QualifyOutcome};
pub use iostall_stats::steady::{Determination, Tail};
use iostall_stats::steady::{WINDOW, confirms, is_even, truncation};

use super::stage_rounds::{STEPS_PER_FILL, StageRounds, Step, stages};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Nothing kept the drive from what it can do: its link, heat, errors, resets.
    Undisturbed,
    /// The criterion of the specification: range and slope over five rounds.
    Criterion,
    /// No round is further from the average than a tenth.
    Even,
    /// The active range was written at least once by the rounds.
    Written,
    /// The window begins after the transition.
    AfterTransition,
    /// The slow requests are as slow in each round.
    Tail,
    /// The next five rounds say the same.
    Confirmed,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TrackedWindow {
    pub write_pct: Percent,
    pub size: BlockSize,
    pub figure: Figure,
    pub values: Vec<f64>,
    pub determination: Determination,
    /// `None` if nothing completed.
    pub tail: Option<Tail>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SteadyWindow {
    pub rounds: RoundSpan,
    /// Active ranges written before it and up to its end.
    pub fills: (f64, f64),
    pub tracked: Vec<TrackedWindow>,
    pub checks: Vec<(Check, bool)>,
}

impl SteadyWindow {
    pub fn is_steady(&self) -> bool {
        self.checks.iter().all(|(_, holds)| *holds)
    }

    fn meets(&self, check: Check) -> bool {
        self.checks.contains(&(check, true))
    }

    pub fn missed(&self) -> Option<Check> {
        self.checks.iter().find(|(_, holds)| !holds).map(|(check, _)| *check)
    }
}

/// The window of the first stage that has one, if all that should be steady are; `None` if one is not. A quick run has none, whatever it
/// measured.
pub fn steady_window(outcome: &QualifyOutcome) -> Option<SteadyWindow> {
    let found: Option<Vec<SteadyWindow>> =
        stages(outcome).iter().filter(|one| one.stage.is_until_steady()).map(steady_window_of).collect();
    found?.into_iter().next()
}

/// The window that a report shows first: that of the first stage that is not steady, else of the first.
pub fn shown_window(outcome: &QualifyOutcome) -> Option<SteadyWindow> {
    shown_stage(outcome).as_ref().and_then(shown_window_of)
}

pub fn shown_stage(outcome: &QualifyOutcome) -> Option<StageRounds<'_>> {
    let is_tracked = |one: &StageRounds<'_>| one.stage.is_until_steady() && !one.rounds.is_empty();
    let tracked: Vec<StageRounds<'_>> = stages(outcome).into_iter().filter(is_tracked).collect();
    let at = tracked.iter().position(|one| steady_window_of(one).is_none()).unwrap_or(0);
    tracked.into_iter().nth(at)
}

/// The steady window of a stage; `None` if it has none.
pub fn steady_window_of(rounds: &StageRounds<'_>) -> Option<SteadyWindow> {
    if rounds.is_quick {
        return None;
    }
    windows(rounds).find(SteadyWindow::is_steady)
}

/// Whether nothing but a disturbance of the drive is against a steady state of the stage.
pub(crate) fn is_steady_but_disturbed(rounds: &StageRounds<'_>) -> bool {
    let is_it = |window: SteadyWindow| {
        window.checks.iter().all(|(check, holds)| *holds || *check == Check::Undisturbed)
    };
    !rounds.is_quick && rounds.is_disturbed && windows(rounds).any(is_it)
}

/// The steady one, else the first that meets the criterion, else the last.
pub fn shown_window_of(rounds: &StageRounds<'_>) -> Option<SteadyWindow> {
    let met = || windows(rounds).find(|window| window.meets(Check::Criterion));
    steady_window_of(rounds).or_else(met).or_else(|| windows(rounds).last())
}

/// Every mix and size of a stage over its steady window; without one, over its last rounds; and over all of them where nothing is
/// tracked. One point each, with an interval for each round.
pub fn points_of(rounds: &StageRounds<'_>) -> Vec<Point> {
    let all = rounds.rounds;
    let steady = if rounds.stage.is_until_steady() { steady_window_of(rounds) } else { None };
    let counted = match steady {
        Some(SteadyWindow { rounds: RoundSpan { first, last }, .. }) => {
            let index = |round: u32| (round as usize).saturating_sub(rounds.before);
            all.get(index(first).max(1) - 1..index(last)).unwrap_or_default()
        }
        None if rounds.stage.is_until_steady() => &all[all.len().saturating_sub(WINDOW)..],
        None => all,
    };
    let mut points: Vec<Point> = Vec::new();
    for round in counted {
        for (index, point) in round.points.iter().enumerate() {
            match points.get_mut(index) {
                Some(known) => {
                    known.repeats.extend(point.repeats.iter().cloned());
                    known.latency_ns.merge(&point.latency_ns);
                }
                None => points.push(point.clone()),
            }
        }
    }
    points
}

fn windows(rounds: &StageRounds<'_>) -> impl Iterator<Item = SteadyWindow> {
    let steps = rounds.steps(STEPS_PER_FILL);
    let starts = (steps.len() + 1).saturating_sub(WINDOW);
    (0..starts).filter_map(move |first| window_at(rounds, &steps, first))
}

fn window_at(rounds: &StageRounds<'_>, steps: &[Step], first: usize) -> Option<SteadyWindow> {
    let (stage, end) = (&rounds.stage, first + WINDOW);
    let mut tracked = Vec::new();
    let (mut is_confirmed, mut is_after) = (true, true);
    for (index, cell) in stage.tracked.iter().filter_map(|cell| stage.cells.get(*cell)).enumerate() {
        let all: Vec<f64> = steps.iter().map(|step| step.value(index, stage.figure)).collect();
        let values = all[first..end].to_vec();
        let determination = Determination::of(first + 1, &values)?;
        let second = all.get(end..end + WINDOW).and_then(|next| Determination::of(end + 1, next));
        is_confirmed &= second.is_some_and(|second| confirms(&determination, &second));
        is_after &= truncation(&all, 1).is_some_and(|found| found.is_over && found.left_out <= first);
        let tails: Vec<(f64, f64)> =
            steps[first..end].iter().filter_map(|step| step.tail_ns(index)).collect();
        let (p99, max): (Vec<f64>, Vec<f64>) = tails.into_iter().unzip();
        let tail = Tail::of(&p99, &max).filter(|_| p99.len() == WINDOW);
        let (write_pct, size, figure) = (cell.write_pct, cell.size, stage.figure);
        tracked.push(TrackedWindow { write_pct, size, figure, values, determination, tail });
    }
    let before_bytes = first.checked_sub(1).map_or(0, |step| steps[step].written_bytes);
    let until_bytes = steps[end - 1].written_bytes;
    let every = |holds: &dyn Fn(&TrackedWindow) -> bool| !tracked.is_empty() && tracked.iter().all(holds);
    let mut checks = Vec::new();
    if rounds.is_disturbed {
        checks.push((Check::Undisturbed, false));
    }
    checks.extend([
        (Check::Criterion, every(&|one| one.determination.is_met())),
        (Check::Even, every(&|one| is_even(&one.values))),
    ]);
    if stage.by_fill {
        checks.push((Check::Written, before_bytes >= rounds.range_bytes));
        checks.push((Check::AfterTransition, is_after));
    } else {
        // Rounds are long, and few.
        checks.push((Check::Written, until_bytes >= rounds.range_bytes));
    }
    checks.push((Check::Tail, every(&|one| one.tail.is_some_and(|tail| tail.is_stable()))));
    checks.push((Check::Confirmed, is_confirmed));
    let number = |index: usize| u32::try_from(rounds.before + index).unwrap_or(u32::MAX);
    Some(SteadyWindow {
        rounds: RoundSpan { first: number(steps[first].rounds.0 + 1), last: number(steps[end - 1].rounds.1) },
        fills: (rounds.fills(before_bytes), rounds.fills(until_bytes)),
        tracked,
        checks,
    })
}
