//! A controller that lets a transfer use what a database leaves over of its storage.
//!
//! It gets at short intervals how long the users of the database wait, as a share of what they may (the *pressure*:
//! 1 is the limit), and answers with a rate and a number of requests in flight. It has no clock and no I/O, so whole
//! nights pass in a test within a second.
//!
//! Waiting grows with the load like a hockey stick: hardly at all, and then steeply. A controller that is
//! proportional to the error is therefore either slow on the flat part or unstable on the steep one. This one adds and
//! multiplies like TCP's CUBIC:
//!
//! - Above the limit the rate is *cut* by a factor, as far as the pressure is above its aim. What was moved just before is
//!   remembered as the *knee*.
//! - Below the aim the rate *grows*: doubling within [`Tuning::lag_ns`] far from the knee, by a few percent a second close to it, and again
//!   faster beyond it, because then the load of the users has changed. The growth is scaled by the room that is left, so
//!   that it slows down before the limit, not at it.
//! - Where waiting begins all at once, as on a volume with a limit, the rate stays below that edge for minutes.
//! - Where the transfer moves less than it may, the storage may be used up: it waits below that until users have reported.
//! - After a cut it waits until the cut can be seen: what a database reports is late.
//! - A rate that is not used does not grow (anti-windup): otherwise an hour of small files would be followed by a large one at any speed.

mod cliff;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;

use self::cliff::Cliff;

/// The least and the most pressure that it aims at. Below 1, because requests vary around what is reported: the more the readings
/// vary, the further below.
const AIM: (f64, f64) = (0.60, 0.94);
/// How many mean deviations of the readings it stays below the limit.
const DEVIATIONS: f64 = 1.0;
/// Averaging time of the deviation, seconds.
const DEVIATION_S: f64 = 10.0;
/// The deviation before anything is known of it, as a share.
const DEVIATION_AT_FIRST: f64 = 0.12;
/// Slows down where the smoothed pressure is beyond this share of the way from the aim to the limit …
const SLOWER_FROM: f64 = 0.67;
/// … and where a single reading is beyond the limit by this many mean deviations, and by this share at the least: waiting for an
/// average would let users wait.
const SLOWER_AT_ONCE: (f64, f64) = (4.0, 0.25);
/// What is beyond the limit after a pressure below this share of the aim has come without warning.
const WITHOUT_WARNING: f64 = 0.65;
/// Averaging time of the pressure, seconds.
const SMOOTHING_S: f64 = 0.5;
/// The least and the most that is left of the rate after a cut.
const CUT: (f64, f64) = (0.4, 0.95);
/// What is left after a cut at an edge: what came too much must be done first.
const CUT_AT_EDGE: f64 = 0.4;
/// How long such a cut is given to be seen, lags: who waits reports it afterwards.
const LAGS_AT_EDGE: u64 = 1;
/// Within these shares of the knee the rate grows slowly.
const NEAR_KNEE: (f64, f64) = (0.95, 1.10);
/// Growth while no knee is known, doublings in a lag: what is moved beyond an edge until that shows must be done first, while users wait.
const FIRST_GROWTH: f64 = 0.4;
/// Growth near the knee, doublings a second.
const SLOW_GROWTH: f64 = 0.04;
/// Beyond this share of the knee, the knee is forgotten.
const KNEE_FORGOTTEN: f64 = 1.5;
/// What is left of what the storage carried while it is waited whether users noticed, so that it is no longer used up.
const BELOW_CARRIED: f64 = 0.97;
/// For how many lags what it carried is remembered as the possible edge.
const CARRIED_LAGS: u64 = 3;
/// A rate counts as used if this share of it was moved.
const USED: f64 = 0.8;
/// How many times what is moved the rate may stay.
const UNUSED_MAX: f64 = 3.0;
/// Readings without any operation of the users before they count as away, in lags.
const AWAY_LAGS: f64 = 2.0;
/// The same if they waited too long just before: a storage that hangs completes nothing either.
const AWAY_LAGS_AFTER_SLOW: f64 = 10.0;
/// Longest time that one reading may stand for, seconds.
const STEP_S_MAX: f64 = 1.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// It never goes below this, bytes a second.
    pub floor: f64,
    /// Nor above this, bytes a second.
    pub ceiling: f64,
    /// It begins with this, bytes a second.
    pub start: f64,
    /// The most requests in flight on each side.
    pub in_flight_max: u32,
    /// The largest request, bytes.
    pub request_bytes: u32,
    /// How late the readings show a change, nanoseconds.
    pub lag_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// The users' waiting time as a share of what is allowed.
    Pressure(f64),
    /// There was nobody to wait.
    Idle,
    /// There was no answer.
    Silent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    Slower,
    Faster,
    Hold,
    /// At the floor, and the users wait too long all the same.
    Missed,
    /// At the floor, because there was no answer.
    Blind,
}

