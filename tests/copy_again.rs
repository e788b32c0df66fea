//! Repeating a copy after Ctrl-C, after a kill, after the source was touched or changed, and after the device
//! was full.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use iostall_transfer::copy::{journal_path, part_path};

use crate::copy::{content, names};
use crate::running::Running;
use crate::support::{Ran, Workspace, skip, unmount};

const BYTES: usize = 24 << 20;
/// Options that make a copy write journal entries early.
const COPY: [&str; 7] = ["copy", "--reflink", "never", "--checkpoint", "1M", "--transfer-size", "1M"];

fn long_ago() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_000_000_000)
}

/// A source with old times, so that every change shows.
fn make_source(here: &Workspace) -> PathBuf {
    let from = here.path("from");
    fs::write(&from, content(BYTES)).unwrap();
    File::options().write(true).open(&from).unwrap().set_modified(long_ago()).unwrap();
    from
}

/// Starts copying `from` to `to` so slowly that it does not finish, and waits until its journal has entries.
fn begun(here: &Workspace) -> Running {
    let mut copy = here.start(&[&COPY[..], &["--limit", "5MB/s", "from", "to"]].concat());
    let journal = journal_path(&here.path("to"));
    copy.wait_until("a journal with pieces", |_| {
        fs::read_to_string(&journal).is_ok_and(|text| text.lines().count() > 3)
    });
    copy
}

fn interrupted(here: &Workspace) -> Ran {
    let copy = begun(here);
    copy.signal("INT");
    copy.ended().expect_status(130)
}

fn kept_bytes(here: &Workspace) -> u64 {
    here.json("o.json")["copy"]["kept_bytes"].as_u64().unwrap()
}

/// The message said that the same command with --resume continues, but it started again in DST/SRC, because
/// DST existed by then. Hours of files were copied a second time next to the first.
#[test]
fn the_same_command_goes_on_in_the_directory_that_it_has_made() {
    for signal in ["INT", "KILL"] {
        let here = Workspace::new();
        fs::create_dir_all(here.path("src/deep")).unwrap();
        for at in 0..20 {
            fs::write(here.path("src/deep").join(at.to_string()), content(1000 + at)).unwrap();
        }
        fs::write(here.path("src/large"), content(3_000_000)).unwrap();
        File::open(here.path("src")).unwrap().set_modified(long_ago()).unwrap();
        let mut copy =
            here.start(&["copy", "--no-store", "--limit", "300KB/s", "--reflink", "never", "src", "new"]);
        let large = part_path(&here.path("new/large"));
        // Small files have their final names by then.
        copy.wait_until("the large file", |_| large.exists());
        copy.signal(signal);
        copy.ended();
        here.run(&["copy", "--json", "o.json", "src", "new"]).expect_status(0);
        assert_eq!(names(&here.path("new")), ["deep", "large"], "{signal}");
        let counts = &here.json("o.json")["copy"]["counts"];
        assert_eq!(
            (&counts["already_there"], &counts["files"]),
            (&20.into(), &1.into()),
            "{signal}: {counts}"
        );
        assert_eq!(fs::read(here.path("new/large")).unwrap(), content(3_000_000));
        assert_eq!(fs::metadata(here.path("new")).unwrap().modified().unwrap(), long_ago());
        // A complete copy is an ordinary directory: another copy goes into it, as with cp.
        here.run(&["copy", "src", "new"]).expect_status(0);
        assert_eq!(names(&here.path("new")), ["deep", "large", "src"], "{signal}");
    }
}

