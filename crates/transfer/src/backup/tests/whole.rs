//! Sets that are as they were written.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use iostall_engine::guard::WriteConsent;
use iostall_model::backup::{FileKind, SetId};

use super::writer::{Made, content, entry};
use super::*;
use crate::backup::codec::{KeyError, Lock, PAIRS, Passphrase};
use crate::backup::format::CodecKind;
use crate::backup::rebuild::rebuild;

fn locked() -> (Lock, Unlock) {
    let passphrase = Passphrase::from("a passphrase".to_owned());
    (Lock::Passphrase(passphrase.clone()), Unlock::Passphrase(passphrase))
}

#[test]
fn a_set_is_restored_as_it_was_with_every_codec_and_number_of_stripes() {
    for (stripes, codec) in
        [(1, CodecKind::None), (2, CodecKind::Zstd), (3, CodecKind::Lz4), (7, CodecKind::Zstd)]
    {
        let directory = tempfile::tempdir().unwrap();
        let made = Made { codec, ..Made::tree(stripes) };
        let on_disk = made.write(directory.path());
        let to = directory.path().join("to");
        // From the manifest, from any stripe, and from all of them.
        let named: [&[PathBuf]; 3] =
            [on_disk.named(), &on_disk.stripes[usize::from(stripes) - 1..], &on_disk.stripes];
        for paths in named {
            let restored = restored(paths, &to, None).unwrap();
            assert_eq!((restored.files, restored.losses), (5, Vec::new()));
            assert_restored(&made, &to);
            let holes = fs::metadata(to.join("holes")).unwrap();
            assert!(holes.blocks() * 512 <= 300_000 - 190_000, "{} blocks", holes.blocks());
            assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o7777, 0o750);
            fs::remove_dir_all(&to).unwrap();
            assert_nothing(directory.path(), &on_disk);
            for headers_only in [false, true] {
                assert_eq!(damage(paths, None, headers_only), Vec::<String>::new());
            }
            let found = verified(paths, None, false).unwrap();
            assert_eq!(found.frames, found.good_frames);
            assert_eq!(found.bytes, 1_000_000 + 5 + 70_000 + 300_000 - (262_144 - 65_536));
        }
    }
}

#[test]
fn an_encrypted_set_opens_with_its_key_alone_and_a_wrong_one_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (lock, unlock) = locked();
    let made = Made { lock: Some(lock), ..Made::tree(2) };
    let on_disk = made.write(directory.path());
    let stripes: Vec<u8> = on_disk.stripes.iter().flat_map(|path| fs::read(path).unwrap()).collect();
    assert!(!stripes.windows(10).any(|part| part == b"base/small"), "names are secret too");
    let to = directory.path().join("to");
    for paths in [vec![on_disk.manifest.clone()], on_disk.stripes.clone()] {
        restored(&paths, &to, Some(&unlock)).unwrap();
        assert_restored(&made, &to);
        fs::remove_dir_all(&to).unwrap();
        assert_eq!(damage(&paths, Some(&unlock), false), Vec::<String>::new());
        let wrong = Unlock::Passphrase(Passphrase::from("another".to_owned()));
        for (unlock, is_right) in [
            (None, (|error| matches!(error, KeyError::NoKey)) as fn(&KeyError) -> bool),
            (Some(&wrong), |error| matches!(error, KeyError::Wrong { .. })),
        ] {
            let error = restored(&paths, &to, unlock).unwrap_err();
            let RestoreError::Read(ReadError::Keys(error)) = error else { panic!("{error}") };
            assert!(is_right(&error), "{error}");
            assert_nothing(directory.path(), &on_disk);
        }
    }
}

#[test]
fn one_file_alone_is_restored_as_the_name_or_into_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let made = Made::tree(2);
    let on_disk = made.write(directory.path());
    let paths = [on_disk.manifest.clone()];
    let into = directory.path().join("into");
    fs::create_dir(&into).unwrap();
    fs::write(into.join("other"), "stays").unwrap();
    let only = ["./base/large".into()];
    let options = RestoreOptions { only: &only, ..RestoreOptions::default() };
    let place = directory.path().join("name");
    for (to, found) in [(&place, &place), (&into, &into.join("large"))] {
        let restored = restored_with(&paths, to, None, &options).unwrap();
        assert_eq!(&restored.to, found);
        assert!(fs::read(found).unwrap() == content(1, 1_000_000));
        let error = restored_with(&paths, to, None, &options).unwrap_err();
        assert!(matches!(error, RestoreError::Exists { .. }), "{error}");
    }
    // A further name of a file, without the file.
    let only = ["second".into()];
    let options = RestoreOptions { only: &only, ..RestoreOptions::default() };
    restored_with(&paths, &into, None, &options).unwrap();
    assert_eq!(fs::read(into.join("second")).unwrap(), b"small");
    assert_eq!(fs::read_dir(&into).unwrap().count(), 3, "nothing temporary is left");
    // A directory, under its own name.
    let only = ["base/".into()];
    let options = RestoreOptions { only: &only, ..RestoreOptions::default() };
    let to = directory.path().join("tree");
    restored_with(&paths, &to, None, &options).unwrap();
    assert_eq!(fs::read(to.join("base/small")).unwrap(), b"small");
    assert!(!to.join("empty").exists());
    let only = ["bas".into()];
    let options = RestoreOptions { only: &only, ..RestoreOptions::default() };
    let error = restored_with(&paths, &to.join("no"), None, &options).unwrap_err();
    assert!(matches!(error, RestoreError::NotInSet { .. }), "{error}");
}

