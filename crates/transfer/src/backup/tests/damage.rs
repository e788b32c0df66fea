//! Sets that something happened to: it is named, and nothing is restored.

use std::fs;

use iostall_model::backup::{FileKind, SetId};

use super::writer::{BLOCK, Made, OnDisk, entry};
use super::*;
use crate::backup::codec::{Lock, Passphrase};
use crate::backup::format::CodecKind;

/// A set of a few blocks, so that each of its bytes can be flipped.
fn small(lock: Option<Lock>) -> Made {
    let entries = vec![
        entry(1, "", FileKind::Directory, &[]),
        entry(2, "large", FileKind::File, &vec![7; 65_536]),
        entry(3, "small", FileKind::File, b"a small file"),
    ];
    Made { set: SetId([8; 16]), stripes: 2, codec: CodecKind::Zstd, lock, entries, change_index: None }
}

fn locked() -> (Lock, Unlock) {
    let passphrase = Passphrase::from("a passphrase".to_owned());
    (Lock::Passphrase(passphrase.clone()), Unlock::Passphrase(passphrase))
}

/// A damaged set must be named by a check, and not be restored, whichever way it was named itself.
fn assert_refused(on_disk: &OnDisk, unlock: Option<&Unlock>, what: &str) -> Vec<String> {
    let directory = on_disk.manifest.parent().unwrap();
    let to = directory.join("to");
    let mut found = Vec::new();
    for paths in [vec![on_disk.manifest.clone()], on_disk.stripes.clone()] {
        let there: Vec<_> = paths.into_iter().filter(|path| path.exists()).collect();
        if there.is_empty() {
            continue;
        }
        found = damage(&there, unlock, false);
        assert!(!found.is_empty(), "{what}: not named");
        let error = restored(&there, &to, unlock).unwrap_err();
        assert!(!error.damage().is_empty(), "{what}: {error}");
        assert!(!to.exists(), "{what}: restored");
    }
    assert_nothing(directory, on_disk);
    found
}

#[test]
fn every_flipped_byte_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let on_disk = small(None).write(directory.path());
    let is_long = std::env::var_os("IOSTALL_TEST_LONG").is_some();
    for path in on_disk.stripes.iter().chain([&on_disk.manifest]) {
        let whole = fs::read(path).unwrap();
        for at in 0..whole.len() {
            // All of headers and content; of long runs of padding some, and all of them with `./check --long`.
            if !is_long && at % BLOCK as usize > 300 && at % 397 != 0 && at % BLOCK as usize <= 4090 {
                continue;
            }
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            fs::write(path, &flipped).unwrap();
            let named = damage(on_disk.named(), None, false);
            assert!(!named.is_empty(), "byte {at} of {} is not named", path.display());
            if at % 512 == 0 {
                assert_refused(&on_disk, None, &format!("byte {at} of {}", path.display()));
            }
        }
        fs::write(path, &whole).unwrap();
    }
    assert_eq!(damage(&[on_disk.manifest], None, false), Vec::<String>::new());
}

#[test]
fn a_flipped_byte_of_an_encrypted_set_is_damage_and_not_a_wrong_key() {
    let (lock, unlock) = locked();
    let directory = tempfile::tempdir().unwrap();
    let on_disk = small(Some(lock)).write(directory.path());
    for path in on_disk.stripes.iter().chain([&on_disk.manifest]) {
        let whole = fs::read(path).unwrap();
        // Opening with a passphrase takes its time on purpose.
        let step = whole.len() / 7;
        for at in (1..whole.len()).step_by(step) {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            fs::write(path, &flipped).unwrap();
            let named = damage(on_disk.named(), Some(&unlock), false);
            assert!(!named.is_empty(), "byte {at} of {} is not named", path.display());
        }
        fs::write(path, &whole).unwrap();
    }
}

