//! What a plan holds, and what happens to a file between the plan and its turn.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::Path;

use iostall_model::transfer::VerifyMode;

use super::plan::CopyPlan;
use super::tests::{Room, content, options};
use super::*;

fn small() -> CopyOptions {
    CopyOptions { small_file_bytes: 1 << 20, fail_fast: false, ..options() }
}

/// What is copied if `meanwhile` happens between the plan and the first byte.
fn copied_after(options: &CopyOptions, room: &Room, meanwhile: impl FnOnce()) -> Result<CopyLog, CopyError> {
    let progress = Progress::default();
    let mut copier = Copier::new(options, &progress);
    let plan = copier.plan(&[room.path("from")], &room.path("to")).unwrap();
    meanwhile();
    copier.carry_out(plan).map(|()| copier.into_log())
}

fn planned(options: &CopyOptions, room: &Room) -> CopyPlan {
    let progress = Progress::default();
    Copier::new(options, &progress).plan(&[room.path("from")], &room.path("to")).unwrap()
}

/// A tree of ten million small files took six gigabytes of memory before the first byte was copied.
#[test]
fn of_a_small_file_the_plan_holds_its_name_only() {
    let room = Room::new();
    for file in 0..600 {
        room.write(&format!("from/{}/file-{file:07}", file / 200), 3);
    }
    room.write("from/0/large", 2 << 20);
    symlink("large", room.path("from/0/link")).unwrap();
    fs::hard_link(room.path("from/1/file-0000200"), room.path("from/1/other-name")).unwrap();
    let plan = planned(&small(), &room);
    // Four directories, the large file, the link, and two names of one file.
    assert_eq!((plan.inventory.entries.len(), plan.inventory.small.files), (8, 599));
    assert!(plan.inventory.small.names_bytes() < 6 * 599, "{}", plan.inventory.small.names_bytes());
    // A preview lists every file, and a move must know each of them to the end.
    let moves = CopyOptions { remove_sources: true, verify: VerifyMode::ReadBack, ..small() };
    for options in [CopyOptions { dry_run: true, ..small() }, moves] {
        let plan = planned(&options, &room);
        assert_eq!((plan.inventory.entries.len(), plan.inventory.small.files), (607, 0));
    }
    let log = copied_after(&small(), &room, || ()).unwrap();
    assert!(log.is_whole() && log.remaining == 0, "{:?}", log.failures);
    let counts = log.counts;
    assert_eq!((counts.files, counts.small_files, counts.directories), (601, 600, 4));
    assert_eq!((counts.symlinks, counts.hard_links), (1, 1));
    assert_eq!(fs::read(room.path("to/2/file-0000599")).unwrap(), content(3));
}

/// It would have been missing from the copy, and nobody would have known.
#[test]
fn a_small_file_that_goes_before_its_turn_is_named_and_the_others_are_copied() {
    let room = Room::new();
    for name in ["a", "b", "c"] {
        room.write(&format!("from/{name}"), 10);
    }
    let log = copied_after(&small(), &room, || fs::remove_file(room.path("from/b")).unwrap()).unwrap();
    assert_eq!(log.failures.len(), 1);
    assert_eq!(log.failures[0].source, room.path("from/b"));
    assert!(log.failures[0].error.to_string().contains("/b"), "{}", log.failures[0].error);
    assert_eq!((log.counts.files, log.remaining), (2, 0));
    let fast = CopyOptions { fail_fast: true, ..small() };
    fs::remove_dir_all(room.path("to")).unwrap();
    assert!(copied_after(&fast, &room, || fs::remove_file(room.path("from/a")).unwrap()).is_err());
}

/// A file that is read as a whole must be small, and a pipe has no end.
#[test]
fn a_file_that_grows_or_becomes_something_else_before_its_turn_is_no_small_file_any_more() {
    let room = Room::new();
    for name in ["grows", "link", "same"] {
        room.write(&format!("from/{name}"), 10);
    }
    let meanwhile = || {
        File::options()
            .write(true)
            .open(room.path("from/grows"))
            .unwrap()
            .write_all_at(&content(3 << 20), 0)
            .unwrap();
        fs::remove_file(room.path("from/link")).unwrap();
        symlink("same", room.path("from/link")).unwrap();
        room.write("from/new", 10);
    };
    let log = copied_after(&small(), &room, meanwhile).unwrap();
    assert_eq!(fs::read(room.path("to/grows")).unwrap(), content(3 << 20));
    assert_eq!((log.counts.files, log.counts.small_files), (2, 1));
    assert_eq!(
        log.failures.iter().map(|failure| failure.source.as_path()).collect::<Vec<_>>(),
        [room.path("from/link")]
    );
    // As planned, and no more.
    assert_eq!(room.names("to"), [mark().as_str(), "grows", "same"]);
}

/// The name of the mark, which stays where something is missing.
fn mark() -> String {
    super::beside::mark_path(Path::new("")).display().to_string()
}
