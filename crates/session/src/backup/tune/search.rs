//! Carries out a search: measures what it wants to know, keeps to the time, and answers.

use iostall_measure::Nanos;
use iostall_model::{TuneAnswer, TunedSetting};
use iostall_stats::halving::{Answer, Halving, Trial as Look, Tried};

use super::grid::Grid;
use crate::event::{Event, Observer, RunProgress};
use crate::transfer::Transfer;

/// A shorter look at a setting says nothing.
pub(in crate::backup) const LOOK_S_MIN: f64 = 0.1;
/// The search ends by itself within its budget, unless making buffers and files ready takes much longer than expected.
const OVERRUN: f64 = 1.2;
/// How fast the expected time for making ready follows what was seen.
const FOLLOWS: f64 = 0.2;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::backup) struct Seen {
    /// Rate of the source; `None` if the setting does not work.
    pub(in crate::backup) bytes_per_s: Option<f64>,
    pub(in crate::backup) source_bytes: u64,
    pub(in crate::backup) stored_bytes: u64,
    /// How long it moved data, where it could not be told how long; `None` if it moved as long as it was to.
    pub(in crate::backup) moved_s: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::backup) struct Looks {
    pub(in crate::backup) count: u32,
    pub(in crate::backup) source_bytes: u64,
    pub(in crate::backup) stored_bytes: u64,
}

pub(in crate::backup) struct Searched {
    pub(in crate::backup) halving: Halving,
    pub(in crate::backup) looks: Vec<Looks>,
}

impl Searched {
    pub(in crate::backup) fn show(&self, elapsed_ns: u64, budget: Nanos, observer: &dyn Observer) {
        let rates = self.halving.tried().iter().filter_map(Tried::rate);
        observer.on(&Event::TuneProgress {
            tried: self.looks.iter().filter(|looks| looks.count > 0).count(),
            settings: self.looks.len(),
            bytes_per_s_best: rates.fold(0.0, f64::max),
            whole: RunProgress::new(elapsed_ns, Some(budget.nanos().saturating_sub(elapsed_ns))),
        });
    }
}

/// A search of `grid` whose looks are as long as they are to be.
pub(in crate::backup) fn halving<S>(grid: &Grid<S>, budget_s: f64) -> Halving {
    Halving::new(grid.neighbours.clone(), grid.default, budget_s, LOOK_S_MIN)
}

/// Searches `grid` for what is left of `budget`, and shows how far it is; the rest is as with [`search`].
pub(in crate::backup) fn search_within<S, E>(
    grid: &Grid<S>,
    budget: Nanos,
    transfer: &Transfer,
    observer: &dyn Observer,
    measure: &mut dyn FnMut(&S, f64) -> Result<Seen, E>,
) -> (Searched, Result<(), E>) {
    let now_s = || Nanos(transfer.elapsed_ns()).seconds();
    let left_s = budget.seconds() - now_s();
    let mut measure = |number: usize, seconds: f64| measure(&grid.settings[number], seconds);
    let mut on = |searched: &Searched| searched.show(transfer.elapsed_ns(), budget, observer);
    search(halving(grid, left_s), left_s, &now_s, &mut measure, &mut on)
}

/// Searches for `budget_s` seconds of the clock `now_s`. `measure` looks at a setting for so many seconds; its error ends the
/// search, which then has what was measured before. `on` is called after each look.
pub(in crate::backup) fn search<E>(
    halving: Halving,
    budget_s: f64,
    now_s: &dyn Fn() -> f64,
    measure: &mut dyn FnMut(usize, f64) -> Result<Seen, E>,
    on: &mut dyn FnMut(&Searched),
) -> (Searched, Result<(), E>) {
    let looks = vec![Looks::default(); halving.tried().len()];
    let mut searched = Searched { halving, looks };
    let begun_s = now_s();
    let mut ready_s = 0.0;
    while let Some(Look { setting, seconds }) = searched.halving.next() {
        let before_s = now_s();
        if before_s - begun_s > budget_s * OVERRUN {
            break;
        }
        let wanted_s = (seconds - ready_s).max(LOOK_S_MIN / 2.0);
        let look = match measure(setting, wanted_s) {
            Ok(look) => look,
            Err(error) => return (searched, Err(error)),
        };
        let beside_s = (now_s() - before_s - look.moved_s.unwrap_or(wanted_s)).max(0.0);
        ready_s += (beside_s - ready_s) * FOLLOWS;
        searched.halving.update_after(look.bytes_per_s, look.moved_s.unwrap_or(seconds));
        let looks = &mut searched.looks[setting];
        looks.count += 1;
        looks.source_bytes += look.source_bytes;
        looks.stored_bytes += look.stored_bytes;
        on(&searched);
    }
    (searched, Ok(()))
}

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
