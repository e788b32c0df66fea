//! The rounds of each stage, and the series that they make.

use iostall_measure::{Histogram, Percentile};
use iostall_model::qualify::{Figure, QualifyRound, QualifyScale, Stage};
use iostall_model::{Point, QualifyOutcome};

/// Windows of random writes without a pause have steps of this part of the active range.
pub(crate) const STEPS_PER_FILL: u64 = 10;

#[derive(Clone, Debug)]
pub struct StageRounds<'a> {
    pub stage: Stage,
    pub rounds: &'a [QualifyRound],
    pub before: usize,
    pub before_bytes: u64,
    /// What the stage uses of the target, bytes.
    pub range_bytes: u64,
    pub(super) is_quick: bool,
    /// Whether something kept the drive from what it can do, at any time of the run.
    pub(super) is_disturbed: bool,
}

/// All of them, in order; some at the end may have no rounds yet.
pub fn stages(outcome: &QualifyOutcome) -> Vec<StageRounds<'_>> {
    let mut all = Vec::new();
    let (mut before, mut before_bytes) = (0, 0);
    let is_disturbed = !outcome.disturbances().is_empty();
    for (index, stage) in outcome.plan.stages().into_iter().enumerate() {
        let left = &outcome.rounds[before..];
        let is_own = |round: &&QualifyRound| round.stage as usize == index;
        let rounds = &left[..left.iter().take_while(is_own).count()];
        let range_bytes = stage.range_bytes(outcome.active_bytes).max(1);
        let is_quick = outcome.plan.scale == QualifyScale::Quick;
        all.push(StageRounds { stage, rounds, before, before_bytes, range_bytes, is_quick, is_disturbed });
        before += rounds.len();
        before_bytes = rounds.last().map_or(before_bytes, |round| round.written_bytes);
    }
    all
}

/// One value of the series: a round, or as many samples as write a tenth of the active range.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Indices of its rounds in the stage; the end is exclusive.
    pub(super) rounds: (usize, usize),
    pub(super) written_bytes: u64,
    figures: Vec<StepFigures>,
}

#[derive(Clone, Debug)]
struct StepFigures {
    count: u64,
    bytes: u64,
    time_ns: u64,
    latency_ns: Histogram,
}

impl Step {
    /// The figure of a tracked mix and size; no number if it was not measured.
    pub(super) fn value(&self, tracked: usize, figure: Figure) -> f64 {
        let Some(of) = self.figures.get(tracked).filter(|of| of.time_ns > 0) else { return f64::NAN };
        let seconds = of.time_ns as f64 / 1e9;
        match figure {
            Figure::Iops => of.count as f64 / seconds,
            Figure::MbPerS => of.bytes as f64 / 1e6 / seconds,
            Figure::LatencyMs => of.latency_ns.mean().map_or(f64::NAN, |ns| ns / 1e6),
        }
    }

    /// The 99th percentile and the largest latency.
    pub(super) fn tail_ns(&self, tracked: usize) -> Option<(f64, f64)> {
        let latency_ns = &self.figures.get(tracked)?.latency_ns;
        Some((latency_ns.value_at(Percentile::P99)? as f64, latency_ns.max()? as f64))
    }
}

impl StageRounds<'_> {
    pub fn fills(&self, bytes: u64) -> f64 {
        bytes as f64 / self.range_bytes as f64
    }

    pub fn written_by(&self, round: &QualifyRound) -> u64 {
        round.written_bytes.saturating_sub(self.before_bytes)
    }

    pub fn written_bytes(&self) -> u64 {
        self.rounds.last().map_or(0, |round| self.written_by(round))
    }

    /// Requests and MB a second of its measurements of each round together; `None` without rounds.
    pub fn rates(&self) -> Option<Rates> {
        let points = || self.rounds.iter().flat_map(|round| &round.points);
        Rates::of(points())
    }

    pub(super) fn steps(&self, per_fill: u64) -> Vec<Step> {
        let step_bytes = if self.stage.by_fill { (self.range_bytes / per_fill).max(1) } else { 0 };
        let mut steps: Vec<Step> = Vec::new();
        let mut open: Option<Step> = None;
        let mut until_bytes = step_bytes;
        for (index, round) in self.rounds.iter().enumerate() {
            let mut step = open.take().unwrap_or_else(|| self.empty_step(index));
            let written_bytes = self.written_by(round);
            step.written_bytes = written_bytes;
            for (figures, cell) in step.figures.iter_mut().zip(&self.stage.tracked) {
                if let Some(point) = round.points.get(*cell) {
                    figures.add(point);
                }
            }
            step.rounds.1 = index + 1;
            if written_bytes >= until_bytes {
                while step_bytes > 0 && until_bytes <= written_bytes {
                    until_bytes += step_bytes;
                }
                steps.push(step);
            } else {
                open = Some(step);
            }
        }
        steps
    }

    fn empty_step(&self, index: usize) -> Step {
        let figures = StepFigures { count: 0, bytes: 0, time_ns: 0, latency_ns: Histogram::new() };
        Step { rounds: (index, index), written_bytes: 0, figures: vec![figures; self.stage.tracked.len()] }
    }
}

impl StepFigures {
    fn add(&mut self, point: &Point) {
        self.count += point.repeats.iter().map(|repeat| repeat.count).sum::<u64>();
        self.bytes += point.repeats.iter().map(|repeat| repeat.bytes).sum::<u64>();
        self.time_ns += point.measured_ns();
        self.latency_ns.merge(&point.latency_ns);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    pub iops: f64,
    /// Millions of bytes a second.
    pub mb_per_s: f64,
    /// Milliseconds; no number if nothing completed.
    pub latency_ms_mean: f64,
    /// The largest, milliseconds.
    pub latency_ms_max: f64,
}

impl Rates {
    /// Over all of `points`; `None` if they took no time.
    pub fn of<'p>(points: impl Iterator<Item = &'p Point>) -> Option<Self> {
        let mut all = StepFigures { count: 0, bytes: 0, time_ns: 0, latency_ns: Histogram::new() };
        points.for_each(|point| all.add(point));
        let seconds = all.time_ns as f64 / 1e9;
        (all.time_ns > 0).then(|| Self {
            iops: all.count as f64 / seconds,
            mb_per_s: all.bytes as f64 / 1e6 / seconds,
            latency_ms_mean: all.latency_ns.mean().map_or(f64::NAN, |ns| ns / 1e6),
            latency_ms_max: all.latency_ns.max().map_or(f64::NAN, |ns| ns as f64 / 1e6),
        })
    }
}
