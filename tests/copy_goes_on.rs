//! Copies of many files where one fails: what happens to the rest, and what is reported.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::Command;

use iostall_transfer::copy::{is_part_name, part_path};
use serde_json::Value;

use crate::copy::{content, names};
use crate::support::{Ran, Workspace, copy_binary_to, skip, until};

/// The finished files of a copy. An incomplete tree also contains its marker, which `--resume` uses.
fn finished(path: &Path) -> Vec<String> {
    names(path).into_iter().filter(|name| !is_part_name(name.as_ref())).collect()
}

fn paths_not_copied(run: &Value) -> Vec<String> {
    let listed = run["copy"]["not_copied"].as_array().cloned().unwrap_or_default();
    listed.iter().map(|failed| failed["path"].as_str().unwrap().to_owned()).collect()
}

/// One existing file ended the copy of a whole tree, without a document, a list or a stored run of what had
/// been copied. rsync copies the other 104 of 105.
#[test]
fn one_file_that_exists_is_listed_everywhere_and_the_others_are_copied() {
    let here = Workspace::new();
    fs::create_dir_all(here.path("tree/deep")).unwrap();
    let files = ["tree/a", "tree/b", "tree/deep/c", "tree/deep/large"];
    for (at, name) in files.iter().enumerate() {
        fs::write(here.path(name), content(1000 + at)).unwrap();
    }
    fs::write(here.path("tree/deep/large"), content(3_000_000)).unwrap();
    fs::create_dir_all(here.path("into/tree")).unwrap();
    fs::write(here.path("into/tree/b"), b"mine").unwrap();
    let words =
        ["copy", "--verify", "--json", "o.json", "--csv", "o.csv", "--manifest", "m.md5", "--hash", "md5"];
    let ran = here.run(&[&words[..], &["tree", "into"]].concat()).expect_status(1);
    assert!(
        ran.stderr.contains("into/tree/b exists") && ran.stderr.contains("--overwrite"),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.contains("NOT COPIED tree/b: into/tree/b exists"), "{}", ran.stdout);
    assert_eq!(fs::read(here.path("into/tree/b")).unwrap(), b"mine");
    for name in ["tree/a", "tree/deep/c", "tree/deep/large"] {
        assert!(
            fs::read(here.path("into").join(name)).unwrap() == fs::read(here.path(name)).unwrap(),
            "{name}"
        );
    }
    let run = here.json("o.json");
    assert_eq!(paths_not_copied(&run), ["tree/b"]);
    assert_eq!(run["copy"]["not_copied"][0]["message"], "into/tree/b exists");
    assert_eq!(run["copy"]["counts"]["files"], 3);
    let csv = fs::read_to_string(here.path("o.csv")).unwrap();
    assert!(csv.contains(",,,,tree/b,into/tree/b exists"), "{csv}");
    let shown = here.run(&["runs", "show", "last"]).expect_status(0).stdout;
    assert!(shown.contains("NOT COPIED tree/b"), "{shown}");
    let lists = names(&here.path(".")).into_iter().filter(|name| name.starts_with("m."));
    let listed: String = lists.map(|name| fs::read_to_string(here.path(&name)).unwrap()).collect();
    assert_eq!(listed.lines().filter(|line| line.contains("into/tree/")).count(), 3, "{listed}");
}

/// When nothing could be copied, scripts could not find out which files failed and why.
#[test]
fn a_copy_of_nothing_exits_with_two_and_its_document_says_why() {
    let here = Workspace::new();
    fs::write(here.path("from"), b"x").unwrap();
    fs::write(here.path("to"), b"y").unwrap();
    let ran = here.run(&["copy", "--json", "o.json", "from", "to"]).expect_status(2);
    assert_eq!(ran.stderr.matches("to exists").count(), 1, "{}", ran.stderr);
    assert_eq!(ran.stdout, "", "a report of nothing is no report");
    assert_eq!(paths_not_copied(&here.json("o.json")), ["from"]);
    assert!(!here.run(&["runs"]).stdout.contains("copy"), "and a refusal is no run");
    // Of several sources, the existing ones are copied.
    fs::create_dir(here.path("into")).unwrap();
    let ran = here.run(&["copy", "absent", "from", "into"]).expect_status(1);
    assert!(ran.stderr.contains("cannot find absent"), "{}", ran.stderr);
    assert_eq!(names(&here.path("into")), ["from"]);
}

#[test]
fn with_fail_fast_the_first_failure_is_the_end() {
    let here = Workspace::new();
    fs::create_dir_all(here.path("into/tree")).unwrap();
    fs::create_dir(here.path("tree")).unwrap();
    for name in ["a", "b"] {
        fs::write(here.path("tree").join(name), name).unwrap();
    }
    fs::write(here.path("into/tree/a"), b"mine").unwrap();
    let ran = here.run(&["copy", "--fail-fast", "tree", "into"]).expect_status(2);
    assert!(ran.stderr.contains("into/tree/a exists"), "{}", ran.stderr);
    assert_eq!(names(&here.path("into/tree")), ["a"]);
}

