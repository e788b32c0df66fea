//! Limits of this process's control groups, version 1 and 2, including those of parent groups. The tightest
//! applies.

use std::path::{Path, PathBuf};

use iostall_measure::platform::CgroupLimits;

use super::mounts::Mount;
use super::system::System;

/// Version 1 expresses "no limit" as the largest multiple of the page size; no machine has this much memory.
const UNLIMITED_V1_BYTES: u64 = 1 << 60;

const THROTTLES_V1: [&str; 4] = [
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
];

impl System {
    /// The tightest limits from this process's groups up to the mount point of each hierarchy.
    pub(crate) fn cgroup_limits(&self) -> CgroupLimits {
        let mut limits = CgroupLimits::default();
        let groups = groups_of(self);
        let mounts = self.mounts();
        for group in &groups {
            let Some(mount) = mounts.iter().find(|mount| group.is_on(mount)) else { continue };
            for directory in directories(mount, &group.path) {
                if group.controllers.is_empty() {
                    self.tighten_v2(&directory, &mut limits);
                } else {
                    self.tighten_v1(&directory, &mut limits);
                }
            }
        }
        limits
    }

    fn tighten_v2(&self, directory: &Path, limits: &mut CgroupLimits) {
        lower(&mut limits.memory_bytes, self.number(directory.join("memory.max")));
        lower_cpus(limits, self.line(directory.join("cpu.max")).and_then(|line| cpus_v2(&line)));
        let io = self.text(directory.join("io.max")).unwrap_or_default();
        add_lines(&mut limits.io, lines_of(&io).map(str::to_owned));
    }

    fn tighten_v1(&self, directory: &Path, limits: &mut CgroupLimits) {
        let memory: Option<u64> = self.number(directory.join("memory.limit_in_bytes"));
        lower(&mut limits.memory_bytes, memory.filter(|bytes| *bytes < UNLIMITED_V1_BYTES));
        let quota_us: Option<f64> = self.number(directory.join("cpu.cfs_quota_us"));
        let period_us: Option<f64> = self.number(directory.join("cpu.cfs_period_us"));
        lower_cpus(limits, quota_us.zip(period_us).and_then(|(quota, period)| cpus(quota, period)));
        for file in THROTTLES_V1 {
            let io = self.text(directory.join(file)).unwrap_or_default();
            add_lines(&mut limits.io, lines_of(&io).map(|line| format!("{file} {line}")));
        }
    }
}

pub(super) struct Group {
    /// Version 1 only; empty for version 2.
    pub(super) controllers: Vec<String>,
    pub(super) path: PathBuf,
}

impl Group {
    pub(super) fn is_on(&self, mount: &Mount) -> bool {
        if self.controllers.is_empty() {
            return mount.kind == "cgroup2";
        }
        let has = |controller: &String| mount.super_options.split(',').any(|option| option == controller);
        mount.kind == "cgroup" && self.controllers.iter().all(has)
    }
}

pub(super) fn groups_of(system: &System) -> Vec<Group> {
    system.text("/proc/self/cgroup").map(|text| parse_groups(&text)).unwrap_or_default()
}

/// Lines `number:controllers:path`.
fn parse_groups(text: &str) -> Vec<Group> {
    text.lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let controllers = fields.next()?;
            let path = PathBuf::from(fields.next()?);
            let controllers =
                controllers.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            Some(Group { controllers, path })
        })
        .collect()
}

/// The directories of the group and its parents, up to the mount point. In a container the mount shows only
/// part of the hierarchy; a group outside it has its limits, if any, at the mount point.
pub(super) fn directories(mount: &Mount, group: &Path) -> Vec<PathBuf> {
    let inside = group.strip_prefix(&mount.root).unwrap_or(Path::new(""));
    let own = mount.mount_point.join(inside);
    own.ancestors()
        .take_while(|directory| directory.starts_with(&mount.mount_point))
        .map(Path::to_owned)
        .collect()
}

