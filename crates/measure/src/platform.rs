//! The machine, file system and device behind a number. Plain data, read from the system by `engine` and
//! stored by `model`. A field is `None` if the system does not report it; nothing is guessed.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Stores a path as text, with each byte sequence that is not UTF-8 replaced by U+FFFD.
///
/// Linux allows any bytes in names, JSON only text, and serde's own form of such a path is an error: a
/// finished run would have been lost because of a directory's name. Stored paths are only shown, never
/// opened.
pub mod lossy_path {
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&path.to_string_lossy())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        String::deserialize(deserializer).map(PathBuf::from)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    pub hostname: String,
    /// A digest of the machine's id, which lasts over boots and changes of its name. Absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The id of its boot, which all its containers share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// Kernel name, release and version, as in `uname`.
    pub kernel: String,
    pub cpu_model: Option<String>,
    /// CPUs that this process may run on.
    pub cpu_count: u32,
    /// Physical cores; `None` if the topology is unknown.
    pub core_count: Option<u32>,
    pub socket_count: Option<u32>,
    pub node_count: Option<u32>,
    pub memory_bytes: u64,
    /// Frequency governor of the first CPU.
    pub cpu_governor: Option<String>,
    /// `None` if no hypervisor is visible.
    pub hypervisor: Option<String>,
    pub cgroup: CgroupLimits,
    /// All processors, by number. Empty if the system does not report them, and in runs stored by older
    /// versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<Processor>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processor {
    /// The number used in [`CpuTicks`].
    pub id: u32,
    /// From 0.
    pub socket: u32,
    pub node: u32,
    /// Physical core, from 0 across all sockets. Hyper-threads share one.
    pub core: u32,
    /// 0 for the slowest kind of core, higher for faster ones.
    pub class: u32,
}

impl Host {
    /// Whether both are one machine. A name counts only where an id is missing.
    pub fn is_same_machine(&self, other: &Self) -> bool {
        let is_same_boot = self.boot.is_some() && self.boot == other.boot;
        is_same_boot
            || match (&self.machine, &other.machine) {
                (Some(ours), Some(theirs)) => ours == theirs,
                _ => self.hostname == other.hostname,
            }
    }
}

/// Limits set by control groups (v1 or v2). `None` means no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CgroupLimits {
    pub memory_bytes: Option<u64>,
    pub cpus: Option<f64>,
    /// I/O limits in the kernel's format, one per device.
    pub io: Vec<String>,
}