/// A different source is not continued there, and `--no-resume` copies everything again to the same place.
#[test]
fn the_mark_of_an_unfinished_tree_is_for_its_own_command() {
    let here = Workspace::new();
    for tree in ["one", "two"] {
        fs::create_dir(here.path(tree)).unwrap();
        fs::write(here.path(tree).join("small"), content(1000)).unwrap();
        fs::write(here.path(tree).join("large"), content(3_000_000)).unwrap();
    }
    let mut copy =
        here.start(&["copy", "--no-store", "--limit", "300KB/s", "--reflink", "never", "one", "new"]);
    let large = part_path(&here.path("new/large"));
    copy.wait_until("the large file", |_| large.exists());
    copy.signal("INT");
    copy.ended().expect_status(130);
    here.run(&["copy", "two", "new"]).expect_status(0);
    assert_eq!(names(&here.path("new/two")), ["large", "small"]);
    here.run(&["copy", "--no-resume", "--overwrite", "--json", "o.json", "one", "new"]).expect_status(0);
    assert_eq!(here.json("o.json")["copy"]["counts"]["files"], 2);
    assert_eq!(names(&here.path("new")), ["large", "small", "two"]);
}

/// Users who did not know `--resume` repeated hours of copying.
#[test]
fn an_interrupted_copy_is_continued_by_the_same_command_and_begun_anew_on_demand() {
    let here = Workspace::new();
    make_source(&here);
    let ran = interrupted(&here);
    assert!(
        ran.stderr.contains("the same command resumes") && ran.stderr.contains("--no-resume"),
        "{}",
        ran.stderr
    );
    let ran = here.run(&[&COPY[..], &["--json", "o.json", "from", "to"]].concat()).expect_status(0);
    assert!(kept_bytes(&here) > 0);
    assert!(ran.stdout.contains("--no-resume"), "{}", ran.stdout);
    assert_eq!(fs::read(here.path("to")).unwrap(), content(BYTES));
    fs::remove_file(here.path("to")).unwrap();
    interrupted(&here);
    here.run(&[&COPY[..], &["--no-resume", "--json", "o.json", "from", "to"]].concat()).expect_status(0);
    assert_eq!(kept_bytes(&here), 0);
    assert_eq!(fs::read(here.path("to")).unwrap(), content(BYTES));
    assert_eq!(names(&here.path(".")), ["from", "o.json", "to"]);
    here.run(&["copy", "--resume", "--no-resume", "from", "x"]).expect_status(2);
}

/// Changes everything about a file except its content.
fn touch(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o604)).unwrap();
    let name = path.with_file_name("further");
    fs::hard_link(path, &name).unwrap();
    fs::remove_file(&name).unwrap();
    // Not all file systems support attributes.
    let _ = Command::new("setfattr").args(["-n", "user.note", "-v", "x"]).arg(path).output();
}

/// If a backup program changed the source's mode, links or attributes between two attempts, the whole
/// progress was lost; during the copy, the finished copy was deleted.
#[test]
fn who_touches_the_source_but_not_its_content_costs_nothing_that_was_copied() {
    let here = Workspace::new();
    let from = make_source(&here);
    interrupted(&here);
    touch(&from);
    touch(&part_path(&here.path("to")));
    here.run(&[&COPY[..], &["--json", "o.json", "from", "to"]].concat()).expect_status(0);
    assert!(kept_bytes(&here) > 0);
    assert_eq!(fs::read(here.path("to")).unwrap(), content(BYTES));
    fs::remove_file(here.path("to")).unwrap();

    for verify in ["none", "on-the-fly", "read-back"] {
        fs::set_permissions(&from, fs::Permissions::from_mode(0o644)).unwrap();
        let verify = format!("--verify={verify}");
        let mut words = vec!["copy", "--reflink", "never", "--limit", "12MB/s", "--transfer-size", "1M"];
        words.extend(["--overwrite", &verify, "from", "to"].iter().filter(|word| !word.ends_with("=none")));
        let mut copy = here.start(&words);
        let part = part_path(&here.path("to"));
        copy.wait_until("the unfinished copy", |_| part.exists());
        touch(&from);
        copy.ended().expect_status(0);
        assert_eq!(fs::read(here.path("to")).unwrap(), content(BYTES), "{verify}");
        let copied = fs::metadata(here.path("to")).unwrap();
        assert_eq!(copied.permissions().mode() & 0o7777, 0o604, "{verify}: what the source has now");
        assert_eq!(copied.modified().unwrap(), long_ago());
    }
}

