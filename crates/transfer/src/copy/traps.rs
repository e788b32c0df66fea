//! Race conditions and leftovers: what other processes do during a copy, what earlier attempts left, and what
//! is at the destination.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, symlink};

use iostall_engine::files;
use iostall_engine::guard::Destinations;
use iostall_model::transfer::{Mismatch, VerifyMode};

use super::beside::new_journal_path;
use super::journal::{DurableRange, FileJournal};
use super::names::pair_names;
use super::part::Part;
use super::tests::{Room, content, copy_with, leave_unfinished, options};
use super::walk::Inventory;
use super::*;
use crate::hash::{Hasher, piece_hash};
use crate::pipeline::PipelineError;

/// Unfinished small files were not locked. A second copy to the same names removed them and created its own;
/// the first renamed those while they were still being written, and reported success.
#[test]
fn a_small_file_that_another_copy_is_writing_is_refused_and_left_alone() {
    let room = Room::new();
    let (from, to) = (room.write("from", 1000), room.path("to"));
    let small = CopyOptions { small_file_bytes: 1 << 20, overwrite: true, ..options() };
    let theirs = Part::create(&to, 0o600).unwrap();
    theirs.file().write_all_at(b"half of", 0).unwrap();
    for options in [&small, &CopyOptions { small_file_bytes: 0, ..small.clone() }] {
        let error = copy_with(options, &from, &to).unwrap_err();
        assert!(matches!(error, CopyError::Busy { .. }), "{error}");
        assert_eq!(fs::read(part_path(&to)).unwrap(), b"half of");
        assert!(!to.exists());
    }
    theirs.publish(super::part::Replace::Never).unwrap();
    assert_eq!(fs::read(&to).unwrap(), b"half of");
    copy_with(&small, &from, &to).unwrap();
    assert_eq!(fs::read(&to).unwrap(), content(1000));
}

/// Of two copies at once, the second had written some files of a batch when it met the first. It renamed those, over files
/// that the first had finished: that one reported success for a tree that was of both.
#[test]
fn a_copy_that_meets_another_names_none_of_the_batch() {
    let room = Room::new();
    for at in 0..40 {
        room.write(&format!("tree/{at}"), 100);
    }
    for directory in ["to", "to/tree"] {
        fs::create_dir(room.path(directory)).unwrap();
    }
    for at in 0..40 {
        fs::write(room.path(&format!("to/tree/{at}")), b"theirs").unwrap();
    }
    let held = Part::create(&room.path("to/tree/20"), 0o600).unwrap();
    let options = CopyOptions { small_file_bytes: 1 << 20, overwrite: true, ..options() };
    let error = copy_with(&options, &room.path("tree"), &room.path("to")).unwrap_err();
    assert!(matches!(error, CopyError::Busy { .. }), "{error}");
    drop(held);
    for at in 0..40 {
        assert_eq!(fs::read(room.path(&format!("to/tree/{at}"))).unwrap(), b"theirs", "{at}");
    }
    assert_eq!(room.names("to/tree").len(), 40, "and nothing beside them");
}

/// A resumed copy rewrote only data: what someone had put where the source has holes stayed.
#[test]
fn what_somebody_wrote_into_an_unfinished_copy_does_not_get_into_the_finished_one() {
    let room = Room::new();
    let (from, to) = (room.write("from", 5 << 16), room.path("to"));
    let source = File::options().write(true).open(&from).unwrap();
    source.set_len(4 << 20).unwrap();
    source.write_all_at(&content(70_000), 3 << 20).unwrap();
    source.sync_all().unwrap();
    for verify in [VerifyMode::None, VerifyMode::ReadBack] {
        leave_unfinished(&from, &to, 5, None);
        let part = File::options().write(true).open(part_path(&to)).unwrap();
        for at in [2 << 20, (3 << 20) + 5, (4 << 20) - 3, 9 << 20] {
            part.write_all_at(b"not of the source", at).unwrap();
        }
        let resume = CopyOptions { resume: Resume::Always, overwrite: true, verify, ..options() };
        let log = copy_with(&resume, &from, &to).unwrap();
        assert_eq!((log.kept_bytes, log.mismatches.len()), (5 << 16, 0));
        assert!(fs::read(&to).unwrap() == fs::read(&from).unwrap());
        assert!(fs::metadata(&to).unwrap().blocks() * 512 < 1 << 20, "holes stay");
        fs::remove_file(&to).unwrap();
    }
}

