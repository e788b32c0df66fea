//! What a search has found, whatever it searched.

use iostall_model::{TuneAnswer, TunedSetting};
use iostall_stats::halving::Answer;

use super::grid::Grid;
use super::search::Searched;

/// The answer, and the setting to which it leads. `searched` is `None` if it ended before the search began.
pub(in crate::backup) fn answer<S>(searched: Option<&Searched>, grid: &Grid<S>) -> (TuneAnswer, usize) {
    let default = grid.default;
    let Some(searched) = searched else { return (TuneAnswer::Undecided, default) };
    match searched.halving.answer() {
        Answer::Better { setting, ratio } => (TuneAnswer::Better { ratio }, setting),
        Answer::NoDifference { best: Some((_, ratio)) } => (TuneAnswer::NoDifference { ratio }, default),
        Answer::NoDifference { best: None } if grid.settings.len() == 1 => (TuneAnswer::NothingOpen, default),
        Answer::NoDifference { best: None } => (TuneAnswer::Undecided, default),
    }
}

/// What was measured, the longest measured and then the fastest first. `described` fills in what the setting is.
pub(in crate::backup) fn tried<S>(
    searched: Option<&Searched>,
    grid: &Grid<S>,
    best: usize,
    described: &dyn Fn(&S) -> TunedSetting,
) -> Vec<TunedSetting> {
    let Some(searched) = searched else { return Vec::new() };
    let mut tried = Vec::new();
    for (number, (looks, known)) in searched.looks.iter().zip(searched.halving.tried()).enumerate() {
        if looks.count == 0 {
            continue;
        }
        let share = looks.stored_bytes as f64 / (looks.source_bytes as f64).max(1.0);
        tried.push(TunedSetting {
            memory_bytes: grid.memory[number],
            bytes_per_s: known.rate(),
            stored_share: (looks.source_bytes > 0).then_some(share),
            trials: looks.count,
            seconds: known.seconds,
            is_default: number == grid.default,
            is_best: number == best,
            ..described(&grid.settings[number])
        });
    }
    let rate = |setting: &TunedSetting| setting.bytes_per_s.unwrap_or_default();
    tried.sort_by(|one, other| other.trials.cmp(&one.trials).then_with(|| rate(other).total_cmp(&rate(one))));
    tried
}