#[test]
fn what_is_there_is_replaced_only_when_it_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let made = Made::tree(2);
    let on_disk = made.write(directory.path());
    let paths = [on_disk.manifest.clone()];
    let to = directory.path().join("to");
    // An empty directory is filled, and keeps being the one that it was: it may be a mount point.
    fs::create_dir(&to).unwrap();
    let inode = fs::metadata(&to).unwrap().ino();
    restored(&paths, &to, None).unwrap();
    assert_restored(&made, &to);
    assert_eq!(fs::metadata(&to).unwrap().ino(), inode);
    fs::write(to.join("old"), "old").unwrap();
    let error = restored(&paths, &to, None).unwrap_err();
    assert!(matches!(error, RestoreError::NotEmpty { .. }) && error.hint().unwrap().contains("--overwrite"));
    let consent = |path: PathBuf| WriteConsent { overwrite: vec![path], ..WriteConsent::none() };
    let elsewhere =
        RestoreOptions { consent: consent(directory.path().to_owned()), ..RestoreOptions::default() };
    restored_with(&paths, &to, None, &elsewhere).unwrap_err();
    assert_eq!(fs::read(to.join("old")).unwrap(), b"old");
    let options = RestoreOptions { consent: consent(to.clone()), ..RestoreOptions::default() };
    restored_with(&paths, &to, None, &options).unwrap();
    assert_restored(&made, &to);
    assert!(!to.join("old").exists());
    // A single file likewise.
    let only = ["base/small".into()];
    let file = directory.path().join("file");
    fs::write(&file, "old").unwrap();
    let options = RestoreOptions { only: &only, ..RestoreOptions::default() };
    assert!(matches!(restored_with(&paths, &file, None, &options), Err(RestoreError::Exists { .. })));
    let options = RestoreOptions { only: &only, consent: consent(file.clone()), ..RestoreOptions::default() };
    restored_with(&paths, &file, None, &options).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"small");
}

/// A restore that was killed left its temporary directory, and the next one must not need a person to remove it; but while one
/// runs, a second one to the same place would take its files away.
#[test]
fn what_a_killed_restore_left_goes_and_what_a_running_one_needs_stays() {
    let directory = tempfile::tempdir().unwrap();
    let made = Made::tree(2);
    let on_disk = made.write(directory.path());
    let to = directory.path().join("to");
    let left = crate::copy::beside::restore_path(&to);
    fs::create_dir_all(left.join("base")).unwrap();
    fs::write(left.join("base/large"), "half").unwrap();
    let running = fs::File::open(&left).unwrap();
    running.lock().unwrap();
    let paths = [on_disk.manifest.clone()];
    assert!(matches!(restored(&paths, &to, None), Err(RestoreError::Busy { .. })));
    assert!(left.join("base/large").exists());
    drop(running);
    restored(&paths, &to, None).unwrap();
    assert_restored(&made, &to);
    assert!(!left.exists());
}

#[test]
fn a_manifest_is_made_again_from_the_stripes_alone() {
    let (lock, unlock) = locked();
    for lock in [None, Some(lock)] {
        let directory = tempfile::tempdir().unwrap();
        let unlock = lock.is_some().then_some(&unlock);
        let made = Made { lock, ..Made::tree(3) };
        let on_disk = made.write(directory.path());
        assert!(matches!(
            rebuild(&on_disk.stripes, unlock, None, "1"),
            Err(ReadError::ManifestExists { .. })
        ));
        fs::remove_file(&on_disk.manifest).unwrap();
        let error = restored(&on_disk.stripes, &directory.path().join("to"), unlock).unwrap_err();
        assert!(error.to_string().contains("iostall backup rebuild"), "{error}");
        assert!(matches!(rebuild(&on_disk.stripes[..2], unlock, None, "1"), Err(ReadError::Damaged(_))));
        let rebuilt = rebuild(&on_disk.stripes, unlock, None, "1").unwrap();
        assert_eq!(rebuilt.paths, on_disk.named());
        assert_eq!(rebuilt.manifest.files, on_disk.content.files);
        let to = directory.path().join("to");
        restored(&rebuilt.paths, &to, unlock).unwrap();
        assert_restored(&made, &to);
        assert_eq!(damage(&rebuilt.paths, unlock, false), Vec::<String>::new());
    }
}