/// A rate and a number of requests in flight that follow the pressure.
#[derive(Clone, Debug)]
pub struct Governor {
    tuning: Tuning,
    rate: f64,
    in_flight: f64,
    smooth: Option<f64>,
    /// Mean deviation of the readings from the smoothed pressure, as a share of it.
    deviation: f64,
    knee: Option<f64>,
    cliff: Cliff,
    shortfall: Shortfall,
    /// When the transfer moved less than it was allowed to, and how much it moved then, bytes a second.
    carried: Option<(u64, f64)>,
    /// After a cut at an edge, until it grows again: what is read then is the work left over, and no measure of the rate.
    is_draining: bool,
    /// Until when the last cut cannot be seen yet.
    settled_at_ns: u64,
    nobody_since_ns: Option<u64>,
    /// Whether the users waited too long in the last reading that had any.
    was_slow: bool,
    read_at_ns: Option<u64>,
}

impl Governor {
    pub fn new(tuning: Tuning) -> Self {
        let ceiling = tuning.ceiling.max(tuning.floor);
        let tuning = Tuning { ceiling, ..tuning };
        Self {
            rate: tuning.start.clamp(tuning.floor, ceiling),
            tuning,
            in_flight: 1.0,
            smooth: None,
            deviation: DEVIATION_AT_FIRST,
            knee: None,
            cliff: Cliff::default(),
            shortfall: Shortfall::default(),
            carried: None,
            is_draining: false,
            settled_at_ns: 0,
            nobody_since_ns: None,
            was_slow: false,
            read_at_ns: None,
        }
    }

    /// The rate, bytes a second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The most requests in flight on each side, at least 1.
    pub fn in_flight(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
        let in_flight = self.in_flight as u32;
        in_flight.clamp(1, self.tuning.in_flight_max.max(1))
    }

    pub fn is_at_floor(&self) -> bool {
        self.rate <= self.tuning.floor
    }

    /// Takes a reading at `now_ns`; since the last one, `moved` bytes a second were moved.
    pub fn step(&mut self, now_ns: u64, reading: Reading, moved: f64) -> Reaction {
        let since_ns = self.read_at_ns.map_or(0, |at_ns| now_ns.saturating_sub(at_ns));
        self.read_at_ns = Some(now_ns);
        let seconds = (since_ns as f64 / 1e9).min(STEP_S_MAX);
        if reading != Reading::Idle {
            self.nobody_since_ns = None;
        }
        self.shortfall.note(seconds, self.rate, moved);
        match reading {
            Reading::Silent => self.blind(),
            Reading::Idle => self.nobody(now_ns, seconds, moved),
            Reading::Pressure(pressure) => self.pressed(now_ns, pressure.max(0.0), seconds, moved),
        }
    }

    fn blind(&mut self) -> Reaction {
        self.rate = self.tuning.floor;
        self.in_flight = 1.0;
        // What was known of the source may be of another time when it answers again.
        (self.smooth, self.knee, self.was_slow) = (None, None, false);
        self.cliff.forget();
        Reaction::Blind
    }

