//! Which servers come first, and how many may fail.

use std::fmt;
use std::str::FromStr;

use iostall_store::PushCounts;

use crate::error::RolloutError;

const HUNDRED: u64 = 100;

/// A number of servers, or a share of them, hundredths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Amount {
    Count(u64),
    Percent(u64),
}

impl Amount {
    fn parse(text: &str) -> Option<Self> {
        match text.strip_suffix('%') {
            Some(number) => number.parse().ok().filter(|percent| *percent <= HUNDRED).map(Self::Percent),
            None => text.parse().ok().map(Self::Count),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rings(Vec<Amount>);

impl FromStr for Rings {
    type Err = RolloutError;

    fn from_str(text: &str) -> Result<Self, RolloutError> {
        let amounts: Option<Vec<Amount>> = text.split(',').map(|part| Amount::parse(part.trim())).collect();
        let is_ring = |amount: &Amount| !matches!(amount, Amount::Count(0) | Amount::Percent(0));
        let rings = amounts.filter(|rings| rings.iter().all(is_ring));
        rings.map(Self).ok_or_else(|| RolloutError::Rings { text: text.to_owned() })
    }
}

impl fmt::Display for Rings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&parts.join(","))
    }
}

impl Rings {
    /// The ring of each of so many servers, from 1 on. The last one reaches all of them, and none is empty.
    pub(super) fn of(&self, servers: usize) -> Vec<u32> {
        let (mut of, mut ring) = (Vec::with_capacity(servers), 0);
        let all = servers as u64;
        for amount in self.0.iter().chain([&Amount::Percent(HUNDRED)]) {
            let reached = match amount {
                Amount::Count(count) => *count,
                Amount::Percent(percent) => (all * percent).div_ceil(HUNDRED),
            };
            let reached = usize::try_from(reached.min(all)).unwrap_or(servers);
            if reached > of.len() {
                ring += 1;
                of.resize(reached, ring);
            }
        }
        of
    }
}

/// How many servers may fail before a push halts: a number, or a share of those that were asked so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedMax(Amount);

impl FromStr for FailedMax {
    type Err = RolloutError;

    fn from_str(text: &str) -> Result<Self, RolloutError> {
        Amount::parse(text.trim()).map(Self).ok_or_else(|| RolloutError::FailedMax { text: text.to_owned() })
    }
}

impl fmt::Display for FailedMax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Wait,
    Halt,
    Continue,
    Complete,
}

impl FailedMax {
    pub(super) fn next(self, counts: &PushCounts) -> Next {
        let PushCounts { waiting, asked, applied, failed, .. } = *counts;
        let is_too_many = match self.0 {
            Amount::Count(most) => failed > most,
            Amount::Percent(percent) => failed * HUNDRED > (asked + applied + failed) * percent,
        };
        match (is_too_many, asked, waiting) {
            (true, ..) => Next::Halt,
            (false, 0, 0) => Next::Complete,
            (false, 0, _) => Next::Continue,
            (false, ..) => Next::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_grow_to_all_servers_and_none_is_empty() {
        let of = |text: &str, servers| text.parse::<Rings>().unwrap().of(servers);
        assert_eq!(of("1,10%,100%", 20), [vec![1], vec![2], vec![3; 18]].concat());
        assert_eq!(of("1,10%,100%", 5), [1, 2, 2, 2, 2]);
        assert_eq!(of("1,10%,100%", 1), [1]);
        assert_eq!(of("3", 5), [1, 1, 1, 2, 2]);
        assert_eq!(of("50%,1", 4), [1, 1, 2, 2]);
        assert!(of("1", 0).is_empty());
        for wrong in ["", "0", "x", "1,,2", "101%", "-1", "0%"] {
            assert!(wrong.parse::<Rings>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn it_halts_as_soon_as_too_many_have_failed_and_waits_for_everybody_otherwise() {
        let next = |text: &str, waiting, asked, applied, failed| {
            let counts = PushCounts { waiting, asked, applied, failed, ..PushCounts::default() };
            text.parse::<FailedMax>().unwrap().next(&counts)
        };
        assert_eq!(next("2%", 199, 1, 0, 0), Next::Wait);
        assert_eq!(next("2%", 199, 0, 1, 0), Next::Continue);
        assert_eq!(next("2%", 199, 0, 0, 1), Next::Halt, "one of one is more than 2 of 100");
        assert_eq!(next("2%", 0, 100, 98, 2), Next::Wait);
        assert_eq!(next("2%", 0, 0, 98, 2), Next::Complete);
        assert_eq!(next("2%", 0, 90, 7, 3), Next::Halt, "before all have answered");
        assert_eq!(next("2", 10, 0, 0, 2), Next::Continue);
        assert_eq!(next("0", 10, 5, 0, 1), Next::Halt);
    }
}