/// If the content is changed and the modification time set back, only the change time differs. That must not
/// be taken for a touch.
#[test]
fn who_changes_the_content_and_sets_the_time_back_is_found_out() {
    let here = Workspace::new();
    let from = make_source(&here);
    interrupted(&here);
    let file = File::options().write(true).open(&from).unwrap();
    file.write_all_at(b"changed", 100).unwrap();
    file.set_modified(long_ago()).unwrap();
    here.run(&[&COPY[..], &["--json", "o.json", "from", "to"]].concat()).expect_status(0);
    assert!(kept_bytes(&here) > 0, "the other pieces are as they were");
    assert!(fs::read(here.path("to")).unwrap() == fs::read(&from).unwrap());
    fs::remove_file(here.path("to")).unwrap();

    let copy = begun(&here);
    file.write_all_at(b"CHANGED", 100).unwrap();
    file.set_modified(long_ago()).unwrap();
    let ran = copy.ended().expect_status(2);
    assert!(ran.stderr.contains("its time set back"), "{}", ran.stderr);
    assert!(!here.path("to").exists());
}

/// A source that grew during the copy is refused, because the copy mixes two states; but nine tenths of it
/// can be reused.
#[test]
fn of_a_source_that_really_changed_what_is_the_same_is_kept_for_resume() {
    let here = Workspace::new();
    let from = make_source(&here);
    let copy = begun(&here);
    let file = File::options().write(true).open(&from).unwrap();
    file.write_all_at(&content(1000), BYTES as u64).unwrap();
    let ran = copy.ended().expect_status(2);
    assert!(ran.stderr.contains("its size changed") && ran.stderr.contains("--resume"), "{}", ran.stderr);
    assert!(!here.path("to").exists());
    here.run(&[&COPY[..], &["--resume", "--json", "o.json", "from", "to"]].concat()).expect_status(0);
    assert!(kept_bytes(&here) > 10 << 20);
    assert!(fs::read(here.path("to")).unwrap() == fs::read(&from).unwrap());
    assert_eq!(names(&here.path(".")), ["from", "o.json", "to"]);
}

/// `--resume` took a file with the same size, a time one and a half seconds older than the source, and
/// different content for the finished copy, because FAT rounds times.
#[test]
fn resume_takes_no_older_file_for_the_copy_where_times_are_exact() {
    let here = Workspace::new();
    let put = |name: &str, text: &str, since: Duration| {
        fs::write(here.path(name), text).unwrap();
        File::options().write(true).open(here.path(name)).unwrap().set_modified(UNIX_EPOCH + since).unwrap();
    };
    put("from", "new", Duration::new(1_500_000_001, 500_000_001));
    for since in [1_500_000_000, 1_500_000_001] {
        put("to", "old", Duration::from_secs(since));
        let ran = here.run(&["copy", "--resume", "from", "to"]);
        assert!(ran.expect_status(2).stderr.contains("to exists"));
        here.run(&["copy", "--resume", "--overwrite", "from", "to"]).expect_status(0);
        assert_eq!(fs::read_to_string(here.path("to")).unwrap(), "new");
    }
    here.run(&["copy", "--resume", "--json", "o.json", "from", "to"]).expect_status(0);
    assert_eq!(here.json("o.json")["copy"]["counts"]["already_there"], 1);
    assert_eq!(names(&here.path(".")), ["from", "o.json", "to"]);
}

/// Creates `count` small files.
fn make_small(here: &Workspace, count: usize) {
    fs::create_dir(here.path("src")).unwrap();
    for at in 0..count {
        fs::write(here.path("src").join(at.to_string()), content(10_000 + at)).unwrap();
    }
}

