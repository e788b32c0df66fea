//! Finds the best of many settings within a budget of time: successive halving, with the last few measured in turn.
//!
//! Each round measures every setting that is left, for longer than the round before, and keeps the better part. The
//! first looks are short and noisy, so a setting is also judged by its neighbours, which differ from it by one step on one
//! axis. Half of the places go by a setting's own measurements alone, because a good one may stand at the edge of a cliff.
//!
//! The last round measures the few that are left and the default in turn, again and again, so that what the machine
//! does meanwhile meets all of them. The answer is a setting only if it is better than the default beyond chance, and by
//! more than nobody would notice; otherwise the default stays.

#[cfg(test)]
mod surfaces;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::confidence::{Estimate, estimate};
use crate::summary::mean;

/// The share of the budget for the last round.
const LAST_SHARE: f64 = 0.35;
/// How many settings the last round compares with the default.
const LAST_SETTINGS: usize = 3;
/// Each round before it keeps one setting of this many.
const KEPT_OF: usize = 4;
/// How often each is measured in the last round.
const TURNS: usize = 12;
/// The same where a measurement takes as long as it takes; of fewer nothing can be said.
const TURNS_MIN: usize = 4;
/// A smaller advantage over the default is not worth a change.
const ADVANTAGE_MIN: f64 = 0.02;
/// How much the neighbours count beside a setting's own measurement in the first round.
const NEIGHBOURS_WEIGHT: f64 = 0.5;
/// The level of the comparisons with the default: three of them together are wrong in fewer than 5 of 100 tries.
const LEVEL: f64 = 0.97;
/// The logarithm that stands for a setting that does not work.
const FAILED: f64 = -1e3;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    pub setting: usize,
    pub seconds: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tried {
    /// Sum of the logarithms of its rates, each times its seconds.
    weighted: f64,
    pub seconds: f64,
    /// The logarithms of its rates in the last round, turn by turn.
    turns: Vec<f64>,
}

impl Tried {
    fn log(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.weighted / self.seconds)
    }

    /// Its mean rate; `None` if it was not measured, or does not work.
    pub fn rate(&self) -> Option<f64> {
        self.log().filter(|log| *log > FAILED / 2.0).map(f64::exp)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    Better {
        setting: usize,
        /// Its rate as a multiple of the default's: lowest, most likely, highest.
        ratio: [f64; 3],
    },
    /// Nothing was better than the default beyond chance; the best that was tried, with its ratio, if there was any other.
    NoDifference { best: Option<(usize, [f64; 3])> },
}

/// A search. Ask for the [next](Self::next) trial, measure it, [report](Self::update) its rate, until there is none.
#[derive(Clone, Debug)]
pub struct Halving {
    neighbours: Vec<Vec<usize>>,
    default: usize,
    budget_s: f64,
    tried: Vec<Tried>,
    left: Vec<usize>,
    /// Settings still to be measured in this round, and for how long each.
    queue: VecDeque<usize>,
    seconds: f64,
    round: usize,
    rounds: usize,
    is_last: bool,
    spent_s: f64,
    /// What one measurement takes at least, where it cannot be cut short.
    whole_s: Option<f64>,
}

impl Halving {
    /// A search among as many settings as have neighbours, within `budget_s` seconds, of which no trial takes less than
    /// `shortest_s`.
    ///
    /// # Panics
    /// If `default` is none of the settings.
    pub fn new(neighbours: Vec<Vec<usize>>, default: usize, budget_s: f64, shortest_s: f64) -> Self {
        let all = neighbours.len();
        assert!(default < all, "the default is one of the settings");
        let rounds_for = |count: usize| {
            let mut rounds = 1;
            let mut left = count;
            while left / KEPT_OF > LAST_SETTINGS {
                left /= KEPT_OF;
                rounds += 1;
            }
            rounds
        };
        let first_s = budget_s * (1.0 - LAST_SHARE) / rounds_for(all) as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
        let fits = (first_s / shortest_s.max(1e-9)) as usize;
        let mut left = spread_out(all, fits.max(LAST_SETTINGS + 1));
        if !left.contains(&default) {
            left.push(default);
        }
        let mut search = Self {
            rounds: rounds_for(left.len()),
            neighbours,
            default,
            budget_s,
            tried: vec![Tried::default(); all],
            left,
            queue: VecDeque::new(),
            seconds: 0.0,
            round: 0,
            is_last: false,
            spent_s: 0.0,
            whole_s: None,
        };
        search.begin_round();
        search
    }

