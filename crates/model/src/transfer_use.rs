//! What moving data took.

use serde::{Deserialize, Serialize};

use crate::transfer::{BufferTime, TransferPoint};

/// What a copy, a backup, a restore or a check took. In a document these fields stand among those of the outcome.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferUse {
    /// Where buffers spent their time. In a backup its hashing is everything that workers do: checksums, compression and encryption.
    pub buffer_time: BufferTime,
    pub series: Vec<TransferPoint>,
    pub cpu_user_ns: u64,
    pub cpu_system_ns: u64,
}

impl TransferUse {
    /// CPU time of this process, user and kernel, nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.cpu_user_ns + self.cpu_system_ns
    }
}

#[cfg(test)]
mod tests {
    use crate::kinds::{BackupOutcome, BackupVerifyOutcome, CopyOutcome, RestoreOutcome};

    use super::*;

    fn keys(document: &impl Serialize) -> Vec<String> {
        let text = serde_json::to_string(document).unwrap();
        // In the order of the document, which a map would sort.
        text.split('"')
            .filter(|part| ["buffer_time", "series", "cpu_user_ns", "cpu_system_ns"].contains(part))
            .map(str::to_owned)
            .collect()
    }

    /// Documents of earlier versions have these fields beside all others, and scripts read them there.
    #[test]
    fn the_fields_stand_among_those_of_the_outcome_and_are_read_from_there() {
        let used = TransferUse { cpu_user_ns: 7, cpu_system_ns: 8, ..TransferUse::default() };
        let order = ["buffer_time", "series", "cpu_user_ns", "cpu_system_ns"];
        let backup = BackupOutcome { used: used.clone(), ..BackupOutcome::default() };
        let restore = RestoreOutcome { used: used.clone(), ..RestoreOutcome::default() };
        let verify = BackupVerifyOutcome { used: used.clone(), ..BackupVerifyOutcome::default() };
        let copy = CopyOutcome { used, ..CopyOutcome::default() };
        assert_eq!(keys(&backup), order);
        assert_eq!(keys(&restore), order);
        assert_eq!(keys(&verify), order);
        assert_eq!(keys(&copy), order);
        let document = serde_json::to_value(&backup).unwrap();
        assert_eq!((&document["cpu_user_ns"], document.get("used")), (&7.into(), None));
        assert_eq!(serde_json::from_value::<BackupOutcome>(document).unwrap(), backup);
        let document = serde_json::to_string(&copy).unwrap();
        assert_eq!(serde_json::from_str::<CopyOutcome>(&document).unwrap(), copy);
    }
}
