//! Whether the rounds of a qualification became steady, and why not.

use iostall_measure::{BlockSize, Histogram, Percent, Percentile};
use iostall_model::profile::BlockMix;
use iostall_model::qualify::{QualifyRound, QualifyScale, QualifyTest, RoundSpan};
use iostall_model::{Point, QualifyOutcome};
use iostall_stats::change::change;
pub use iostall_stats::steady::{Determination, Tail};
use iostall_stats::steady::{WINDOW, confirms, is_even, truncation};

/// What must be steady: percentages of writes, and sizes in bytes.
pub const TRACKED: [(f64, u32); 3] = [(100.0, 4096), (35.0, 65_536), (0.0, 1 << 20)];

/// Windows of the write saturation have steps of this part of the active range.
pub(crate) const STEPS_PER_FILL: u64 = 10;
/// Steps in which a cliff is looked for.
const CLIFF_STEPS_PER_FILL: u64 = 50;

/// Something that a steady state requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
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

/// A mix and size over a window.
#[derive(Clone, Debug, PartialEq)]
pub struct TrackedWindow {
    pub write_pct: Percent,
    pub size: BlockSize,
    /// Requests a second in each round of the window.
    pub iops: Vec<f64>,
    pub determination: Determination,
    /// `None` if nothing completed.
    pub tail: Option<Tail>,
}

/// Five rounds, and whether they are steady.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyWindow {
    pub rounds: RoundSpan,
    /// Active ranges written before it and up to its end.
    pub fills: (f64, f64),
    pub tracked: Vec<TrackedWindow>,
    /// What is required, in order, and whether it holds.
    pub checks: Vec<(Check, bool)>,
}

impl SteadyWindow {
    /// Whether everything holds.
    pub fn is_steady(&self) -> bool {
        self.checks.iter().all(|(_, holds)| *holds)
    }

    fn meets(&self, check: Check) -> bool {
        self.checks.contains(&(check, true))
    }

    /// The first requirement that does not hold.
    pub fn missed(&self) -> Option<Check> {
        self.checks.iter().find(|(_, holds)| !holds).map(|(check, _)| *check)
    }
}

/// One value of the series: a round, or as many samples as write a tenth of the active range.
#[derive(Clone, Debug)]
struct Step {
    /// Indices of its rounds; the end is exclusive.
    rounds: (usize, usize),
    /// Written up to its end, bytes.
    written_bytes: u64,
    /// Requests, their time in nanoseconds, and their latencies, for each tracked mix and size.
    figures: Vec<(u64, u64, Histogram)>,
}

impl Step {
    fn iops(&self, tracked: usize) -> f64 {
        self.figures.get(tracked).map_or(f64::NAN, |(count, time_ns, _)| {
            if *time_ns > 0 { *count as f64 / (*time_ns as f64 / 1e9) } else { f64::NAN }
        })
    }

    fn tail_ns(&self, tracked: usize) -> Option<(f64, f64)> {
        let (_, _, latency_ns) = self.figures.get(tracked)?;
        Some((latency_ns.value_at(Percentile::P99)? as f64, latency_ns.max()? as f64))
    }
}

/// What must be steady of what was planned.
pub fn tracked_cells(outcome: &QualifyOutcome) -> Vec<(Percent, BlockSize)> {
    let is_tracked = |(write_pct, size): &(Percent, BlockSize)| {
        let is_it = |(percent, bytes): &(f64, u32)| {
            (write_pct.percent() - percent).abs() < 1e-9 && size.bytes() == *bytes
        };
        TRACKED.iter().any(is_it)
    };
    let mut cells: Vec<_> = outcome.plan.cells().filter(is_tracked).collect();
    // The one that the specification of old asked for alone comes first.
    cells.reverse();
    cells
}

/// The window that is steady; `None` if none is. A quick run has none, whatever it measured.
pub fn steady_window(outcome: &QualifyOutcome) -> Option<SteadyWindow> {
    if outcome.plan.scale == QualifyScale::Quick {
        return None;
    }
    windows(outcome).find(SteadyWindow::is_steady)
}

