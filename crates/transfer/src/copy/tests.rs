//! Copies of real files, and what must not come out of them.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use iostall_engine::files;
use iostall_model::transfer::{HashKind, Reflink, VerifyMode};

use super::*;

pub(super) struct Room {
    dir: tempfile::TempDir,
}

impl Room {
    pub(super) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(super) fn write(&self, name: &str, size: usize) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content(size)).unwrap();
        path
    }

    pub(super) fn names(&self, under: &str) -> Vec<String> {
        let listed = fs::read_dir(self.path(under)).unwrap();
        let mut names: Vec<_> =
            listed.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

pub(super) fn content(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect()
}

/// Small requests, so that small files go through many.
pub(super) fn options() -> CopyOptions {
    CopyOptions {
        transfer_bytes: Some(64 << 10),
        depth: Some(2),
        small_file_bytes: 0,
        workers: 2,
        fail_fast: true,
        ..CopyOptions::default()
    }
}

pub(super) fn copy_with(options: &CopyOptions, from: &Path, to: &Path) -> Result<CopyLog, CopyError> {
    let progress = Progress::default();
    let mut copier = Copier::new(options, &progress);
    copier.copy_all(&[from.to_owned()], to)?;
    Ok(copier.into_log())
}

#[test]
fn a_copy_is_equal_for_every_size_around_sectors_pages_and_transfers() {
    for small_file_bytes in [0, 1 << 20] {
        for size in [0, 1, 511, 512, 513, 4095, 4096, 4097, 65_535, 65_536, 65_537, 300_000] {
            let room = Room::new();
            let from = room.write("from", size);
            let to = room.path("to");
            let options = CopyOptions { verify: VerifyMode::ReadBack, small_file_bytes, ..options() };
            let log = copy_with(&options, &from, &to).unwrap();
            assert_eq!(fs::read(&to).unwrap(), content(size), "{size} bytes");
            assert_eq!((log.counts.files, log.verified_files, log.bytes), (1, 1, size as u64));
            assert!(log.mismatches.is_empty());
            assert_eq!(room.names(""), ["from", "to"], "nothing unfinished stays");
        }
    }
}

#[test]
fn holes_stay_holes() {
    let room = Room::new();
    let from = room.path("from");
    let file = File::create(&from).unwrap();
    file.set_len(8 << 20).unwrap();
    file.write_all_at(&content(10_000), 3 << 20).unwrap();
    let options = CopyOptions { verify: VerifyMode::ReadBack, reflink: Reflink::Never, ..options() };
    let log = copy_with(&options, &from, &room.path("to")).unwrap();
    assert_eq!(fs::read(&from).unwrap(), fs::read(room.path("to")).unwrap());
    assert_eq!(log.hole_bytes, (8 << 20) - 12_288);
    assert!(fs::metadata(room.path("to")).unwrap().blocks() * 512 < 1 << 20);
}

#[test]
fn an_existing_destination_is_kept_unless_it_may_be_replaced() {
    for small_file_bytes in [0, 1 << 20] {
        let room = Room::new();
        let from = room.write("from", 100_000);
        let to = room.path("to");
        fs::write(&to, b"precious").unwrap();
        let error = copy_with(&CopyOptions { small_file_bytes, ..options() }, &from, &to).unwrap_err();
        assert!(matches!(error, CopyError::Exists { .. }), "{error}");
        assert!(error.hint().unwrap().contains("--overwrite"));
        assert_eq!(fs::read(&to).unwrap(), b"precious");
        copy_with(&CopyOptions { small_file_bytes, overwrite: true, ..options() }, &from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), content(100_000));
    }
}

#[test]
fn source_and_destination_by_any_two_names_are_one_file() {
    let room = Room::new();
    let from = room.write("from", 10_000);
    fs::hard_link(&from, room.path("hard")).unwrap();
    symlink(&from, room.path("soft")).unwrap();
    let options = CopyOptions { overwrite: true, ..options() };
    for name in ["from", "hard", "soft"] {
        let error = copy_with(&options, &from, &room.path(name)).unwrap_err();
        assert!(matches!(error, CopyError::SameFile { .. }), "{name}: {error}");
    }
    assert_eq!(fs::read(&from).unwrap(), content(10_000));
}

