//! What the real writer makes.

use std::fs;
use std::os::unix::fs::symlink;

use iostall_model::backup::Compression;

use super::writer::content;
use super::*;
use crate::backup::codec::{Lock, Passphrase};
use crate::backup::create::{CreateOptions, SourceRequest, create, prepare};
use crate::backup::rebuild::rebuild;
use crate::backup::restore::Elsewhere;

fn tree(directory: &Path) -> PathBuf {
    let source = directory.join("source");
    fs::create_dir_all(source.join("base/1")).unwrap();
    fs::create_dir(source.join("nothing")).unwrap();
    fs::write(source.join("base/1/large"), content(1, 3_000_001)).unwrap();
    fs::write(source.join("base/1/small"), "small").unwrap();
    fs::write(source.join("empty"), "").unwrap();
    symlink("base/1/small", source.join("link")).unwrap();
    fs::hard_link(source.join("base/1/small"), source.join("second")).unwrap();
    let sparse = fs::File::create(source.join("sparse")).unwrap();
    iostall_engine::files::write_all_at(&sparse, &content(2, 100_000), 1 << 20).unwrap();
    sparse.set_len(4 << 20).unwrap();
    for number in 0..200 {
        fs::write(source.join(format!("base/f{number}")), content(number, 100 * usize::from(number)))
            .unwrap();
    }
    source
}

fn made(directory: &Path, source: &Path, lock: Option<Lock>, compression: Compression) -> Vec<PathBuf> {
    let [one, two] = ["one", "two"].map(|name| directory.join(name));
    fs::create_dir_all(&one).unwrap();
    fs::create_dir_all(&two).unwrap();
    let targets = vec![one.join("shop.iob"), two.join("shop.iob"), one.join("third.iob")];
    let options = CreateOptions {
        targets: targets.clone(),
        compression,
        frame_bytes: Some(64 << 10),
        transfer_bytes: Some(256 << 10),
        workers: Some(2),
        lock,
        tool_version: "test".to_owned(),
        ..CreateOptions::default()
    };
    let sources =
        prepare(vec![SourceRequest::Path(source.to_owned())], &options.targets, &Progress::default())
            .unwrap();
    create(&options, sources, &Progress::default()).unwrap();
    targets
}

fn assert_same(one: &Path, other: &Path) {
    let names = |path: &Path| {
        let mut names: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(one), names(other));
    for name in names(one) {
        let (one, other) = (one.join(&name), other.join(&name));
        let [first, second] = [&one, &other].map(|path| fs::symlink_metadata(path).unwrap());
        assert_eq!(first.file_type(), second.file_type(), "{}", one.display());
        assert_eq!(first.modified().unwrap(), second.modified().unwrap(), "{}", one.display());
        assert_eq!(first.permissions(), second.permissions(), "{}", one.display());
        match first.file_type() {
            kind if kind.is_dir() => assert_same(&one, &other),
            kind if kind.is_symlink() => {
                assert_eq!(fs::read_link(one).unwrap(), fs::read_link(other).unwrap());
            }
            _ => assert!(fs::read(&one).unwrap() == fs::read(other).unwrap(), "{}", one.display()),
        }
    }
}

