//! A lock of an object store: what nobody can delete before its time.

use std::str::FromStr;

use iostall_measure::named;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

named! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum LockMode {
        /// An account with a right of its own for it (`s3:BypassGovernanceRetention`).
        #[default]
        Governance = "governance",
        /// Nobody, not even the owner of the account.
        Compliance = "compliance",
    }
}

impl LockMode {
    /// As a store writes it.
    pub fn of_store(self) -> &'static str {
        match self {
            Self::Governance => "GOVERNANCE",
            Self::Compliance => "COMPLIANCE",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no mode of a lock: write governance or compliance")]
pub struct LockModeError(String);

impl FromStr for LockMode {
    type Err = LockModeError;

    /// In small or capital letters.
    fn from_str(text: &str) -> Result<Self, LockModeError> {
        let modes = [Self::Governance, Self::Compliance];
        let is_it = |mode: &Self| mode.name().eq_ignore_ascii_case(text);
        modes.into_iter().find(is_it).ok_or_else(|| LockModeError(text.to_owned()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectLock {
    // First, so that the latest of several is their maximum.
    pub until_utc: Timestamp,
    pub mode: LockMode,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    /// Also one that is over.
    pub lock: Option<ObjectLock>,
    /// It is held, without an end, until somebody takes the hold away.
    pub legal_hold: bool,
}

impl Protection {
    /// Of two objects that are deleted together.
    pub fn and(self, other: Self) -> Self {
        Self { lock: self.lock.max(other.lock), legal_hold: self.legal_hold || other.legal_hold }
    }

    pub fn holds_at(&self, now: Timestamp) -> bool {
        self.legal_hold || self.lock.is_some_and(|lock| lock.until_utc > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(until: &str) -> ObjectLock {
        ObjectLock { until_utc: until.parse().unwrap(), mode: LockMode::Governance }
    }

    #[test]
    fn a_mode_is_read_as_it_is_typed_and_as_a_store_writes_it() {
        assert_eq!("governance".parse(), Ok(LockMode::Governance));
        assert_eq!(LockMode::Compliance.of_store().parse(), Ok(LockMode::Compliance));
        assert!("none".parse::<LockMode>().is_err());
    }

    #[test]
    fn what_is_deleted_together_is_locked_until_the_last_lock_is_over() {
        let (early, late) = (Some(lock("2026-12-01T00:00:00Z")), Some(lock("2026-12-24T00:00:00Z")));
        let of = |lock| Protection { lock, legal_hold: false };
        assert_eq!(of(late).and(of(early)), of(late));
        assert_eq!(of(None).and(of(early)), of(early));
        let both = of(late).and(of(None));
        assert!(both.holds_at("2026-12-23T23:59:59Z".parse().unwrap()));
        assert!(!both.holds_at("2026-12-24T00:00:00Z".parse().unwrap()));
        let held = both.and(Protection { lock: None, legal_hold: true });
        assert!(held.holds_at("2030-01-01T00:00:00Z".parse().unwrap()));
    }
}