#[test]
fn a_cancelled_copy_leaves_nothing_that_looks_whole() {
    for small_file_bytes in [0, 1 << 20] {
        let room = Room::new();
        let from = room.write("from", 500_000);
        let progress = Progress::new(Arc::new(AtomicBool::new(true)));
        let options = CopyOptions { small_file_bytes, ..options() };
        let error = Copier::new(&options, &progress).copy_all(&[from], &room.path("to")).unwrap_err();
        assert!(error.is_cancelled(), "{error}");
        assert_eq!(room.names(""), ["from"]);
    }
}

/// Puts an unfinished copy of `from` there, as a killed process leaves it: `pieces` of 64 KiB in the journal.
pub(super) fn leave_unfinished(from: &Path, to: &Path, pieces: u64, damage: Option<u64>) {
    use super::journal::DurableRange;
    use super::journal::FileJournal;
    use crate::hash::piece_hash;

    let stamp = files::stamp_of_path(from).unwrap();
    let data = fs::read(from).unwrap();
    let part = File::create(part_path(to)).unwrap();
    part.set_len(stamp.size_bytes).unwrap();
    let mut kept = Vec::new();
    for at in 0..pieces {
        let piece = &data[usize::try_from(at << 16).unwrap()..][..1 << 16];
        part.write_all_at(piece, at << 16).unwrap();
        kept.push(DurableRange { offset: at << 16, length: 1 << 16, hash: piece_hash(piece) });
    }
    if let Some(at) = damage {
        part.write_all_at(b"damage", at).unwrap();
    }
    part.sync_all().unwrap();
    FileJournal::begin(to, &stamp, &kept, 1).unwrap();
}

#[test]
fn an_interrupted_copy_goes_on_from_what_is_provably_there() {
    for (damage, kept_bytes) in [(None, 5 << 16), (Some(70_000), 4 << 16)] {
        for verify in [VerifyMode::None, VerifyMode::ReadBack] {
            let room = Room::new();
            let (from, to) = (room.write("from", 700_000), room.path("to"));
            leave_unfinished(&from, &to, 5, damage);
            let options =
                CopyOptions { resume: Resume::Always, verify, checkpoint_bytes: 64 << 10, ..options() };
            let log = copy_with(&options, &from, &to).unwrap();
            assert_eq!(log.kept_bytes, kept_bytes);
            assert_eq!(log.counts.resumed_files, 1);
            assert_eq!(fs::read(&to).unwrap(), content(700_000));
            assert_eq!(room.names(""), ["from", "to"]);
        }
    }
}

#[test]
fn an_interrupted_copy_of_another_source_is_begun_anew() {
    let room = Room::new();
    let (from, to) = (room.write("from", 700_000), room.path("to"));
    // Clocks of file systems tick every few milliseconds: what is written within one tick has one time.
    let past = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_500_000_000);
    File::options().write(true).open(&from).unwrap().set_modified(past).unwrap();
    leave_unfinished(&from, &to, 5, None);
    let changed: Vec<u8> = content(700_000).iter().map(|byte| !byte).collect();
    fs::write(&from, &changed).unwrap();
    let log = copy_with(&CopyOptions { resume: Resume::Always, ..options() }, &from, &to).unwrap();
    assert_eq!(log.kept_bytes, 0);
    assert_eq!(fs::read(&to).unwrap(), changed);
}

#[test]
fn a_tree_arrives_with_its_links_times_modes_and_odd_names() {
    use std::os::unix::ffi::OsStringExt as _;

    let room = Room::new();
    room.write("tree/a", 10);
    room.write("tree/deep/er/b", 200_000);
    fs::create_dir(room.path("tree/empty")).unwrap();
    fs::hard_link(room.path("tree/a"), room.path("tree/deep/a-again")).unwrap();
    symlink("deep/er/b", room.path("tree/to-b")).unwrap();
    symlink("nowhere", room.path("tree/dangling")).unwrap();
    let odd = std::ffi::OsString::from_vec(b"not-utf8-\xff\n".to_vec());
    fs::write(room.path("tree").join(&odd), b"odd").unwrap();
    fs::set_permissions(room.path("tree/deep"), fs::Permissions::from_mode(0o750)).unwrap();
    let past = std::time::UNIX_EPOCH + std::time::Duration::new(1_500_000_000, 987_654_321);
    for name in ["tree/empty", "tree/deep/er", "tree/a"] {
        File::open(room.path(name)).unwrap().set_modified(past).unwrap();
    }

    let options = CopyOptions { small_file_bytes: 100_000, verify: VerifyMode::OnTheFly, ..options() };
    let log = copy_with(&options, &room.path("tree"), &room.path("copy")).unwrap();
    let counts = log.counts;
    assert_eq!((counts.files, counts.small_files, counts.directories), (3, 2, 4));
    assert_eq!((counts.hard_links, counts.symlinks), (1, 2));
    assert_eq!(fs::read(room.path("copy/deep/er/b")).unwrap(), content(200_000));
    assert_eq!(fs::read(room.path("copy").join(&odd)).unwrap(), b"odd");
    let inode = |name: &str| fs::metadata(room.path(name)).unwrap().ino();
    assert_eq!(inode("copy/a"), inode("copy/deep/a-again"));
    assert_eq!(fs::read_link(room.path("copy/dangling")).unwrap(), Path::new("nowhere"));
    assert_eq!(fs::metadata(room.path("copy/deep")).unwrap().mode() & 0o7777, 0o750);
    for name in ["copy/empty", "copy/deep/er", "copy/a"] {
        assert_eq!(fs::metadata(room.path(name)).unwrap().modified().unwrap(), past, "{name}");
    }
    assert_eq!(log.files.len(), 4, "the checksums of four names of three files");
}

