//! How a drive recovers: in pauses, and after another load.

use iostall_measure::Nanos;
use iostall_model::QualifyOutcome;
use iostall_model::qualify::QualifyTest;

use super::stage_rounds::{Rates, StageRounds, stages};
use super::window::steady_window_of;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaitState {
    pub wait: Nanos,
    /// The part of the time that writes.
    pub duty: f64,
    /// Requests a second while it writes.
    pub iops: f64,
    /// That over the requests a second without pauses before all pauses.
    pub of_baseline: f64,
    /// Requests a second of the writes without a pause that followed, over the same baseline; `None` if they were not
    /// measured.
    pub back_of_baseline: Option<f64>,
}

/// Requests a second without pauses, and each pause that was measured; `None` if there is nothing to compare with.
///
/// Host idle recovery of the specification: the mean of a wait state over the baseline.
pub fn idle_recovery(outcome: &QualifyOutcome) -> Option<(f64, Vec<WaitState>)> {
    if outcome.plan.test != QualifyTest::IdleRecovery {
        return None;
    }
    let all = stages(outcome);
    let (first, rest) = all.split_first()?;
    let baseline = baseline_of(first)?;
    let state = |pair: &[StageRounds<'_>]| {
        let cell = pair.first()?.stage.cells.first()?;
        let rates = pair.first()?.rates()?;
        let back = pair.get(1).and_then(StageRounds::rates);
        Some(WaitState {
            wait: cell.pause,
            duty: cell.length.0 as f64 / cell.length.0.saturating_add(cell.pause.0).max(1) as f64,
            iops: rates.iops,
            of_baseline: rates.iops / baseline,
            back_of_baseline: back.map(|back| back.iops / baseline),
        })
    };
    Some((baseline, rest.chunks(2).filter_map(state).collect()))
}

/// The steady state, or else the mean of the last fifth.
fn baseline_of(rounds: &StageRounds<'_>) -> Option<f64> {
    if let Some(window) = steady_window_of(rounds) {
        return window.tracked.first().map(|one| one.determination.average);
    }
    let last = rounds.rounds.len().div_ceil(5);
    let points = rounds.rounds.iter().rev().take(last).flat_map(|round| &round.points);
    Rates::of(points).map(|rates| rates.iops).filter(|iops| *iops > 0.0)
}

#[derive(Clone, Debug, PartialEq)]
pub struct CrossRecovery {
    /// Name, MB a second, mean and largest latency of each segment that was measured.
    pub segments: Vec<(String, Rates)>,
    /// Time in the third segment until it is as fast as the first on average, nanoseconds, and what it had written then, bytes. `None`:
    /// it never was.
    pub recovered: Option<(u64, u64)>,
}

/// The segments of a cross stimulus recovery; `None` for another test.
pub fn cross_recovery(outcome: &QualifyOutcome) -> Option<CrossRecovery> {
    if outcome.plan.test != QualifyTest::CrossStimulus {
        return None;
    }
    let all = stages(outcome);
    let named = |one: &StageRounds<'_>| Some((one.stage.name.clone(), one.rates()?));
    let segments: Vec<(String, Rates)> = all.iter().filter_map(named).collect();
    let first = segments.first().map(|(_, rates)| rates.mb_per_s)?;
    let recovered = all.get(2).and_then(|third| {
        let is_as_fast = |points| Rates::of(points).is_some_and(|rates: Rates| rates.mb_per_s >= first);
        let at = third.rounds.iter().position(|round| is_as_fast(round.points.iter()))?;
        let until = &third.rounds[..=at];
        let time_ns =
            until.iter().flat_map(|round| &round.points).map(iostall_model::Point::measured_ns).sum();
        Some((time_ns, third.written_by(&third.rounds[at])))
    });
    Some(CrossRecovery { segments, recovered })
}