#[test]
fn a_stripe_that_is_missing_exchanged_or_of_another_set_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let made = Made::tree(3);
    let on_disk = made.write(directory.path());
    let other_directory = tempfile::tempdir().unwrap();
    let other = Made { set: SetId([1; 16]), ..Made::tree(3) }.write(other_directory.path());
    for number in 0..3 {
        let path = &on_disk.stripes[number];
        let whole = fs::read(path).unwrap();
        fs::remove_file(path).unwrap();
        let found = assert_refused(&on_disk, None, "a missing stripe");
        assert!(found.iter().any(|line| line.contains("the stripe is missing")), "{found:?}");
        fs::copy(&other.stripes[number], path).unwrap();
        let found = assert_refused(&on_disk, None, "a stripe of another set");
        assert!(found.iter().any(|line| line.contains("stripe of another set")), "{found:?}");
        fs::write(path, &whole).unwrap();
    }
    // By its manifest a set whose stripes were exchanged is named; whoever names all stripes may call them what they like.
    let [one, two] = [fs::read(&on_disk.stripes[0]).unwrap(), fs::read(&on_disk.stripes[1]).unwrap()];
    fs::write(&on_disk.stripes[0], &two).unwrap();
    fs::write(&on_disk.stripes[1], &one).unwrap();
    let found = damage(on_disk.named(), None, false);
    assert!(found.iter().any(|line| line.contains("they were exchanged")), "{found:?}");
    let to = directory.path().join("to");
    assert!(restored(on_disk.named(), &to, None).is_err() && !to.exists());
    restored(&on_disk.stripes, &to, None).unwrap();
    assert_restored(&made, &to);
}

#[test]
fn a_stripe_that_is_cut_off_anywhere_is_named_and_so_is_one_that_grew() {
    let directory = tempfile::tempdir().unwrap();
    let on_disk = small(None).write(directory.path());
    let headers_only = |paths: &[PathBuf]| damage(paths, None, true);
    for path in &on_disk.stripes {
        let whole = fs::read(path).unwrap();
        // Every frame begins at a multiple of the block.
        let ends = (0..whole.len()).step_by(BLOCK as usize).chain([1, whole.len() - 1]);
        for end in ends {
            fs::write(path, &whole[..end]).unwrap();
            let found = assert_refused(&on_disk, None, &format!("cut off at {end}"));
            assert!(!headers_only(on_disk.named()).is_empty(), "{found:?}");
        }
        fs::write(path, [&whole[..], &[0; 4096]].concat()).unwrap();
        let found = assert_refused(&on_disk, None, "grown");
        assert!(found.iter().any(|line| line.contains("something was added")), "{found:?}");
        fs::write(path, &whole).unwrap();
    }
}

#[test]
fn damage_names_set_stripe_frame_and_the_file_that_it_is_in() {
    let directory = tempfile::tempdir().unwrap();
    let on_disk = Made::tree(2).write(directory.path());
    let set = open(on_disk.named(), None).unwrap();
    let records = set.stripes[1].records();
    let record = records.iter().find(|record| record.offset == 3 * 65_536).copied().unwrap();
    let mut bytes = fs::read(&on_disk.stripes[1]).unwrap();
    bytes[usize::try_from(record.position).unwrap() + 200] ^= 1;
    fs::write(&on_disk.stripes[1], &bytes).unwrap();
    let found = verified(on_disk.named(), None, false).unwrap();
    let [one] = &found.damage[..] else { panic!("{:?}", found.damage) };
    assert_eq!((one.stripe, one.frame, one.offset), (Some(1), Some(record.sequence), Some(record.position)));
    assert_eq!(
        (one.file.as_deref(), one.file_offset, one.file_bytes),
        (Some("base/large"), Some(3 * 65_536), 65_536)
    );
    assert_eq!(one.path, on_disk.stripes[1]);
    assert_eq!(found.good_frames + 1, found.frames);
    // The headers alone do not show it, and nobody says that they do.
    assert_eq!(damage(&[on_disk.manifest], None, true), Vec::<String>::new());
}

/// A frame that a writer lost is no hole.
#[test]
fn content_in_no_frame_is_named_and_not_restored_as_zeros() {
    let directory = tempfile::tempdir().unwrap();
    let made = Made::tree(2);
    let mut on_disk = made.write(directory.path());
    on_disk.content.files[6].data_bytes += 65_536;
    on_disk.write_manifest();
    let found = assert_refused(&on_disk, None, "a lost frame");
    assert!(found.iter().any(|line| line.contains("65536 of its")), "{found:?}");
    on_disk.content.files[6].data_bytes -= 2 * 65_536;
    on_disk.write_manifest();
    assert_refused(&on_disk, None, "more than the file has");
}

#[test]
fn a_set_without_its_end_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let on_disk = small(None).write(directory.path());
    fs::remove_file(&on_disk.manifest).unwrap();
    let found = damage(&on_disk.stripes[..1], None, false);
    assert!(found[0].contains("not completed"), "{found:?}");
    fs::write(directory.path().join("noise"), "noise").unwrap();
    let error = open(&[directory.path().join("noise")], None).unwrap_err();
    assert!(matches!(error, ReadError::Neither { .. }) && error.hint().is_some(), "{error}");
}
