//! Where writes without a pause become slower: at a cliff of random ones, and at the end of a fast cache.

use iostall_measure::Nanos;
use iostall_model::QualifyOutcome;
use iostall_model::qualify::{Cell, Figure, QualifyTest};
use iostall_stats::change::change;

use super::stage_rounds::{STEPS_PER_FILL, StageRounds, stages};

/// Samples on each side of the fall, and how much slower it is after.
const SIDE_MIN: usize = 3;
const FALL_MIN: f64 = 0.20;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FastCache {
    pub bytes: f64,
    /// Bytes a second at first.
    pub fast: f64,
    /// Bytes a second after that.
    pub slow: f64,
}

impl FastCache {
    /// How long a load of `bytes` takes, seconds, if the cache is empty before it.
    pub fn seconds_for(&self, bytes: f64) -> f64 {
        bytes.min(self.bytes) / self.fast + (bytes - self.bytes).max(0.0) / self.slow
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AfterRest {
    pub rest: Nanos,
    /// Written fast, bytes: 0 if none was there.
    pub bytes: f64,
    /// The part of the first size.
    pub share: f64,
}

/// The cache of a fast-cache test, and what each rest brought back. `None` for another test, or if writes in order never fell.
pub fn fast_cache(outcome: &QualifyOutcome) -> Option<(FastCache, Vec<AfterRest>)> {
    if outcome.plan.test != QualifyTest::FastCache {
        return None;
    }
    let all = stages(outcome);
    let (first, rests) = all.split_first()?;
    let found = fast_part(first)?;
    let after = |one: &StageRounds<'_>| {
        if one.rounds.is_empty() {
            return None;
        }
        let bytes = fast_bytes(&found, one);
        Some(AfterRest { rest: one.stage.rest, bytes, share: bytes / found.bytes })
    };
    Some((found, rests.iter().filter_map(after).collect()))
}

fn fast_part(rounds: &StageRounds<'_>) -> Option<FastCache> {
    let rates: Vec<f64> = samples(rounds).map(|(bytes, seconds)| bytes / seconds).collect();
    let found = change(&rates, SIDE_MIN, FALL_MIN).filter(|found| found.after < found.before)?;
    // The sample in which it fell is a part of each: it is left to neither.
    let mean = |part: &mut dyn Iterator<Item = (f64, f64)>| {
        let (bytes, seconds) = part.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        bytes / seconds
    };
    let fast = mean(&mut samples(rounds).take(found.at.saturating_sub(1).max(1)));
    let slow = mean(&mut samples(rounds).skip(found.at + 1));
    let part = FastCache { bytes: f64::INFINITY, fast, slow };
    let near: Vec<(f64, f64)> = samples(rounds).take(found.at + 1).collect();
    Some(FastCache { bytes: fast_of(&part, &near) + unfinished_bytes(rounds, found.at), ..part })
}

/// What `samples` samples had in flight at their ends: it is written, and neither its bytes nor its time are counted.
fn unfinished_bytes(rounds: &StageRounds<'_>, samples: usize) -> f64 {
    let of_cell =
        |cell: &Cell| f64::from(cell.queue_depth) * f64::from(cell.workers) * f64::from(cell.size.bytes());
    rounds.stage.cells.first().map_or(0.0, of_cell) * samples as f64
}

fn fast_bytes(cache: &FastCache, rounds: &StageRounds<'_>) -> f64 {
    let halfway = f64::midpoint(cache.fast, cache.slow);
    let all: Vec<(f64, f64)> = samples(rounds).collect();
    let fell = all.iter().position(|(bytes, seconds)| bytes / seconds < halfway);
    // The sample in which it fell may have begun fast.
    let until = fell.map_or(all.len(), |at| (at + 1).min(all.len()));
    fast_of(cache, &all[..until]) + unfinished_bytes(rounds, until.saturating_sub(1))
}

/// Of bytes written at two speeds one after the other, those of the first: what the time does not explain at the second speed.
fn fast_of(cache: &FastCache, samples: &[(f64, f64)]) -> f64 {
    let (bytes, seconds) = samples.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let fast_s = ((bytes - cache.slow * seconds) / (cache.fast - cache.slow)).clamp(0.0, seconds);
    cache.fast * fast_s
}

fn samples(rounds: &StageRounds<'_>) -> impl Iterator<Item = (f64, f64)> {
    rounds.rounds.iter().map(|round| {
        let repeats = || round.points.iter().flat_map(|point| &point.repeats);
        let bytes: u64 = repeats().map(|repeat| repeat.bytes).sum();
        let time_ns: u64 = repeats().map(|repeat| repeat.measured_ns).sum();
        (bytes as f64, time_ns.max(1) as f64 / 1e9)
    })
}

const CLIFF_STEPS_PER_FILL: u64 = 50;

/// Requests a second over active ranges written, in steps of a tenth of one: a write saturation as it is shown. A sample that writes
/// more than a tenth is a step of its own.
pub fn course(outcome: &QualifyOutcome) -> Vec<(f64, f64)> {
    stages(outcome).first().map(|first| course_in(first, STEPS_PER_FILL)).unwrap_or_default()
}

fn course_in(rounds: &StageRounds<'_>, per_fill: u64) -> Vec<(f64, f64)> {
    let of_step =
        |step: &super::stage_rounds::Step| (rounds.fills(step.written_bytes), step.value(0, Figure::Iops));
    rounds.steps(per_fill).iter().map(of_step).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cliff {
    /// Active ranges written before it.
    pub fills: f64,
    /// Mean requests a second before.
    pub iops_before: f64,
    /// Mean requests a second after.
    pub iops_after: f64,
}

pub fn cliff(outcome: &QualifyOutcome) -> Option<Cliff> {
    /// Values on each side, and how much lower it is after.
    const SIDE_MIN: usize = 3;
    const FALL_MIN: f64 = 0.10;
    let all = stages(outcome);
    let course = course_in(all.first()?, CLIFF_STEPS_PER_FILL);
    let rates: Vec<f64> = course.iter().map(|(_, iops)| *iops).collect();
    let found = change(&rates, SIDE_MIN, FALL_MIN).filter(|found| found.after < found.before)?;
    Some(Cliff { fills: course[found.at - 1].0, iops_before: found.before, iops_after: found.after })
}
