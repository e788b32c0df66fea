//! Drills of backups, as alerts see them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::rule::Condition;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoodDrill {
    /// What it is a backup of: the host and the sources.
    pub source: String,
    pub set: String,
    pub at: Timestamp,
}

impl GoodDrill {
    /// Whether it counts for a rule about `backup`: a part of the source, or the beginning of the set's id.
    pub fn is_of(&self, backup: Option<&str>) -> bool {
        backup.is_none_or(|part| self.source.contains(part) || self.set.starts_with(part))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastDrill {
    pub backup: Option<String>,
    /// When the last good one ended; `None` if there never was one.
    pub at: Option<Timestamp>,
}

impl LastDrill {
    /// What a notice of a rule with `condition` says before anybody has looked; `None` if it is not about drills.
    pub(super) fn of(condition: &Condition) -> Option<Self> {
        match condition {
            Condition::Undrilled { backup } => Some(Self { backup: backup.clone(), at: None }),
            Condition::Over { .. }
            | Condition::Limit(_)
            | Condition::Silent
            | Condition::NotBackedUp { .. } => None,
        }
    }
}
