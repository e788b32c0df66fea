//! On which volume of this host a path lies, in the words in which `linux:` shows the volume.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use super::mounts::{self, Mount};

/// Where paths lie. Asked of the kernel once a directory, and again when something is mounted.
#[derive(Debug)]
pub(crate) struct Volumes {
    root: PathBuf,
    mountinfo: String,
    mounts: Vec<Mount>,
    /// Names of block devices by `major:minor`.
    names: HashMap<String, String>,
    known: HashMap<String, Option<String>>,
    /// What was asked for last: files of one directory come one after the other.
    last: (String, Option<String>),
}

impl Volumes {
    /// Of this host.
    pub(crate) fn new() -> Self {
        Self::rooted(Path::new("/"))
    }

    /// The same with another root, where a captured `/proc` lies.
    fn rooted(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            mountinfo: String::new(),
            mounts: Vec::new(),
            names: HashMap::new(),
            known: HashMap::new(),
            last: (String::new(), None),
        }
    }

    /// Forgets what it knows if something was mounted or unmounted since.
    pub(crate) fn refresh(&mut self) {
        let mountinfo = super::read_text(&self.root, "proc/self/mountinfo").unwrap_or_default();
        if mountinfo != self.mountinfo {
            self.mounts = mounts::parse(&mountinfo);
            self.names = names(&super::read_text(&self.root, "proc/diskstats").unwrap_or_default());
            self.known.clear();
            self.last = (String::new(), None);
            self.mountinfo = mountinfo;
        }
    }

    /// The volume of `directory`: `sda1 (/data)`, or `/data (nfs4)` where no single device holds it; `None` where
    /// there is no such directory on this host.
    pub(crate) fn of(&mut self, directory: &str) -> Option<String> {
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

    /// The label of what is at `path`: of the device `number`, else of the file system the path leads into.
    fn label(&self, path: &Path, number: Option<String>) -> Option<String> {
        let above = self.mounts.iter().filter(|mount| path.starts_with(&mount.point));
        // Of mounts on one point the last one hides the others.
        let mount = above.max_by_key(|mount| mount.point.components().count());
        let number = number.or_else(|| mount.map(|mount| mount.device.clone()))?;
        match (self.names.get(&number), mounts::point_of(&self.mounts, &number)) {
            (Some(name), Some(point)) => Some(format!("{name} ({point})")),
            (Some(name), None) => Some(name.clone()),
            (None, _) => mount.map(|mount| format!("{} ({})", mount.point.display(), mount.file_system)),
        }
    }
}

/// The path without symbolic links, and the number of its device. Where a directory above may not be entered (a
/// server's data is its own) the path is followed as far as it can be, and the device is left to the mounts.
fn seen(directory: &Path) -> Option<(PathBuf, Option<String>)> {
    match std::fs::canonicalize(directory) {
        Ok(path) => {
            let number = mounts::device_of(&path).ok();
            Some((path, number))
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let (above, _) = seen(directory.parent()?)?;
            Some((above.join(directory.file_name()?), None))
        }
        Err(_) => None,
    }
}

/// The devices that diskstats counts: major, minor, name.
fn names(diskstats: &str) -> HashMap<String, String> {
    let name = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        Some((format!("{}:{}", words.next()?, words.next()?), words.next()?.to_owned()))
    };
    diskstats.lines().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_this_host_lies_on_something_and_one_that_is_not_there_on_nothing() {
        let mut volumes = Volumes::new();
        volumes.refresh();
        assert!(volumes.of(env!("CARGO_MANIFEST_DIR")).is_some());
        assert_eq!(volumes.of("/nowhere/at/all"), None);
    }

    #[test]
    fn the_name_is_that_of_the_row_of_the_device() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/host");
        let mut volumes = Volumes::rooted(&root);
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
