//! A file system whose I/O the kernel counts apart from everybody else's.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{chown_to_nobody, until};

const IMAGE_BYTES: u64 = 768 << 20;

/// An ext4 on a loop device of its own, without a journal: what is written there is what files hold, and their
/// inodes. Declare it before the server that lives on it, so that it goes after it.
pub(crate) struct Disk {
    _image: tempfile::NamedTempFile,
    device: PathBuf,
    point: tempfile::TempDir,
}

impl Disk {
    /// A new one, mounted; `None` without root or loop devices.
    pub(crate) fn mount() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let image = tempfile::NamedTempFile::new().ok()?;
        image.as_file().set_len(IMAGE_BYTES).ok()?;
        let device = Command::new("losetup").args(["--find", "--show"]).arg(image.path()).output().ok()?;
        if !device.status.success() {
            return None;
        }
        let device = PathBuf::from(String::from_utf8(device.stdout).ok()?.trim());
        let disk = Self { _image: image, device, point: tempfile::tempdir().ok()? };
        // Tables of inodes written later, by the kernel on its own account, would be counted too.
        let made = run(Command::new("mkfs.ext4")
            .args(["-q", "-m", "0", "-O", "^has_journal", "-E", "lazy_itable_init=0,nodiscard"])
            .arg(&disk.device));
        (made && disk.attach()).then_some(disk)
    }

    fn attach(&self) -> bool {
        let mounted =
            run(Command::new("mount").args(["-o", "noatime"]).arg(&self.device).arg(self.point.path()));
        chown_to_nobody(self.point.path());
        mounted
    }

    /// Where it is mounted.
    pub(crate) fn point(&self) -> &Path {
        self.point.path()
    }

    /// The name of the device in diskstats.
    pub(crate) fn name(&self) -> String {
        self.device.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Writes everything the page cache holds for it.
    pub(crate) fn sync(&self) {
        rustix::fs::syncfs(std::fs::File::open(self.point()).unwrap()).unwrap();
    }

    /// Empties the page cache of it, and of nothing else on this machine: unmounts and mounts it.
    pub(crate) fn forget_cache(&self) {
        until("the file system to be free", || run(Command::new("umount").arg(self.point())).then_some(()));
        assert!(self.attach(), "{} is mounted again", self.device.display());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Nothing here may panic: a failed test must still give the device back.
        if !run(Command::new("umount").arg(self.point())) {
            run(Command::new("umount").arg("--lazy").arg(self.point()));
        }
        run(Command::new("losetup").arg("--detach").arg(&self.device));
    }
}

fn run(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