/// Number of files with final names; each must be complete.
fn whole_files(tree: &Path) -> usize {
    let listed = names(tree);
    for name in &listed {
        let at: usize = name.parse().unwrap_or_else(|_| panic!("{name} was left behind"));
        assert!(fs::read(tree.join(name)).unwrap() == content(10_000 + at), "{name}");
    }
    listed.len()
}

/// Ctrl-C among small files removed the current batch: up to 16,384 files that were already written.
#[test]
fn small_files_that_are_written_get_their_names_when_the_copy_is_interrupted() {
    let here = Workspace::new();
    make_small(&here, 1000);
    fs::create_dir(here.path("into")).unwrap();
    let words = ["copy", "--reflink", "never", "--limit", "1MB/s", "--json", "o.json", "src", "into"];
    let mut copy = here.start(&words);
    copy.wait_until("a hundred unfinished files", |_| {
        fs::read_dir(here.path("into/src")).is_ok_and(|listed| listed.count() > 100)
    });
    copy.signal("INT");
    copy.ended().expect_status(130);
    let tree = here.path("into/src");
    let unfinished = iostall_transfer::copy::is_part_name;
    for entry in fs::read_dir(&tree).unwrap() {
        let entry = entry.unwrap();
        // Only the marker of the unfinished tree remains.
        if unfinished(&entry.file_name()) {
            assert!(entry.file_name().to_string_lossy().ends_with(".tree"), "{entry:?}");
            fs::rename(entry.path(), here.path("mark")).unwrap();
        }
    }
    let whole = whole_files(&tree);
    assert!(whole > 90, "{whole} files");
    assert_eq!(here.json("o.json")["copy"]["counts"]["files"], whole);
    fs::rename(here.path("mark"), tree.join(mark_name(&here))).unwrap();
    here.run(&["copy", "--json", "o.json", "src", "into"]).expect_status(0);
    assert_eq!(whole_files(&tree), 1000);
    assert_eq!(here.json("o.json")["copy"]["counts"]["already_there"], whole);
}

/// The name of the marker, taken from a copy that has just started.
fn mark_name(here: &Workspace) -> String {
    fs::create_dir(here.path("other")).unwrap();
    fs::write(here.path("other/large"), content(2_000_000)).unwrap();
    let mut copy =
        here.start(&["copy", "--no-store", "--limit", "10KB/s", "--reflink", "never", "other", "begun"]);
    let is_mark = |name: &String| Path::new(name).extension().is_some_and(|extension| extension == "tree");
    let listed = || fs::read_dir(here.path("begun")).into_iter().flatten().flatten();
    let mark = || listed().map(|entry| entry.file_name().to_string_lossy().into_owned()).find(is_mark);
    copy.wait_until("a mark", |_| mark().is_some());
    let mark = mark().unwrap();
    copy.signal("KILL");
    copy.ended();
    mark
}

/// The same for a full device: a batch that did not fit was removed, though most of it was written.
#[test]
fn small_files_that_are_written_get_their_names_when_the_device_is_full() {
    let here = Workspace::new();
    make_small(&here, 300);
    let into = here.path("into");
    fs::create_dir(&into).unwrap();
    // No inodes left, although there is free space.
    let options = "size=64m,nr_inodes=200";
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(&into).output();
    if !mounted.is_ok_and(|mounted| mounted.status.success()) {
        return skip("small files on a full device", "no tmpfs can be mounted here");
    }
    let ran = here.run(&["copy", "--json", "o.json", "src", "into"]);
    let left =
        names(&into.join("src")).iter().filter(|name| name.starts_with('.')).cloned().collect::<Vec<_>>();
    for name in &left {
        fs::remove_file(into.join("src").join(name)).unwrap();
    }
    let whole = whole_files(&into.join("src"));
    unmount(&into);
    assert!(ran.stderr.contains("No space left on device"), "{}", ran.stderr);
    assert!(whole > 150, "{whole} files");
    assert_eq!(left.len(), 1, "the mark of an unfinished tree: {left:?}");
    assert_eq!(here.json("o.json")["copy"]["counts"]["files"], whole);
}
