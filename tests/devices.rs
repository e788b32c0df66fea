//! `iostall load` on real block devices (loop) and on a full file system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Workspace, counted, skip, unmount};

/// A loop device on a separate file, detached on drop.
pub(crate) struct LoopDevice {
    path: PathBuf,
}

impl LoopDevice {
    /// `None`, with a message, if loop devices are not available.
    pub(crate) fn new(here: &Workspace, what: &str, mebibytes: u64) -> Option<Self> {
        let image = here.path("image");
        fs::File::create(&image).unwrap().set_len(mebibytes << 20).unwrap();
        let made = Command::new("losetup").args(["--find", "--show"]).arg(&image).output();
        match made {
            Ok(output) if output.status.success() => {
                Some(Self { path: PathBuf::from(String::from_utf8(output.stdout).unwrap().trim()) })
            }
            Ok(output) => {
                skip(what, String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                skip(what, &format!("losetup: {error}"));
                None
            }
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.path.to_str().unwrap()
    }

    pub(crate) fn format(&self) {
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&self.path).status();
        assert!(made.expect("mkfs.ext4 runs").success());
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
    }
}

/// A mounted file system, unmounted on drop. Declared after its device, so that it is dropped first.
pub(crate) struct Mount(PathBuf);

impl Mount {
    pub(crate) fn new(device: &LoopDevice, at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mounted = Command::new("mount").arg(&device.path).arg(at).status();
        mounted.is_ok_and(|status| status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        unmount(&self.0);
    }
}

const SHORT: [&str; 6] = ["load", "--duration", "300ms", "--warmup", "0", "--preset"];

fn short<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    SHORT.into_iter().chain(rest.iter().copied()).collect()
}

#[test]
fn a_device_is_read_freely_and_written_only_by_its_name() {
    let here = Workspace::new();
    let Some(device) = LoopDevice::new(&here, "loads on a block device", 64) else { return };
    let has_read = |run: &Value| counted(run, 0, "read").0 > 0;
    let run = here.load(&["--preset", "random-read", device.name()], has_read);
    assert_eq!(run["targets"][0]["kind"], "block-device");

    let refused = here.run(&short(&["random-write", device.name()])).expect_status(2);
    assert!(refused.stderr.contains(&format!("--overwrite {}", device.name())), "{}", refused.stderr);
    let before = fs::read(here.path("image")).unwrap();
    assert!(before.iter().all(|byte| *byte == 0), "a refused device was written");

    let has_written = |run: &Value| counted(run, 0, "write").0 > 0;
    here.load(&["--preset", "random-write", "--overwrite", device.name(), device.name()], has_written);
    assert_ne!(fs::read(here.path("image")).unwrap(), before);
}

/// A file system without user attributes, like exFAT, SMB, NFS and most of FUSE.
struct WithoutAttributes {
    place: PathBuf,
    _image: Option<LoopDevice>,
}

impl WithoutAttributes {
    /// exFAT if it can be mounted, otherwise a FUSE view of a directory that hides attributes. `None`, with a
    /// message, if neither is available.
    fn new(here: &Workspace) -> Option<Self> {
        let place = here.path("plain");
        fs::create_dir_all(&place).unwrap();
        let run = |program: &str, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).output();
            output.is_ok_and(|output| output.status.success())
        };
        let at = place.to_str().unwrap();
        // Sparse, and larger than the free space that the program insists on.
        let elsewhere = Workspace::new();
        if let Some(image) = LoopDevice::new(&elsewhere, "exFAT", 3072)
            && run("mkfs.exfat", &[image.name()])
            && (run("mount", &["-t", "exfat", image.name(), at])
                || run("mount.exfat-fuse", &[image.name(), at]))
        {
            return Some(Self { place, _image: Some(image) });
        }
        fs::create_dir_all(here.path("behind")).unwrap();
        if run("bindfs", &["--xattr-none", here.path("behind").to_str().unwrap(), at]) {
            return Some(Self { place, _image: None });
        }
        skip("files without user attributes", "neither exFAT nor bindfs can be mounted");
        None
    }
}

impl Drop for WithoutAttributes {
    fn drop(&mut self) {
        unmount(&self.place);
    }
}

/// A disk that a load had written was imaged with `dd` to an exFAT stick. The image began with the header of
/// a scratch file, and the next load overwrote it without any flag.
#[test]
fn the_image_of_a_loaded_device_is_no_file_of_ours_where_there_are_no_attributes() {
    let here = Workspace::new();
    let Some(device) = LoopDevice::new(&here, "images of loaded devices", 16) else { return };
    let has_written = |run: &Value| counted(run, 0, "write").0 > 0;
    let fill =
        ["--preset", "random-write", "--access", "sequential", "--overwrite", device.name(), device.name()];
    here.load(&fill, has_written);
    let Some(plain) = WithoutAttributes::new(&here) else { return };
    let image = fs::read(here.path("image")).unwrap();
    assert_eq!(image[..7], *b"IOSTALL");
    // What the previous version wrote, to devices and files alike.
    let mut older = image.clone();
    older[7] = b'1';
    for content in [image, older] {
        fs::write(plain.place.join("disk.img"), &content).unwrap();
        for write in
            [&short(&["random-write", "plain/disk.img"])[..], &["write", "--size", "4M", "plain/disk.img"]]
        {
            let refused = here.run(write).expect_status(2);
            assert!(refused.stderr.contains("was not made by iostall"), "{}", refused.stderr);
        }
        assert!(fs::read(plain.place.join("disk.img")).unwrap() == content, "the image was written");
    }

    // A file of ours is recognised before and after its first block is written.
    for _ in 0..2 {
        let write = ["random-write", "--access", "sequential", "--size", "4M", "plain/ours.dat"];
        here.run(&short(&write)).expect_status(0);
    }
    let diskspd = ["diskspd", "-d1", "-W0", "-w100", "-s", "plain/ours.dat"];
    here.run(&diskspd).expect_status(0);
    here.run(&diskspd).expect_status(0);
    here.run(&["write", "--keep", "--size", "4M", "--methods", "buffered", "plain/ours.dat"])
        .expect_status(0);
    here.run(&["write", "--size", "4M", "--methods", "buffered", "plain/ours.dat"]).expect_status(0);
    // The user's file remains the user's, even after it was overwritten with consent.
    fs::write(plain.place.join("users.dat"), vec![1; 4 << 20]).unwrap();
    let write = ["random-write", "--access", "sequential", "plain/users.dat"];
    here.run(&short(&[&write[..], &["--overwrite", "plain/users.dat"]].concat())).expect_status(0);
    here.run(&short(&write)).expect_status(2);
}

