//! A cloud disk: a file system on a loop device that serves only so many requests a second.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::devices::{LoopDevice, Mount};
use crate::support::{Ran, Workspace, binary, skip, until};

/// The device with its mounted file system, and the control group that slows down whoever runs in it.
pub(crate) struct SlowDisk {
    group: PathBuf,
    // Unmounted before the device goes.
    _mount: Mount,
    _device: LoopDevice,
}

impl SlowDisk {
    /// Mounts it at `at`. `None`, with a message, where there are no loop devices or no control group for I/O.
    pub(crate) fn new(here: &Workspace, at: &str, mebibytes: u64, per_second: u32) -> Option<Self> {
        let what = "a slow disk";
        let device = LoopDevice::new(here, what, mebibytes)?;
        device.format();
        let Some(mount) = Mount::new(&device, &here.path(at)) else {
            skip(what, "a loop device cannot be mounted");
            return None;
        };
        let Some(group) = limited(&device, per_second) else {
            skip(what, "no control group limits I/O");
            return None;
        };
        Some(Self { group, _mount: mount, _device: device })
    }

    /// Runs the program where the disk is slow.
    pub(crate) fn run(&self, here: &Workspace, arguments: &[&str]) -> Ran {
        let mut shell = here.shell("echo $$ > \"$0\"/cgroup.procs && exec \"$@\"");
        shell.arg(&self.group).arg(binary()).args(arguments);
        shell.output().expect("the binary runs").into()
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        // The last process may still be leaving it.
        until("an empty control group", || fs::remove_dir(&self.group).ok());
    }
}

/// A new control group, of either version, for `per_second` reads and as many writes.
fn limited(device: &LoopDevice, per_second: u32) -> Option<PathBuf> {
    let name = Path::new(device.name()).file_name()?.to_str()?;
    let number = fs::read_to_string(format!("/sys/block/{name}/dev")).ok()?;
    let number = number.trim();
    let name = format!("iostall-test-{}-{name}", std::process::id());
    let first = Path::new("/sys/fs/cgroup/blkio");
    let (parent, limits) = if first.exists() {
        let limit = format!("{number} {per_second}");
        let files = ["blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device"];
        (first, files.map(|file| (file, limit.clone())).to_vec())
    } else {
        let limit = format!("{number} riops={per_second} wiops={per_second}");
        (Path::new("/sys/fs/cgroup"), vec![("io.max", limit)])
    };
    let group = parent.join(name);
    fs::create_dir(&group).ok()?;
    if limits.iter().all(|(file, limit)| fs::write(group.join(file), limit).is_ok()) {
        return Some(group);
    }
    let _ = Command::new("rmdir").arg(&group).status();
    None
}
