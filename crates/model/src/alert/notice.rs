//! What is told.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::rule::{Condition, Measured, Rule};
use crate::kind::Kind;
use crate::level::Level;

/// Why a notice is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Occasion {
    /// The condition has held for the sustained time.
    Firing,
    /// It still holds: a repeat.
    StillFiring,
    /// It holds no longer.
    Resolved,
    /// Somebody wants to see whether notices arrive.
    Test,
}

/// One thing to tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// Why.
    pub occasion: Occasion,
    /// The rule's name.
    pub rule: String,
    /// The channels to tell it through.
    pub channels: Vec<String>,
    /// The source's name.
    pub source: String,
    /// What it is about; `None`: the whole source is silent.
    pub about: Option<About>,
    /// When the condition began to hold.
    pub since: Timestamp,
    /// When this was judged.
    pub at: Timestamp,
    /// How long the condition has held, or had held when it ended, nanoseconds.
    pub lasted_ns: u64,
}

/// The thing that is over its threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// What its rows were summed to.
    pub level: Level,
    /// What its rows are.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// The class of storage it lies on.
    pub class: Option<String>,
    /// Which number is too high.
    pub measured: Measured,
    /// The threshold, in the number's unit.
    pub threshold: f64,
    /// Its value in the newest interval; `None` when it had none, or the thing is gone.
    pub value: Option<f64>,
    /// The highest value of an interval since the condition began to hold.
    pub value_max: f64,
}

impl Notice {
    /// What `rule` tells when somebody wants to see whether it arrives. It is about no source.
    pub fn test(rule: &Rule, at: Timestamp) -> Self {
        let about = match &rule.condition {
            Condition::Silent => None,
            Condition::Over { measured, threshold, by_class } => Some(About {
                level: rule.level,
                kind: Kind::SqlServerFile,
                name: "nothing".into(),
                class: by_class.keys().next().filter(|_| threshold.is_none()).cloned(),
                measured: *measured,
                threshold: threshold.or(by_class.values().next().copied()).unwrap_or(f64::INFINITY),
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
            since: at,
            at,
            lasted_ns: 0,
        }
    }
}
