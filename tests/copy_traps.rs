//! Difficult cases for a copy: other users, concurrent copies, odd names, unwritable places. Compared with
//! `cp -a` and the `*sum` tools where possible.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::Command;

use crate::copy::{content, names};
use crate::running::Running;
use crate::support::{Ran, Workspace, copy_binary_to, skip, unmount, until};

/// Whether this process is root; prints a message if not.
fn is_root(what: &str) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let is_root = chown(dir.path(), Some(1), Some(1)).is_ok();
    if !is_root {
        skip(what, "only root may give files away");
    }
    is_root
}

/// Everything `stat` reports for the entries below `root` that must be equal in a copy.
fn told_by_stat(root: &Path) -> Vec<String> {
    let listed = Command::new("sh")
        .args(["-c", "find . -exec stat --format '%n|%F|%a|%u|%g|%h|%t:%T|%y|%N' {} + | sort"])
        .env("LC_ALL", "C")
        .current_dir(root)
        .output()
        .unwrap();
    String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn a_tree_has_everything_that_cp_would_have_given_it() {
    let here = Workspace::new();
    let tree = here.path("tree");
    for (name, size) in [("small", 999), ("large", 3_000_001), ("deep/er/x", 5), ("setuid", 10)] {
        fs::create_dir_all(tree.join(name).parent().unwrap()).unwrap();
        fs::write(tree.join(name), content(size)).unwrap();
    }
    fs::create_dir(tree.join("empty")).unwrap();
    fs::hard_link(tree.join("small"), tree.join("deep/small-again")).unwrap();
    symlink("a".repeat(3000), tree.join("far")).unwrap();
    fs::write(tree.join(OsStr::from_bytes(b"odd \xff\\ name")), b"odd").unwrap();
    fs::write(tree.join("n".repeat(255)), b"long").unwrap();
    let made = Command::new("mkfifo").arg(tree.join("pipe")).status().unwrap();
    assert!(made.success());
    if is_root("owners, and bits that lend their rights, beside cp") {
        chown(tree.join("setuid"), Some(4001), Some(4002)).unwrap();
        chown(tree.join("deep"), Some(4003), Some(4004)).unwrap();
    }
    for (name, mode) in [("setuid", 0o4751), ("deep", 0o3775), ("empty", 0o500), ("large", 0o604)] {
        fs::set_permissions(tree.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    for (at, name) in ["large", "small", "deep/er/x", "empty", "deep", "."].into_iter().enumerate() {
        let time = ["1955-11-05 06:15:00.123456789Z", "2001-09-09 01:46:40.000000001Z"][at % 2];
        let set = Command::new("touch").args(["-m", "-d", time]).arg(tree.join(name)).status().unwrap();
        assert!(set.success());
    }
    let copied =
        Command::new("cp").args(["-a", "tree", "by-cp"]).current_dir(here.path(".")).status().unwrap();
    assert!(copied.success());
    // With a umask that removes all access for others.
    let words = "umask 077; exec \"$0\" copy --no-store -q --verify --specials keep tree by-us";
    let mut ours = here.command(&[]);
    let program = ours.get_program().to_owned();
    ours = Command::new("sh");
    let ran: Ran = ours.args(["-c", words]).arg(program).current_dir(here.path(".")).output().unwrap().into();
    ran.expect_status(0);
    let (theirs, ours) = (told_by_stat(&here.path("by-cp")), told_by_stat(&here.path("by-us")));
    for (one, other) in theirs.iter().zip(&ours) {
        assert_eq!(one, other);
    }
    assert_eq!(theirs.len(), ours.len());
    assert!(theirs.len() > 10, "{theirs:?}");
    for name in ["small", "large", "deep/er/x"] {
        assert_eq!(fs::read(here.path("by-us").join(name)).unwrap(), fs::read(tree.join(name)).unwrap());
    }
}

/// A user who may not change owners keeps the group if possible, loses set-id bits, gets a message, and exit
/// status 0, because the data is complete.
#[test]
fn a_user_without_rights_keeps_the_group_and_lends_nobodys_rights() {
    if !is_root("a copy by another user") {
        return;
    }
    let room = tempfile::tempdir().unwrap();
    fs::set_permissions(room.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = room.path().join("iostall");
    copy_binary_to(&program);
    for (name, size) in [("small", 100), ("large", 2_000_000)] {
        fs::write(room.path().join(name), content(size)).unwrap();
        chown(room.path().join(name), Some(0), Some(4242)).unwrap();
        fs::set_permissions(room.path().join(name), fs::Permissions::from_mode(0o6755)).unwrap();
        let ran = Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--groups", "4242"])
            .arg(&program)
            .args(["copy", "--no-store", name, &format!("{name}-copy")])
            .current_dir(room.path())
            .output();
        let Ok(ran) = ran else { return skip("a copy by another user", "there is no setpriv") };
        let ran = Ran::from(ran).expect_status(0);
        assert!(ran.stdout.contains("owner of"), "{}", ran.stdout);
        let copy = fs::metadata(room.path().join(format!("{name}-copy"))).unwrap();
        assert_eq!((copy.uid(), copy.gid(), copy.mode() & 0o7777), (65_534, 4242, 0o755), "{name}");
    }
}

/// Two concurrent copies to the same small files both succeeded, but each had some of the other's files.
#[test]
fn of_two_copies_to_one_place_each_either_succeeds_or_says_that_it_did_not() {
    let here = Workspace::new();
    for who in ["a", "b"] {
        fs::create_dir_all(here.path(who).join("tree")).unwrap();
        for at in 0..200 {
            fs::write(here.path(who).join(format!("tree/{at}")), who.repeat(20_000 + at)).unwrap();
        }
    }
    for round in 0..5 {
        fs::create_dir(here.path("to")).unwrap();
        let start = |who: &str| {
            here.start(&["copy", "--no-store", "-q", "--overwrite", &format!("{who}/tree"), "to"])
        };
        let ended = [start("a"), start("b")].map(Running::ended);
        let whole = |who: &str| {
            (0..200).all(|at| {
                fs::read(here.path("to/tree").join(at.to_string()))
                    .is_ok_and(|found| found == who.repeat(20_000 + at).as_bytes())
            })
        };
        let succeeded = ended.each_ref().map(|ended| ended.status == Some(0));
        match succeeded {
            // One ran after the other.
            [true, true] => assert!(whole("a") || whole("b"), "round {round}"),
            [true, false] => assert!(whole("a"), "round {round}: the second failed and is in it"),
            [false, true] => assert!(whole("b"), "round {round}: the first failed and is in it"),
            [false, false] => {}
        }
        for ended in ended.into_iter().filter(|ended| ended.status != Some(0)) {
            // It may have finished some files before it met the other.
            assert!(matches!(ended.status, Some(1 | 2)), "{:?}", ended.status);
            let said = ended.stderr;
            assert!(said.contains("being written by another process"), "{said}");
        }
        // Only the marker of an incomplete tree may remain.
        let is_finished = |name: &String| {
            !name.starts_with('.') || Path::new(name).extension().is_some_and(|extension| extension == "tree")
        };
        assert!(names(&here.path("to/tree")).iter().all(is_finished), "round {round}");
        fs::remove_dir_all(here.path("to")).unwrap();
    }
}

#[test]
fn a_manifest_never_takes_the_place_of_another_file() {
    let here = Workspace::new();
    fs::write(here.path("from"), b"x").unwrap();
    fs::write(here.path("precious"), b"precious").unwrap();
    symlink("precious", here.path("link")).unwrap();
    for manifest in ["precious", "link", ".", "absent/m.json"] {
        let ran = here.run(&["copy", "--manifest", manifest, "from", "to"]).expect_status(2);
        assert!(ran.stderr.contains("--manifest") && ran.stderr.contains("hint:"), "{}", ran.stderr);
        assert!(!here.path("to").exists(), "nothing is copied before");
    }
    assert_eq!(fs::read(here.path("precious")).unwrap(), b"precious");
    // Manifests of ours may be replaced.
    for name in ["m.json", "m.xxh3"] {
        for _ in 0..2 {
            here.run(&["copy", "--overwrite", "--manifest", name, "from", "to"]).expect_status(0);
            fs::remove_file(here.path("to")).unwrap();
            here.run(&["copy", "--manifest", name, "from", "to"]).expect_status(0);
        }
    }
    here.run(&["copy", "--overwrite", "--manifest", "precious", "from", "to"]).expect_status(0);
}

#[test]
fn lists_of_names_with_line_breaks_are_exchanged_with_md5sum_in_both_its_forms() {
    let here = Workspace::new();
    fs::create_dir(here.path("tree")).unwrap();
    for name in ["line\nbreak", "back\\slash", "return\r", "two  spaces", "*star"] {
        fs::write(here.path("tree").join(name), name).unwrap();
    }
    here.run(&["copy", "--hash", "md5", "--manifest", "list.md5", "tree", "copy"]).expect_status(0);
    let sum =
        |words: &str| Command::new("sh").args(["-c", words]).current_dir(here.path(".")).output().unwrap();
    let checked = sum("md5sum -c list.md5");
    assert!(checked.status.success(), "{checked:?}");
    for form in ["", "--tag"] {
        assert!(sum(&format!("md5sum {form} copy/* > theirs.md5")).status.success());
        here.run(&["verify", "theirs.md5"]).expect_status(0);
    }
    // As a Windows program might write it: a byte order mark, capital letters, CR LF, and an absolute name.
    let digest =
        String::from_utf8(sum("md5sum < 'copy/two  spaces' | cut -c 1-32 | tr a-f A-F").stdout).unwrap();
    let absolute = here.path("copy/two  spaces");
    let text = format!("\u{feff}{0}  copy/two  spaces\r\n{0} *{1}\r\n", digest.trim(), absolute.display());
    fs::write(here.path("windows.md5"), text).unwrap();
    here.run(&["verify", "windows.md5"]).expect_status(0);
}

#[test]
fn places_that_cannot_be_written_to_are_an_error_and_stay_as_they_were() {
    let here = Workspace::new();
    fs::write(here.path("small"), b"x").unwrap();
    fs::write(here.path("large"), content(2_000_000)).unwrap();
    fs::create_dir(here.path("fixed")).unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "ro", "none"]).arg(here.path("fixed")).output();
    if !mounted.is_ok_and(|mounted| mounted.status.success()) {
        return skip("copying to a read-only file system", "none can be mounted");
    }
    let ended = ["small", "large"].map(|name| here.run(&["copy", name, "fixed"]));
    let unmounted = Command::new("umount").arg(here.path("fixed")).status().unwrap();
    assert!(unmounted.success());
    for ran in ended {
        let ran = ran.expect_status(2);
        assert!(ran.stderr.contains("Read-only file system"), "{}", ran.stderr);
    }
}

#[test]
fn what_is_mounted_in_a_tree_is_left_out_when_asked() {
    let here = Workspace::new();
    fs::create_dir_all(here.path("tree/mount")).unwrap();
    fs::write(here.path("tree/a"), b"a").unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "none"]).arg(here.path("tree/mount")).output();
    if !mounted.is_ok_and(|mounted| mounted.status.success()) {
        return skip("leaving out what is mounted", "nothing can be mounted");
    }
    fs::write(here.path("tree/mount/b"), b"b").unwrap();
    let ended =
        [here.run(&["copy", "--one-file-system", "tree", "one"]), here.run(&["copy", "tree", "both"])];
    unmount(&here.path("tree/mount"));
    for ran in ended {
        ran.expect_status(0);
    }
    assert_eq!(names(&here.path("one")), ["a", "mount"], "the mount point, as with rsync and cp");
    assert!(names(&here.path("one/mount")).is_empty());
    assert_eq!(names(&here.path("both/mount")), ["b"]);
}

