//! The figures of a guard, for scripts.

use iostall_model::{GuardOutcome, Run};
use iostall_session::analysis::guard::{Against, GuardState, Judged, judged};
use serde::Serialize;

use super::super::points::PointsSummary;

#[derive(Serialize)]
pub(super) struct GuardSummary {
    #[serde(flatten)]
    points: PointsSummary,
    figures: Vec<FigureSummary>,
    moved_bytes: u64,
}

#[derive(Serialize)]
struct FigureSummary {
    block_bytes: u32,
    /// `baseline` or `paid-for`.
    against: &'static str,
    /// Requests a second; of a canary nanoseconds.
    then: f64,
    now: f64,
    /// Speed now over speed then.
    ratio: f64,
    ratio_low: f64,
    ratio_high: f64,
    /// `slower`, `within` or `unclear`.
    state: &'static str,
}

impl GuardSummary {
    pub(super) fn of(run: &Run, outcome: &GuardOutcome) -> Self {
        let figures = judged(outcome).iter().map(FigureSummary::of).collect();
        Self { points: PointsSummary::of(run, &outcome.points), figures, moved_bytes: outcome.moved_bytes() }
    }
}

impl FigureSummary {
    fn of(one: &Judged) -> Self {
        let (against, then) = match one.against {
            Against::Baseline(before) => ("baseline", before),
            Against::PaidFor(promised) => ("paid-for", promised),
        };
        let state = match one.look.state {
            GuardState::Slower => "slower",
            GuardState::Within => "within",
            GuardState::Unclear => "unclear",
        };
        Self {
            block_bytes: one.block_bytes,
            against,
            then,
            now: one.now,
            ratio: one.look.ratio,
            ratio_low: one.look.interval.low,
            ratio_high: one.look.interval.high,
            state,
        }
    }
}
