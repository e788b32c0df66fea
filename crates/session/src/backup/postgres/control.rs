//! PostgreSQL's control file, `global/pg_control`.

use std::io;
use std::path::Path;

use iostall_measure::{Clock, MonotonicClock};

use super::error::PostgresBackupError;

pub(super) const NAME: &str = "global/pg_control";
/// PostgreSQL reads no more of it.
const USED_BYTES: usize = 512;
/// The fields before its checksum take more than this in every version.
const FIELDS_MIN: usize = 128;
const CHECKSUM_BYTES: usize = 4;
/// Where the position of the last checkpoint is.
const CHECKPOINT: std::ops::Range<usize> = 32..40;
/// A position in a segment that no server ever has: the log begins with segment 1.
const NOWHERE: u64 = 0xDEAD;
/// The server may be writing it: it is read again so often, with such pauses.
const TRIES: u32 = 50;
const PAUSE_NS: u64 = 20_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::backup) struct ControlFile {
    bytes: Vec<u8>,
    checksum_at: usize,
}

impl ControlFile {
    pub(in crate::backup) fn read(data: &Path) -> Result<Self, PostgresBackupError> {
        let path = data.join(NAME);
        let clock = MonotonicClock::new();
        for _ in 0..TRIES {
            let bytes = std::fs::read(&path).map_err(PostgresBackupError::read(&path))?;
            if let Some(control) = Self::parse(bytes) {
                return Ok(control);
            }
            clock.sleep_until(clock.now_ns() + PAUSE_NS);
        }
        Err(PostgresBackupError::Control { path })
    }

    /// The checksum is behind the last field, and how many there are depends on the version: it is where it fits.
    pub(super) fn parse(bytes: Vec<u8>) -> Option<Self> {
        let used = &bytes[..bytes.len().min(USED_BYTES)];
        let last = used.len().checked_sub(CHECKSUM_BYTES)?;
        let fits = |at: &usize| used[*at..*at + CHECKSUM_BYTES] == crc32c::crc32c(&used[..*at]).to_ne_bytes();
        let checksum_at = (FIELDS_MIN..=last).step_by(CHECKSUM_BYTES).find(fits)?;
        Some(Self { bytes, checksum_at })
    }

    pub(in crate::backup) fn system_identifier(&self) -> u64 {
        let mut identifier = [0; 8];
        identifier.copy_from_slice(&self.bytes[..8]);
        u64::from_ne_bytes(identifier)
    }

    /// The same file with a checkpoint that does not exist. A server that finds the label of the backup takes the
    /// checkpoint from there. One that finds none would begin at the checkpoint of this file and become a database with
    /// a hole in its past; now it refuses to start.
    pub(super) fn without_checkpoint(mut self) -> Vec<u8> {
        self.bytes[CHECKPOINT].copy_from_slice(&NOWHERE.to_ne_bytes());
        let checksum = crc32c::crc32c(&self.bytes[..self.checksum_at]);
        self.bytes[self.checksum_at..self.checksum_at + CHECKSUM_BYTES]
            .copy_from_slice(&checksum.to_ne_bytes());
        self.bytes
    }
}

pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(fields: usize) -> Vec<u8> {
        let mut bytes = vec![0; 8192];
        for (at, byte) in bytes[..fields].iter_mut().enumerate() {
            *byte = u8::try_from(at % 250).unwrap() + 1;
        }
        let checksum = crc32c::crc32c(&bytes[..fields]);
        bytes[fields..fields + 4].copy_from_slice(&checksum.to_ne_bytes());
        bytes
    }

    #[test]
    fn the_checksum_is_found_in_every_version_and_a_damaged_file_has_none() {
        for fields in [288, 292, 296] {
            let control = ControlFile::parse(file(fields)).unwrap();
            assert_eq!(control.checksum_at, fields);
            assert_eq!(control.system_identifier(), u64::from_ne_bytes([1, 2, 3, 4, 5, 6, 7, 8]));
            let mut damaged = file(fields);
            damaged[100] ^= 1;
            assert_eq!(ControlFile::parse(damaged), None);
        }
        assert_eq!(ControlFile::parse(Vec::new()), None);
        assert_eq!(ControlFile::parse(vec![7; 300]), None);
    }

    #[test]
    fn only_the_checkpoint_is_taken_away_and_the_file_is_still_whole() {
        let before = file(292);
        let after = ControlFile::parse(before.clone()).unwrap().without_checkpoint();
        assert!(ControlFile::parse(after.clone()).is_some());
        assert_eq!(after[CHECKPOINT], NOWHERE.to_ne_bytes());
        assert_eq!((&after[..32], &after[40..292]), (&before[..32], &before[40..292]));
    }
}
