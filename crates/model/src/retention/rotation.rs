//! The same rules for backups that are made one after another: what each step gives up, without looking at all of them again.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::rules::{Period, Rules};

/// The newest backup of a period, by the period's key.
type Newest = ([i32; 4], usize);

/// Keeps what [`super::reasons`] keeps of whole backups of one source, each newer than the one before.
pub(crate) struct Rotation<'z> {
    rules: Rules,
    zone: &'z TimeZone,
    next: usize,
    last: VecDeque<usize>,
    within: VecDeque<(Timestamp, usize)>,
    periods: Vec<(Period, VecDeque<Newest>)>,
    /// How many rules keep each backup that is kept.
    holds: BTreeMap<usize, u32>,
    given_up: Vec<usize>,
}

impl<'z> Rotation<'z> {
    pub(crate) fn new(rules: Rules, zone: &'z TimeZone) -> Self {
        let periods = Period::ALL.into_iter().filter(|period| rules.of(*period) > 0);
        let periods = periods.map(|period| (period, VecDeque::new())).collect();
        let (last, within) = (VecDeque::new(), VecDeque::new());
        Self { rules, zone, next: 0, last, within, periods, holds: BTreeMap::new(), given_up: Vec::new() }
    }

    pub(crate) fn kept(&self) -> usize {
        self.holds.len()
    }

    /// Adds the next backup. Gives the numbers, from 0, of those that may go now.
    pub(crate) fn add(&mut self, at: Timestamp) -> Vec<usize> {
        let number = self.next;
        self.next += 1;
        // The newest is the last good one, whatever the rules say.
        self.last.push_back(number);
        self.hold(number);
        if self.last.len() > self.rules.last.max(1) as usize {
            let oldest = self.last.pop_front();
            self.release(oldest);
        }
        if let Some(within) = self.rules.within {
            self.within.push_back((at, number));
            self.hold(number);
            let from = within.before(at, self.zone).unwrap_or(Timestamp::MAX);
            while let Some((_, old)) = self.within.front().copied().filter(|(at, _)| *at < from) {
                self.within.pop_front();
                self.release(Some(old));
            }
        }
        let mut periods = std::mem::take(&mut self.periods);
        for (period, newest) in &mut periods {
            let key = period.key(at, self.zone);
            let is_displaced = newest.back().is_some_and(|(of, _)| *of == key);
            let displaced = if is_displaced { newest.pop_back() } else { None };
            newest.push_back((key, number));
            self.hold(number);
            let too_old = newest.len() > self.rules.of(*period) as usize;
            let displaced = if too_old { newest.pop_front() } else { displaced };
            self.release(displaced.map(|(_, old)| old));
        }
        self.periods = periods;
        std::mem::take(&mut self.given_up)
    }

    fn hold(&mut self, number: usize) {
        *self.holds.entry(number).or_default() += 1;
    }

    fn release(&mut self, number: Option<usize>) {
        let Some(number) = number else { return };
        let Some(holds) = self.holds.get_mut(&number) else { return };
        *holds -= 1;
        if *holds == 0 {
            self.holds.remove(&number);
            self.given_up.push(number);
        }
    }
}
