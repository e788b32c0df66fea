//! Whether a volume is still as fast as it was, or as was paid for: a test that is looked at several times while it goes on.
//!
//! Every look asks whether the mean lies clearly below what is tolerated, at its share of the level (Bonferroni), so that looking often
//! does not make a false alarm more likely. A volume that clearly lies within the tolerance ends the test early.

use crate::welch::{Interval, Level, welch};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guarding {
    /// A volume may be slower by this share: two runs of the same one are.
    pub tolerance: f64,
    /// Probability of a false alarm of the whole guard, over all looks and figures.
    pub level: f64,
    /// Looks at each figure, and figures.
    pub looks: u32,
}

/// Probability of calling a volume as fast as before that is slower than tolerated, at each look.
const FUTILE: f64 = 0.02;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardState {
    /// Clearly slower than tolerated.
    Slower,
    /// Clearly not.
    Within,
    /// Neither is clear.
    Unclear,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GuardLook {
    pub state: GuardState,
    /// Mean of the values now divided by the mean of those before.
    pub ratio: f64,
    /// 95 % confidence interval of the ratio.
    pub interval: Interval,
}

impl Guarding {
    /// Compares values of now with those of before, of which more is better. `None` for fewer than two of a side, or a mean that is not
    /// above 0.
    pub fn look(&self, before: &[f64], now: &[f64]) -> Option<GuardLook> {
        self.compare(&Level::of_independent(before)?, &Level::of_independent(now)?)
    }

    pub fn look_at_promise(&self, promised: f64, now: &[f64]) -> Option<GuardLook> {
        let now = Level::of_independent(now)?;
        let promise = Level { mean: promised, variance_of_mean: 0.0, freedom: now.freedom };
        self.compare(&promise, &now)
    }

    fn compare(&self, before: &Level, now: &Level) -> Option<GuardLook> {
        let least = 1.0 - self.tolerance;
        let scaled = Level {
            mean: now.mean / least,
            variance_of_mean: now.variance_of_mean / (least * least),
            freedom: now.freedom,
        };
        let against_least = welch(before, &scaled)?;
        let (half, is_below) = (against_least.p_value / 2.0, scaled.mean < before.mean);
        let state = if is_below && half <= self.level / f64::from(self.looks.max(1)) {
            GuardState::Slower
        } else if !is_below && half <= FUTILE {
            GuardState::Within
        } else {
            GuardState::Unclear
        };
        let shown = welch(before, now)?;
        Some(GuardLook { state, ratio: now.mean / before.mean, interval: shown.interval })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Normal;

    /// Probes of a second vary by 5 %, runs by 1 %: a guard of two figures looks after 6, 12, 18, 24 and 30 probes of each, against 30
    /// of a baseline.
    const PROBES: usize = 30;
    const EACH: usize = 6;
    const GUARDING: Guarding = Guarding { tolerance: 0.05, level: 0.01, looks: 10 };

    fn probes(normal: &mut Normal, level: f64, count: usize) -> Vec<f64> {
        let of_run = level * (1.0 + 0.01 * normal.draw());
        (0..count).map(|_| of_run * (1.0 + 0.05 * normal.draw())).collect()
    }

    /// How a guard ends on a volume that has `share` of its speed, and after how many probes.
    fn guarded(seed: u64, share: f64) -> (GuardState, usize) {
        let mut normal = Normal::new(seed);
        let before = probes(&mut normal, 3000.0, PROBES);
        let now = probes(&mut normal, 3000.0 * share, PROBES);
        for count in (EACH..=PROBES).step_by(EACH) {
            let found = GUARDING.look(&before, &now[..count]).unwrap();
            if found.state != GuardState::Unclear {
                return (found.state, count);
            }
        }
        (GuardState::Unclear, PROBES)
    }

    fn share_slower(seeds: std::ops::Range<u64>, share: f64) -> f64 {
        let count = (seeds.end - seeds.start) as f64;
        seeds.filter(|seed| guarded(*seed, share).0 == GuardState::Slower).count() as f64 / count
    }

    #[test]
    fn a_thousand_pairs_of_one_and_the_same_volume_give_no_more_than_ten_alarms() {
        let alarms = share_slower(0..1000, 1.0);
        assert!(alarms <= 0.01, "{alarms}");
        // Nor does one that is as slow as is tolerated.
        let edge = share_slower(10_000..11_000, 0.95);
        assert!(edge <= 0.06, "{edge}");
    }

    #[test]
    fn steps_are_found_the_surer_the_larger_they_are() {
        for (share, least) in [(0.9, 0.5), (0.8, 0.95), (0.6, 0.99)] {
            let found = share_slower(20_000..21_000, share);
            assert!(found >= least, "{share}: {found}");
        }
    }

    #[test]
    fn what_is_clear_ends_early() {
        let mean = |share: f64| (0..200).map(|seed| guarded(seed, share).1 as f64).sum::<f64>() / 200.0;
        assert!(mean(0.6) < 7.0, "{}", mean(0.6));
        assert!(mean(1.0) < 20.0, "{}", mean(1.0));
    }

    #[test]
    fn a_promise_is_kept_or_not() {
        let mut normal = Normal::new(5);
        let now = probes(&mut normal, 3000.0, 12);
        let state = |promised: f64| GUARDING.look_at_promise(promised, &now).unwrap().state;
        assert_eq!(state(3000.0), GuardState::Within);
        assert_eq!(state(4000.0), GuardState::Slower);
        assert_eq!(GUARDING.look_at_promise(3000.0, &[1.0]), None);
        let flat = GUARDING.look(&[3000.0; 6], &[3000.0; 6]).unwrap();
        assert_eq!(flat.state, GuardState::Within, "without any scatter");
    }
}