#[test]
fn an_interrupted_tree_goes_on_without_the_files_that_are_whole() {
    let room = Room::new();
    for at in 0..10 {
        room.write(&format!("tree/{at}"), 1000 + at);
    }
    let options = CopyOptions { small_file_bytes: 1 << 20, ..options() };
    copy_with(&options, &room.path("tree"), &room.path("copy")).unwrap();
    fs::remove_file(room.path("copy/3")).unwrap();
    // An older one under the same name is not this file.
    fs::write(room.path("copy/4"), b"old").unwrap();
    let resumed = CopyOptions { resume: Resume::Always, overwrite: true, ..options };
    let progress = Progress::default();
    let mut copier = Copier::new(&resumed, &progress);
    let tree = room.path("tree");
    let sources: Vec<_> = (0..10).map(|at| tree.join(at.to_string())).collect();
    copier.copy_all(&sources, &room.path("copy")).unwrap();
    let counts = copier.into_log().counts;
    assert_eq!((counts.already_there, counts.files), (8, 2));
    assert_eq!(fs::read(room.path("copy/4")).unwrap(), content(1004));
}

#[test]
fn a_tree_is_never_copied_into_itself() {
    let room = Room::new();
    room.write("tree/sub/a", 10);
    symlink(room.path("tree"), room.path("alias")).unwrap();
    for to in ["tree/sub/copy", "tree", "alias/sub"] {
        let error = copy_with(&options(), &room.path("tree"), &room.path(to)).unwrap_err();
        assert!(matches!(error, CopyError::IntoItself { .. }), "{to}: {error}");
    }
    assert_eq!(room.names("tree/sub"), ["a"]);
}

#[test]
fn a_loop_of_links_is_an_error_when_links_are_followed_and_nothing_otherwise() {
    let room = Room::new();
    room.write("tree/sub/a", 10);
    symlink("..", room.path("tree/sub/up")).unwrap();
    let follow = CopyOptions { symlinks: Symlinks::Follow, ..options() };
    let error = copy_with(&follow, &room.path("tree"), &room.path("copy")).unwrap_err();
    assert!(matches!(error, CopyError::Loop { .. }), "{error}");
    assert!(!room.path("copy").exists());
    copy_with(&options(), &room.path("tree"), &room.path("copy")).unwrap();
}

