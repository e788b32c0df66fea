//! Backups into a bucket in memory.

use std::path::{Path, PathBuf};

use iostall_remote::{Object, memory};

use super::*;
use crate::backup::catalog::{SetState, remove, scan};
use crate::backup::read::open;
use crate::backup::restore::{RestoreOptions, restore};
use crate::backup::verify::{VerifyOptions, verify};

fn source() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("large"), content(1, 3 << 20)).unwrap();
    for number in 0..20 {
        std::fs::write(data.join(format!("{number}")), content(number, 3000)).unwrap();
    }
    (directory, data)
}

fn names(bucket: &str) -> Vec<String> {
    let listed = Object::at(Path::new(bucket)).unwrap().list().unwrap();
    listed.into_iter().map(|object| object.path.display().to_string()).collect()
}

#[test]
fn what_goes_into_a_bucket_comes_back_from_it() {
    memory::make("transfer-whole");
    let (directory, data) = source();
    let targets = ["s3://transfer-whole/db/a.iob", "s3://transfer-whole/db/b.iob"].map(PathBuf::from);
    let made = back_up(&[&data], &options(&targets)).unwrap();
    assert_eq!(made.manifest_path, Some(PathBuf::from("s3://transfer-whole/db/a.iob.manifest")));
    assert_eq!(made.replacing_store, None, "a store in memory honours conditions");
    assert!(made.manifest.stripes.iter().all(|stripe| stripe.bytes > 0));
    let found = scan(&["s3://transfer-whole/db".into()], None).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].state(), SetState::Whole);

    let set = open(&[targets[1].clone()], None).unwrap();
    assert!(set.damage.is_empty(), "{:?}", set.damage);
    for headers_only in [false, true] {
        let checked =
            verify(&set, &VerifyOptions { headers_only, rate: None }, &Progress::default()).unwrap();
        assert!(checked.damage.is_empty(), "{:?}", checked.damage);
    }
    let back = directory.path().join("back");
    restore(&set, &back, &RestoreOptions::default(), &Progress::default())
        .map_err(|failed| failed.error)
        .unwrap();
    for entry in std::fs::read_dir(&data).unwrap() {
        let path = entry.unwrap().path();
        let copy = back.join(path.file_name().unwrap());
        assert!(std::fs::read(&path).unwrap() == std::fs::read(copy).unwrap(), "{}", path.display());
    }

    remove(&found[0]).unwrap();
    assert!(names("s3://transfer-whole/db").is_empty());
}

#[test]
fn a_backup_that_does_not_end_is_not_in_the_bucket() {
    memory::make("transfer-cancelled");
    let (_directory, data) = source();
    let targets = [PathBuf::from("s3://transfer-cancelled/a.iob")];
    let requests = vec![SourceRequest::Path(data)];
    let progress = Progress::default();
    let prepared = prepare(requests, &targets, &progress).unwrap();
    progress.cancel_flag().store(true, std::sync::atomic::Ordering::Relaxed);
    let ended = create(&options(&targets), prepared, &progress).unwrap_err();
    assert!(ended.is_cancelled());
    assert!(names("s3://transfer-cancelled").is_empty());
}

#[test]
fn a_name_in_a_bucket_is_used_once_and_files_and_objects_are_not_mixed() {
    memory::make("transfer-names");
    let (directory, data) = source();
    let target = PathBuf::from("s3://transfer-names/a.iob");
    back_up(&[&data], &options(std::slice::from_ref(&target))).unwrap();
    let again = back_up(&[&data], &options(std::slice::from_ref(&target))).unwrap_err();
    assert!(matches!(again, CreateError::Exists { left_over: None, .. }), "{again}");
    let mixed = [PathBuf::from("s3://transfer-names/b.iob"), directory.path().join("b.iob")];
    let mixed = back_up(&[&data], &options(&mixed)).unwrap_err();
    assert!(mixed.to_string().contains("some stripes are files"), "{mixed}");
    // Without its manifest the set can be made whole again from its stripes.
    Object::at(Path::new("s3://transfer-names/a.iob.manifest")).unwrap().delete().unwrap();
    let left = back_up(&[&data], &options(std::slice::from_ref(&target))).unwrap_err();
    assert!(left.hint().unwrap().contains("iostall backup rebuild s3://transfer-names/a.iob"), "{left}");
    crate::backup::rebuild::rebuild(std::slice::from_ref(&target), None, None, "test").unwrap();
    assert!(open(&[target], None).unwrap().damage.is_empty());
}
