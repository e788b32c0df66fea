//! What may slow a drive down while it is tested: a link below its best, heat, errors, resets.

use serde::{Deserialize, Serialize};

use crate::device::Link;

/// A drive at one time. What is not known is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveHealth {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// The hottest of its sensors, degrees Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub celsius: Option<f64>,
    /// From here on it slows down, as it says itself, degrees Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub celsius_max: Option<f64>,
    /// How often it began to slow down because of heat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<u64>,
    /// How long it was too hot, minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_hot_min: Option<u64>,
    /// Data that it could not read or keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_errors: Option<u64>,
    /// Requests that failed or timed out, as the kernel counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_errors: Option<u64>,
    /// Resets and time-outs of it in the kernel's log since the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets: Option<u64>,
}

impl DriveHealth {
    /// Number of the log page that all NVMe drives have, and its length.
    pub const SMART_PAGE: u8 = 0x02;
    pub const SMART_BYTES: usize = 512;

    /// Adds what that page says (NVM Express base specification, SMART / Health Information; little-endian): media errors at 160,
    /// minutes above the warning and the critical temperature at 192 and 196, transitions to the two states of thermal management at
    /// 216 and 220. A page that is too short adds nothing.
    pub fn with_smart_page(self, page: &[u8]) -> Self {
        let number = |at: usize| {
            let bytes = page.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
            bytes.map(|bytes| u64::from(u32::from_le_bytes(bytes)))
        };
        if page.len() < Self::SMART_BYTES {
            return self;
        }
        let sum = |from: usize, other: usize| Some(number(from)? + number(other)?);
        // Of 128 bits the lower ones: a drive with more errors than that has no other problem.
        let errors = |at: usize| Some(number(at)? | number(at + 4)? << 32);
        Self { throttled: sum(216, 220), too_hot_min: sum(192, 196), media_errors: errors(160), ..self }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriveConditions {
    pub before: DriveHealth,
    /// After the last round.
    pub after: DriveHealth,
    /// After any round, degrees Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub celsius_hottest: Option<f64>,
    /// After a round its link was below its best, though it was not before.
    #[serde(default)]
    pub link_fell: bool,
    /// Of the interrupted test that this one continued.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Disturbance>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Disturbance {
    LinkBelowBest {
        link: Link,
    },
    LinkFell {
        link: Link,
    },
    Throttled {
        times: u64,
    },
    TooHot {
        minutes: u64,
    },
    MediaErrors {
        count: u64,
    },
    RequestErrors {
        count: u64,
    },
    /// The kernel reset it, or waited for it in vain.
    Reset {
        count: u64,
    },
}

impl DriveConditions {
    pub fn new(before: DriveHealth) -> Self {
        Self {
            after: before.clone(),
            celsius_hottest: before.celsius,
            link_fell: false,
            earlier: Vec::new(),
            before,
        }
    }

    /// Keeps what disturbed the rounds of an interrupted test, which are a part of this one.
    pub fn continue_from(&mut self, then: &Self) {
        self.earlier = then.disturbances();
        let hottest = [self.celsius_hottest, then.celsius_hottest];
        self.celsius_hottest = hottest.into_iter().flatten().reduce(f64::max);
    }

    pub fn then(&mut self, now: DriveHealth) {
        let hottest = [self.celsius_hottest, now.celsius].into_iter().flatten().reduce(f64::max);
        self.celsius_hottest = hottest;
        let is_below = |health: &DriveHealth| health.link.and_then(|link| link.is_below_its_best());
        if is_below(&now) == Some(true) && is_below(&self.before) == Some(false) {
            self.link_fell = true;
        }
        self.after = now;
    }

    /// Everything that speaks against the figures; empty where nothing is known.
    pub fn disturbances(&self) -> Vec<Disturbance> {
        let mut found = self.earlier.clone();
        if let Some(link) = self.after.link.or(self.before.link) {
            if self.link_fell {
                found.push(Disturbance::LinkFell { link });
            } else if link.is_below_its_best() == Some(true) {
                found.push(Disturbance::LinkBelowBest { link });
            }
        }
        let added = |of: fn(&DriveHealth) -> Option<u64>| {
            let (then, now) = (of(&self.before)?, of(&self.after)?);
            now.checked_sub(then).filter(|count| *count > 0)
        };
        found.extend(added(|health| health.throttled).map(|times| Disturbance::Throttled { times }));
        found.extend(added(|health| health.too_hot_min).map(|minutes| Disturbance::TooHot { minutes }));
        found.extend(added(|health| health.media_errors).map(|count| Disturbance::MediaErrors { count }));
        found.extend(added(|health| health.request_errors).map(|count| Disturbance::RequestErrors { count }));
        found.extend(self.after.resets.filter(|count| *count > 0).map(|count| Disturbance::Reset { count }));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(lanes: u32) -> Link {
        let lane = Some(16_000);
        Link { lanes: Some(lanes), lanes_max: Some(4), lane_mt_per_s: lane, lane_mt_per_s_max: lane }
    }

    #[test]
    fn nothing_known_is_nothing_against_it() {
        let mut conditions = DriveConditions::new(DriveHealth::default());
        conditions.then(DriveHealth::default());
        assert!(conditions.disturbances().is_empty());
    }

    #[test]
    fn counters_count_only_what_was_added_and_old_errors_are_no_disturbance() {
        let before = DriveHealth {
            throttled: Some(7),
            media_errors: Some(3),
            too_hot_min: Some(9),
            request_errors: Some(1),
            resets: Some(0),
            celsius: Some(40.0),
            link: Some(link(4)),
            ..DriveHealth::default()
        };
        let mut conditions = DriveConditions::new(before.clone());
        conditions.then(DriveHealth { celsius: Some(81.0), ..before.clone() });
        conditions.then(before.clone());
        assert!(conditions.disturbances().is_empty(), "{conditions:?}");
        assert_eq!(conditions.celsius_hottest, Some(81.0));
        conditions.then(DriveHealth { throttled: Some(9), resets: Some(1), ..before.clone() });
        let expected = [Disturbance::Throttled { times: 2 }, Disturbance::Reset { count: 1 }];
        assert_eq!(conditions.disturbances(), expected);
        // A counter that went back says nothing.
        conditions.then(DriveHealth { media_errors: Some(0), ..before });
        assert!(conditions.disturbances().is_empty());
    }

    #[test]
    fn the_page_of_a_drive_tells_heat_and_errors() {
        let mut page = vec![0; DriveHealth::SMART_BYTES];
        page[160..168].copy_from_slice(&5_u64.to_le_bytes());
        for (at, value) in [(192, 3_u32), (196, 4), (216, 10), (220, 20)] {
            page[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        let found = DriveHealth::default().with_smart_page(&page);
        let figures = (found.media_errors, found.too_hot_min, found.throttled);
        assert_eq!(figures, (Some(5), Some(7), Some(30)));
        assert_eq!(DriveHealth::default().with_smart_page(&page[..511]), DriveHealth::default());
    }

    #[test]
    fn a_link_that_fell_and_came_back_is_still_one_that_fell() {
        let at = |lanes: u32| DriveHealth { link: Some(link(lanes)), ..DriveHealth::default() };
        let mut conditions = DriveConditions::new(at(4));
        conditions.then(at(1));
        conditions.then(at(4));
        assert!(matches!(conditions.disturbances()[..], [Disturbance::LinkFell { .. }]));
        let narrow = DriveConditions::new(at(2));
        assert!(matches!(narrow.disturbances()[..], [Disturbance::LinkBelowBest { .. }]));
    }
}
