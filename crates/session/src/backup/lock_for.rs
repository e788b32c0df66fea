//! How long a backup is to be locked.

use iostall_model::backup::{LockMode, ObjectLock};
use iostall_model::retention::Within;
use iostall_transfer::backup::create::CreateError;
use jiff::Timestamp;
use jiff::tz::TimeZone;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockFor {
    pub time: Within,
    pub mode: LockMode,
}

impl LockFor {
    /// In whole seconds, which is what stores keep, and never less than was asked for.
    pub(super) fn from(self, begun_utc: Timestamp) -> Result<ObjectLock, CreateError> {
        let until = self.time.after(begun_utc, &TimeZone::system());
        let until = until.and_then(|until| Timestamp::from_second(until.as_second().saturating_add(1)).ok());
        let too_long = || CreateError::Settings(format!("--lock {} is beyond the end of time", self.time));
        Ok(ObjectLock { until_utc: until.ok_or_else(too_long)?, mode: self.mode })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_never_shorter_than_was_asked_for() {
        let lock = LockFor { time: "48h".parse().unwrap(), mode: LockMode::Compliance };
        let locked = lock.from("2026-11-20T10:00:00.5Z".parse().unwrap()).unwrap();
        assert_eq!(locked.until_utc, "2026-11-22T10:00:01Z".parse().unwrap());
        assert_eq!(locked.mode, LockMode::Compliance);
        let endless = LockFor { time: "9000y".parse().unwrap(), mode: LockMode::Governance };
        assert!(endless.from("2026-11-20T10:00:00Z".parse().unwrap()).is_err());
    }
}
