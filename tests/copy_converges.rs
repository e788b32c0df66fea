//! Mirrors that come to an end: whatever has changed in the source, the next run makes the destination like it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iostall_transfer::copy::part_path;

use crate::copy::{content, names};
use crate::support::{Ran, Workspace, binary, skip};
use crate::unprivileged::{give, is_root, unprivileged};

/// `iostall copy` in the workspace, as an account without rights.
fn copy_as_nobody(here: &Workspace, words: &[&str]) -> Ran {
    let mut command = unprivileged(&binary());
    command.args(["copy", "--no-store"]).args(words).current_dir(here.path(".")).stdin(Stdio::null());
    Ran::from(command.output().unwrap())
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

/// A link that had become a directory was refused, and so was every other name that had changed its kind. One refusal also
/// stopped every deletion: the mirror grew for ever.
#[test]
fn a_name_that_changes_its_kind_is_replaced_in_a_mirror_that_may_delete() {
    let here = Workspace::new();
    let make = |names: &[(&str, &str)]| {
        for (name, what) in names {
            let path = here.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match *what {
                "link" => symlink("nowhere", path).unwrap(),
                "directory" => fs::create_dir_all(path).unwrap(),
                text => fs::write(path, text).unwrap(),
            }
        }
    };
    make(&[
        ("b/directory-to-file/in/deep", "old"),
        ("b/directory-to-link/in", "old"),
        ("b/file-to-directory", "old"),
        ("b/link-to-directory", "link"),
        ("b/link-to-file", "link"),
        ("b/gone", "old"),
    ]);
    make(&[
        ("a/directory-to-file", "new"),
        ("a/directory-to-link", "link"),
        ("a/file-to-directory/in/deep", "new"),
        ("a/link-to-directory/in", "new"),
        ("a/link-to-file", "new"),
        ("a/same", "same"),
    ]);
    fs::write(here.path("a/file-to-directory/large"), content(2_000_000)).unwrap();
    set_mode(&here.path("a/link-to-directory"), 0o750);
    let mirror = ["copy", "--no-store", "--mirror", "--delete", "b", "--manifest", "m.md5", "a", "b"];
    let planned = here.run(&["copy", "--mirror", "--delete", "b", "--dry-run", "a", "b"]).expect_status(0);
    assert!(planned.stdout.contains("replace b/link-to-file"), "{}", planned.stdout);
    assert!(here.path("b/directory-to-file/in/deep").exists(), "nothing is done yet");
    here.run(&mirror).expect_status(0);
    here.run(&["verify", "--no-store", "m.md5"]).expect_status(0);
    here.run(&["verify", "--no-store", "a", "b"]).expect_status(0);
    assert_eq!(names(&here.path("b")), names(&here.path("a")), "and nothing unfinished is left");
    assert_eq!(mode(&here.path("b/link-to-directory")), 0o750);
    here.run(&["copy", "--no-store", "--mirror", "--delete", "b", "a", "b"]).expect_status(0);

    // What the patterns leave out is not deleted for it, and what is in the way stays as it is.
    fs::remove_file(here.path("a/directory-to-file")).unwrap();
    fs::create_dir(here.path("a/other")).unwrap();
    make(&[("b/other", "link"), ("b/kept/x.tmp", "mine"), ("a/kept", "new"), ("a/not-yet", "new")]);
    let words = ["copy", "--mirror", "--delete", "b", "--exclude", "*.tmp", "--json", "o.json", "a", "b"];
    here.run(&words).expect_status(1);
    assert_eq!(here.json("o.json")["copy"]["not_copied"][0]["what"], "deleted");
    assert_eq!(fs::read(here.path("b/kept/x.tmp")).unwrap(), b"mine");
    assert!(here.path("b/directory-to-file").exists() && here.path("b/not-yet").exists());
    here.run(&["copy", "--no-store", "--mirror", "--delete", "b", "a", "b"]).expect_status(0);
    assert_eq!(names(&here.path("b")), names(&here.path("a")));
}

/// The name under which the new content of `target` is made.
fn changed(target: &Path) -> PathBuf {
    part_path(target).with_extension("changed")
}

/// What a killed run had made in the place of something else kept what the source no longer had, and it was a part of the mirror
/// after a run with status 0. What nobody needed stayed for ever where a filter matched in it, or a file was unfinished.
#[test]
fn a_change_of_kind_that_was_killed_is_finished_by_the_next_run() {
    let here = Workspace::new();
    for name in ["a/x", "b/y"] {
        fs::create_dir_all(here.path(name)).unwrap();
    }
    for name in ["a/x/in", "a/y", "b/x", "b/y/old"] {
        fs::write(here.path(name), "text").unwrap();
    }
    let (made, stale) = (changed(&here.path("b/x")), changed(&here.path("b/z")));
    for directory in [made.join("gone/deep"), stale.join("sub")] {
        fs::create_dir_all(directory).unwrap();
    }
    for file in [made.join("gone/file"), made.join("left"), stale.join("sub/x.tmp")] {
        fs::write(file, "text").unwrap();
    }
    fs::write(part_path(&stale.join("large")), "text").unwrap();
    here.run(&["copy", "--mirror", "--delete", "b", "--exclude", "*.tmp", "a", "b"]).expect_status(0);
    assert_eq!(names(&here.path("b")), ["x", "y"]);
    assert_eq!(names(&here.path("b/x")), ["in"]);
}

/// A directory in which the patterns left something out could not become a file: each run made that file beside it once more, and
/// said that the same command would finish the rest.
#[test]
fn what_is_in_the_way_of_a_change_of_kind_is_named_and_nothing_is_made_beside_it() {
    let here = Workspace::new();
    fs::create_dir_all(here.path("a")).unwrap();
    fs::create_dir_all(here.path("b/x")).unwrap();
    for name in ["a/x", "a/other", "b/x/kept.tmp"] {
        fs::write(here.path(name), "text").unwrap();
    }
    let words = ["copy", "--mirror", "--delete", "b", "--exclude", "*.tmp", "--json", "o.json", "a", "b"];
    for _ in 0..2 {
        here.run(&words).expect_status(1);
        assert_eq!(names(&here.path("b")), ["other", "x"]);
        assert_eq!(names(&here.path("b/x")), ["kept.tmp"]);
        let not_copied = here.json("o.json")["copy"]["not_copied"].clone();
        assert_eq!(not_copied.as_array().map(Vec::len), Some(1), "{not_copied}");
        let message = not_copied[0]["message"].as_str().unwrap();
        assert!(message.contains("b/x/kept.tmp"), "{message}");
    }
    fs::rename(here.path("b/x/kept.tmp"), here.path("kept.tmp")).unwrap();
    here.run(&words).expect_status(0);
    assert_eq!(fs::read(here.path("b/x")).unwrap(), b"text");
}

/// A directory, or a file of the right size and time, that another account had put there became a part of root's mirror.
#[test]
fn what_another_account_has_put_in_the_place_of_the_new_content_is_refused() {
    let here = Workspace::new();
    if !is_root() {
        return skip("a mirror into a directory of another account", "this is not root");
    }
    fs::create_dir_all(here.path("a/directory")).unwrap();
    fs::create_dir_all(here.path("b/file")).unwrap();
    for name in ["a/directory/in", "a/file", "b/directory"] {
        fs::write(here.path(name), "text").unwrap();
    }
    let (directory, file) = (changed(&here.path("b/directory")), changed(&here.path("b/file")));
    fs::create_dir(&directory).unwrap();
    fs::write(&file, "evil").unwrap();
    let modified = fs::metadata(here.path("a/file")).unwrap().modified().unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
    for path in [&here.path("b"), &directory, &file] {
        give(path);
    }
    let words = ["copy", "--mirror", "--delete", "b", "a", "b"];
    let ran = here.run(&words);
    assert_ne!(ran.status, Some(0), "{}", ran.stderr);
    assert_eq!(fs::read(here.path("b/directory")).unwrap(), b"text");
    assert!(here.path("b/file").is_dir() && names(&directory).is_empty());
    assert_eq!(fs::read(&file).unwrap(), b"evil");
    fs::remove_dir(&directory).unwrap();
    fs::remove_file(&file).unwrap();
    here.run(&words).expect_status(0);
    assert_eq!(names(&here.path("b/directory")), ["in"]);
    assert_eq!(fs::read(here.path("b/file")).unwrap(), b"text");
}

/// A pipe that the source did not have stopped a mirror for ever, and was said to be "not copied" under a name that did not exist.
#[test]
fn a_pipe_goes_from_a_mirror_like_anything_else() {
    let here = Workspace::new();
    fs::create_dir_all(here.path("a")).unwrap();
    fs::write(here.path("a/f"), "x").unwrap();
    here.run(&["copy", "a", "b"]).expect_status(0);
    assert!(Command::new("mkfifo").arg(here.path("b/pipe")).status().unwrap().success());
    assert!(fs::symlink_metadata(here.path("b/pipe")).unwrap().file_type().is_fifo());
    here.run(&["copy", "--mirror", "--delete", "b", "a", "b"]).expect_status(0);
    assert_eq!(names(&here.path("b")), ["f"]);
}

/// A service user below a directory of root's could not mirror into a directory of his own.
#[test]
fn a_mirror_needs_no_rights_beside_its_destination() {
    let here = Workspace::new();
    if !is_root() {
        return skip("a mirror as another account", "this is not root");
    }
    for name in ["a", "d"] {
        fs::create_dir(here.path(name)).unwrap();
    }
    fs::write(here.path("a/f"), content(5_000)).unwrap();
    set_mode(&here.path("."), 0o755);
    give(&here.path("d"));
    copy_as_nobody(&here, &["--mirror", "a", "d"]).expect_status(0);
    assert_eq!(fs::read(here.path("d/f")).unwrap(), content(5_000));
    let ran = copy_as_nobody(&here, &["--mirror", "a", "new"]).expect_status(2);
    assert!(ran.stderr.contains("Permission denied"), "{}", ran.stderr);
}

/// The second run failed at every directory of mode 555, as in a cache of modules, although no name was to be made there.
#[test]
fn a_read_only_directory_is_no_hindrance_and_stays_read_only() {
    let here = Workspace::new();
    if !is_root() {
        return skip("a read-only directory", "this is not root");
    }
    fs::create_dir_all(here.path("q/ro/deep")).unwrap();
    for name in ["q/f", "q/ro/g", "q/ro/deep/h"] {
        fs::write(here.path(name), content(3_000)).unwrap();
    }
    let lock = |mode| ["q/ro/deep", "q/ro", "q"].iter().for_each(|name| set_mode(&here.path(name), mode));
    let given = Command::new("chown").args(["-R", "65534:65534"]).arg(here.path("q")).status();
    assert!(given.unwrap().success());
    lock(0o555);
    set_mode(&here.path("."), 0o777);
    copy_as_nobody(&here, &["q", "q2"]).expect_status(0);
    assert_eq!(mode(&here.path("q2/ro")), 0o555);
    for words in [&["--mirror"][..], &["--mirror", "--checksum"], &["--mirror", "--delete", "q2"]] {
        copy_as_nobody(&here, &[words, &["q", "q2"]].concat()).expect_status(0);
    }
    fs::write(here.path("q/ro/new"), "new").unwrap();
    fs::write(here.path("q2/ro/deep/extra"), "extra").unwrap();
    fs::remove_file(here.path("q/ro/g")).unwrap();
    copy_as_nobody(&here, &["--mirror", "--delete", "q2", "q", "q2"]).expect_status(0);
    assert_eq!(names(&here.path("q2/ro")), ["deep", "new"]);
    assert_eq!(names(&here.path("q2/ro/deep")), ["h"]);
    for name in ["q2", "q2/ro", "q2/ro/deep"] {
        assert_eq!(mode(&here.path(name)), 0o555, "{name}");
    }
}

/// A `chmod 600` after a leak never reached the mirror: size and time were equal.
#[test]
fn the_mode_of_an_equal_file_reaches_the_mirror() {
    let here = Workspace::new();
    fs::create_dir(here.path("a")).unwrap();
    fs::write(here.path("a/secret"), content(5_000)).unwrap();
    set_mode(&here.path("a/secret"), 0o644);
    here.run(&["copy", "--mirror", "a", "b"]).expect_status(0);
    let before = fs::metadata(here.path("b/secret")).unwrap();
    here.run(&["copy", "--mirror", "a", "b"]).expect_status(0);
    let after = fs::metadata(here.path("b/secret")).unwrap();
    assert_eq!(
        (before.ctime(), before.ctime_nsec()),
        (after.ctime(), after.ctime_nsec()),
        "it is left alone"
    );
    set_mode(&here.path("a/secret"), 0o600);
    for words in [["--mirror", "a", "b"], ["--update", "a/secret", "b/secret"]] {
        set_mode(&here.path("b/secret"), 0o644);
        here.run(&[&["copy", "--json", "o.json"], &words[..]].concat()).expect_status(0);
        assert_eq!(mode(&here.path("b/secret")), 0o600, "{words:?}");
        assert_eq!(here.json("o.json")["copy"]["counts"]["metadata_renewed"], 1);
        assert_eq!(fs::metadata(here.path("b/secret")).unwrap().ino(), before.ino(), "not copied anew");
    }
}