    fn nobody(&mut self, now_ns: u64, seconds: f64, moved: f64) -> Reaction {
        let since_ns = *self.nobody_since_ns.get_or_insert(now_ns);
        let lags = if self.was_slow { AWAY_LAGS_AFTER_SLOW } else { AWAY_LAGS };
        let away_ns = self.tuning.lag_ns as f64 * lags;
        if ((now_ns - since_ns) as f64) < away_ns {
            return Reaction::Hold;
        }
        (self.smooth, self.knee, self.was_slow) = (Some(0.0), None, false);
        self.cliff.forget();
        self.grow(now_ns, 1.0, seconds, moved)
    }

    fn pressed(&mut self, now_ns: u64, pressure: f64, seconds: f64, moved: f64) -> Reaction {
        let weight = 1.0 - (-seconds / SMOOTHING_S).exp();
        let before = self.smooth.unwrap_or(pressure);
        let smooth = before + (pressure - before) * weight;
        self.smooth = Some(smooth);
        self.cliff.note(now_ns, self.rate, smooth, self.tuning.lag_ns);
        self.was_slow = pressure > 1.0;
        if now_ns < self.settled_at_ns {
            return Reaction::Hold;
        }
        let deviation = ((pressure - smooth).abs() / smooth.max(1e-9)).min(1.0);
        self.deviation += (deviation - self.deviation) * (1.0 - (-seconds / DEVIATION_S).exp());
        let aim = self.aim();
        let is_leap = pressure > 1.0 + (SLOWER_AT_ONCE.0 * self.deviation).max(SLOWER_AT_ONCE.1);
        if smooth > aim + (1.0 - aim) * SLOWER_FROM || is_leap {
            let is_sudden = self.cliff.pressure_before() < aim * WITHOUT_WARNING;
            return self.cut(now_ns, smooth.max(pressure.min(2.0 * smooth)), moved, is_sudden);
        }
        let room = (aim - smooth) / aim;
        if room > 0.0 { self.grow(now_ns, room, seconds, moved) } else { Reaction::Hold }
    }

    fn aim(&self) -> f64 {
        (1.0 - DEVIATIONS * self.deviation).clamp(AIM.0, AIM.1)
    }

    fn cut(&mut self, now_ns: u64, pressure: f64, moved: f64, is_sudden: bool) -> Reaction {
        if self.is_at_floor() {
            return Reaction::Missed;
        }
        // A rate that was not used is no measure of what the storage can bear.
        let used = self.rate.min(moved.max(self.tuning.floor));
        let aim = self.aim();
        let left = if is_sudden { CUT_AT_EDGE } else { (aim / pressure).clamp(CUT.0, CUT.1) };
        if !self.is_draining {
            self.knee = Some(if is_sudden { self.edge(now_ns, used) } else { used });
            self.is_draining = is_sudden;
        }
        self.rate = (used * left).max(self.tuning.floor);
        self.in_flight = (self.in_flight * left).floor().max(1.0);
        let lags = if is_sudden { LAGS_AT_EDGE } else { 1 };
        self.settled_at_ns = now_ns.saturating_add(self.tuning.lag_ns.saturating_mul(lags));
        // What was read so far is of the time before the cut.
        self.smooth = Some(aim);
        self.shortfall.restart(self.rate);
        Reaction::Slower
    }

    /// What the storage can bear, after `used` bytes a second were too much all at once.
    fn edge(&mut self, now_ns: u64, used: f64) -> f64 {
        let since_ns = self.tuning.lag_ns.saturating_mul(CARRIED_LAGS);
        let carried = self.carried.take().filter(|(at_ns, _)| now_ns.saturating_sub(*at_ns) < since_ns);
        self.cliff.found(now_ns, used, carried.map(|(_, carried)| carried))
    }

    /// Stays below what the storage carried until users would have reported, and then tries with another request in flight.
    fn wait_below(&mut self, now_ns: u64, carried: f64) -> Reaction {
        self.carried = Some((now_ns, carried));
        self.rate = (carried * BELOW_CARRIED).max(self.tuning.floor);
        self.in_flight += 1.0;
        self.settled_at_ns = now_ns.saturating_add(self.tuning.lag_ns);
        self.shortfall.restart(self.rate);
        Reaction::Hold
    }