/// Interrupting the verification deleted the complete copy and its journal.
#[test]
fn a_copy_interrupted_while_it_is_read_back_is_continued() {
    let here = Workspace::new();
    let size = 24_000_000;
    fs::write(here.path("from"), content(size)).unwrap();
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    File::options().write(true).open(here.path("from")).unwrap().set_modified(old).unwrap();
    let copy = ["copy", "--reflink", "never", "--verify", "--checkpoint", "1M", "--transfer-size", "1M"];
    let part = iostall_transfer::copy::part_path(&here.path("to"));
    // If it finished before the interrupt, try again.
    let interrupted = (0..20).find_map(|_| {
        let mut running = here.start(&[&copy[..], &["--limit", "24MB/s", "from", "to"]].concat());
        // The copy has its source's times once all is written, before it is renamed.
        until("the reading back", || {
            let begun = fs::metadata(&part).is_ok_and(|found| found.modified().unwrap() == old);
            (begun || running.has_ended()).then_some(())
        });
        if !running.has_ended() {
            running.signal("TERM");
        }
        let ended = running.ended();
        if ended.status == Some(0) {
            fs::remove_file(here.path("to")).unwrap();
            return None;
        }
        Some(ended)
    });
    let interrupted = interrupted.expect("a copy that ends when it is told to").expect_status(130);
    assert!(interrupted.stderr.contains("resumes from there"), "{}", interrupted.stderr);
    let mut words = copy.to_vec();
    words.extend(["--json", "o.json", "from", "to"]);
    here.run(&words).expect_status(0);
    assert!(here.json("o.json")["copy"]["kept_bytes"].as_u64().unwrap() > 10_000_000);
    let mut tail = vec![0; 1000];
    File::open(here.path("to")).unwrap().read_exact_at(&mut tail, size as u64 - 1000).unwrap();
    assert_eq!(tail, content(size)[size - 1000..]);
    assert_eq!(names(&here.path(".")), ["from", "o.json", "to"]);
}

