//! Destinations in memory (tmpfs).

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use iostall_model::transfer::{Reflink, VerifyMode};

use crate::copy::{Copier, CopyError, CopyLog, CopyOptions};
use crate::progress::Progress;

fn copy(from: &Path, to: &Path) -> CopyLog {
    let options = CopyOptions {
        transfer_bytes: Some(64 << 10),
        depth: Some(4),
        small_file_bytes: 0,
        verify: VerifyMode::ReadBack,
        ..CopyOptions::default()
    };
    let progress = Progress::default();
    let mut copier = Copier::new(&options, &progress);
    copier.copy_all(&[from.to_owned()], to).unwrap();
    copier.into_log()
}

fn content(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect()
}

#[test]
fn a_copy_into_memory_is_equal_for_every_size_around_pages_and_transfers() {
    let room = tempfile::tempdir().unwrap();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    for size in [1, 4095, 4096, 4097, 65_535, 65_536, 65_537, 5_000_001] {
        let (from, to) = (room.path().join("from"), memory.path().join(size.to_string()));
        fs::write(&from, content(size)).unwrap();
        let log = copy(&from, &to);
        assert_eq!((log.verified_files, log.mismatches.len()), (1, 0), "{size} bytes");
        assert_eq!(fs::read(&to).unwrap(), content(size), "{size} bytes");
    }
}

#[test]
fn holes_take_no_memory() {
    let room = tempfile::tempdir().unwrap();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let (from, to) = (room.path().join("from"), memory.path().join("to"));
    let file = File::create(&from).unwrap();
    file.write_all_at(&content(100_000), 1 << 20).unwrap();
    file.set_len(3 << 20).unwrap();
    copy(&from, &to);
    assert_eq!(fs::read(&to).unwrap(), fs::read(&from).unwrap());
    let taken = to.metadata().unwrap().blocks() * 512;
    assert!(taken <= 100_000 + 2 * 4096, "{taken} bytes of memory");
}

/// Whoever asks for shared blocks counts on a copy that takes no space: writing the bytes instead must not pass in silence.
#[test]
fn a_file_that_must_share_its_blocks_and_cannot_is_an_error_unless_it_is_empty() {
    let room = tempfile::tempdir().unwrap();
    // A tmpfs shares no blocks.
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let options = CopyOptions { reflink: Reflink::Always, fail_fast: true, ..CopyOptions::default() };
    let progress = Progress::default();
    for size in [0, 5000] {
        let (from, to) = (room.path().join("from"), memory.path().join(size.to_string()));
        fs::write(&from, content(size)).unwrap();
        let copied = Copier::new(&options, &progress).copy_all(&[from], &to);
        match size {
            0 => assert!(copied.is_ok() && to.exists(), "{copied:?}"),
            _ => assert!(!to.exists() && matches!(copied, Err(CopyError::NoReflink { .. })), "{copied:?}"),
        }
    }
}