    fn grow(&mut self, now_ns: u64, room: f64, seconds: f64, moved: f64) -> Reaction {
        let is_in_flight_left = self.in_flight < f64::from(self.tuning.in_flight_max);
        if is_in_flight_left && let Some(carried) = self.shortfall.carried(self.tuning.request_bytes.into()) {
            return self.wait_below(now_ns, carried);
        }
        if moved < self.rate * USED {
            return self.unused(moved);
        }
        let most = self.tuning.ceiling.min(self.cliff.most(now_ns));
        if self.rate >= most {
            return Reaction::Hold;
        }
        let lag_s = (self.tuning.lag_ns as f64 / 1e9).max(0.2);
        let share = self.knee.map_or(0.0, |knee| self.rate / knee);
        let doublings_a_second = match self.knee {
            None => FIRST_GROWTH / lag_s,
            Some(_) if share < NEAR_KNEE.0 => 1.0 / lag_s,
            Some(_) if share < NEAR_KNEE.1 => SLOW_GROWTH,
            Some(_) => 0.25 / lag_s,
        };
        let is_far = self.knee.is_some() && share < NEAR_KNEE.0;
        let doublings_a_second = if is_far {
            doublings_a_second
        } else {
            doublings_a_second.min(self.cliff.growth_max(self.rate))
        };
        self.is_draining = false;
        let grown = self.rate * (doublings_a_second * room * seconds).exp2();
        // Quickly up to where it is near, and slowly from there.
        let near = self.knee.map(|knee| knee * NEAR_KNEE.0).filter(|near| self.rate < *near);
        self.rate = near.map_or(grown, |near| grown.min(near)).min(most).max(self.tuning.floor);
        if share > KNEE_FORGOTTEN {
            self.knee = None;
        }
        Reaction::Faster
    }

    /// More requests in flight may use the rate; if there are as many as may be, the transfer itself is not faster.
    fn unused(&mut self, moved: f64) -> Reaction {
        let most = f64::from(self.tuning.in_flight_max.max(1));
        let kept = (moved * UNUSED_MAX).max(self.tuning.start).max(self.tuning.floor);
        self.rate = self.rate.min(kept);
        if self.in_flight < most && moved > 0.0 {
            self.in_flight = (self.in_flight + 1.0).min(most);
            return Reaction::Faster;
        }
        Reaction::Hold
    }
}

/// Averaging time, seconds.
const AVERAGING_S: f64 = 0.6;
/// What is short of the rate by less than this share is no shortfall; a request more or less in the averaging time counts extra.
const TOLERANCE: f64 = 0.06;
/// What is shorter than this is a pause of the transfer, and not the storage's: a rate grows by a few percent at a time.
const PAUSE: f64 = 0.5;

/// Averages of what a transfer might move and of what it moved, bytes a second: whether it moves a little less than it may.
/// A storage that is used up lets the transfer itself wait, a second or two before users report that they waited. The same is seen
/// where a transfer needs more requests in flight, so it is a hint only.
#[derive(Clone, Copy, Debug, Default)]
struct Shortfall {
    allowed: f64,
    moved: f64,
}

impl Shortfall {
    /// For so many seconds `rate` was allowed, and `moved` bytes a second were moved.
    fn note(&mut self, seconds: f64, rate: f64, moved: f64) {
        let weight = 1.0 - (-seconds / AVERAGING_S).exp();
        self.allowed += (rate - self.allowed) * weight;
        self.moved += (moved - self.moved) * weight;
    }

    /// What was moved, bytes a second, if that was a little less than allowed. Requests have at most `request_bytes`.
    fn carried(&self, request_bytes: f64) -> Option<f64> {
        let request = request_bytes / (self.allowed * AVERAGING_S).max(1.0);
        let is_short = (PAUSE..1.0 - TOLERANCE - request).contains(&(self.moved / self.allowed.max(1.0)));
        is_short.then_some(self.moved)
    }

    fn restart(&mut self, rate: f64) {
        (self.allowed, self.moved) = (rate, rate);
    }
}
