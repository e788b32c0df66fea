//! Minimum free space: a full disk takes down everything else that lives on it.

use std::io;
use std::path::{Path, PathBuf};

use iostall_measure::ByteCount;
use rustix::fs::statvfs;
use thiserror::Error;

/// Minimum free space, bytes.
const FLOOR_BYTES: u64 = 1 << 30;

/// Also at least the total divided by this (5 %), up to `FLOOR_MAX_BYTES`.
const FLOOR_DIVISOR: u64 = 20;

/// But no more than the total divided by this (10 %): a small file system could not be tested at all.
const FLOOR_DIVISOR_MIN: u64 = 10;

/// What a test leaves free is enough for a server's log to grow into, however large the file system is.
const FLOOR_MAX_BYTES: u64 = 8 << 30;

#[derive(Debug, Error)]
pub enum FreeSpaceError {
    #[error(
        "{} has {} free; {} more would leave less than the {} that must stay free; {fits_bytes} bytes ({}) would fit",
        directory.display(), ByteCount(*free_bytes), ByteCount(*wanted_bytes), ByteCount(*floor_bytes), ByteCount(*fits_bytes)
    )]
    TooLittle {
        directory: PathBuf,
        wanted_bytes: u64,
        free_bytes: u64,
        /// To stay free.
        floor_bytes: u64,
        fits_bytes: u64,
    },
    #[error("{}: cannot find out how much space is free: {source}", directory.display())]
    System { directory: PathBuf, source: io::Error },
}

/// Whether `wanted_bytes` may be taken on the file system of `directory`: 5 % of the file system must stay free, at least 1 GiB (but
/// no more than 10 %) and at most 8 GiB.
pub fn check_free_space(directory: &Path, wanted_bytes: u64) -> Result<(), FreeSpaceError> {
    check(directory, wanted_bytes, floor)
}

/// The same for a file whose size the user has named, on however small a file system: a twentieth must stay free, at most 8 GiB.
pub fn check_named_size(directory: &Path, wanted_bytes: u64) -> Result<(), FreeSpaceError> {
    check(directory, wanted_bytes, |total_bytes| (total_bytes / FLOOR_DIVISOR).min(FLOOR_MAX_BYTES))
}

fn check(directory: &Path, wanted_bytes: u64, floor: fn(u64) -> u64) -> Result<(), FreeSpaceError> {
    let space = statvfs(directory).map_err(|source| FreeSpaceError::System {
        directory: directory.to_owned(),
        source: source.into(),
    })?;
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
    let total_bytes = space.f_blocks.saturating_mul(space.f_frsize);
    let floor_bytes = floor(total_bytes);
    let fits_bytes = free_bytes.saturating_sub(floor_bytes);
    // Zero bytes always fit: a target that already exists needs no space, even on a full disk.
    if wanted_bytes == 0 || wanted_bytes <= fits_bytes {
        return Ok(());
    }
    let directory = directory.to_owned();
    Err(FreeSpaceError::TooLittle { directory, wanted_bytes, free_bytes, floor_bytes, fits_bytes })
}

fn floor(total_bytes: u64) -> u64 {
    (total_bytes / FLOOR_DIVISOR).clamp(FLOOR_BYTES, FLOOR_MAX_BYTES).min(total_bytes / FLOOR_DIVISOR_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_a_twentieth_between_one_and_eight_gibibytes_and_a_tenth_of_what_is_small() {
        assert_eq!(floor(0), 0);
        assert_eq!(floor(10 << 20), 1 << 20);
        assert_eq!(floor(20 << 30), 1 << 30);
        assert_eq!(floor(100 << 30), 5 << 30);
        assert_eq!(floor(4 << 40), 8 << 30);
    }

    #[test]
    fn what_is_said_to_fit_fits_and_a_byte_more_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let Err(FreeSpaceError::TooLittle { wanted_bytes, free_bytes, floor_bytes, fits_bytes, .. }) =
            check_free_space(directory.path(), u64::MAX)
        else {
            panic!("no file system has that much room")
        };
        assert_eq!(wanted_bytes, u64::MAX);
        assert_eq!(fits_bytes, free_bytes.saturating_sub(floor_bytes));
        // Other programs write to this disk too, so the result is certain only with room to spare.
        if fits_bytes > 1 << 30 {
            check_free_space(directory.path(), fits_bytes / 2).unwrap();
        }
        check_free_space(directory.path(), 0).unwrap();
    }

    #[test]
    fn a_directory_that_is_not_there_is_said_to_be_the_cause() {
        let error = check_free_space(Path::new("/nowhere/at/all"), 1).unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/at/all: "), "{error}");
    }
}