/// The window that a report shows: the steady one, else the first that meets the criterion, else the last.
pub fn shown_window(outcome: &QualifyOutcome) -> Option<SteadyWindow> {
    let met = || windows(outcome).find(|window| window.meets(Check::Criterion));
    steady_window(outcome).or_else(met).or_else(|| windows(outcome).last())
}

fn windows(outcome: &QualifyOutcome) -> impl Iterator<Item = SteadyWindow> {
    let cells = tracked_cells(outcome);
    let steps = steps_of(outcome, &cells, STEPS_PER_FILL);
    let starts = (steps.len() + 1).saturating_sub(WINDOW);
    let (active_bytes, test) = (outcome.active_bytes.max(1), outcome.plan.test);
    (0..starts).filter_map(move |first| window_at(&steps, &cells, first, (active_bytes, test)))
}

fn window_at(
    steps: &[Step],
    cells: &[(Percent, BlockSize)],
    first: usize,
    (active_bytes, test): (u64, QualifyTest),
) -> Option<SteadyWindow> {
    let end = first + WINDOW;
    let series = |index: usize| steps.iter().map(|step| step.iops(index)).collect::<Vec<f64>>();
    let mut tracked = Vec::new();
    let (mut is_confirmed, mut is_after) = (true, true);
    for (index, (write_pct, size)) in cells.iter().enumerate() {
        let all = series(index);
        let iops = all[first..end].to_vec();
        let determination = Determination::of(first + 1, &iops)?;
        let second = all.get(end..end + WINDOW).and_then(|next| Determination::of(end + 1, next));
        is_confirmed &= second.is_some_and(|second| confirms(&determination, &second));
        is_after &= truncation(&all, 1).is_some_and(|found| found.is_over && found.left_out <= first);
        let tails: Vec<(f64, f64)> =
            steps[first..end].iter().filter_map(|step| step.tail_ns(index)).collect();
        let (p99, max): (Vec<f64>, Vec<f64>) = tails.into_iter().unzip();
        let tail = Tail::of(&p99, &max).filter(|_| p99.len() == WINDOW);
        tracked.push(TrackedWindow { write_pct: *write_pct, size: *size, iops, determination, tail });
    }
    let before_bytes = first.checked_sub(1).map_or(0, |step| steps[step].written_bytes);
    let until_bytes = steps[end - 1].written_bytes;
    let every = |holds: &dyn Fn(&TrackedWindow) -> bool| !tracked.is_empty() && tracked.iter().all(holds);
    let mut checks = vec![
        (Check::Criterion, every(&|one| one.determination.is_met())),
        (Check::Even, every(&|one| is_even(&one.iops))),
    ];
    match test {
        // Rounds are long, and few.
        QualifyTest::Iops => checks.push((Check::Written, until_bytes >= active_bytes)),
        QualifyTest::Saturation => {
            checks.push((Check::Written, before_bytes >= active_bytes));
            checks.push((Check::AfterTransition, is_after));
        }
    }
    checks.push((Check::Tail, every(&|one| one.tail.is_some_and(|tail| tail.is_stable()))));
    checks.push((Check::Confirmed, is_confirmed));
    let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
    Some(SteadyWindow {
        rounds: RoundSpan { first: number(steps[first].rounds.0 + 1), last: number(steps[end - 1].rounds.1) },
        fills: (before_bytes as f64 / active_bytes as f64, until_bytes as f64 / active_bytes as f64),
        tracked,
        checks,
    })
}