/// A resumed copy discarded every piece larger than its own requests.
#[test]
fn an_interrupted_copy_is_continued_with_smaller_requests_too() {
    let room = Room::new();
    let (from, to) = (room.write("from", 700_000), room.path("to"));
    let (stamp, data) = (files::stamp_of_path(&from).unwrap(), content(700_000));
    fs::write(part_path(&to), &data).unwrap();
    let piece = |offset: usize, length: usize| DurableRange {
        offset: offset as u64,
        length: u32::try_from(length).unwrap(),
        hash: piece_hash(&data[offset..][..length]),
    };
    let kept = [piece(0, 256 << 10), piece(256 << 10, 256 << 10), piece(512 << 10, 700_000 - (512 << 10))];
    FileJournal::begin(&to, &stamp, &kept, 1).unwrap();
    fs::write(new_journal_path(&to), b"begun by the dead").unwrap();
    let log = copy_with(&CopyOptions { resume: Resume::Always, ..options() }, &from, &to).unwrap();
    assert_eq!(log.kept_bytes, 700_000);
    assert_eq!(fs::read(&to).unwrap(), data);
    assert_eq!(room.names(""), ["from", "to"]);
}

#[test]
fn whoever_interrupts_the_reading_back_keeps_what_a_journal_vouches_for() {
    let room = Room::new();
    let (from, to) = (room.write("from", 700_000), room.path("to"));
    let cancelled = || CopyError::Reading { path: to.clone(), cause: PipelineError::Cancelled };
    let kept = |error| matches!(error, CopyError::Moving { kept: true, .. });
    assert!(!kept(resume::kept_where_cancelled(cancelled(), &from, &to)));
    leave_unfinished(&from, &to, 5, None);
    assert!(kept(resume::kept_where_cancelled(cancelled(), &from, &to)));
}

/// After `--resume` the checksum list left out the files that an earlier attempt had finished, and none of
/// them was verified.
#[test]
fn what_an_earlier_try_has_finished_is_checked_and_listed_like_the_rest() {
    let room = Room::new();
    for (name, size) in [("tree/small", 1000), ("tree/large", 300_000), ("tree/late", 500)] {
        room.write(name, size);
    }
    fs::create_dir(room.path("into")).unwrap();
    let first = CopyOptions { small_file_bytes: 10_000, ..options() };
    copy_with(&first, &room.path("tree"), &room.path("into")).unwrap();
    fs::remove_file(room.path("into/tree/late")).unwrap();
    for verify in [VerifyMode::OnTheFly, VerifyMode::ReadBack] {
        let resume = CopyOptions { resume: Resume::Always, verify, ..first.clone() };
        let log = copy_with(&resume, &room.path("tree"), &room.path("into")).unwrap();
        assert!(log.counts.already_there >= 2);
        assert_eq!(log.files.len(), 3);
        for file in &log.files {
            let mut expected = Hasher::new(resume.hash);
            expected.update(&fs::read(&file.path).unwrap());
            assert_eq!(file.digest, expected.finish(), "{}", file.path.display());
        }
    }
    // Same size and time, different content: only reading shows it.
    let copy = File::options().write(true).open(room.path("into/tree/large")).unwrap();
    let time = copy.metadata().unwrap().modified().unwrap();
    copy.write_all_at(&[content(300_000)[200_001] ^ 1], 200_001).unwrap();
    copy.set_modified(time).unwrap();
    copy.sync_all().unwrap();
    let resume = CopyOptions { resume: Resume::Always, verify: VerifyMode::ReadBack, ..first };
    let log = copy_with(&resume, &room.path("tree"), &room.path("into")).unwrap();
    assert_eq!(log.mismatches.len(), 1);
    assert_eq!(log.mismatches[0].first_offset, Some(200_001));
    assert_eq!(log.files.len(), 2);
}

/// A directory of the source followed a link at the destination to wherever it led.
#[test]
fn a_link_in_the_place_of_a_directory_is_refused_and_not_followed() {
    let room = Room::new();
    room.write("tree/sub/a", 10);
    fs::create_dir(room.path("elsewhere")).unwrap();
    fs::create_dir(room.path("copy")).unwrap();
    symlink(room.path("elsewhere"), room.path("copy/sub")).unwrap();
    for overwrite in [false, true] {
        let options = CopyOptions { overwrite, ..options() };
        fs::create_dir_all(room.path("into")).unwrap();
        let _ = fs::rename(room.path("copy"), room.path("into/tree"));
        let error = copy_with(&options, &room.path("tree"), &room.path("into")).unwrap_err();
        assert!(error.to_string().contains("is a link"), "{error}");
        assert!(room.names("elsewhere").is_empty());
    }
}

