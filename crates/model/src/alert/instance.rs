//! The state of one rule about one group of rows.

use jiff::{SignedDuration, Timestamp};

use super::notice::Occasion;
use super::now::Now;
use super::rule::Rule;

/// What an interval says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Evidence {
    /// The condition holds, at this value.
    Holds(f64),
    /// It does not; the value, where there is one.
    HoldsNot(Option<f64>),
    /// Nobody knows: a reset, a gap, a first sight.
    Unknown,
}

/// An alert that is firing, until its end has been notified.
#[derive(Clone, Debug, PartialEq)]
struct Alert {
    since: Timestamp,
    since_ns: u64,
    value_max: f64,
    /// When somebody was notified last.
    notified_ns: Option<u64>,
    /// When the condition had not held for the clearing time.
    ended_ns: Option<u64>,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AlertInstance {
    /// How long the condition has held without a break, nanoseconds.
    holds_ns: u64,
    /// How long it has not, while there is an alert.
    clear_ns: u64,
    /// The highest value of the running streak.
    streak_max: f64,
    /// The newest value.
    pub(super) value: Option<f64>,
    alert: Option<Alert>,
}

/// A notification that is to go out.
pub(super) struct Due {
    pub(super) occasion: Occasion,
    pub(super) since: Timestamp,
    pub(super) lasted_ns: u64,
    pub(super) value_max: f64,
}

impl AlertInstance {
    /// Takes what an interval of `covered_ns` says.
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

    /// Takes how long a source has been silent; zero: it speaks.
    pub(super) fn update_silence(&mut self, silent_ns: u64, rule: &Rule, now: Now) {
        self.holds_ns = silent_ns;
        if silent_ns == 0 {
            self.end(now);
        } else if silent_ns >= rule.sustained_ns {
            self.begin(now);
        }
    }

    fn begin(&mut self, now: Now) {
        // One whose end nobody was notified of still fires for them.
        if let Some(alert) = &mut self.alert {
            alert.ended_ns = None;
            alert.value_max = alert.value_max.max(self.streak_max);
            return;
        }
        let held = SignedDuration::from_nanos(i64::try_from(self.holds_ns).unwrap_or(i64::MAX));
        self.alert = Some(Alert {
            since: now.utc.checked_sub(held).unwrap_or(now.utc),
            since_ns: now.clock_ns.saturating_sub(self.holds_ns),
            value_max: self.streak_max,
            notified_ns: None,
            ended_ns: None,
        });
    }

    fn end(&mut self, now: Now) {
        // What nobody was notified of ends without a word.
        self.alert = self.alert.take().filter(|alert| alert.notified_ns.is_some());
        if let Some(alert) = &mut self.alert {
            alert.ended_ns.get_or_insert(now.clock_ns);
        }
    }

    /// The notification that is to go out now. None in muted hours.
    pub(super) fn notify(&mut self, rule: &Rule, now: Now) -> Option<Due> {
        let alert = self.alert.as_mut()?;
        let occasion = match (alert.ended_ns, alert.notified_ns) {
            (Some(_), _) => Occasion::Resolved,
            (None, None) => Occasion::Firing,
            (None, Some(notified_ns)) => {
                let waited_ns = now.clock_ns.saturating_sub(notified_ns);
                rule.repeat_ns.filter(|repeat_ns| waited_ns >= *repeat_ns)?;
                Occasion::StillFiring
            }
        };
        if rule.is_muted(now.utc) {
            return None;
        }
        alert.notified_ns = Some(now.clock_ns);
        let due = Due {
            occasion,
            since: alert.since,
            lasted_ns: alert.ended_ns.unwrap_or(now.clock_ns).saturating_sub(alert.since_ns),
            value_max: alert.value_max,
        };
        if occasion == Occasion::Resolved {
            self.alert = None;
        }
        Some(due)
    }

    /// Whether anything of it needs to be remembered.
    pub(super) fn is_idle(&self) -> bool {
        self.holds_ns == 0 && self.alert.is_none()
    }
}
