//! Searches for the highest arrival rate at which storage still meets a response time target.

/// Longer looks at most.
const CONFIRMATIONS_MAX: u32 = 10;
/// A gap that is hardly wider than the precision is not halved once more.
const GAP_SLACK: f64 = 1.01;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trial {
    Search(f64),
    /// A longer trial of the result.
    Confirm(f64),
}

impl Trial {
    /// Arrivals a second.
    pub fn rate(self) -> f64 {
        match self {
            Self::Search(rate) | Self::Confirm(rate) => rate,
        }
    }
}

/// A search: doubling or halving until the answer changes, then bisection of the logarithm, then confirmation. A rate that is not
/// confirmed gives way downwards, in steps that double, since a short look may have been lucky by far; once one is confirmed
/// the gap above it is halved again.
#[derive(Clone, Debug)]
pub struct RateSearch {
    low: Option<f64>,
    high: Option<f64>,
    floor: f64,
    ceiling: f64,
    /// The search ends when both bounds are within this share of each other.
    precision: f64,
    next: Option<Trial>,
    confirmations: u32,
    /// The lowest rate that a longer look did not confirm.
    refuted: Option<f64>,
    found: Option<f64>,
}

impl RateSearch {
    /// Starts at `start`, stays within `floor..=ceiling`, and ends within `precision` (a share above 0).
    pub fn new(start: f64, floor: f64, ceiling: f64, precision: f64) -> Self {
        let start = start.clamp(floor, ceiling);
        let next = Some(Trial::Search(start));
        Self {
            low: None,
            high: None,
            floor,
            ceiling,
            precision,
            next,
            confirmations: 0,
            refuted: None,
            found: None,
        }
    }

    /// The next rate to try; `None` when the search is over.
    pub fn next(&self) -> Option<Trial> {
        self.next
    }

    /// The highest confirmed rate; `None` before the end, or if no rate meets the target.
    pub fn found(&self) -> Option<f64> {
        self.found
    }

    /// Reports whether the rate from [`RateSearch::next`] met the target.
    pub fn update(&mut self, met: bool) {
        let Some(trial) = self.next.take() else { return };
        self.next = match trial {
            Trial::Search(rate) => {
                *(if met { &mut self.low } else { &mut self.high }) = Some(rate);
                self.search()
            }
            Trial::Confirm(rate) => {
                self.confirmations += 1;
                *(if met { &mut self.found } else { &mut self.refuted }) = Some(rate);
                self.confirm()
            }
        };
    }

    fn search(&self) -> Option<Trial> {
        match (self.low, self.high) {
            (Some(low), None) if low >= self.ceiling => Some(Trial::Confirm(low)),
            (Some(low), None) => Some(Trial::Search((low * 2.0).min(self.ceiling))),
            (None, Some(high)) if high <= self.floor => None,
            (None, Some(high)) => Some(Trial::Search((high / 2.0).max(self.floor))),
            (Some(low), Some(high)) if high <= low * (1.0 + self.precision) => Some(Trial::Confirm(low)),
            (Some(low), Some(high)) => Some(Trial::Search((low * high).sqrt())),
            (None, None) => None,
        }
    }

    fn confirm(&self) -> Option<Trial> {
        if self.confirmations >= CONFIRMATIONS_MAX {
            return None;
        }
        let step = 1.0 + self.precision;
        match (self.found, self.refuted) {
            (Some(found), Some(refuted)) if refuted > found * step * GAP_SLACK => {
                Some(Trial::Confirm((found * refuted).sqrt()))
            }
            (None, Some(refuted)) if refuted > self.floor => {
                let steps = 1_i32 << (self.confirmations - 1).min(5);
                Some(Trial::Confirm((refuted / step.powi(steps)).max(self.floor)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(search: &mut RateSearch, holds: impl Fn(f64) -> bool) -> usize {
        let mut trials = 0;
        while let Some(trial) = search.next() {
            search.update(holds(trial.rate()));
            trials += 1;
            assert!(trials < 100, "{search:?}");
        }
        trials
    }

    proptest! {
        #[test]
        fn any_limit_is_found_within_the_precision_from_any_start(
            limit in 30.0_f64..1e6,
            start in 1.0_f64..1e7,
        ) {
            let mut search = RateSearch::new(start, 20.0, 1e7, 0.05);
            let trials = run(&mut search, |rate| rate <= limit);
            let found = search.found().unwrap();
            prop_assert!(found <= limit && found * 1.05 * 1.0001 >= limit, "{} of {}", found, limit);
            prop_assert!(trials < 40);
        }
    }

    #[test]
    fn where_no_rate_holds_none_is_found_and_where_all_hold_the_ceiling_is() {
        let mut never = RateSearch::new(1000.0, 20.0, 1e6, 0.05);
        run(&mut never, |_| false);
        assert_eq!(never.found(), None);
        let mut always = RateSearch::new(1000.0, 20.0, 64_000.0, 0.05);
        run(&mut always, |_| true);
        assert_eq!(always.found(), Some(64_000.0));
    }

    #[test]
    fn a_rate_that_held_by_luck_gives_way_in_confirmation() {
        let mut search = RateSearch::new(1000.0, 20.0, 1e6, 0.05);
        while let Some(trial) = search.next() {
            search.update(match trial {
                Trial::Search(rate) => rate <= 1000.0,
                Trial::Confirm(rate) => rate <= 930.0,
            });
        }
        assert!((880.0..=930.0).contains(&search.found().unwrap()), "{search:?}");
    }

    /// The story: short looks were lucky up to 1000 a second, six longer ones went down to 784 without luck, and the search said
    /// that no rate holds.
    #[test]
    fn a_search_that_was_lucky_by_far_still_finds_the_rate_that_holds() {
        for limit in [100.0, 250.0, 500.0, 700.0, 900.0] {
            let mut search = RateSearch::new(1000.0, 20.0, 1e6, 0.05);
            while let Some(trial) = search.next() {
                search.update(match trial {
                    Trial::Search(rate) => rate <= 1000.0,
                    Trial::Confirm(rate) => rate <= limit,
                });
            }
            let found = search.found().unwrap();
            assert!(found <= limit && found >= limit * 0.75, "{limit}: {search:?}");
        }
    }
}
