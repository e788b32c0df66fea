//! Copies on every available file system and sector size, on a full file system, and bypassing the page
//! cache.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use iostall_engine::files::{drop_from_cache, page_cache_share};
use iostall_engine::guard::check_free_space;

use crate::copy::{content, names};
use crate::support::{Workspace, at_length, skip, unmount, until};

/// A file system in a file, unmounted on drop.
pub(crate) struct Volume {
    pub(crate) device: String,
    pub(crate) mounted_at: PathBuf,
}

impl Volume {
    /// `None`, with a message, if it is not available.
    pub(crate) fn new(here: &Workspace, kind: &str, sector: u32, mebibytes: u64) -> Option<Self> {
        let what = format!("copying on {kind} with sectors of {sector} bytes");
        let name = format!("{kind}-{sector}");
        let image = here.path(&format!("{name}.image"));
        File::create(&image).unwrap().set_len(mebibytes << 20).unwrap();
        let run = |program: &str, arguments: &[&str]| -> Result<String, String> {
            let output = Command::new(program)
                .args(arguments)
                .output()
                .map_err(|error| format!("{program}: {error}"))?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
            if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
        };
        let sector = sector.to_string();
        let made = run("losetup", &["--find", "--show", "--sector-size", &sector, image.to_str().unwrap()]);
        let device = made.map_err(|why| skip(&what, &why)).ok()?;
        let mounted_at = here.path(&name);
        fs::create_dir(&mounted_at).unwrap();
        let volume = Self { device, mounted_at };
        let options: &[&str] = match kind {
            "exfat" | "vfat" => &[],
            "ext4" => &["-q", "-F"],
            _ => &["-q", "-f"],
        };
        let place = volume.mounted_at.to_str().unwrap();
        let mounted =
            run(&format!("mkfs.{kind}"), &[options, &[volume.device.as_str()]].concat()).and_then(|_| {
                // Without exFAT in the kernel, a FUSE program serves it.
                run("mount", &["-t", kind, &volume.device, place]).or_else(|why| {
                    run(&format!("mount.{kind}-fuse"), &[&volume.device, place]).map_err(|_| why)
                })
            });
        mounted.map_err(|why| skip(&what, &why)).ok()?;
        Some(volume)
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        unmount(&self.mounted_at);
        let _ = Command::new("losetup").args(["--detach", &self.device]).output();
    }
}

/// Files of sizes around sectors, pages and transfers, some with holes.
fn make_sources(tree: &Path, transfer: usize) {
    fs::create_dir(tree).unwrap();
    for size in
        [0, 1, 511, 512, 513, 4095, 4096, 4097, transfer - 1, transfer, transfer + 1, 5 * transfer + 777]
    {
        fs::write(tree.join(format!("full-{size}")), content(size)).unwrap();
        let sparse = File::create(tree.join(format!("sparse-{size}"))).unwrap();
        sparse.set_len(size as u64 * 3 + 1_000_000).unwrap();
        sparse.write_all_at(&content(size), 500_000 + size as u64).unwrap();
    }
}