/// A backup was killed between its two manifests. `create` said to rebuild, and `rebuild` said that there was one.
#[test]
fn a_copy_of_the_manifest_that_is_there_is_used_where_another_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| directory.path().join(name));
    fs::create_dir(&one).unwrap();
    fs::create_dir(&two).unwrap();
    let on_disk = Made::tree(2).write(&one);
    let moved = two.join("s1.iob");
    fs::rename(&on_disk.stripes[1], &moved).unwrap();
    let copy = two.join("s0.iob.manifest");
    fs::rename(&on_disk.manifest, &copy).unwrap();
    // What was being written when it was killed.
    fs::write(one.join(format!(".s0.iob.manifest.{}.partial", on_disk.content.set)), "IOSMAN").unwrap();
    let stripes = [on_disk.stripes[0].clone(), moved];
    let rebuilt = rebuild(&stripes, None, None, "1").unwrap();
    assert_eq!(rebuilt.paths, on_disk.named());
    assert_eq!(fs::read(&on_disk.manifest).unwrap(), fs::read(&copy).unwrap());
    assert_eq!(fs::read_dir(&one).unwrap().count(), 2, "the partial one is gone");
    assert!(matches!(rebuild(&stripes, None, None, "1"), Err(ReadError::ManifestExists { .. })));
    // A damaged copy is no reason to make another beside it.
    fs::remove_file(&on_disk.manifest).unwrap();
    fs::write(&copy, "IOSMANIF").unwrap();
    assert!(matches!(rebuild(&stripes, None, None, "1"), Err(ReadError::ManifestExists { .. })));
}

/// Two stripes of one name in two directories are the usual way to use two disks.
#[test]
fn stripes_in_several_directories_are_found_from_any_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| directory.path().join(name));
    fs::create_dir(&one).unwrap();
    fs::create_dir(&two).unwrap();
    let made = Made::tree(2);
    let mut on_disk = made.write(&one);
    fs::rename(&on_disk.stripes[1], two.join("s0.iob")).unwrap();
    on_disk.content.stripes[1].name = "s0.iob".into();
    on_disk.write_manifest();
    let paths = [on_disk.manifest.clone()];
    let missing = damage(&paths, None, true);
    assert!(missing.iter().any(|line| line.contains("the stripe is missing")), "{missing:?}");
    on_disk.content.stripes[1].directory = Some(two.to_str().unwrap().into());
    on_disk.write_manifest();
    assert_eq!(damage(&paths, None, false), Vec::<String>::new());
    fs::copy(&on_disk.manifest, two.join("s0.iob.manifest")).unwrap();
    let to = directory.path().join("to");
    restored(&[two.join("s0.iob"), one.join("s0.iob")], &to, None).unwrap();
    assert_restored(&made, &to);
}

#[test]
fn more_files_than_are_written_at_once_and_many_small_ones_arrive() {
    let directory = tempfile::tempdir().unwrap();
    let mut entries = vec![entry(1, "many", FileKind::Directory, &[])];
    for number in 2..700u64 {
        let size = if number % 3 == 0 { 66_000 } else { 100 };
        let seed = number.to_le_bytes()[0];
        entries.push(entry(number, &format!("many/{number}"), FileKind::File, &content(seed, size)));
    }
    let made = Made {
        set: SetId([9; 16]),
        stripes: 2,
        codec: CodecKind::Lz4,
        lock: None,
        entries,
        change_index: None,
    };
    let on_disk = made.write(directory.path());
    let to = directory.path().join("to");
    restored(&[on_disk.manifest], &to, None).unwrap();
    assert_restored(&made, &to);
}

#[test]
fn a_cancelled_restore_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let on_disk = Made::tree(2).write(directory.path());
    let cancel = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let set = open(on_disk.named(), None).unwrap();
    let to = directory.path().join("to");
    let failed = restore(&set, &to, &RestoreOptions::default(), &Progress::new(cancel)).unwrap_err();
    assert!(failed.error.is_cancelled() && failed.left.is_none(), "{}", failed.error);
    assert_nothing(directory.path(), &on_disk);
}

/// Made by the commit 3dc44b0b, with the library for age files that was used until then.
#[test]
fn a_set_of_an_earlier_version_opens() {
    let directory = tempfile::tempdir().unwrap();
    let [manifest, stripe] = ["shop0.iob.manifest", "shop0.iob"].map(|name| directory.path().join(name));
    fs::write(&manifest, include_bytes!("../../../testdata/age/shop0.iob.manifest")).unwrap();
    let bytes = zstd::bulk::decompress(include_bytes!("../../../testdata/age/shop0.iob.zst"), 1 << 16);
    fs::write(&stripe, bytes.unwrap()).unwrap();
    let key = directory.path().join("key");
    fs::write(&key, PAIRS[0].1).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let unlock = Unlock::KeyFiles(vec![key]);
    let to = directory.path().join("to");
    for path in [manifest, stripe] {
        restored(&[path], &to, Some(&unlock)).unwrap();
        assert_eq!(fs::read(to.join("customers.txt")).unwrap(), b"ada lovelace ".repeat(500));
        assert_eq!(fs::read(to.join("small.txt")).unwrap(), b"charles babbage");
        fs::remove_dir_all(&to).unwrap();
    }
}