#[test]
fn a_pipe_that_is_named_is_never_left_out_in_silence() {
    let room = Room::new();
    let socket = room.path("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let error = copy_with(&options(), &socket, &room.path("to")).unwrap_err();
    assert!(matches!(error, CopyError::Special { .. }), "{error}");
    let keep = CopyOptions { specials: Specials::Keep, ..options() };
    assert_eq!(copy_with(&keep, &socket, &room.path("to")).unwrap().counts.specials, 1);
}

/// Links and hard links were replaced in two steps: removed, then created.
#[test]
fn links_are_replaced_in_one_step_and_leave_nothing_beside_them() {
    let room = Room::new();
    room.write("tree/a", 10);
    fs::hard_link(room.path("tree/a"), room.path("tree/b")).unwrap();
    symlink("a", room.path("tree/to-a")).unwrap();
    fs::create_dir(room.path("into")).unwrap();
    let replace = CopyOptions { overwrite: true, ..options() };
    for round in 0..3 {
        let log = copy_with(&replace, &room.path("tree"), &room.path("into")).unwrap();
        assert_eq!((log.counts.hard_links, log.counts.symlinks), (1, 1), "round {round}");
        assert_eq!(room.names("into/tree"), ["a", "b", "to-a"], "round {round}");
        let inode = |name: &str| fs::metadata(room.path(name)).unwrap().ino();
        assert_eq!(inode("into/tree/a"), inode("into/tree/b"));
        // One file that another process is about to rename, and one left by a dead process.
        fs::write(part_path(&room.path("into/tree/b")), b"left").unwrap();
        symlink("nowhere", part_path(&room.path("into/tree/to-a"))).unwrap();
    }
    let held = File::open(part_path(&room.path("into/tree/b"))).unwrap();
    held.lock().unwrap();
    let error = copy_with(&replace, &room.path("tree"), &room.path("into")).unwrap_err();
    assert!(matches!(error, CopyError::Busy { .. }), "{error}");
    assert_eq!(fs::read(room.path("into/tree/b")).unwrap(), content(10));
}

/// The copy came back different and was not renamed; that name is an older file, to which no link must point.
#[test]
fn a_further_name_of_a_file_that_came_back_different_is_not_made() {
    let room = Room::new();
    room.write("tree/a", 10);
    fs::hard_link(room.path("tree/a"), room.path("tree/b")).unwrap();
    fs::create_dir(room.path("copy")).unwrap();
    fs::write(room.path("copy/a"), b"older").unwrap();
    let (options, progress) = (CopyOptions { overwrite: true, ..options() }, Progress::default());
    let mut copier = Copier::new(&options, &progress);
    let pairs = pair_names(&[room.path("tree")], &room.path("elsewhere")).unwrap();
    let inventory = Inventory::take(&pairs, &options, &Destinations::new(&options.consent)).unwrap();
    copier.log.mismatches.push(Mismatch {
        path: room.path("elsewhere/a").display().to_string(),
        first_offset: None,
        message: String::new(),
    });
    fs::rename(room.path("copy"), room.path("elsewhere")).unwrap();
    let Copier { context, mover, log } = &mut copier;
    let mut files = super::file::FileCopier { context, mover, log };
    let mut links = super::links::LinkMaker::new(&mut files, &inventory);
    inventory.entries.iter().for_each(|entry| links.make_or_note(entry).unwrap());
    assert_eq!(room.names("elsewhere"), ["a"]);
}

/// The name of a new journal was four bytes longer than any other and did not fit.
#[test]
fn the_longest_name_is_copied_with_a_journal() {
    let room = Room::new();
    for name in ["n".repeat(255), "ü".repeat(127)] {
        let from = room.write("from", 300_000);
        let options = CopyOptions { checkpoint_bytes: 64 << 10, ..options() };
        copy_with(&options, &from, &room.path(&name)).unwrap();
        assert_eq!(fs::read(room.path(&name)).unwrap(), content(300_000));
    }
    assert_eq!(room.names("").len(), 3);
}

#[test]
fn a_hole_of_one_block_in_a_small_file_stays_and_its_times_are_those_before_the_copy() {
    let room = Room::new();
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 123_456_789);
    for (name, size, data_at) in [("small", 8192, 4096), ("large", 3_000_000, 1_000_000)] {
        let from = File::create(room.path(name)).unwrap();
        from.set_len(size).unwrap();
        from.write_all_at(&[7; 4096], data_at).unwrap();
        from.sync_all().unwrap();
        from.set_times(fs::FileTimes::new().set_accessed(long_ago).set_modified(long_ago)).unwrap();
        let to = room.path(&format!("{name}-copy"));
        let usual = CopyOptions { verify: VerifyMode::ReadBack, ..CopyOptions::default() };
        copy_with(&usual, &room.path(name), &to).unwrap();
        let (one, other) = (fs::metadata(room.path(name)).unwrap(), fs::metadata(&to).unwrap());
        assert_eq!(other.accessed().unwrap(), long_ago, "{name}");
        assert_eq!(other.modified().unwrap(), long_ago, "{name}");
        assert!(other.blocks() <= one.blocks().max(16), "{name}: {} blocks", other.blocks());
        if name == "small" && one.blocks() < 16 {
            assert_eq!(other.blocks(), one.blocks());
        }
        assert_eq!(fs::read(&to).unwrap(), fs::read(room.path(name)).unwrap());
    }
}