    /// The same where each measurement runs to its end, which takes about `whole_s` seconds: the last round has fewer turns then,
    /// rather than turns that are too short.
    ///
    /// # Panics
    /// If `default` is none of the settings.
    pub fn of_whole(neighbours: Vec<Vec<usize>>, default: usize, budget_s: f64, whole_s: f64) -> Self {
        Self { whole_s: Some(whole_s.max(1e-9)), ..Self::new(neighbours, default, budget_s, whole_s) }
    }

    /// The next trial; `None` when the search is over.
    pub fn next(&self) -> Option<Trial> {
        self.queue.front().map(|setting| Trial { setting: *setting, seconds: self.seconds })
    }

    /// Reports the rate of the trial from [`Halving::next`]; `None` if the setting does not work.
    pub fn update(&mut self, rate: Option<f64>) {
        self.update_after(rate, self.seconds);
    }

    /// The same for a trial that took `seconds`, whatever it was to take.
    pub fn update_after(&mut self, rate: Option<f64>, seconds: f64) {
        let Some(setting) = self.queue.pop_front() else { return };
        let log = rate.filter(|rate| *rate > 0.0).map_or(FAILED, f64::ln);
        let tried = &mut self.tried[setting];
        tried.weighted += log * seconds;
        tried.seconds += seconds;
        if self.is_last {
            tried.turns.push(log);
        }
        self.spent_s += seconds;
        if self.queue.is_empty() && !self.is_last {
            self.end_round();
        }
    }

    /// How long all trials so far took, seconds.
    pub fn spent_s(&self) -> f64 {
        self.spent_s
    }

    pub fn tried(&self) -> &[Tried] {
        &self.tried
    }

    pub fn answer(&self) -> Answer {
        let compared = self.left.iter().filter(|setting| **setting != self.default);
        let mut ratios: Vec<(usize, Estimate)> =
            compared.filter_map(|setting| Some((*setting, self.against_default(*setting)?))).collect();
        ratios.sort_by(|one, other| other.1.mean.total_cmp(&one.1.mean));
        let in_words = |estimate: &Estimate| {
            let Estimate { mean, half_width } = *estimate;
            [(mean - half_width).exp(), mean.exp(), (mean + half_width).exp()]
        };
        let better = ratios
            .iter()
            .find(|(_, ratio)| ratio.mean - ratio.half_width > 0.0 && ratio.mean >= ADVANTAGE_MIN.ln_1p());
        if let Some((setting, ratio)) = better {
            return Answer::Better { setting: *setting, ratio: in_words(ratio) };
        }
        let best = ratios.first().map(|(setting, ratio)| (*setting, in_words(ratio)));
        Answer::NoDifference { best }
    }

    /// The logarithm of a setting's rate as a multiple of the default's, turn by turn.
    fn against_default(&self, setting: usize) -> Option<Estimate> {
        let (turns, of_default) = (&self.tried[setting].turns, &self.tried[self.default].turns);
        let differences: Vec<f64> =
            turns.iter().zip(of_default).map(|(one, default)| one - default).collect();
        estimate(&differences, LEVEL)
    }

    fn begin_round(&mut self) {
        self.round += 1;
        // The default first: where time ends sooner than expected, there is still something to compare with.
        self.left.sort_by_key(|setting| *setting != self.default);
        self.queue = self.left.iter().copied().collect();
        let share = self.budget_s * (1.0 - LAST_SHARE) / self.rounds as f64;
        self.seconds = share / self.left.len() as f64;
    }