#[test]
fn pipes_and_sockets_are_left_out_made_anew_or_refused_as_asked() {
    let room = Room::new();
    fs::create_dir(room.path("tree")).unwrap();
    let socket = room.path("tree/socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let log = copy_with(&options(), &room.path("tree"), &room.path("skipped")).unwrap();
    assert_eq!(log.counts.skipped_specials, 1);
    assert!(room.names("skipped").is_empty());
    let keep = CopyOptions { specials: Specials::Keep, ..options() };
    assert_eq!(copy_with(&keep, &room.path("tree"), &room.path("kept")).unwrap().counts.specials, 1);
    assert_eq!(room.names("kept"), ["socket"]);
    let refuse = CopyOptions { specials: Specials::Refuse, ..options() };
    assert!(copy_with(&refuse, &room.path("tree"), &room.path("refused")).is_err());
    assert!(!room.path("refused").exists());
}

#[test]
fn several_sources_go_into_a_directory_and_never_over_each_other() {
    let room = Room::new();
    let (one, two) = (room.write("x/a", 10), room.write("y/a", 20));
    fs::create_dir(room.path("into")).unwrap();
    let progress = Progress::default();
    let options = options();
    let mut copier = Copier::new(&options, &progress);
    let error = copier.copy_all(&[one.clone(), two], &room.path("into")).unwrap_err();
    assert!(error.to_string().contains("would both become"), "{error}");
    let error = copier.copy_all(&[one.clone(), room.write("b", 5)], &room.path("new")).unwrap_err();
    assert!(error.to_string().contains("is not a directory"), "{error}");
    copier.copy_all(&[one, room.path("b")], &room.path("into")).unwrap();
    assert_eq!(room.names("into"), ["a", "b"]);
}

#[test]
fn every_checksum_of_a_copy_is_that_of_its_file() {
    for (kind, expected) in [
        // `printf '' | md5sum` and friends would do; these are of ten zero bytes.
        (HashKind::Md5, "a63c90cc3684ad8b0a2176a6a8fe9005"),
        (HashKind::Sha256, "01d448afd928065458cf670b60f5a594d735af0172c8d67f22a81680132681ca"),
    ] {
        let room = Room::new();
        fs::write(room.path("from"), [0; 10]).unwrap();
        for small_file_bytes in [0, 1 << 20] {
            let to = room.path(&format!("to-{small_file_bytes}"));
            let options =
                CopyOptions { hash: kind, verify: VerifyMode::ReadBack, small_file_bytes, ..options() };
            let log = copy_with(&options, &room.path("from"), &to).unwrap();
            assert_eq!(log.files[0].digest.hex(), expected);
        }
    }
}

/// A share that was away for a second cost a night's copy.
#[test]
fn a_file_that_failed_is_tried_again_until_it_is_there() {
    for small_file_bytes in [0, 1 << 20] {
        let room = Room::new();
        for name in ["tree/a", "tree/b"] {
            room.write(name, 300_000);
        }
        let options = CopyOptions {
            retries: 1_000_000,
            retry_wait_ns: 1_000_000,
            fail_fast: false,
            small_file_bytes,
            ..options()
        };
        let progress = Progress::default();
        let mut copier = Copier::new(&options, &progress);
        let (sender, records) = std::sync::mpsc::sync_channel(100);
        copier.record_to(sender);
        let plan = copier.plan(&[room.path("tree")], &room.path("copy")).unwrap();
        fs::rename(room.path("tree/a"), room.path("away")).unwrap();
        std::thread::scope(|scope| {
            let room = &room;
            scope.spawn(move || {
                records.iter().find(|record| matches!(record.what, Recorded::Failed(_))).unwrap();
                fs::rename(room.path("away"), room.path("tree/a")).unwrap();
            });
            copier.carry_out(plan).unwrap();
        });
        let log = copier.into_log();
        assert_eq!((log.counts.files, log.failures.len(), log.remaining), (2, 0, 0));
        assert_eq!(fs::read(room.path("copy/a")).unwrap(), content(300_000));
    }
}

#[test]
fn what_stays_wrong_fails_after_the_last_try() {
    let room = Room::new();
    room.write("tree/a", 300_000);
    room.write("tree/b", 300_000);
    let options = CopyOptions { retries: 3, retry_wait_ns: 1, fail_fast: false, ..options() };
    let progress = Progress::default();
    let mut copier = Copier::new(&options, &progress);
    let (sender, records) = std::sync::mpsc::sync_channel(100);
    copier.record_to(sender);
    let plan = copier.plan(&[room.path("tree")], &room.path("copy")).unwrap();
    fs::remove_file(room.path("tree/a")).unwrap();
    copier.carry_out(plan).unwrap();
    let log = copier.into_log();
    assert_eq!((log.counts.files, log.failures.len()), (1, 1));
    let tries = records.iter().filter(|record| matches!(record.what, Recorded::Retried(_))).count();
    assert_eq!(tries, 3);
}

/// On a slow device most of a copy's time is that of its last syncs. The report showed none for them when their sum was lost, and no
/// test of this crate noticed.
#[test]
fn the_time_of_the_last_syncs_is_in_the_log_for_small_and_for_large_files() {
    for small_file_bytes in [0, 1 << 20] {
        let room = Room::new();
        let from = room.write("from", 100_000);
        let log = copy_with(&CopyOptions { small_file_bytes, ..options() }, &from, &room.path("to")).unwrap();
        assert!(log.sync_ns > 0, "files below {small_file_bytes} bytes are small");
    }
}
