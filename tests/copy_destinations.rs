//! Destinations that a copy refuses, or accepts only if named: nodes, pipes, links, databases, files in use,
//! devices, and what the system would refuse after hours. Device nodes are created in the workspace; the
//! machine's `/dev` is used only for the loop device.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::copy::{content, names};
use crate::copy_media::Volume;
use crate::devices::LoopDevice;
use crate::support::{Ran, Workspace, skip, unmount};

/// Runs a system tool; `false`, with a message, if it is missing or not permitted.
fn tool(what: &str, program: &str, arguments: &[&str]) -> bool {
    let why = match Command::new(program).args(arguments).output() {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => format!("{program}: {error}"),
    };
    skip(what, &why);
    false
}

/// Expects that nothing was copied, with a message and a hint.
#[track_caller]
fn refused(ran: Ran, words: &[&str]) {
    let ran = ran.expect_status(2);
    for word in words.iter().chain(&["hint:"]) {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
}

/// `copy --overwrite FILE NODE` replaced a device node, pipe or link by a regular file and reported "copied,
/// durable"; the hint without the flag suggested exactly that. With `/dev/null` as root, this damages the
/// machine.
#[test]
fn a_copy_takes_the_place_of_no_node_pipe_or_link() {
    let here = Workspace::new();
    fs::write(here.path("from"), content(3000)).unwrap();
    fs::write(here.path("precious"), b"precious").unwrap();
    symlink("precious", here.path("link")).unwrap();
    symlink("nowhere", here.path("dangling")).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(here.path("socket")).unwrap();
    let path = |name: &str| here.path(name).to_str().unwrap().to_owned();
    assert!(tool("pipes", "mkfifo", &[&path("pipe")]));
    let has_node = tool("device nodes", "mknod", &[&path("null"), "c", "1", "3"]);
    let kinds = [
        ("link", "symbolic link"),
        ("dangling", "symbolic link"),
        ("socket", "socket"),
        ("pipe", "FIFO"),
        ("null", "character device"),
    ];
    for (name, kind) in kinds.into_iter().filter(|(name, _)| has_node || *name != "null") {
        let before = fs::symlink_metadata(here.path(name)).unwrap().file_type();
        for words in [&["copy", "from", name][..], &["copy", "--overwrite", "from", name]] {
            let ran = here.run(words);
            assert!(!ran.stderr.contains("--overwrite"), "{name}: {}", ran.stderr);
            refused(ran, &[name, kind]);
            assert_eq!(fs::symlink_metadata(here.path(name)).unwrap().file_type(), before, "{name}");
        }
    }
    assert_eq!(fs::read(here.path("precious")).unwrap(), b"precious");
    assert!(!here.path("nowhere").exists());
}

/// The same applies within a tree that is copied over another; the rest of the tree is copied.
#[test]
fn a_pipe_or_a_link_in_a_tree_that_is_overwritten_stays_and_is_listed() {
    let here = Workspace::new();
    for name in ["tree/a", "tree/b", "tree/c", "into/tree/a"] {
        fs::create_dir_all(here.path(name).parent().unwrap()).unwrap();
        fs::write(here.path(name), name).unwrap();
    }
    symlink("a", here.path("tree/kept-link")).unwrap();
    symlink("elsewhere", here.path("into/tree/kept-link")).unwrap();
    symlink("a", here.path("into/tree/b")).unwrap();
    assert!(tool("pipes", "mkfifo", &[here.path("into/tree/c").to_str().unwrap()]));
    let ran = here.run(&["copy", "--overwrite", "--json", "o.json", "tree", "into"]).expect_status(1);
    assert!(
        ran.stdout.contains("NOT COPIED tree/b") && ran.stdout.contains("NOT COPIED tree/c"),
        "{}",
        ran.stdout
    );
    assert_eq!(here.json("o.json")["copy"]["not_copied"].as_array().unwrap().len(), 2);
    assert_eq!(fs::read(here.path("into/tree/a")).unwrap(), b"tree/a");
    assert_eq!(fs::read_link(here.path("into/tree/b")).unwrap(), Path::new("a"));
    assert!(fs::symlink_metadata(here.path("into/tree/c")).unwrap().file_type().is_fifo());
    assert_eq!(fs::read_link(here.path("into/tree/kept-link")).unwrap(), Path::new("a"), "a link for a link");
}

/// `copy --overwrite backup.bak live.db` replaced a database in use, which a load would have refused.
#[test]
fn a_database_and_what_the_system_uses_are_replaced_only_by_the_word_for_it_or_not_at_all() {
    let here = Workspace::new();
    fs::write(here.path("from"), content(5000)).unwrap();
    let database = [b"SQLite format 3\0".as_slice(), &content(4080)].concat();
    fs::write(here.path("live.db"), &database).unwrap();
    refused(here.run(&["copy", "--overwrite", "from", "live.db"]), &["SQLite", "--destroy-database live.db"]);
    assert_eq!(fs::read(here.path("live.db")).unwrap(), database);
    let named = ["copy", "--overwrite", "--destroy-database", "live.db", "from", "live.db"];
    here.run(&named).expect_status(0);
    assert_eq!(fs::read(here.path("live.db")).unwrap(), content(5000));

    fs::write(here.path("held"), b"held").unwrap();
    let held = File::open(here.path("held")).unwrap();
    held.lock().unwrap();
    refused(here.run(&["copy", "--overwrite", "from", "held"]), &["held", "locked"]);
    drop(held);
    here.run(&["copy", "--overwrite", "from", "held"]).expect_status(0);

    let Some(_device) = LoopDevice::new(&here, "the file behind a loop device", 4) else { return };
    refused(here.run(&["copy", "--overwrite", "from", "image"]), &["image", "loop"]);
    assert_eq!(fs::metadata(here.path("image")).unwrap().len(), 4 << 20);
}

/// A file with a mount on it cannot be replaced. This was discovered only at the end, and the finished copy
/// was deleted.
#[test]
fn what_the_system_would_refuse_at_the_end_is_refused_at_the_start() {
    let here = Workspace::new();
    fs::write(here.path("from"), content(100_000)).unwrap();
    let unmade = || !names(&here.path(".")).iter().any(|name| name.contains(".iostall-"));

    // A trailing slash means a directory.
    refused(here.run(&["copy", "from", "absent/"]), &["there is no directory absent/"]);
    refused(here.run(&["copy", "from", "absent/."]), &["there is no directory absent/."]);
    refused(here.run(&["copy", "from", "absent/to"]), &["there is no directory absent"]);
    fs::create_dir(here.path("tree")).unwrap();
    here.run(&["copy", "tree", "new/"]).expect_status(0);

    fs::write(here.path("below"), b"below").unwrap();
    fs::write(here.path("over"), b"over").unwrap();
    let path = |name: &str| here.path(name).to_str().unwrap().to_owned();
    if tool("a file that is mounted on", "mount", &["--bind", &path("over"), &path("below")]) {
        let ran = here.run(&["copy", "--overwrite", "from", "below"]);
        unmount(&here.path("below"));
        refused(ran, &["below", "mounted on it"]);
        assert_eq!(fs::read(here.path("below")).unwrap(), b"below");
    }
    fs::write(here.path(&"n".repeat(200)), b"x").unwrap();
    let long = format!("tree/{}", "n".repeat(300));
    refused(here.run(&["copy", "from", &long]), &["File name too long"]);
    assert!(unmade());
}

/// With `chattr +i` a file cannot be replaced; with `+a` on a directory, files can be created in it but not
/// renamed. Both were discovered after hours.
#[test]
fn protected_files_and_directories_are_refused_at_the_start() {
    let here = Workspace::new();
    let Some(volume) = Volume::new(&here, "ext4", 512, 16) else { return };
    let there = |name: &str| volume.mounted_at.join(name).to_str().unwrap().to_owned();
    fs::write(here.path("from"), content(50_000)).unwrap();
    fs::write(there("fixed"), b"fixed").unwrap();
    fs::create_dir(there("growing")).unwrap();
    fs::create_dir(there("closed")).unwrap();
    let cases = [
        ("+i", "-i", "fixed", vec!["copy", "--overwrite", "from"], "immutable"),
        ("+a", "-a", "growing", vec!["copy", "from"], "append-only"),
        ("+i", "-i", "closed", vec!["copy", "from"], "immutable"),
    ];
    for (on, off, name, mut words, what) in cases {
        let path = there(name);
        if !tool("protected files", "chattr", &[on, &path]) {
            return;
        }
        words.push(&path);
        let ran = here.run(&words);
        let left = if Path::new(&path).is_dir() { names(Path::new(&path)) } else { Vec::new() };
        assert!(tool("protected files", "chattr", &[off, &path]));
        refused(ran, &[&path, what]);
        assert_eq!(left, [""; 0], "{name}");
    }
    assert_eq!(fs::read(there("fixed")).unwrap(), b"fixed");
}

/// A copy of several files that do not all fit filled the disk for hours and then failed.
#[test]
fn files_that_do_not_fit_together_are_refused_before_the_first() {
    let here = Workspace::new();
    let Some(volume) = Volume::new(&here, "ext4", 512, 32) else { return };
    fs::create_dir(here.path("tree")).unwrap();
    for name in ["a", "b", "c", "d"] {
        fs::write(here.path("tree").join(name), content(12 << 20)).unwrap();
    }
    let there = volume.mounted_at.to_str().unwrap();
    refused(here.run(&["copy", "tree", there]), &["No space left", "free space"]);
    assert_eq!(names(&volume.mounted_at), ["lost+found"]);
    // Replacing a file needs space only for the difference.
    fs::write(volume.mounted_at.join("a"), content(12 << 20)).unwrap();
    let one = here.path("tree/a");
    here.run(&["copy", "--overwrite", one.to_str().unwrap(), there]).expect_status(0);
}

fn node(here: &Workspace, device: &LoopDevice) -> Option<PathBuf> {
    let number = device.name().strip_prefix("/dev/loop")?;
    let path = here.path("device");
    let made = tool("a device as destination", "mknod", &[path.to_str()?, "b", "7", number]);
    made.then_some(path)
}

fn is_block_device(path: &Path) -> bool {
    fs::symlink_metadata(path).unwrap().file_type().is_block_device()
}

/// Copying a disk image to the disk's node replaced the node by a regular file and never wrote to the disk.
#[test]
fn an_image_is_written_onto_a_device_that_is_named_and_onto_no_other() {
    let here = Workspace::new();
    let Some(device) = LoopDevice::new(&here, "a device as destination", 16) else { return };
    let Some(node) = node(&here, &device) else { return };
    let old = content(16 << 20);
    let disk = File::options().write(true).open(here.path("image")).unwrap();
    disk.write_all_at(&old, 0).unwrap();
    // Data, a hole, data, and an end within a sector.
    let size = (5 << 20) + 1234;
    let from = File::create(here.path("from")).unwrap();
    from.set_len(size).unwrap();
    from.write_all_at(&content(1 << 20), 0).unwrap();
    from.write_all_at(&content(5000), (3 << 20) + 7).unwrap();

    for words in [&["copy", "from", "device"][..], &["copy", "--overwrite", "from", "device"]] {
        refused(here.run(words), &["block device", "`--to-device /"]);
    }
    refused(here.run(&["copy", "--to-device", "device", "from", "to"]), &[]);
    let ran = here.run(&["copy", "--to-device", "other", "from", "device"]).expect_status(2);
    assert!(ran.stderr.contains("`--to-device /"), "{}", ran.stderr);
    File::create(here.path("large")).unwrap().set_len((16 << 20) + 1).unwrap();
    refused(here.run(&["copy", "--to-device", "device", "large", "device"]), &["16777216 bytes", "16777217"]);
    assert!(is_block_device(&node) && !here.path("to").exists());
    assert!(fs::read(here.path("image")).unwrap() == old, "nothing was written by what was refused");

    let words = ["copy", "--verify", "--to-device", "device", "--manifest", "m.json", "--json", "o.json"];
    let ran = here.run(&[&words[..], &["from", "device"]].concat()).expect_status(0);
    assert!(ran.stdout.contains("Read back and equal: 1 file"), "{}", ran.stdout);
    assert!(ran.stdout.contains("of its 16,777,216 bytes written"), "{}", ran.stdout);
    assert!(is_block_device(&node));
    let found = fs::read(&node).unwrap();
    let expected = fs::read(here.path("from")).unwrap();
    assert!(found[..expected.len()] == expected, "the image is on the device, its holes as zeros");
    let image = &here.json("o.json")["copy"]["image"];
    assert_eq!(
        (&image["image_bytes"], &image["device_bytes"]),
        (&size.into(), &(16 << 20).into()),
        "{image}"
    );
    let end = usize::try_from(size + image["padding_bytes"].as_u64().unwrap()).unwrap();
    assert!(found[expected.len()..end].iter().all(|byte| *byte == 0));
    assert!(found[end..] == old[end..], "what lies behind the image is as it was");
    here.run(&["verify", "m.json"]).expect_status(0);
}

#[test]
fn a_device_with_a_file_system_needs_the_stronger_word_and_a_mounted_one_has_none() {
    let here = Workspace::new();
    let Some(volume) = Volume::new(&here, "ext4", 512, 16) else { return };
    fs::write(here.path("from"), content(100_000)).unwrap();
    let path = here.path("node");
    let Some(number) = volume.device.strip_prefix("/dev/loop") else { return };
    if !tool("a device as destination", "mknod", &[path.to_str().unwrap(), "b", "7", number]) {
        return;
    }
    let write =
        |word: &str| here.run(&["copy", word, "node", "--verify", "--json", "o.json", "from", "node"]);
    refused(write("--destroy"), &["is mounted on"]);
    unmount(&volume.mounted_at);
    refused(write("--to-device"), &["ext2, ext3 or ext4", "`--destroy /"]);
    write("--destroy").expect_status(0);
    assert_eq!(fs::read(&path).unwrap()[..100_000], content(100_000));
    let replaced = &here.json("o.json")["copy"]["image"]["replaced"];
    assert!(replaced.to_string().contains("ext2, ext3 or ext4"), "{replaced}");
}

/// A copy that was refused was stored as a run of 0 MiB/s, and came back in reports.
#[test]
fn a_copy_that_was_refused_is_no_run() {
    let here = Workspace::new();
    fs::write(here.path("from"), content(5_000)).unwrap();
    fs::write(here.path("there"), "mine").unwrap();
    for (words, hint) in [
        (["from", "/dev/null"], "`-`"),
        (["from", "there"], "--overwrite"),
        (["user@host:/x", "y"], "ssh"),
        (["from", "host:/y"], "ssh"),
    ] {
        let ran = here.run(&[&["copy"], &words[..]].concat()).expect_status(2);
        assert!(ran.stderr.contains(hint), "{words:?}: {}", ran.stderr);
    }
    here.run(&["copy", "from", "to"]).expect_status(0);
    let listed = here.run(&["runs"]).expect_status(0).stdout;
    assert_eq!(listed.lines().filter(|line| line.contains("copy")).count(), 1, "{listed}");
}
