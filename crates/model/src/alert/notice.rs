//! Notices about alerts.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::reach::kinds_of;
use super::rule::{Condition, LastDrill, Measured, Rule};
use crate::kind::Kind;
use crate::level::Level;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Occasion {
    Firing,
    /// The condition still holds: a repeat.
    StillFiring,
    Resolved,
    Test,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    pub occasion: Occasion,
    pub rule: String,
    pub channels: Vec<String>,
    pub source: String,
    /// What it is about, the worst of them; `None`: the whole source is silent, or drills are missing.
    pub about: Option<About>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drill: Option<LastDrill>,
    /// The next worst, a few of them.
    pub others: Vec<About>,
    pub count: u64,
    /// How many things of its group are firing after it, these included.
    pub firing_count: u64,
    /// What is notified together: the same for all notices of a group.
    pub group: String,
    /// When the condition began to hold.
    pub since: Timestamp,
    pub at: Timestamp,
    /// How long the condition has held, or had held when it ended, nanoseconds.
    pub lasted_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    pub level: Level,
    pub kind: Kind,
    pub name: String,
    pub class: Option<String>,
    pub volume: Option<String>,
    pub measured: Measured,
    pub threshold: f64,
    /// The value in the newest interval; `None` if it had none, or the group is gone.
    pub value: Option<f64>,
    pub value_max: f64,
}

impl Notice {
    /// A test notice of `rule`. It is about no source.
    pub fn test(rule: &Rule, at: Timestamp) -> Self {
        let about = match &rule.condition {
            Condition::Silent | Condition::Undrilled { .. } => None,
            Condition::Over { measured, threshold, by_class } => Some(About {
                level: rule.level,
                kind: kinds_of(rule.scheme().unwrap_or_default())
                    .into_iter()
                    .find(|kind| rule.level.counts(*kind) && measured.comes_from(*kind))
                    .unwrap_or(Kind::SqlServerFile),
                name: "nothing".into(),
                class: by_class.keys().next().filter(|_| threshold.is_none()).cloned(),
                volume: None,
                measured: *measured,
                threshold: threshold.or(by_class.values().next().copied()).unwrap_or(f64::INFINITY),
                value: None,
                value_max: 0.0,
            }),
            Condition::Limit(limit) => Some(About {
                level: rule.level,
                kind: Kind::LinuxDevice,
                name: "nothing".into(),
                class: None,
                volume: None,
                measured: Measured::of_limit(*limit),
                threshold: limit.threshold(),
                value: None,
                value_max: 0.0,
            }),
            Condition::NotBackedUp { .. } => Some(About {
                level: Level::Databases,
                kind: Kind::SqlServerBackup,
                name: "nothing".into(),
                class: None,
                volume: None,
                measured: Measured::BackupAge,
                threshold: rule.sustained_ns as f64,
                value: None,
                value_max: 0.0,
            }),
        };
        Self {
            occasion: Occasion::Test,
            rule: rule.name.clone(),
            channels: rule.channels.clone(),
            source: "test".into(),
            about,
            drill: LastDrill::of(&rule.condition),
            others: Vec::new(),
            count: 1,
            firing_count: 0,
            group: "test".into(),
            since: at,
            at,
            lasted_ns: 0,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedAlert {
    pub notice: Notice,
    pub times: SavedTimes,
}

/// When what happened to an alert, by the calendar: clocks that only move forward begin anew with each process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedTimes {
    pub since: Timestamp,
    pub notified: Timestamp,
    pub ended: Option<Timestamp>,
    pub value_max: f64,
}