/// The directory was another account's, and nobody else could write to it. Its owner had made the unfinished file that root's copy
/// would have, read the secret through his open descriptor, and changed the copy after it was verified.
#[test]
fn a_copy_does_not_write_into_a_file_of_the_owner_of_the_directory() {
    if !is_root("copies into directories of others") {
        return;
    }
    let here = Workspace::new();
    fs::create_dir(here.path("in")).unwrap();
    fs::write(here.path("db.bak"), content(4 << 20)).unwrap();
    let planted = iostall_transfer::copy::part_path(&here.path("in/db.bak"));
    File::create(&planted).unwrap();
    for path in [&here.path("in"), &planted] {
        chown(path, Some(65_534), Some(65_534)).unwrap();
    }
    let theirs = File::open(&planted).unwrap();
    let ran = here.run(&["copy", "--verify", "--reflink", "never", "db.bak", "in/"]);
    assert_ne!(ran.status, Some(0), "{}", ran.stdout);
    assert_eq!(theirs.metadata().unwrap().len(), 0, "nothing of the secret is in it");
    assert_eq!(names(&here.path("in")).len(), 1, "no copy is there");
    fs::remove_file(&planted).unwrap();
    here.run(&["copy", "--verify", "db.bak", "in/"]).expect_status(0);
}
