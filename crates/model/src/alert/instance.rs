//! The state of one rule for one group of rows.

use jiff::{SignedDuration, Timestamp};

use super::mute::Now;
use super::notice::{Occasion, SavedTimes};
use super::rule::Rule;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Evidence {
    /// The condition holds, with this value.
    Holds(f64),
    HoldsNot(Option<f64>),
    Unknown,
}

#[derive(Clone, Debug, PartialEq)]
struct Alert {
    since: Timestamp,
    /// The same by the clock that only moves forward. Below zero: before this process began.
    since_ns: i64,
    begun_ns: i64,
    value_max: f64,
    notified_ns: Option<i64>,
    /// When the condition had not held for the clearing time.
    ended_ns: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AlertInstance {
    /// How long the condition has held without a break, nanoseconds.
    holds_ns: u64,
    /// How long it has not held while the alert is firing.
    clear_ns: u64,
    /// The highest value since the condition began to hold.
    streak_max: f64,
    pub(super) value: Option<f64>,
    /// The volume that all its rows lie on.
    pub(super) volume: Option<String>,
    alert: Option<Alert>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) occasion: Occasion,
    pub(super) waited_ns: u64,
}

pub(super) struct Due {
    pub(super) since: Timestamp,
    pub(super) lasted_ns: u64,
    pub(super) value_max: f64,
}

impl AlertInstance {
    pub(super) fn on(volume: Option<String>) -> Self {
        Self { volume, ..Self::default() }
    }

    pub(super) fn update(&mut self, evidence: Evidence, covered_ns: u64, rule: &Rule, now: Now) {
        match evidence {
            Evidence::Holds(value) => {
                self.streak_max = if self.holds_ns == 0 { value } else { self.streak_max.max(value) };
                self.holds_ns = self.holds_ns.saturating_add(covered_ns);
                self.clear_ns = 0;
                self.value = Some(value);
                if self.holds_ns >= rule.sustained_ns {
                    self.begin(now);
                }
            }
            Evidence::HoldsNot(value) => {
                self.holds_ns = 0;
                self.clear_ns = self.clear_ns.saturating_add(covered_ns);
                self.value = value;
                if self.clear_ns >= rule.clear_ns {
                    self.end(now);
                }
            }
            Evidence::Unknown => self.holds_ns = 0,
        }
    }

    /// Applies how long a source has been silent; zero if it answers.
    pub(super) fn update_silence(&mut self, silent_ns: u64, rule: &Rule, now: Now) {
        self.holds_ns = silent_ns;
        if silent_ns == 0 {
            self.end(now);
        } else if silent_ns >= rule.sustained_ns {
            self.begin(now);
        }
    }

    /// Applies that the condition has held for `held_ns`, or that it does not hold.
    pub(super) fn update_at_once(&mut self, held_ns: Option<u64>, now: Now) {
        self.holds_ns = held_ns.unwrap_or(0);
        if held_ns.is_some() { self.begin(now) } else { self.end(now) }
    }

    /// Applies how long ago the last backup was; `None` if there never was one.
    pub(super) fn update_age(&mut self, age_ns: Option<u64>, is_too_old: bool, now: Now) {
        self.value = age_ns.map(|ns| ns as f64);
        self.streak_max = self.value.unwrap_or(0.0);
        self.update_at_once(is_too_old.then(|| age_ns.unwrap_or(0)), now);
    }

    fn begin(&mut self, now: Now) {
        // An alert whose end was not notified is still firing for its recipients.
        if let Some(alert) = &mut self.alert {
            alert.ended_ns = None;
            alert.value_max = alert.value_max.max(self.streak_max);
            return;
        }
        let held = SignedDuration::from_nanos(i64::try_from(self.holds_ns).unwrap_or(i64::MAX));
        self.alert = Some(Alert {
            since: now.utc.checked_sub(held).unwrap_or(now.utc),
            since_ns: signed(now.clock_ns).saturating_sub(signed(self.holds_ns)),
            begun_ns: signed(now.clock_ns),
            value_max: self.streak_max,
            notified_ns: None,
            ended_ns: None,
        });
    }

    fn end(&mut self, now: Now) {
        // An alert that was never notified ends without a notification.
        self.alert = self.alert.take().filter(|alert| alert.notified_ns.is_some());
        if let Some(alert) = &mut self.alert {
            alert.ended_ns.get_or_insert(signed(now.clock_ns));
        }
    }

    /// The notification that could go out now. None in muted hours.
    pub(super) fn waiting(&self, rule: &Rule, now: Now) -> Option<Waiting> {
        let alert = self.alert.as_ref()?;
        let now_ns = signed(now.clock_ns);
        let (occasion, from_ns) = match (alert.ended_ns, alert.notified_ns) {
            (Some(ended_ns), _) => (Occasion::Resolved, ended_ns),
            (None, None) => (Occasion::Firing, alert.begun_ns),
            (None, Some(notified_ns)) => {
                let repeat_ns = rule.repeat_ns?;
                (Occasion::StillFiring, notified_ns.saturating_add(signed(repeat_ns)))
            }
        };
        let waited_ns = u64::try_from(now_ns.saturating_sub(from_ns)).ok()?;
        (!rule.is_muted(now.utc)).then_some(Waiting { occasion, waited_ns })
    }

    pub(super) fn notify(&mut self, occasion: Occasion, now: Now) -> Option<Due> {
        let now_ns = signed(now.clock_ns);
        let alert = self.alert.as_mut()?;
        alert.notified_ns = Some(now_ns);
        let lasted_ns = alert.ended_ns.unwrap_or(now_ns).saturating_sub(alert.since_ns);
        let due = Due {
            since: alert.since,
            lasted_ns: u64::try_from(lasted_ns).unwrap_or(0),
            value_max: alert.value_max,
        };
        if occasion == Occasion::Resolved {
            self.alert = None;
        }
        Some(due)
    }

    pub(super) fn is_known_to_fire(&self) -> bool {
        self.alert.as_ref().is_some_and(|alert| alert.notified_ns.is_some() && alert.ended_ns.is_none())
    }

    /// Since when it fires, its highest value, and when somebody was notified: what a later process has to know.
    pub(super) fn saved(&self, now: Now) -> Option<SavedTimes> {
        let alert = self.alert.as_ref()?;
        let calendar = |at_ns: i64| {
            let ago = SignedDuration::from_nanos(signed(now.clock_ns).saturating_sub(at_ns));
            now.utc.checked_sub(ago).unwrap_or(now.utc)
        };
        Some(SavedTimes {
            since: alert.since,
            notified: calendar(alert.notified_ns?),
            ended: alert.ended_ns.map(calendar),
            value_max: alert.value_max,
        })
    }

    pub(super) fn restore(&mut self, saved: &SavedTimes, now: Now) {
        let clock = |at: Timestamp| {
            let ago_ns = i64::try_from(now.utc.duration_since(at).as_nanos()).unwrap_or(i64::MAX);
            signed(now.clock_ns).saturating_sub(ago_ns)
        };
        self.alert = Some(Alert {
            since: saved.since,
            since_ns: clock(saved.since),
            begun_ns: clock(saved.since),
            value_max: saved.value_max,
            notified_ns: Some(clock(saved.notified)),
            ended_ns: saved.ended.map(clock),
        });
    }

    pub(super) fn is_idle(&self) -> bool {
        self.holds_ns == 0 && self.alert.is_none()
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}