fn steps_of(outcome: &QualifyOutcome, cells: &[(Percent, BlockSize)], per_fill: u64) -> Vec<Step> {
    let step_bytes = match outcome.plan.test {
        QualifyTest::Iops => 0,
        QualifyTest::Saturation => (outcome.active_bytes / per_fill).max(1),
    };
    let mut steps: Vec<Step> = Vec::new();
    let mut open: Option<Step> = None;
    let mut until_bytes = step_bytes;
    for (index, round) in outcome.rounds.iter().enumerate() {
        let mut step = open.take().unwrap_or_else(|| Step {
            rounds: (index, index),
            written_bytes: 0,
            figures: vec![(0, 0, Histogram::new()); cells.len()],
        });
        add(&mut step, round, cells);
        step.rounds.1 = index + 1;
        if round.written_bytes >= until_bytes {
            while step_bytes > 0 && until_bytes <= round.written_bytes {
                until_bytes += step_bytes;
            }
            steps.push(step);
        } else {
            open = Some(step);
        }
    }
    steps
}

fn add(step: &mut Step, round: &QualifyRound, cells: &[(Percent, BlockSize)]) {
    step.written_bytes = round.written_bytes;
    for ((count, time_ns, latency_ns), (write_pct, size)) in step.figures.iter_mut().zip(cells) {
        let Some(point) = round.point(*write_pct, *size) else { continue };
        *count += point.repeats.iter().map(|repeat| repeat.count).sum::<u64>();
        *time_ns += point.measured_ns();
        latency_ns.merge(&point.latency_ns);
    }
}

/// Requests a second over active ranges written, in steps of a tenth of one: a write saturation as it is shown.
pub fn course(outcome: &QualifyOutcome) -> Vec<(f64, f64)> {
    course_in(outcome, STEPS_PER_FILL)
}

fn course_in(outcome: &QualifyOutcome, per_fill: u64) -> Vec<(f64, f64)> {
    let cells = tracked_cells(outcome);
    let steps = steps_of(outcome, &cells, per_fill);
    steps.iter().map(|step| (outcome.fills(step.written_bytes), step.iops(0))).collect()
}

/// A lasting fall of the requests a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cliff {
    /// Active ranges written before it.
    pub fills: f64,
    /// Mean requests a second before.
    pub iops_before: f64,
    /// The same after.
    pub iops_after: f64,
}

/// The cliff of a write saturation; `None` if it has none.
pub fn cliff(outcome: &QualifyOutcome) -> Option<Cliff> {
    /// Values on each side, and how much lower it is after.
    const SIDE_MIN: usize = 3;
    const FALL_MIN: f64 = 0.10;
    let course = course_in(outcome, CLIFF_STEPS_PER_FILL);
    let rates: Vec<f64> = course.iter().map(|(_, iops)| *iops).collect();
    let found = change(&rates, SIDE_MIN, FALL_MIN).filter(|found| found.after < found.before)?;
    Some(Cliff { fills: course[found.at - 1].0, iops_before: found.before, iops_after: found.after })
}

/// Every mix and size over `span`, or over the last rounds: one point each, with an interval for each round.
pub fn points_over(rounds: &[QualifyRound], span: Option<RoundSpan>) -> Vec<Point> {
    let counted = match span {
        Some(RoundSpan { first, last }) => {
            rounds.get((first.max(1) - 1) as usize..last as usize).unwrap_or_default()
        }
        None => &rounds[rounds.len().saturating_sub(WINDOW)..],
    };
    let mut points: Vec<Point> = Vec::new();
    for point in counted.iter().flat_map(|round| &round.points) {
        let is_same =
            |known: &&mut Point| known.write_pct == point.write_pct && known.block_size == point.block_size;
        match points.iter_mut().find(is_same) {
            Some(known) => {
                known.repeats.extend(point.repeats.iter().cloned());
                known.latency_ns.merge(&point.latency_ns);
            }
            None => points.push(point.clone()),
        }
    }
    points
}

/// The point of `write_pct` and `size`.
pub fn point_of(points: &[Point], write_pct: Percent, size: BlockSize) -> Option<&Point> {
    let mix = BlockMix::single(size);
    points.iter().find(|point| point.write_pct == write_pct && point.block_size == mix)
}
