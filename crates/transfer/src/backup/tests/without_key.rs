//! Encrypted sets that are checked by somebody who has no key.

use std::fs;

use super::writer::{BLOCK, Made, OnDisk};
use super::*;
use crate::backup::codec::{KeyError, Lock, Passphrase};
use crate::backup::read::open_without_key;

fn made(directory: &Path) -> OnDisk {
    let lock = Lock::Passphrase(Passphrase::from("a passphrase".to_owned()));
    Made { lock: Some(lock), ..Made::tree(2) }.write(directory)
}

/// What is wrong, in words.
fn found(paths: &[PathBuf], headers_only: bool) -> Vec<String> {
    let found = match open_without_key(paths) {
        Ok(set) => {
            let options = VerifyOptions { headers_only, rate: None };
            verify(&set, &options, &Progress::default()).unwrap().damage
        }
        Err(ReadError::Damaged(damage)) => damage,
        Err(other) => panic!("{other}"),
    };
    found.iter().map(|one| format!("{:?} {}: {}", one.stripe, one.path.display(), one.message)).collect()
}

/// The story: the server that keeps the backups has no key. Its nightly check could only say that it had none, and a stripe
/// rotted for a year.
#[test]
fn every_stored_byte_is_checked_without_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let on_disk = made(directory.path());
    assert!(matches!(open(on_disk.named(), None), Err(ReadError::Keys(KeyError::NoKey))));
    for paths in [on_disk.named(), &on_disk.stripes, &on_disk.stripes[1..]] {
        for headers_only in [false, true] {
            assert_eq!(found(paths, headers_only), Vec::<String>::new());
        }
    }
    let set = open_without_key(on_disk.named()).unwrap();
    let checked = verify(&set, &VerifyOptions::default(), &Progress::default()).unwrap();
    assert_eq!(checked.frames, checked.good_frames);
    // Of what is in the frames nothing is known.
    assert_eq!((checked.files, checked.bytes), (0, 0));
    let sizes: u64 = on_disk.stripes.iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    assert!(checked.stored_bytes <= sizes && checked.stored_bytes > sizes / 2, "{}", checked.stored_bytes);
    for path in &on_disk.stripes {
        let whole = fs::read(path).unwrap();
        for at in (0..whole.len()).step_by(251) {
            let mut flipped = whole.clone();
            flipped[at] ^= 4;
            fs::write(path, &flipped).unwrap();
            assert!(
                !found(on_disk.named(), false).is_empty(),
                "byte {at} of {} is not named",
                path.display()
            );
        }
        fs::write(path, &whole).unwrap();
    }
}

#[test]
fn without_the_key_a_stripe_that_is_missing_cut_off_or_another_s_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let on_disk = made(directory.path());
    let other = tempfile::tempdir().unwrap();
    let other = Made { set: iostall_model::backup::SetId([1; 16]), ..Made::tree(2) }.write(other.path());
    for path in &on_disk.stripes {
        let whole = fs::read(path).unwrap();
        for end in (0..whole.len()).step_by(BLOCK as usize) {
            fs::write(path, &whole[..end]).unwrap();
            for headers_only in [false, true] {
                assert!(!found(on_disk.named(), headers_only).is_empty(), "cut off at {end}");
            }
        }
        fs::write(path, [&whole[..], &[0; 4096]].concat()).unwrap();
        assert!(!found(on_disk.named(), false).is_empty(), "grown");
        fs::remove_file(path).unwrap();
        let missing = found(on_disk.named(), false);
        assert!(missing.iter().any(|line| line.contains("the stripe is missing")), "{missing:?}");
        fs::copy(&other.stripes[0], path).unwrap();
        assert!(!found(on_disk.named(), false).is_empty(), "a stripe of another set");
        fs::write(path, &whole).unwrap();
    }
    fs::remove_file(&on_disk.manifest).unwrap();
    let found = found(&on_disk.stripes, false);
    assert!(found[0].contains("no manifest"), "{found:?}");
}
