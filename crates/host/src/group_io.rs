//! Reads and writes of control groups (version 2) by device. The kernel counts no time per device.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::system::{System, read_text};
use crate::counters::Pressure;
use crate::mounts::Mount;

/// Where version 2 is mounted if the list of mounts does not say.
const GROUPS: &str = "/sys/fs/cgroup";

/// How deep to look for groups: slices and services, but not what services create below themselves.
const DEPTH_MAX: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupIo {
    /// Path from the root of the hierarchy, such as `/system.slice/mariadb.service`.
    pub name: String,
    /// Inode of its directory: a group that is recreated under the same name has a new one, and its counters
    /// start at 0.
    pub inode: u64,
    pub devices: Vec<GroupDeviceIo>,
    /// How long its tasks waited; `None` if the kernel does not count it.
    pub pressure: Option<Pressure>,
}

/// I/O of one group on one device; `None` for what the kernel does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupDeviceIo {
    /// `major:minor`.
    pub number: String,
    pub reads: Option<u64>,
    pub read_bytes: Option<u64>,
    pub writes: Option<u64>,
    pub write_bytes: Option<u64>,
    pub discards: Option<u64>,
    pub discard_bytes: Option<u64>,
}

impl GroupDeviceIo {
    /// Parses a line of `io.stat`: `259:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6`; `None` if it is
    /// malformed.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let mut found = Self { number: words.next()?.to_owned(), ..Self::default() };
        for (key, value) in words.filter_map(|word| word.split_once('=')) {
            let counter = match key {
                "rbytes" => &mut found.read_bytes,
                "wbytes" => &mut found.write_bytes,
                "rios" => &mut found.reads,
                "wios" => &mut found.writes,
                "dbytes" => &mut found.discard_bytes,
                "dios" => &mut found.discards,
                _ => continue,
            };
            *counter = Some(value.parse().ok()?);
        }
        Some(found)
    }
}

impl System {
    /// Every group down to services. Beside version 1, version 2 has a directory of its own, and the groups of version 1 count nothing here.
    pub fn group_io(&self, mounts: &[Mount]) -> Vec<GroupIo> {
        let root =
            mounts.iter().find(|mount| mount.kind == "cgroup2").map(|mount| mount.mount_point.as_path());
        let mut groups = Vec::new();
        descend(&self.locate(root.unwrap_or(Path::new(GROUPS))), "", 0, &mut groups);
        groups
    }
}

fn descend(directory: &Path, name: &str, depth: usize, groups: &mut Vec<GroupIo>) {
    if depth > 0 {
        groups.extend(read_group(directory, name));
    }
    if depth == DEPTH_MAX {
        return;
    }
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let child = format!("{name}/{}", entry.file_name().to_string_lossy());
        descend(&entry.path(), &child, depth + 1, groups);
    }
}

fn read_group(directory: &Path, name: &str) -> Option<GroupIo> {
    let inode = std::fs::metadata(directory).ok()?.ino();
    let text = |file: &str| read_text(&directory.join(file)).ok();
    let devices = text("io.stat").unwrap_or_default().lines().filter_map(GroupDeviceIo::parse).collect();
    let pressure = text("io.pressure").and_then(|text| Pressure::parse(&text));
    Some(GroupIo { name: name.to_owned(), inode, devices, pressure })
}

#[cfg(test)]
mod tests {
    use super::super::system::made_up;

    #[test]
    fn groups_are_found_down_to_services_and_what_services_make_is_not() {
        let (_root, system) = made_up(&[
            ("sys/fs/cgroup/io.stat", "8:0 rbytes=1\n"),
            ("sys/fs/cgroup/a.slice/io.stat", "8:0 rbytes=4096 rios=1\n8:16 wbytes=x\n"),
            ("sys/fs/cgroup/a.slice/b/c/io.pressure", "some avg10=0.00 total=7\n"),
            ("sys/fs/cgroup/a.slice/b/c/d/io.stat", "8:0 rbytes=9\n"),
        ]);
        let mut groups = system.group_io(&[]);
        groups.sort_by(|left, right| left.name.cmp(&right.name));
        let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["/a.slice", "/a.slice/b", "/a.slice/b/c"]);
        assert_eq!(groups[0].devices.len(), 1, "a line with a word for a number is none");
        assert_eq!((groups[0].devices[0].read_bytes, groups[0].devices[0].writes), (Some(4096), None));
        assert_eq!(groups[2].pressure.and_then(|pressure| pressure.some_us), Some(7));
        assert_ne!(groups[0].inode, groups[1].inode);
    }

    /// Where systemd mounts both versions, the directories of version 1 were read as groups: half of what a sample of an idle machine
    /// cost, and none of them has a counter.
    #[test]
    fn beside_version_1_only_the_groups_of_version_2_are_read() {
        let (_root, system) = made_up(&[
            (
                "proc/self/mountinfo",
                "31 23 0:28 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n32 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
            ),
            ("sys/fs/cgroup/blkio/a.slice/io.stat", "8:0 rbytes=1\n"),
            ("sys/fs/cgroup/unified/b.slice/io.stat", "8:0 rbytes=4096 rios=1\n"),
        ]);
        let groups = system.group_io(&system.mounts());
        let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["/b.slice"]);
    }
}