    fn end_round(&mut self) {
        let places = if self.round < self.rounds { self.left.len() / KEPT_OF } else { LAST_SETTINGS };
        self.left = self.best(places.max(LAST_SETTINGS));
        if !self.left.contains(&self.default) {
            self.left.push(self.default);
        }
        if self.round < self.rounds {
            return self.begin_round();
        }
        self.is_last = true;
        let left_s = self.budget_s - self.spent_s;
        let turns = self.whole_s.map_or(TURNS, |whole_s| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "float casts saturate"
            )]
            let fit = (left_s / (whole_s * self.left.len() as f64)) as usize;
            fit.clamp(TURNS_MIN, TURNS)
        });
        self.seconds = (left_s / (turns * self.left.len()) as f64).max(self.whole_s.unwrap_or(f64::MIN));
        // Back and forth, so that a drift of the machine meets all alike.
        for turn in 0..turns {
            let order: Vec<usize> = if turn.is_multiple_of(2) {
                self.left.clone()
            } else {
                self.left.iter().rev().copied().collect()
            };
            self.queue.extend(order);
        }
    }

    /// The best of those that are left: in the first round half of the places by themselves, and half with their neighbours.
    fn best(&self, places: usize) -> Vec<usize> {
        let own = |setting: usize| self.tried[setting].log().unwrap_or(FAILED);
        let with_neighbours = |setting: usize| {
            let around: Vec<f64> =
                self.neighbours[setting].iter().filter_map(|other| self.tried[*other].log()).collect();
            let around = mean(&around).unwrap_or_else(|| own(setting));
            own(setting) * (1.0 - NEIGHBOURS_WEIGHT) + around * NEIGHBOURS_WEIGHT
        };
        let sorted = |score: &dyn Fn(usize) -> f64| {
            let mut sorted = self.left.clone();
            sorted.sort_by(|one, other| score(*other).total_cmp(&score(*one)));
            sorted
        };
        let by_themselves = sorted(&own);
        if self.round > 1 {
            return by_themselves.into_iter().take(places).collect();
        }
        let mut best: Vec<usize> = by_themselves.iter().take(places.div_ceil(2)).copied().collect();
        for setting in sorted(&with_neighbours) {
            if best.len() >= places {
                break;
            }
            if !best.contains(&setting) {
                best.push(setting);
            }
        }
        best
    }
}

/// At most `count` of `all` settings, evenly spread over their list.
fn spread_out(all: usize, count: usize) -> Vec<usize> {
    if count >= all { (0..all).collect() } else { (0..count).map(|place| place * all / count).collect() }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Alone {
    pub name: &'static str,
    pub rate: f64,
}

/// The part that limits the whole: the slowest, if the whole is nearly as fast as that alone. `None` if something else holds it
/// up, such as too few requests in flight.
pub fn limiting(whole: f64, parts: &[Alone]) -> Option<&Alone> {
    /// What a part may lose beside the others.
    const NEAR: f64 = 0.8;
    let slowest = parts.iter().min_by(|one, other| one.rate.total_cmp(&other.rate))?;
    (whole >= slowest.rate * NEAR).then_some(slowest)
}

/// For each point of a grid with axes of these lengths, the points that differ by one step on one axis, as long as both are in
/// `points`. Points are numbered with the last axis fastest.
pub fn neighbours(lengths: &[usize], points: &[usize]) -> Vec<Vec<usize>> {
    let place = |point: &usize| points.iter().position(|other| other == point);
    let around = |point: usize| {
        let mut around = Vec::new();
        let mut stride = 1;
        for length in lengths.iter().rev() {
            let step = point / stride % length;
            if step > 0 {
                around.extend(place(&(point - stride)));
            }
            if step + 1 < *length {
                around.extend(place(&(point + stride)));
            }
            stride *= length;
        }
        around
    };
    points.iter().map(|point| around(*point)).collect()
}