/// `quota period` in microseconds, or `max period`.
fn cpus_v2(line: &str) -> Option<f64> {
    let (quota, period) = line.split_once(' ')?;
    cpus(quota.parse().ok()?, period.parse().ok()?)
}

/// A quota of -1 means no limit.
fn cpus(quota_us: f64, period_us: f64) -> Option<f64> {
    (quota_us > 0.0 && period_us > 0.0).then(|| quota_us / period_us)
}

fn lower(limit: &mut Option<u64>, other: Option<u64>) {
    *limit = match (*limit, other) {
        (Some(one), Some(two)) => Some(one.min(two)),
        (one, two) => one.or(two),
    };
}

fn lower_cpus(limits: &mut CgroupLimits, other: Option<f64>) {
    limits.cpus = match (limits.cpus, other) {
        (Some(one), Some(two)) => Some(one.min(two)),
        (one, two) => one.or(two),
    };
}

fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// Skips lines that a child repeats from its parent.
fn add_lines(all: &mut Vec<String>, lines: impl Iterator<Item = String>) {
    for line in lines {
        if !all.contains(&line) {
            all.push(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::system::made_up;

    #[test]
    fn version_2_limits_of_the_group_and_its_parents_are_joined_to_the_tightest() {
        let (_root, system) = made_up(&[
            ("proc/self/cgroup", "0::/db.slice/pg.service\n"),
            ("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/db.slice/pg.service/memory.max", "max\n"),
            ("sys/fs/cgroup/db.slice/pg.service/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/db.slice/pg.service/io.max", "8:0 rbps=1048576 wbps=max riops=max wiops=100\n"),
            ("sys/fs/cgroup/db.slice/memory.max", "4294967296\n"),
            ("sys/fs/cgroup/db.slice/cpu.max", "max 100000\n"),
            (
                "sys/fs/cgroup/db.slice/io.max",
                "8:0 rbps=1048576 wbps=max riops=max wiops=100\n8:16 rbps=5 wbps=6 riops=7 wiops=8\n",
            ),
        ]);
        let limits = system.cgroup_limits();
        assert_eq!((limits.memory_bytes, limits.cpus), (Some(4_294_967_296), Some(1.5)));
        assert_eq!(
            limits.io,
            ["8:0 rbps=1048576 wbps=max riops=max wiops=100", "8:16 rbps=5 wbps=6 riops=7 wiops=8"]
        );
    }

    #[test]
    fn version_1_hierarchies_are_read_each_where_it_is_mounted() {
        let (_root, system) = made_up(&[
            (
                "proc/self/cgroup",
                "7:blkio:/\n4:memory:/box/inner\n2:cpu,cpuacct:/gone\n1:name=systemd:/\n0::/\nodd\n",
            ),
            (
                "proc/self/mountinfo",
                "32 31 0:29 /box /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                 33 31 0:30 /other /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                 34 31 0:31 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n",
            ),
            ("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/blkio/blkio.throttle.read_bps_device", "8:0 1048576\n"),
            ("sys/fs/cgroup/blkio/blkio.throttle.write_iops_device", "\n"),
        ]);
        let limits = system.cgroup_limits();
        assert_eq!((limits.memory_bytes, limits.cpus), (Some(1 << 30), Some(0.5)));
        assert_eq!(limits.io, ["blkio.throttle.read_bps_device 8:0 1048576"]);
    }

    #[test]
    fn no_quota_and_odd_content_limit_nothing() {
        let (_root, system) = made_up(&[
            ("proc/self/cgroup", "3:cpu:/\n2:memory:/\n"),
            (
                "proc/self/mountinfo",
                "1 0 0:1 / /c rw - cgroup cgroup rw,cpu\n2 0 0:2 / /m rw - cgroup cgroup rw,memory\n",
            ),
            ("c/cpu.cfs_quota_us", "-1\n"),
            ("c/cpu.cfs_period_us", "100000\n"),
            ("m/memory.limit_in_bytes", "much\n"),
        ]);
        assert!(system.cgroup_limits().is_empty());
    }
}
