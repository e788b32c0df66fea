//! A database and a transfer that share a device, on a simulated clock.

use super::{Governor, Reaction, Reading, Tuning};
use crate::noise::Normal;

pub(super) const MB: f64 = 1e6;
/// Time between readings.
const TICK_S: f64 = 0.2;

/// The load of the users over time, as a share of the device.
#[derive(Clone, Copy, Debug)]
pub(super) enum Users {
    Steady(f64),
    /// From the first share to the second at this second.
    Step(f64, f64, f64),
    /// From the first share to the second over the whole time.
    Drift(f64, f64),
    /// A wave of this middle, height and period in seconds.
    Wave(f64, f64, f64),
}

impl Users {
    fn share(self, at_s: f64, whole_s: f64) -> f64 {
        match self {
            Self::Steady(share) => share,
            Self::Step(before, after, at) => {
                if at_s < at {
                    before
                } else {
                    after
                }
            }
            Self::Drift(from, to) => from + (to - from) * at_s / whole_s,
            Self::Wave(middle, height, period_s) => {
                middle + height * (std::f64::consts::TAU * at_s / period_s).sin()
            }
        }
    }
}

/// A device, its users, and what they may wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct World {
    /// Bytes a second that the device moves.
    pub(super) device: f64,
    /// Bytes a second that the transfer reaches at the most, whatever it may.
    pub(super) transfer_max: f64,
    pub(super) users: Users,
    /// Waiting time of a request on the idle device as a share of what is allowed.
    pub(super) idle_pressure: f64,
    /// What a request waits longer for each second of work that the device is late, as a share of what is allowed; with it the waiting time does
    /// not depend on the load until that is more than the device can do, as on a volume with a limit.
    pub(super) late_pressure: Option<f64>,
    /// What users wait as a share of what is allowed while a volume with a limit is used up and the transfer, with few requests in flight, waits
    /// itself; at any other time they wait as on an idle device.
    pub(super) used_up_pressure: Option<f64>,
    /// Deviation of the logarithm of each reading.
    pub(super) noise: f64,
    /// How late the database reports, seconds: what is read is the mean of that time.
    pub(super) lag_s: f64,
    pub(super) whole_s: f64,
    /// The source does not answer from the first to the second of these.
    pub(super) silent: Option<(f64, f64)>,
}

