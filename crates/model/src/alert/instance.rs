//! The state of one rule for one group of rows.

use jiff::{SignedDuration, Timestamp};

use super::notice::Occasion;
use super::now::Now;
use super::rule::Rule;

/// What an interval shows about the condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Evidence {
    /// The condition holds, with this value.
    Holds(f64),
    HoldsNot(Option<f64>),
    /// Unknown: a reset, a gap, or a first sample.
    Unknown,
}

/// A firing alert, until its end has been notified.
#[derive(Clone, Debug, PartialEq)]
struct Alert {
    since: Timestamp,
    since_ns: u64,
    value_max: f64,
    /// Time of the last notification.
    notified_ns: Option<u64>,
    /// When the condition had been false for the clearing time.
    ended_ns: Option<u64>,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AlertInstance {
    /// How long the condition has held without a break, nanoseconds.
    holds_ns: u64,
    /// How long it has not held while the alert is firing.
    clear_ns: u64,
    /// The highest value since the condition began to hold.
    streak_max: f64,
    pub(super) value: Option<f64>,
    alert: Option<Alert>,
}

/// A notification to send.
pub(super) struct Due {
    pub(super) occasion: Occasion,
    pub(super) since: Timestamp,
    pub(super) lasted_ns: u64,
    pub(super) value_max: f64,
}

impl AlertInstance {
    /// Applies the result of an interval of `covered_ns`.
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
            since_ns: now.clock_ns.saturating_sub(self.holds_ns),
            value_max: self.streak_max,
            notified_ns: None,
            ended_ns: None,
        });
    }

    fn end(&mut self, now: Now) {
        // An alert that was never notified ends without a notification.
        self.alert = self.alert.take().filter(|alert| alert.notified_ns.is_some());
        if let Some(alert) = &mut self.alert {
            alert.ended_ns.get_or_insert(now.clock_ns);
        }
    }

    /// The notification to send now. None in mute hours.
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

    /// Whether there is nothing to remember.
    pub(super) fn is_idle(&self) -> bool {
        self.holds_ns == 0 && self.alert.is_none()
    }
}