#[test]
fn a_device_with_a_file_system_or_a_mount_is_never_written_by_overwrite_alone() {
    let here = Workspace::new();
    let Some(device) = LoopDevice::new(&here, "refusals on a block device", 64) else { return };
    device.format();
    let image = fs::read(here.path("image")).unwrap();
    let overwrite = ["random-write", "--overwrite", device.name(), device.name()];
    let refused = here.run(&short(&overwrite)).expect_status(2);
    assert!(refused.stderr.contains("ext4") && refused.stderr.contains("--destroy"), "{}", refused.stderr);
    assert!(fs::read(here.path("image")).unwrap() == image, "a refused device was written");

    if let Some(_mount) = Mount::new(&device, &here.path("mnt")) {
        let destroy = ["random-write", "--destroy", device.name(), device.name()];
        let refused = here.run(&short(&destroy)).expect_status(2);
        assert!(refused.stderr.contains("mounted"), "{}", refused.stderr);
    } else {
        skip("the refusal of a mounted device", "mount is not allowed here");
    }
    here.run(&short(&["random-write", "--destroy", device.name(), device.name()])).expect_status(0);
}

#[test]
fn a_full_file_system_is_reported_with_offset_and_length_and_the_status_says_no() {
    let here = Workspace::new();
    let Some(device) = LoopDevice::new(&here, "ENOSPC on a full file system", 64) else { return };
    device.format();
    let Some(_mount) = Mount::new(&device, &here.path("mnt")) else {
        return skip("ENOSPC on a full file system", "mount is not allowed here");
    };
    // A sparse file on a file system without free blocks: every write needs one and fails.
    fs::File::create(here.path("mnt/holes.dat")).unwrap().set_len(32 << 20).unwrap();
    let mut filler = fs::File::create(here.path("mnt/filler")).unwrap();
    while std::io::Write::write_all(&mut filler, &[1; 4096]).is_ok() {}
    drop(filler);
    // A run with only errors ends long before its duration.
    let write = ["load", "--duration", "1h", "--warmup", "0", "--preset", "random-write", "--json", "o.json"];
    let ran = here.run(&[&write[..], &["--overwrite", "mnt/holes.dat", "mnt/holes.dat"]].concat());
    let ran = ran.expect_status(1);
    assert!(ran.stdout.contains("ENOSPC"), "{}", ran.stdout);
    let error = &here.json("o.json")["load"]["spans"][0]["roles"][0]["errors"][0];
    assert_eq!(error["kind"], "ENOSPC");
    assert!(error["first_length"].as_u64().unwrap() > 0 && error["first_offset"].is_u64(), "{error}");
}

#[test]
fn a_file_that_cannot_be_made_for_want_of_room_leaves_nothing_behind() {
    let here = Workspace::new();
    let Some(device) = LoopDevice::new(&here, "the free-space floor", 64) else { return };
    device.format();
    let Some(_mount) = Mount::new(&device, &here.path("mnt")) else {
        return skip("the free-space floor", "mount is not allowed here");
    };
    let refused = here.run(&short(&["oltp", "--size", "48MiB", "mnt/new.dat"])).expect_status(2);
    assert!(refused.stderr.contains("free"), "{}", refused.stderr);
    assert!(!here.path("mnt/new.dat").exists());
}

#[test]
fn database_files_are_recognised_and_refused() {
    let here = Workspace::new();
    fs::create_dir_all(here.path("pg/base/5")).unwrap();
    fs::write(here.path("pg/PG_VERSION"), "15\n").unwrap();
    fs::write(here.path("pg/base/5/16384"), vec![1; 1 << 20]).unwrap();
    fs::write(here.path("ibdata1"), vec![1; 1 << 20]).unwrap();
    fs::write(here.path("sales.mdf"), vec![1; 1 << 20]).unwrap();
    for file in ["pg/base/5/16384", "ibdata1", "sales.mdf"] {
        let refused = here.run(&short(&["random-write", "--overwrite", file, file])).expect_status(2);
        assert!(refused.stderr.contains("--destroy-database"), "{file}: {}", refused.stderr);
        assert!(fs::read(here.path(file)).unwrap() == vec![1; 1 << 20]);
    }
}