impl CgroupLimits {
    pub fn is_empty(&self) -> bool {
        self.memory_bytes.is_none() && self.cpus.is_none() && self.io.is_empty()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    File,
    BlockDevice,
    /// No file: the null or simulated engine.
    Synthetic,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectIo {
    /// Opened with `O_DIRECT`, and `statx` reports an alignment: requests really bypass the page cache.
    pub granted: bool,
    /// Required alignment of buffers, bytes.
    pub memory_align: Option<u32>,
    /// Required alignment of offsets and lengths, bytes.
    pub offset_align: Option<u32>,
    pub reason: Option<String>,
}

impl DirectIo {
    /// Granted, with one alignment for memory, offsets and lengths, bytes.
    pub fn granted(align: u32) -> Self {
        Self { granted: true, memory_align: Some(align), offset_align: Some(align), reason: None }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// As the user named it. Stored lossily, see [`lossy_path`].
    #[serde(with = "lossy_path")]
    pub path: PathBuf,
    pub kind: TargetKind,
    pub size_bytes: u64,
    /// Allocated bytes of the file; `None` for devices.
    pub allocated_bytes: Option<u64>,
    /// Bytes allocated but never written (unwritten extents), which are read without touching the device.
    /// `None` if unknown.
    pub unwritten_bytes: Option<u64>,
    pub made_by_iostall: bool,
    /// `None` if direct I/O was not requested.
    pub direct: Option<DirectIo>,
    /// `None` for devices.
    pub file_system: Option<FileSystem>,
    /// The block device at the bottom; `None` if there is none (tmpfs, overlay, network).
    pub device: Option<Device>,
}

impl Target {
    /// A target of which only this much is known.
    pub fn new(path: impl Into<PathBuf>, kind: TargetKind, size_bytes: u64) -> Self {
        Self {
            path: path.into(),
            kind,
            size_bytes,
            allocated_bytes: None,
            unwritten_bytes: None,
            made_by_iostall: false,
            direct: None,
            file_system: None,
            device: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystem {
    /// Type, such as `ext4` or `tmpfs`.
    pub kind: String,
    /// Stored lossily, see [`lossy_path`].
    #[serde(with = "lossy_path")]
    pub mount_point: PathBuf,
    pub source: String,
    /// Mount and file system options, comma separated.
    pub options: String,
    /// Allocation unit.
    pub block_bytes: u64,
    /// Free bytes for an unprivileged user.
    pub free_bytes: u64,
    pub total_bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Kernel name, such as `nvme0n1` or `dm-3`.
    pub name: String,
    /// `major:minor`.
    pub number: String,
    /// `None` if the device does not report it.
    pub model: Option<String>,
    /// `None` if the device does not report it.
    pub serial: Option<String>,
    /// `None` if the device does not report it.
    pub firmware: Option<String>,
    pub size_bytes: Option<u64>,
    pub rotational: Option<bool>,
    pub scheduler: Option<String>,
    /// Write cache mode according to the kernel: `write back` or `write through`.
    pub write_cache: Option<String>,
    pub fua: Option<bool>,
    pub logical_sector_bytes: Option<u32>,
    pub physical_sector_bytes: Option<u32>,
    pub max_segments: Option<u32>,
    pub max_request_bytes: Option<u64>,
    pub queue_requests: Option<u32>,
    pub numa_node: Option<u32>,
    /// Devices that this one is built on (disk of a partition, mapped, mirrored, or under a loop device's
    /// file).
    pub below: Vec<Device>,
}

/// Cumulative block-layer counters of a device (`/proc/diskstats`), or their difference over a span.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    pub name: String,
    pub read_requests: u64,
    /// Requests merged before they reached the device.
    pub read_merges: u64,
    pub read_bytes: u64,
    /// Time spent by all reads, milliseconds.
    pub read_ms: u64,
    pub write_requests: u64,
    /// Requests merged before they reached the device.
    pub write_merges: u64,
    pub write_bytes: u64,
    /// Time spent by all writes, milliseconds.
    pub write_ms: u64,
    pub flush_requests: u64,
    /// Time with at least one request in flight, milliseconds.
    pub busy_ms: u64,
}

impl DeviceCounters {
    /// The difference since `earlier`; `None` if any counter went back, because the device was recreated.
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        Some(Self {
            name: self.name.clone(),
            read_requests: self.read_requests.checked_sub(earlier.read_requests)?,
            read_merges: self.read_merges.checked_sub(earlier.read_merges)?,
            read_bytes: self.read_bytes.checked_sub(earlier.read_bytes)?,
            read_ms: self.read_ms.checked_sub(earlier.read_ms)?,
            write_requests: self.write_requests.checked_sub(earlier.write_requests)?,
            write_merges: self.write_merges.checked_sub(earlier.write_merges)?,
            write_bytes: self.write_bytes.checked_sub(earlier.write_bytes)?,
            write_ms: self.write_ms.checked_sub(earlier.write_ms)?,
            flush_requests: self.flush_requests.checked_sub(earlier.flush_requests)?,
            busy_ms: self.busy_ms.checked_sub(earlier.busy_ms)?,
        })
    }

    /// Mean size of a read at the device; `None` without reads.
    pub fn read_request_bytes_mean(&self) -> Option<f64> {
        (self.read_requests > 0).then(|| self.read_bytes as f64 / self.read_requests as f64)
    }

    /// Mean size of a write at the device; `None` without writes.
    pub fn write_request_bytes_mean(&self) -> Option<f64> {
        (self.write_requests > 0).then(|| self.write_bytes as f64 / self.write_requests as f64)
    }
}

/// CPU time of one process, user and kernel: cumulative, or over a span.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessCpu {
    pub pid: u32,
    /// When it started, in ticks since boot: a number is given again to another process.
    pub started: u64,
    pub name: String,
    pub cpu_ns: u64,
}

impl ProcessCpu {
    /// The `most` processes that used the most CPU time between two readings, the busiest first.
    pub fn busiest(before: &[Self], after: Vec<Self>, most: usize) -> Vec<Self> {
        let earlier = |process: &Self| {
            let is_it = |other: &&Self| other.pid == process.pid && other.started == process.started;
            before.iter().find(is_it).map_or(0, |other| other.cpu_ns)
        };
        let used = |process: Self| {
            let cpu_ns = process.cpu_ns.saturating_sub(earlier(&process));
            Self { cpu_ns, ..process }
        };
        let mut all: Vec<Self> = after.into_iter().map(used).filter(|process| process.cpu_ns > 0).collect();
        all.sort_by_key(|process| std::cmp::Reverse(process.cpu_ns));
        all.truncate(most);
        all
    }
}

/// Cumulative time of one CPU by state (`/proc/stat`), or its difference over a span. In ticks (1/100 s).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTicks {
    pub cpu: u32,
    /// User code, including `nice`.
    pub user: u64,
    /// Kernel, including interrupts.
    pub system: u64,
    pub idle: u64,
    /// Idle with I/O outstanding.
    pub iowait: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
}

impl CpuTicks {
    /// The difference since `earlier`; zero for a counter that went back (iowait may).
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cpu: self.cpu,
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            idle: self.idle.saturating_sub(earlier.idle),
            iowait: self.iowait.saturating_sub(earlier.iowait),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }

    pub fn total(&self) -> u64 {
        self.user + self.system + self.idle + self.iowait + self.steal
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn a_path_that_is_not_utf8_can_be_stored_and_reads_back_as_it_is_shown() {
        let path = OsStr::from_bytes(b"/data/caf\xe9/t.ibd");
        let target = Target::new(path, TargetKind::File, 1);
        let text = serde_json::to_string(&target).unwrap();
        let back: Target = serde_json::from_str(&text).unwrap();
        assert_eq!(back.path.to_str(), Some("/data/caf\u{fffd}/t.ibd"));
        assert_eq!(back.path.to_string_lossy(), target.path.to_string_lossy());
        // The value read back is text already, so it no longer changes.
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
    }

    /// The story: a container with a new name could not go on with its own run, and a clone with the same name could.
    #[test]
    fn a_machine_is_known_by_its_ids_and_by_its_name_only_without_them() {
        let host = |name: &str, machine: Option<&str>, boot: Option<&str>| Host {
            hostname: name.into(),
            machine: machine.map(str::to_owned),
            boot: boot.map(str::to_owned),
            ..Host::default()
        };
        let ours = host("db1", Some("m"), Some("b"));
        assert!(ours.is_same_machine(&host("renamed", Some("m"), Some("later"))));
        assert!(ours.is_same_machine(&host("container", None, Some("b"))));
        assert!(!ours.is_same_machine(&host("db1", Some("clone"), Some("other"))));
        assert!(ours.is_same_machine(&host("db1", None, Some("later"))), "an older run");
        assert!(!ours.is_same_machine(&host("db2", None, None)));
    }

    fn counters(scale: u64) -> DeviceCounters {
        DeviceCounters {
            name: "sda".into(),
            read_requests: 4 * scale,
            read_merges: scale,
            read_bytes: 32_768 * scale,
            read_ms: 7 * scale,
            write_requests: 2 * scale,
            write_merges: 3 * scale,
            write_bytes: 131_072 * scale,
            write_ms: 9 * scale,
            flush_requests: 5 * scale,
            busy_ms: 6 * scale,
        }
    }

    #[test]
    fn what_a_device_did_is_the_difference_of_its_counters_and_nothing_where_they_began_anew() {
        assert_eq!(counters(3).since(&counters(1)), Some(counters(2)));
        assert_eq!(counters(1).since(&counters(3)), None);
    }

    /// Without requests, the mean request size was shown as 0.
    #[test]
    fn the_size_of_requests_is_a_mean_over_those_there_were() {
        assert_eq!(counters(2).read_request_bytes_mean(), Some(8_192.0));
        assert_eq!(counters(2).write_request_bytes_mean(), Some(65_536.0));
        assert_eq!(counters(0).read_request_bytes_mean(), None);
        assert_eq!(counters(0).write_request_bytes_mean(), None);
    }

    #[test]
    fn the_time_of_a_processor_is_all_of_its_parts() {
        let ticks = |scale: u64| CpuTicks {
            cpu: 3,
            user: scale,
            system: 2 * scale,
            idle: 3 * scale,
            iowait: 4 * scale,
            steal: 5 * scale,
        };
        assert_eq!(ticks(3).since(&ticks(1)), ticks(2));
        assert_eq!(ticks(2).total(), 30);
        assert_eq!(ticks(1).since(&ticks(3)).total(), 0, "a counter that went back has done nothing");
    }

    #[test]
    fn a_control_group_without_limits_says_nothing() {
        assert!(CgroupLimits::default().is_empty());
        assert!(!CgroupLimits { memory_bytes: Some(1), ..CgroupLimits::default() }.is_empty());
        assert!(!CgroupLimits { cpus: Some(0.5), ..CgroupLimits::default() }.is_empty());
        assert!(!CgroupLimits { io: vec!["8:0 rbps=1".into()], ..CgroupLimits::default() }.is_empty());
    }
}
