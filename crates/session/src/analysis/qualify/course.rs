//! Random writes without a pause over what was written: where they fall, and to what.

use iostall_model::QualifyOutcome;
use iostall_model::qualify::Figure;
use iostall_stats::change::change;

use super::stage_rounds::{STEPS_PER_FILL, StageRounds, stages};

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