#[test]
fn every_size_with_and_without_holes_arrives_on_every_file_system_and_sector_size() {
    const TRANSFER: usize = 65_536;
    for (kind, mebibytes) in [("ext4", 64), ("xfs", 400), ("btrfs", 200)] {
        for sector in [512, 4096] {
            let here = Workspace::new();
            make_sources(&here.path("tree"), TRANSFER);
            let Some(volume) = Volume::new(&here, kind, sector, mebibytes) else { continue };
            let there = volume.mounted_at.to_str().unwrap().to_owned();
            let copy = [
                "copy",
                "--no-store",
                "--verify",
                "--small-file",
                "0",
                "--transfer-size",
                "64K",
                "--depth",
                "3",
            ];
            let mut to = copy.to_vec();
            to.extend(["tree", &there]);
            here.run(&to).expect_status(0);
            // And back, so that the file system is also a source.
            let (from, back) = (format!("{there}/tree"), "back");
            let mut from_there = copy.to_vec();
            from_there.extend([from.as_str(), back]);
            here.run(&from_there).expect_status(0);
            for name in names(&here.path("tree")) {
                let expected = fs::read(here.path("tree").join(&name)).unwrap();
                for copied in [volume.mounted_at.join("tree").join(&name), here.path("back").join(&name)] {
                    assert!(fs::read(&copied).unwrap() == expected, "{kind} {sector}: {}", copied.display());
                    if name.starts_with("sparse") {
                        let blocks = fs::metadata(&copied).unwrap().blocks() * 512;
                        let data = expected.len() as u64 - 900_000;
                        assert!(
                            blocks < data + 200_000,
                            "{kind} {sector}: {name} has lost its holes: {blocks}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn blocks_are_shared_where_the_file_system_can_and_only_if_allowed() {
    let here = Workspace::new();
    let Some(volume) = Volume::new(&here, "btrfs", 512, 200) else { return };
    let path = |name: &str| volume.mounted_at.join(name).to_str().unwrap().to_owned();
    fs::write(path("from"), content(3_000_000)).unwrap();
    for (reflink, shared) in [("auto", 1), ("always", 1), ("never", 0)] {
        let to = path(reflink);
        here.run(&["copy", "--verify", "--reflink", reflink, "--json", "o.json", &path("from"), &to])
            .expect_status(0);
        assert_eq!(here.json("o.json")["copy"]["counts"]["reflinked_files"], shared, "{reflink}");
        assert_eq!(fs::read(&to).unwrap(), content(3_000_000));
    }
    let ran = here.run(&["copy", "--reflink", "always", &path("from"), "to"]).expect_status(2);
    assert!(ran.stderr.contains("cannot share its blocks"), "{}", ran.stderr);
    assert!(!here.path("to").exists());
}

#[test]
fn a_full_file_system_is_met_before_the_first_byte_and_left_as_it_was() {
    let here = Workspace::new();
    let Some(volume) = Volume::new(&here, "ext4", 512, 16) else { return };
    fs::write(here.path("from"), content(40_000_000)).unwrap();
    fs::write(volume.mounted_at.join("other"), b"stays").unwrap();
    let there = volume.mounted_at.to_str().unwrap().to_owned();
    let ran = here.run(&["copy", "from", &there]).expect_status(2);
    assert!(ran.stderr.contains("No space left") && ran.stderr.contains("free space"), "{}", ran.stderr);
    assert_eq!(names(&volume.mounted_at), ["lost+found", "other"]);
}

#[test]
fn a_source_that_cannot_be_read_to_its_end_is_an_error_and_leaves_nothing() {
    // After a read error, UBCopy's process died and left the preallocated target at full size, as if
    // complete.
    let here = Workspace::new();
    let Some(volume) = Volume::new(&here, "ext4", 512, 256) else { return };
    let from = volume.mounted_at.join("from");
    fs::write(&from, content(100_000_000)).unwrap();
    File::open(&from).unwrap().sync_all().unwrap();
    // A page that another process uses for a moment stays in the cache and would be read from there.
    until("an empty cache", || {
        drop_from_cache(&from).unwrap();
        page_cache_share(&from).unwrap().is_none_or(|share| share == 0.0).then_some(())
    });
    // The device loses the end of its medium, so reads there fail.
    File::options().write(true).open(here.path("ext4-512.image")).unwrap().set_len(64 << 20).unwrap();
    let ran = here.run(&["copy", from.to_str().unwrap(), "to"]).expect_status(2);
    assert!(ran.stderr.contains("os error 5"), "{}", ran.stderr);
    let left = names(&here.path("."));
    assert!(!left.iter().any(|name| name == "to" || name.contains(".iostall-")), "{left:?}");
}

#[test]
fn a_file_mounted_a_second_time_is_still_the_same_file() {
    let here = Workspace::new();
    fs::create_dir(here.path("one")).unwrap();
    fs::create_dir(here.path("two")).unwrap();
    fs::write(here.path("one/data"), content(2_000_000)).unwrap();
    let bind = Command::new("mount").arg("--bind").arg(here.path("one")).arg(here.path("two")).output();
    if !bind.is_ok_and(|output| output.status.success()) {
        return skip("copying through a bind mount", "mount --bind is not allowed");
    }
    let file = here.run(&["copy", "--overwrite", "one/data", "two/data"]);
    let tree = here.run(&["copy", "one", "two"]);
    unmount(&here.path("two"));
    assert!(file.expect_status(2).stderr.contains("are the same file"));
    assert!(tree.expect_status(2).stderr.contains("would contain itself"));
    assert_eq!(fs::read(here.path("one/data")).unwrap(), content(2_000_000));
}

#[test]
fn a_large_file_passes_the_page_cache_by() {
    // `cp` leaves both files in the page cache and evicts what was there.
    let here = Workspace::new();
    let what = "page cache growth of a large copy";
    let gib = if at_length() { 4 } else { 1 };
    // Space for both files, and for the margin that the program leaves free when it creates the first.
    if let Err(error) = check_free_space(&here.path("."), (2 * gib) << 30) {
        return skip(what, &error.to_string());
    }
    let from = here.path("from");
    // Every packet is different, and none enters the page cache.
    here.run(&[
        "write",
        "--methods",
        "direct",
        "--packet",
        "4M",
        "--size",
        &format!("{gib}G"),
        "--keep",
        "--no-store",
        "from",
    ])
    .expect_status(0);
    drop_from_cache(&from).unwrap();
    here.run(&["copy", "from", "to"]).expect_status(0);
    let copy = here.run(&["runs", "show", "last"]).stdout;
    if !copy.contains("read direct, written direct") {
        return skip(what, "direct I/O is not to be had here");
    }
    assert!(copy.contains(&format!("{gib} GiB in 1 file copied")), "{copy}");
    let mut cached_bytes = 0.0;
    for path in [&from, &here.path("to")] {
        match page_cache_share(path).unwrap() {
            Some(share) => cached_bytes += share * fs::metadata(path).unwrap().len() as f64,
            None => return skip(what, "the kernel does not report"),
        }
    }
    assert!(cached_bytes < f64::from(64 << 20), "{cached_bytes} bytes of {gib} GiB, twice, are in memory");
}

#[test]
fn tuning_measures_first_and_copies_the_same_bytes() {
    let here = Workspace::new();
    let block = content(1 << 20);
    let from = File::create(here.path("from")).unwrap();
    for at in 0..260_u64 {
        from.write_all_at(&block, at << 20).unwrap();
    }
    from.write_all_at(b"end", 260 << 20).unwrap();
    here.run(&["copy", "--tune", "--json", "o.json", "from", "to"]).expect_status(0);
    let copy = &here.json("o.json")["copy"];
    assert_eq!(copy["shape"]["chosen_because"], "measured: the fastest of those tried");
    assert_eq!(copy["bytes"], (260_u64 << 20) + 3);
    assert!(fs::read(here.path("from")).unwrap() == fs::read(here.path("to")).unwrap());
}

/// exFAT through FUSE, like an rclone mount, supports neither rename without replacement nor hard links. A
/// finished copy failed there and was deleted.
#[test]
fn file_systems_without_that_rename_and_without_links_are_copied_to() {
    for kind in ["exfat", "vfat"] {
        let here = Workspace::new();
        fs::create_dir(here.path("tree")).unwrap();
        for (name, size) in [("small", 500), ("taken", 600), ("large", 3_000_000)] {
            fs::write(here.path("tree").join(name), content(size)).unwrap();
        }
        fs::hard_link(here.path("tree/small"), here.path("tree/small-again")).unwrap();
        let Some(volume) = Volume::new(&here, kind, 512, 64) else { continue };
        fs::create_dir(volume.mounted_at.join("tree")).unwrap();
        fs::write(volume.mounted_at.join("tree/taken"), b"mine").unwrap();
        let there = volume.mounted_at.to_str().unwrap();
        let words = ["copy", "--verify", "--json", "o.json", "tree", there];
        here.run(&words).expect_status(1);
        assert_eq!(here.json("o.json")["copy"]["not_copied"].as_array().unwrap().len(), 1, "{kind}");
        let copied = |name: &str| fs::read(volume.mounted_at.join("tree").join(name)).unwrap();
        for name in ["small", "small-again", "large"] {
            assert!(copied(name) == fs::read(here.path("tree").join(name)).unwrap(), "{kind}: {name}");
        }
        assert_eq!(copied("taken"), b"mine", "{kind}");
        here.run(&["copy", "--overwrite", "--verify", "tree", there]).expect_status(0);
        assert_eq!(copied("taken"), content(600), "{kind}");
        assert_eq!(names(&volume.mounted_at.join("tree")), ["large", "small", "small-again", "taken"]);
    }
}

/// FAT has no files of 4 GiB or more. This was discovered after copying the first 4 GiB.
#[test]
fn a_file_that_is_too_large_for_its_file_system_is_known_at_the_start() {
    let here = Workspace::new();
    File::create(here.path("huge")).unwrap().set_len(4 << 30).unwrap();
    fs::write(here.path("small"), b"x").unwrap();
    let Some(volume) = Volume::new(&here, "vfat", 512, 64) else { return };
    let ran = here.run(&["copy", "huge", "small", volume.mounted_at.to_str().unwrap()]).expect_status(1);
    assert!(ran.stderr.contains("takes files of at most"), "{}", ran.stderr);
    assert_eq!(names(&volume.mounted_at), ["small"]);
}