#[test]
fn a_backup_is_restored_from_its_manifest_from_any_stripe_and_after_its_manifest_was_lost() {
    let passphrase = Passphrase::from("a passphrase".to_owned());
    let cases = [
        (None, Compression::Zstd(1)),
        (Some(Lock::Passphrase(passphrase.clone())), Compression::Lz4),
        (None, Compression::None),
    ];
    for (lock, compression) in cases {
        let directory = tempfile::tempdir().unwrap();
        let source = tree(directory.path());
        let unlock = lock.is_some().then(|| Unlock::Passphrase(passphrase.clone()));
        let unlock = unlock.as_ref();
        let stripes = made(directory.path(), &source, lock, compression);
        let manifest = directory.path().join("one/shop.iob.manifest");
        let to = directory.path().join("to");
        for paths in [vec![manifest.clone()], vec![stripes[1].clone()], stripes.clone()] {
            restored(&paths, &to, unlock).unwrap();
            assert_same(&source, &to);
            fs::remove_dir_all(&to).unwrap();
            for headers_only in [false, true] {
                assert_eq!(damage(&paths, unlock, headers_only), Vec::<String>::new());
            }
        }
        for place in ["one", "two"] {
            fs::remove_file(directory.path().join(place).join("shop.iob.manifest")).unwrap();
        }
        let rebuilt = rebuild(&stripes, unlock, None, "test").unwrap();
        assert_eq!(rebuilt.paths.len(), 2, "{:?}", rebuilt.paths);
        restored(&[manifest], &to, unlock).unwrap();
        assert_same(&source, &to);
    }
}

#[test]
fn a_flipped_byte_anywhere_in_a_real_backup_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let source = tree(directory.path());
    let stripes = made(directory.path(), &source, None, Compression::Zstd(1));
    let manifest = [directory.path().join("one/shop.iob.manifest")];
    for path in stripes.iter().chain(&manifest) {
        let whole = fs::read(path).unwrap();
        for at in (3..whole.len()).step_by(whole.len() / 23) {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            fs::write(path, &flipped).unwrap();
            assert!(!damage(&manifest, None, false).is_empty(), "byte {at} of {}", path.display());
            let error = restored(&manifest, &directory.path().join("to"), None).unwrap_err();
            assert!(!error.damage().is_empty(), "{error}");
            assert!(!directory.path().join("to").exists());
        }
        fs::write(path, &whole).unwrap();
    }
    assert_eq!(damage(&manifest, None, false), Vec::<String>::new());
}

/// The story: the tablespaces of a server stood on devices of their own, and after a restore all of them were on one.
#[test]
fn a_part_of_a_backup_is_restored_elsewhere_and_its_link_leads_there() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    fs::create_dir_all(source.join("spaces/16385/PG_15_1/5")).unwrap();
    fs::create_dir_all(source.join("spaces/2/PG_15_1")).unwrap();
    fs::create_dir(source.join("links")).unwrap();
    fs::write(source.join("spaces/16385/PG_15_1/5/large"), content(1, 900_000)).unwrap();
    fs::write(source.join("spaces/16385/PG_15_1/5/small"), "small").unwrap();
    fs::write(source.join("spaces/2/PG_15_1/other"), "other").unwrap();
    symlink("../spaces/16385", source.join("links/16385")).unwrap();
    symlink("../spaces/2", source.join("links/2")).unwrap();
    let stripes = made(directory.path(), &source, None, Compression::Zstd(1));
    let (to, fast) = (directory.path().join("to"), directory.path().join("fast"));
    let elsewhere = [Elsewhere { name: "spaces/16385".into(), to: fast.clone(), link: "links/16385".into() }];
    let options = RestoreOptions { elsewhere: &elsewhere, ..RestoreOptions::default() };
    restored_with(&stripes[..1], &to, None, &options).unwrap();
    assert_same(&source.join("spaces/16385"), &fast);
    assert_same(&source.join("spaces/2"), &to.join("spaces/2"));
    assert!(!to.join("spaces/16385").exists());
    assert_eq!(fs::read_link(to.join("links/16385")).unwrap(), fast);
    assert_eq!(fs::read_link(to.join("links/2")).unwrap(), Path::new("../spaces/2"));
    // What is there stays, and nothing else is made.
    let again = directory.path().join("again");
    let error = restored_with(&stripes[..1], &again, None, &options).unwrap_err();
    assert!(matches!(error, RestoreError::NotEmpty { .. }), "{error}");
    let names = |path: &Path| fs::read_dir(path).unwrap().count();
    assert!(!again.exists() && names(directory.path()) == 5, "source, one, two, to and fast");
}
