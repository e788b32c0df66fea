//! What is known of a rate at which waiting begins all at once.
//!
//! A volume that a cloud or a control group limits says nothing until it is used up: users wait as little as on an idle one, and a
//! few percent later a hundred times as long. Nothing slows the growth before that edge, so every approach to it costs users a second or
//! two. It is remembered, and tried again after longer and longer times.

use std::collections::VecDeque;

/// The edge is known if the rate had grown by less than this share until it was found.
const PRECISE: f64 = 1.3;
/// From when waiting begins to the reading that shows it, lags: sessions report when a transaction ends, and those that wait
/// end late.
const FOUND_LAGS: u64 = 3;
/// Growth towards a rate that was too much, doublings a second: little enough to know the edge when it is found.
const CAREFUL_GROWTH: f64 = 0.1;
/// The share that a transfer may have of what a used up storage carried for it: users got less than they wanted meanwhile.
const WITHOUT_USERS: f64 = 0.97;
/// How long the rate stays below an edge, seconds; each time that it is found at the same place, twice as long …
const STAY_S: f64 = 60.0;
/// … up to this.
const STAY_S_MAX: f64 = 240.0;
/// The share of the edge at which it stays.
const STAY_AT: f64 = 0.95;
/// From this share of an edge on, waiting that leaps has found the same one again. Below, it has another cause, or the users' load has grown.
const AGAIN_FROM: f64 = 0.97;
/// Up to this share.
const AGAIN_TO: f64 = 1.15;

/// The edge that was found last, and the rates just before now.
#[derive(Clone, Debug, Default)]
pub(super) struct Cliff {
    /// The time that it takes to find an edge, until now.
    recent: VecDeque<Past>,
    edge: Option<f64>,
    /// A rate that was too much; the edge is somewhere below.
    beyond: Option<f64>,
    stay_s: f64,
    until_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Past {
    at_ns: u64,
    rate: f64,
    pressure: f64,
}

impl Cliff {
    pub(super) fn note(&mut self, at_ns: u64, rate: f64, pressure: f64, lag_ns: u64) {
        self.recent.push_back(Past { at_ns, rate, pressure });
        let kept_ns = lag_ns.saturating_mul(FOUND_LAGS);
        let is_old = |past: &Past| at_ns.saturating_sub(past.at_ns) >= kept_ns;
        // The last one that is as old as that stays.
        while self.recent.get(1).is_some_and(is_old) {
            self.recent.pop_front();
        }
    }

    /// The smoothed pressure before what is read now began.
    pub(super) fn pressure_before(&self) -> f64 {
        self.recent.front().map_or(0.0, |past| past.pressure)
    }

    /// Waiting leapt at `used` bytes a second, and just before the storage carried no more than `carried`. Returns what it can bear: the edge, or
    /// else the rate at which the waiting began.
    pub(super) fn found(&mut self, now_ns: u64, used: f64, carried: Option<f64>) -> f64 {
        let earlier = self.recent.front().map_or(used, |past| past.rate.min(used));
        let is_precise = used <= earlier * PRECISE;
        let edge = is_precise.then(|| (used * earlier).sqrt());
        let Some(used) = carried.map(|carried| carried * WITHOUT_USERS).or(edge) else {
            self.forget();
            self.beyond = Some(used);
            return earlier;
        };
        let is_known = self.edge.is_some_and(|edge| (AGAIN_FROM..AGAIN_TO).contains(&(used / edge)));
        self.stay_s = if is_known { (self.stay_s * 2.0).min(STAY_S_MAX) } else { STAY_S };
        (self.edge, self.beyond) = (Some(used), None);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "minutes")]
        let stay_ns = (self.stay_s * 1e9) as u64;
        self.until_ns = now_ns.saturating_add(stay_ns);
        used
    }

    /// The most that is allowed now, because of an edge.
    pub(super) fn most(&self, now_ns: u64) -> f64 {
        self.edge.filter(|_| now_ns < self.until_ns).map_or(f64::INFINITY, |edge| edge * STAY_AT)
    }

    /// The fastest growth that is allowed from `rate` on, doublings a second.
    pub(super) fn growth_max(&self, rate: f64) -> f64 {
        self.beyond.filter(|beyond| rate < *beyond).map_or(f64::INFINITY, |_| CAREFUL_GROWTH)
    }

    /// The users' load has changed, or nothing is known of it.
    pub(super) fn forget(&mut self) {
        (self.edge, self.beyond, self.until_ns) = (None, None, 0);
    }
}