/// UBCopy waited for all its threads with one call, which cannot handle 65.
#[test]
fn many_workers_copy_as_one_does() {
    let room = Room::new();
    for at in 0..300 {
        room.write(&format!("tree/{at}"), at);
    }
    let options =
        CopyOptions { small_file_bytes: 1 << 20, workers: 100, verify: VerifyMode::ReadBack, ..options() };
    let log = copy_with(&options, &room.path("tree"), &room.path("copy")).unwrap();
    assert_eq!((log.counts.files, log.verified_files, log.files.len()), (300, 300, 300));
    for at in 0..300 {
        assert_eq!(fs::read(room.path(&format!("copy/{at}"))).unwrap(), content(at));
    }
}

#[test]
fn links_inside_a_tree_are_left_out_or_followed_as_asked() {
    let room = Room::new();
    room.write("tree/a", 10);
    symlink("a", room.path("tree/to-a")).unwrap();
    for (symlinks, expected) in [(Symlinks::Skip, vec!["a"]), (Symlinks::Follow, vec!["a", "to-a"])] {
        let options = CopyOptions { symlinks, ..options() };
        let to = format!("{symlinks:?}");
        copy_with(&options, &room.path("tree"), &room.path(&to)).unwrap();
        assert_eq!(room.names(&to), expected);
        assert!(
            fs::symlink_metadata(room.path(&to).join("to-a")).is_ok_and(|m| m.is_file())
                || expected.len() == 1
        );
    }
}

/// A file of the source was renamed while a mirror ran, and only end-to-end tests noticed when the mirror then deleted files at the
/// destination: what it deletes may be the last copy of that file.
#[test]
fn a_mirror_that_missed_a_file_is_not_whole_and_deletes_nothing() {
    for small_file_bytes in [0, 1 << 20] {
        let room = Room::new();
        for name in ["tree/a", "tree/b", "tree/c", "copy/older"] {
            room.write(name, 5000);
        }
        let options = CopyOptions {
            mirror: true,
            delete: Some(room.path("copy")),
            equality: Some(Equality::SizeAndTime),
            fail_fast: false,
            small_file_bytes,
            ..options()
        };
        let progress = Progress::default();
        let mut copier = Copier::new(&options, &progress);
        let plan = copier.plan(&[room.path("tree")], &room.path("copy")).unwrap();
        fs::rename(room.path("tree/a"), room.path("away")).unwrap();
        copier.carry_out(plan).unwrap();
        let log = copier.into_log();
        assert!(!log.is_whole());
        assert_eq!((log.counts.files, log.failures.len(), log.remaining), (2, 1, 0));
        assert_eq!(room.names("copy"), ["b", "c", "older"]);
        assert_eq!(log.counts.deleted, 0);
        fs::rename(room.path("away"), room.path("tree/a")).unwrap();
        let log = copy_with(&options, &room.path("tree"), &room.path("copy")).unwrap();
        assert!(log.is_whole());
        assert_eq!((log.counts.files, log.counts.already_there, log.counts.deleted), (1, 2, 1));
        assert_eq!(room.names("copy"), ["a", "b", "c"]);
    }
}
