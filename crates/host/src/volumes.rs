//! Finds the volume of this host that a path is on, under the name that `linux:` shows for it.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::mounts::{self, Mount, mount_point_of};
use super::system::{System, device_number};
use crate::counters::DiskStats;

/// Volumes of paths. Asks the kernel once per directory, and again after a mount or unmount.
#[derive(Debug)]
pub struct Volumes {
    system: System,
    mountinfo: String,
    mounts: Vec<Mount>,
    /// Device names by `major:minor`.
    names: HashMap<String, String>,
    known: HashMap<String, Option<String>>,
    /// The last answer: files of one directory usually follow each other.
    last: (String, Option<String>),
}

impl Volumes {
    pub fn of_system(system: System) -> Self {
        Self {
            system,
            mountinfo: String::new(),
            mounts: Vec::new(),
            names: HashMap::new(),
            known: HashMap::new(),
            last: (String::new(), None),
        }
    }

    /// Forgets everything if something was mounted or unmounted since.
    pub fn refresh(&mut self) {
        let mountinfo = self.system.text("/proc/self/mountinfo").unwrap_or_default();
        if mountinfo != self.mountinfo {
            self.mounts = mounts::parse(&mountinfo);
            self.names = names(self.system.disk_stats().unwrap_or_default());
            self.known.clear();
            self.last = (String::new(), None);
            self.mountinfo = mountinfo;
        }
    }

    /// The volume of `directory`: `sda1 (/data)`, or `/data (nfs4)` if it is on no single device; `None` if
    /// the directory does not exist on this host.
    pub fn of(&mut self, directory: &str) -> Option<String> {
        if self.last.0 != directory {
            let known = self.known.get(directory).cloned();
            let volume = known.unwrap_or_else(|| self.find(Path::new(directory)));
            self.known.insert(directory.to_owned(), volume.clone());
            self.last = (directory.to_owned(), volume);
        }
        self.last.1.clone()
    }

    fn find(&self, directory: &Path) -> Option<String> {
        let (path, number) = seen(directory)?;
        self.label(&path, number.filter(|number| !number.starts_with("0:")))
    }

    /// The name of the volume at `path`: of device `number` if known, else of the file system that the path
    /// leads to.
    fn label(&self, path: &Path, number: Option<String>) -> Option<String> {
        let above = self.mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
        // Of several mounts on one mount point the last hides the others.
        let mount = above.max_by_key(|mount| mount.mount_point.components().count());
        let number = number.or_else(|| mount.map(|mount| mount.number.clone()))?;
        match (self.names.get(&number), mount_point_of(&self.mounts, &number)) {
            (Some(name), Some(point)) => Some(format!("{name} ({point})")),
            (Some(name), None) => Some(name.clone()),
            (None, _) => mount.map(|mount| format!("{} ({})", mount.mount_point.display(), mount.kind)),
        }
    }
}

/// The path without symbolic links, and its device number. If a parent directory is not accessible (a
/// server's data directory usually is not), the path is resolved as far as possible and the device is left to
/// the mount table.
fn seen(directory: &Path) -> Option<(PathBuf, Option<String>)> {
    match std::fs::canonicalize(directory) {
        Ok(path) => {
            let number = std::fs::metadata(&path).ok().map(|metadata| device_number(metadata.dev()));
            Some((path, number))
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let (above, _) = seen(directory.parent()?)?;
            Some((above.join(directory.file_name()?), None))
        }
        Err(_) => None,
    }
}

fn names(stats: Vec<DiskStats>) -> HashMap<String, String> {
    stats.into_iter().map(|stats| (stats.number, stats.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::system::made_up;
    use super::*;

    #[test]
    fn a_directory_of_this_host_lies_on_something_and_one_that_is_not_there_on_nothing() {
        let mut volumes = Volumes::of_system(System::here());
        volumes.refresh();
        assert!(volumes.of(env!("CARGO_MANIFEST_DIR")).is_some());
        assert_eq!(volumes.of("/nowhere/at/all"), None);
    }

    #[test]
    fn the_name_is_that_of_the_row_of_the_device() {
        let (_root, system) = made_up(&[
            ("proc/diskstats", " 259 1 nvme0n1p1 9 1 7 8 1 3 1 3 0 6 4\n 252 0 dm-0 9 0 7 8 1 0 1 3 0 6 4\n"),
            (
                "proc/self/mountinfo",
                "27 1 259:1 / / rw - ext4 /dev/nvme0n1p1 rw\n28 27 252:0 / /var/lib/data rw - xfs /dev/mapper/data rw\n\
                 29 27 0:40 / /tmp rw - tmpfs tmpfs rw\n",
            ),
        ]);
        let mut volumes = Volumes::of_system(system);
        volumes.refresh();
        let label =
            |path: &str, number: Option<&str>| volumes.label(Path::new(path), number.map(str::to_owned));
        assert_eq!(label("/var/lib/data/base", None).as_deref(), Some("dm-0 (/var/lib/data)"));
        assert_eq!(label("/var/lib/database", None).as_deref(), Some("nvme0n1p1 (/)"), "not a mount's begin");
        assert_eq!(label("/anywhere", Some("252:0")).as_deref(), Some("dm-0 (/var/lib/data)"));
        assert_eq!(label("/tmp/pg", None).as_deref(), Some("/tmp (tmpfs)"));
    }

    #[test]
    fn what_may_not_be_entered_is_followed_as_far_as_it_can_be() {
        assert_eq!(seen(Path::new("/nowhere/at/all")), None);
        let (path, number) = seen(Path::new("/")).unwrap();
        assert!(path == Path::new("/") && number.is_some());
    }
}