impl Default for World {
    fn default() -> Self {
        Self {
            device: 200.0 * MB,
            transfer_max: 1e12,
            users: Users::Steady(0.3),
            idle_pressure: 0.15,
            late_pressure: None,
            used_up_pressure: None,
            noise: 0.15,
            lag_s: 1.0,
            whole_s: 120.0,
            silent: None,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Lived {
    /// Bytes moved in each second.
    pub(super) moved: Vec<f64>,
    /// True pressure of each second.
    pub(super) pressure: Vec<f64>,
    pub(super) verdicts: Vec<(f64, Reaction, f64)>,
}

impl Lived {
    /// Bytes a second from `from_s` on.
    pub(super) fn rate_from(&self, from_s: usize) -> f64 {
        let tail = &self.moved[from_s.min(self.moved.len() - 1)..];
        tail.iter().sum::<f64>() / tail.len() as f64
    }

    /// The share of seconds in which the users waited no longer than a tenth more than they may.
    pub(super) fn kept_share(&self) -> f64 {
        let kept = self.pressure.iter().filter(|pressure| **pressure <= 1.1).count();
        kept as f64 / self.pressure.len() as f64
    }
}

impl World {
    pub(super) fn tuning(&self) -> Tuning {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few seconds")]
        let lag_ns = (self.lag_s * 1e9) as u64;
        Tuning {
            floor: 4.0 * MB,
            ceiling: 1e12,
            start: 16.0 * MB,
            in_flight_max: 8,
            request_bytes: 256 << 10,
            lag_ns,
        }
    }

    /// The waiting time at a load, as a share of what is allowed: that of a queue, up to where it is full. `late_s` is the work that the device has
    /// not done yet.
    fn pressure(&self, load: f64, late_s: f64) -> f64 {
        match (self.late_pressure, self.used_up_pressure) {
            (Some(late_pressure), _) => self.idle_pressure + late_s * late_pressure,
            (None, Some(used_up)) if load >= 0.999 => used_up,
            (None, Some(_)) => self.idle_pressure,
            (None, None) => self.idle_pressure / (1.0 - load.min(1.0)).max(0.01),
        }
    }

    /// Lets it run; `rate` answers each reading with a rate and a number of requests in flight.
    pub(super) fn live(
        &self,
        seed: u64,
        mut rate: impl FnMut(u64, Reading, f64) -> (f64, u32, Reaction),
    ) -> Lived {
        let mut draws = Normal::new(seed);
        let mut lived = Lived::default();
        let mut recent: Vec<f64> = Vec::new();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few hundred")]
        let (ticks, late) = ((self.whole_s / TICK_S) as u64, (self.lag_s / TICK_S).max(1.0) as usize);
        let (mut allowed, mut in_flight, mut second) = (0.0_f64, 1_u32, (0.0, 0.0));
        let mut late_s = 0.0_f64;
        for tick in 0..ticks {
            let at_s = tick as f64 * TICK_S;
            let users = self.users.share(at_s, self.whole_s).clamp(0.0, 0.98);
            // One request in flight gets half of what the device has left, and each more half of the rest.
            let reach = 1.0 - 0.5_f64.powi(i32::try_from(in_flight).unwrap_or(8));
            let left = self.device * (1.0 - users * 0.9);
            // A volume with a limit takes what comes, later.
            let reachable = match (self.late_pressure, self.used_up_pressure) {
                (Some(_), _) => self.device,
                (None, Some(_)) => self.device * (1.0 - users),
                (None, None) => left * reach,
            };
            let moved = allowed.min(self.transfer_max).min(reachable);
            let load = users + moved / self.device;
            late_s = (late_s + (load - 1.0) * TICK_S).max(0.0);
            let true_pressure = self.pressure(load, late_s);
            let noisy = true_pressure * (draws.draw() * self.noise).exp();
            recent.push(noisy);
            // Who waits for a volume with a limit reports it only afterwards.
            let has_limit = self.late_pressure.is_some() || self.used_up_pressure.is_some();
            let hidden = if has_limit { late } else { 0 };
            let until = recent.len().saturating_sub(hidden).max(1);
            let window = &recent[until.saturating_sub(late)..until];
            let is_silent = self.silent.is_some_and(|(from, to)| (from..to).contains(&at_s));
            let reading = match () {
                () if is_silent => Reading::Silent,
                () if users <= 0.0 => Reading::Idle,
                () => Reading::Pressure(window.iter().sum::<f64>() / window.len() as f64),
            };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "minutes")]
            let now_ns = (at_s * 1e9) as u64;
            let (next, next_in_flight, verdict) = rate(now_ns, reading, moved);
            (allowed, in_flight) = (next, next_in_flight);
            lived.verdicts.push((at_s, verdict, allowed));
            second = (second.0 + moved * TICK_S, second.1 + noisy * TICK_S);
            if (tick + 1).is_multiple_of(5) {
                lived.moved.push(second.0);
                lived.pressure.push(if users > 0.0 { second.1 } else { 0.0 });
                second = (0.0, 0.0);
            }
        }
        lived
    }

    pub(super) fn governed(&self, seed: u64) -> Lived {
        let mut governor = Governor::new(self.tuning());
        self.live(seed, |now_ns, reading, moved| {
            let verdict = governor.step(now_ns, reading, moved);
            (governor.rate(), governor.in_flight(), verdict)
        })
    }

    /// The highest rate of a constant limit that keeps the waiting time in 95 of 100 seconds, and what it moves.
    pub(super) fn best_constant(&self, seed: u64) -> f64 {
        let rates = (1..=100_u32).map(|step| self.device * f64::from(step) / 100.0);
        let kept = rates.filter_map(|rate| {
            let lived = self.live(seed, |_, _, _| (rate, 8, Reaction::Hold));
            (lived.kept_share() >= 0.95).then(|| lived.rate_from(0))
        });
        kept.fold(0.0, f64::max)
    }
}
