//! Pieces of restores that are thrown away.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::writer::Made;
use super::*;
use crate::backup::codec::{Lock, Passphrase};
use crate::backup::create::TrialLimit;
use crate::backup::read::ReadChoice;
use crate::backup::restore::RestoreSample;

const LIMIT: TrialLimit = TrialLimit { seconds: 0.05, bytes: 4 << 20 };

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The story: a tuner that left its pieces in the place of the database, and took them for the database the next time.
#[test]
fn a_trial_restores_pieces_with_any_choice_and_leaves_nothing() {
    let passphrase = || Passphrase::from("a passphrase".to_owned());
    for lock in [None, Some(Lock::Passphrase(passphrase()))] {
        let directory = tempfile::tempdir().unwrap();
        let on_disk = Made { lock: lock.clone(), ..Made::tree(2) }.write(directory.path());
        let place = directory.path().join("place");
        std::fs::create_dir(&place).unwrap();
        let unlock = lock.map(|_| Unlock::Passphrase(passphrase()));
        let set = open(on_disk.named(), unlock.as_ref()).unwrap();
        let sample = RestoreSample::of(&set).unwrap();
        let choices = [
            ReadChoice::default(),
            ReadChoice { depth: Some(1), workers: Some(1), transfer_bytes: Some(1) },
            ReadChoice { depth: Some(16), workers: Some(3), transfer_bytes: Some(256 << 10) },
        ];
        for (choice, from) in choices.into_iter().zip([0.0, 0.618, 1.0]) {
            let cancel = Arc::default();
            let moved = sample.trial(&place, choice, from, LIMIT, &cancel).unwrap();
            assert!(moved.bytes_per_s > 0.0 && moved.source_bytes >= sample.bytes(), "{choice:?}: {moved:?}");
            assert!(moved.stored_bytes > 0, "{moved:?}");
            // A trial that may write less than all writes less.
            let little = TrialLimit { seconds: 0.0, bytes: 128 << 10 };
            let moved = sample.trial(&place, choice, from, little, &cancel).unwrap();
            assert!((1..=512 << 10).contains(&moved.source_bytes), "{choice:?}: {moved:?}");
            let read = sample.read_alone(choice, from, LIMIT.seconds, &cancel).unwrap();
            assert!(read.bytes_per_s > 0.0, "{read:?}");
            let mut loaded = sample.load(1 << 20).unwrap();
            let decoded = sample.decode_alone(&mut loaded, 2, LIMIT.seconds, &cancel).unwrap();
            assert!(decoded.bytes_per_s > 0.0 && decoded.source_bytes > 0, "{decoded:?}");
            let written = sample.write_alone(&place, &loaded, choice, LIMIT, &cancel).unwrap();
            assert!(written.bytes_per_s > 0.0 && written.source_bytes <= LIMIT.bytes, "{written:?}");
            assert_eq!(names(&place), [""; 0]);
        }
        let asked = sample.shape(choices[2]);
        assert_eq!((asked.depth, asked.workers, asked.transfer_bytes), (16, 3, 256 << 10));
        assert_eq!(sample.shape(choices[1]).transfer_bytes, sample.frame_bytes(), "a frame at least");
    }
}

#[test]
fn a_trial_that_is_cancelled_or_finds_damage_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let on_disk = Made::tree(2).write(directory.path());
    let place = directory.path().join("place");
    std::fs::create_dir(&place).unwrap();
    let set = open(on_disk.named(), None).unwrap();
    let sample = RestoreSample::of(&set).unwrap();
    let choice = ReadChoice::default();
    let loaded = sample.load(1 << 20).unwrap();
    let cancel = Arc::new(AtomicBool::new(true));
    let error = sample.trial(&place, choice, 0.0, LIMIT, &cancel).unwrap_err();
    assert!(error.is_cancelled(), "{error}");
    let error = sample.write_alone(&place, &loaded, choice, LIMIT, &cancel).unwrap_err();
    assert!(error.is_cancelled(), "{error}");
    let error = sample.read_alone(choice, 0.0, 0.1, &cancel).unwrap_err();
    assert!(error.is_cancelled(), "{error}");
    let mut loaded = loaded;
    let error = sample.decode_alone(&mut loaded, 1, 0.1, &cancel).unwrap_err();
    assert!(error.is_cancelled(), "{error}");
    assert_eq!(names(&place), [""; 0]);

    let mut bytes = std::fs::read(&on_disk.stripes[1]).unwrap();
    bytes[8192 + 200] ^= 1;
    std::fs::write(&on_disk.stripes[1], bytes).unwrap();
    let whole = TrialLimit { bytes: u64::MAX, ..LIMIT };
    let error = sample.trial(&place, choice, 0.0, whole, &Arc::default()).unwrap_err();
    assert_eq!(error.damage().len(), 1, "{error}");
    assert_eq!(names(&place), [""; 0]);
    // A set that a restore would refuse is not tried.
    std::fs::remove_file(&on_disk.stripes[1]).unwrap();
    let set = open(on_disk.named(), None).unwrap();
    assert_eq!(RestoreSample::of(&set).err().unwrap().damage().len(), 1);
}
