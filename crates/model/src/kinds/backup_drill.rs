//! `iostall backup drill`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::capacity::Capacity;
use crate::drill::{CheckState, DrillCheck};
use crate::entry::Summary;
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;
use crate::stripe::BackupDamage;
use crate::transfer::TransferPoint;
use crate::wal_archive::RecoveryRecord;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DrillOutcome {
    /// Id of the stripe set, in hexadecimal digits.
    pub set: String,
    /// The manifest or stripe that was restored.
    pub from: String,
    /// What it is a backup of: the host, and the sources as they were named.
    pub source: String,
    /// When the backup was begun; `None` if its manifest could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_utc: Option<Timestamp>,
    pub scratch: String,
    pub is_kept: bool,
    /// What was started on the restored files, such as `PostgreSQL 15.8`; none for files that are no database.
    pub engines: Vec<String>,
    /// Regular files.
    pub files: u64,
    pub bytes: u64,
    /// What was read from all stripes together.
    pub stored_bytes: u64,
    /// From the first byte until everything was durable, nanoseconds.
    pub restore_ns: u64,
    /// From the start of the engines until they answered, recovery included, nanoseconds.
    pub start_ns: u64,
    pub checks_ns: u64,
    pub elapsed_ns: u64,
    pub series: Vec<TransferPoint>,
    /// Where a PostgreSQL was brought, if not to the end of the backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryRecord>,
    pub checks: Vec<DrillCheck>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damage: Vec<BackupDamage>,
    pub is_complete: bool,
}

impl DrillOutcome {
    /// The measured time to recover: until the database answered again. `None` if it never did.
    pub fn recover_ns(&self) -> Option<u64> {
        let recovery = self.checks.iter().filter(|check| check.name == DrillCheck::RECOVERY);
        let states: Vec<CheckState> = recovery.map(|check| check.state).collect();
        // Of files that are no database there is nothing to wait for.
        let is_up = states.iter().all(|state| *state == CheckState::Passed)
            && (self.is_complete || !states.is_empty());
        (is_up && self.restore_ns > 0 && self.damage.is_empty())
            .then(|| self.restore_ns.saturating_add(self.start_ns))
    }

    pub fn failed(&self) -> impl Iterator<Item = &DrillCheck> {
        self.checks.iter().filter(|check| check.state == CheckState::Failed)
    }

    /// Whether the backup can be relied on: everything was done, and nothing was wrong.
    pub fn is_good(&self) -> bool {
        self.is_complete && self.damage.is_empty() && self.failed().next().is_none()
    }
}

impl Outcome for DrillOutcome {
    fn kind(&self) -> &'static str {
        "backup-drill"
    }

    fn used_bytes(&self, _index: usize, _whole_bytes: u64) -> Option<u64> {
        None
    }

    fn profile(&self) -> Option<&Profile> {
        None
    }

    // It opens files in several ways, and its own report says how.
    fn engines(&self) -> Vec<&EngineUse> {
        Vec::new()
    }

    fn points(&self) -> &[Point] {
        &[]
    }

    fn measured(&self) -> Vec<Measured> {
        Vec::new()
    }

    fn capacities(&self, _targets: usize) -> Vec<Capacity> {
        Vec::new()
    }

    fn summary(&self) -> Summary {
        Summary::of_moved(self.bytes, self.restore_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, state: CheckState) -> DrillCheck {
        DrillCheck { name: name.into(), state, ..DrillCheck::default() }
    }

    /// The story: a drill that was stopped before its checks counted as one that had found nothing.
    #[test]
    fn a_drill_is_good_only_when_every_check_was_made_and_none_failed() {
        let good = DrillOutcome {
            is_complete: true,
            restore_ns: 3,
            start_ns: 2,
            checks: vec![check("pages", CheckState::NotAvailable), check("recovery", CheckState::Passed)],
            ..DrillOutcome::default()
        };
        assert!(good.is_good());
        assert_eq!(good.recover_ns(), Some(5));
        let stopped = DrillOutcome { is_complete: false, ..good.clone() };
        assert!(!stopped.is_good() && stopped.recover_ns() == Some(5));
        let earlier = DrillOutcome { checks: Vec::new(), ..stopped };
        assert_eq!(earlier.recover_ns(), None, "it was stopped before the engine answered");
        let damaged = DrillOutcome { damage: vec![BackupDamage::default()], ..good.clone() };
        assert!(!damaged.is_good() && damaged.recover_ns().is_none());
        let down = DrillOutcome { checks: vec![check(DrillCheck::RECOVERY, CheckState::Failed)], ..good };
        assert!(!down.is_good());
        assert_eq!(down.recover_ns(), None, "what never answered took no time to recover");
    }
}