/// An unreadable file and an unreadable directory among readable ones.
#[test]
fn what_may_not_be_read_is_listed_and_the_rest_is_copied() {
    let room = tempfile::tempdir().unwrap();
    fs::set_permissions(room.path(), fs::Permissions::from_mode(0o777)).unwrap();
    if chown(room.path(), Some(65_534), Some(65_534)).is_err() {
        return skip("a copy of what may not be read", "only root may become another user");
    }
    let program = room.path().join("iostall");
    copy_binary_to(&program);
    let tree = room.path().join("tree");
    fs::create_dir_all(tree.join("closed")).unwrap();
    for name in ["a", "secret", "z", "closed/inside"] {
        fs::write(tree.join(name), name).unwrap();
    }
    fs::write(tree.join("large"), content(2_000_000)).unwrap();
    fs::write(tree.join("large-secret"), content(2_000_000)).unwrap();
    for name in ["secret", "large-secret", "closed"] {
        fs::set_permissions(tree.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let ran = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(&program)
        .args(["copy", "--no-store", "--json", "o.json", "tree", "copy"])
        .current_dir(room.path())
        .output();
    let Ok(ran) = ran else { return skip("a copy of what may not be read", "there is no setpriv") };
    let ran = Ran::from(ran).expect_status(1);
    assert!(ran.stderr.contains("Permission denied"), "{}", ran.stderr);
    assert_eq!(finished(&room.path().join("copy")), ["a", "large", "z"]);
    let run: Value = serde_json::from_slice(&fs::read(room.path().join("o.json")).unwrap()).unwrap();
    let mut failed = paths_not_copied(&run);
    failed.sort();
    assert_eq!(failed, ["tree/closed", "tree/large-secret", "tree/secret"]);
}

/// A file that was deleted before its turn, or modified while it was copied, ended the copy.
#[test]
fn what_vanishes_or_changes_meanwhile_is_listed_and_the_rest_is_copied() {
    let here = Workspace::new();
    fs::create_dir(here.path("tree")).unwrap();
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for name in ["a", "b", "c", "d"] {
        fs::write(here.path("tree").join(name), content(400_000)).unwrap();
        File::options().write(true).open(here.path("tree").join(name)).unwrap().set_modified(old).unwrap();
    }
    let words = ["copy", "--reflink", "never", "--small-file", "0", "--transfer-size", "64K"];
    let mut copy =
        here.start(&[&words[..], &["--limit", "100KB/s", "--json", "o.json", "tree", "copy"]].concat());
    let part = part_path(&here.path("copy/a"));
    copy.wait_until("the copy of the first", |_| part.exists());
    // The first file alone takes four seconds.
    fs::remove_file(here.path("tree/c")).unwrap();
    let mut changed = File::options().append(true).open(here.path("tree/a")).unwrap();
    changed.write_all(b"more").unwrap();
    until("the last file", || (here.path("copy/d").exists() || copy.has_ended()).then_some(()));
    let ran = copy.ended().expect_status(1);
    assert!(ran.stderr.contains("tree/c") && ran.stderr.contains("tree/a"), "{}", ran.stderr);
    assert_eq!(finished(&here.path("copy")), ["b", "d"]);
    assert_eq!(paths_not_copied(&here.json("o.json")), ["tree/a", "tree/c"]);
}

/// If another program created a file of the same name during the copy, the complete and durable copy was
/// deleted.
#[test]
fn a_copy_that_cannot_be_given_its_name_is_kept_and_the_command_that_finishes_it_is_told() {
    let here = Workspace::new();
    fs::write(here.path("from"), content(600_000)).unwrap();
    let words = ["copy", "--reflink", "never", "--small-file", "0", "--limit", "200KB/s", "from", "to"];
    let mut copy = here.start(&words);
    let part = part_path(&here.path("to"));
    copy.wait_until("the unfinished copy", |_| part.exists());
    fs::write(here.path("to"), b"of somebody else").unwrap();
    let ran = copy.ended().expect_status(2);
    let name = part.file_name().unwrap().to_str().unwrap();
    assert!(
        ran.stderr.contains("to exists") && ran.stderr.contains("complete and durable"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains(&format!("mv --no-clobber {name} to")), "{}", ran.stderr);
    assert_eq!(fs::read(here.path("to")).unwrap(), b"of somebody else");
    assert!(fs::read(&part).unwrap() == content(600_000));
    // Once the name is free, the same command treats the finished part as unfinished and copies again.
    fs::remove_file(here.path("to")).unwrap();
    here.run(&["copy", "from", "to"]).expect_status(0);
    assert_eq!(names(&here.path(".")), ["from", "to"]);
}
