//! Limits of volumes that rules look for: a rate that is held, and credits that run out.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::totals::Totals;

/// Intervals that a held rate has at least, and that a drain is averaged over.
const INTERVALS: usize = 10;
const FLAT: f64 = 0.02;
/// Requests that wait or are served, on average: fewer, and nobody asks for more than is given.
const IN_FLIGHT: f64 = 4.0;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeLimit {
    HeldIops,
    HeldThroughput,
    /// A bucket of credits is soon empty at the present rate.
    Draining {
        /// Requests that a full bucket holds.
        credits: f64,
        /// Requests a second that it earns.
        refill_iops: f64,
        within_ns: u64,
    },
}

impl VolumeLimit {
    /// What the value is compared with, in its unit; 0 where it is compared with nothing.
    pub fn threshold(self) -> f64 {
        match self {
            Self::HeldIops | Self::HeldThroughput => 0.0,
            Self::Draining { within_ns, .. } => within_ns as f64,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct VolumeCourse {
    /// Requests and bytes a second, and requests in progress, of the newest intervals.
    newest: VecDeque<[f64; 3]>,
    /// Credits that are left; `None` before the first interval.
    credits: Option<f64>,
}

impl VolumeCourse {
    /// Forgets what an interval without a figure makes doubtful. Credits are estimated on.
    pub(super) fn interrupt(&mut self) {
        self.newest.clear();
    }

    /// Adds an interval, and says what is found: the value if the limit is reached.
    pub(super) fn add(&mut self, limit: VolumeLimit, totals: &Totals) -> Option<f64> {
        let seconds = totals.covered_ns as f64 / 1e9;
        let iops = totals.iops()?;
        let in_flight = totals.queue_depth_mean().unwrap_or(0.0);
        self.newest.push_back([iops, totals.bytes_per_second().unwrap_or(0.0), in_flight]);
        if self.newest.len() > INTERVALS {
            self.newest.pop_front();
        }
        match limit {
            VolumeLimit::HeldIops => self.held(0),
            VolumeLimit::HeldThroughput => self.held(1),
            VolumeLimit::Draining { credits, refill_iops, within_ns } => {
                // It may have been full: then it lasts as long as is said, and else less long.
                let before = self.credits.unwrap_or(credits);
                let left = (before + (refill_iops - iops) * seconds).clamp(0.0, credits);
                self.credits = Some(left);
                self.empty_in_ns(left, refill_iops).filter(|ns| *ns <= within_ns as f64)
            }
        }
    }

    fn mean(&self, figure: usize) -> f64 {
        self.newest.iter().map(|one| one[figure]).sum::<f64>() / self.newest.len().max(1) as f64
    }

    fn held(&self, figure: usize) -> Option<f64> {
        let mean = self.mean(figure);
        let is_asked = self.newest.iter().all(|one| one[2] >= IN_FLIGHT);
        let squares: f64 = self.newest.iter().map(|one| (one[figure] - mean).powi(2)).sum();
        let deviation = (squares / (self.newest.len().max(2) - 1) as f64).sqrt();
        let is_flat = self.newest.len() >= INTERVALS && mean > 0.0 && deviation <= FLAT * mean;
        (is_flat && is_asked).then_some(mean)
    }

    /// When `credits` are spent at the mean rate of the newest intervals; `None` if they are not.
    fn empty_in_ns(&self, credits: f64, refill_iops: f64) -> Option<f64> {
        let drain = self.mean(0) - refill_iops;
        (self.newest.len() >= INTERVALS && drain > 0.0).then(|| credits / drain * 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::{Counter, Counters};

    const SECOND_NS: u64 = 1_000_000_000;

    /// Ten seconds with so many requests a second of 16 KiB, and as many in progress.
    fn interval(iops: u64, in_flight: u64) -> Totals {
        let mut amounts = Counters::default();
        amounts.set(Counter::Reads, iops * 10);
        amounts.set(Counter::ReadBytes, iops * 10 * 16_384);
        amounts.set(Counter::ReadStall, in_flight * 10 * SECOND_NS);
        Totals { covered_ns: 10 * SECOND_NS, amounts }
    }

    /// A number between 0 and 1 that looks random.
    fn random(number: u64) -> f64 {
        let bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((bits ^ (bits >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
    fn noisy(level: f64, share: f64, number: u64) -> u64 {
        (level * (1.0 + share * (random(number) - 0.5) * 2.0)) as u64
    }

    fn found(limit: VolumeLimit, history: impl Iterator<Item = Totals>) -> Vec<Option<f64>> {
        let mut course = VolumeCourse::default();
        history.map(|totals| course.add(limit, &totals)).collect()
    }

    #[test]
    fn a_volume_at_its_cap_is_held_after_ten_intervals() {
        let at_cap = (0..20).map(|number| interval(noisy(3000.0, 0.005, number), 32));
        let found = found(VolumeLimit::HeldIops, at_cap);
        assert!(found[..9].iter().all(Option::is_none));
        assert!(found[9..].iter().all(|value| value.is_some_and(|iops| (2980.0..3020.0).contains(&iops))));
    }

    #[test]
    fn noise_a_rhythm_and_a_steady_load_that_nothing_holds_back_raise_no_alarm() {
        let noise = (0..2000).map(|number| interval(noisy(3000.0, 0.2, number), 32));
        assert!(found(VolumeLimit::HeldIops, noise).iter().all(Option::is_none));
        let rhythm = (0..500).map(|number| interval(if number % 6 == 0 { 3000 } else { 1500 }, 32));
        assert!(found(VolumeLimit::HeldThroughput, rhythm).iter().all(Option::is_none));
        let steady = (0..500).map(|_| interval(1000, 1));
        assert!(found(VolumeLimit::HeldIops, steady).iter().all(Option::is_none));
    }

    const GP2: VolumeLimit =
        VolumeLimit::Draining { credits: 5.4e6, refill_iops: 300.0, within_ns: 2400 * SECOND_NS };

    /// A volume of 100 GB that holds 5.4 million and earns 300 a second lasts 2,000 s at 3,000.
    #[test]
    fn a_bucket_that_drains_is_announced_while_there_is_time() {
        let slow = VolumeLimit::Draining { credits: 5.4e6, refill_iops: 300.0, within_ns: 1000 * SECOND_NS };
        let found = found(slow, (0..150).map(|_| interval(3000, 32)));
        let first = found.iter().position(Option::is_some).unwrap();
        // 1,000 s before the end of 2,000.
        assert!((98..=101).contains(&first), "{first}");
        assert!(found[first].is_some_and(|ns| (ns / 1e9 - 1000.0).abs() < 20.0), "{:?}", found[first]);
        assert!(found[149].is_some_and(|ns| (ns / 1e9 - 500.0).abs() < 20.0), "{:?}", found[149]);
    }

    #[test]
    fn a_load_around_what_the_bucket_earns_raises_no_alarm_and_a_pause_fills_it() {
        let around = (0..2000).map(|number| interval(noisy(290.0, 0.5, number), 8));
        assert!(found(GP2, around).iter().all(Option::is_none));
        let mut course = VolumeCourse::default();
        let spent = (0..190).filter_map(|_| course.add(GP2, &interval(3000, 32))).count();
        assert!(spent > 150, "{spent}");
        assert!(course.add(GP2, &interval(3000, 32)).is_some());
        let idle = (0..2000).filter_map(|_| course.add(GP2, &interval(1, 1))).count();
        assert!(idle < 10, "the mean of ten intervals: {idle}");
        assert!(course.credits.is_some_and(|left| left > 5.39e6), "{course:?}");
        assert_eq!(course.add(GP2, &interval(1, 1)), None);
        course.interrupt();
        assert!(course.newest.is_empty() && course.credits.is_some());
    }
}
