//! What a number was measured on: machine, file system, device. Pure data, read from the system by
//! `engine` and stored by `model`. A field is `None` where the system does not tell, never a guess.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The stored form of a path: text in which each byte sequence that is not UTF-8 has become U+FFFD.
///
/// Linux lets a name be any bytes, JSON only text, and serde's own form of a path is an error for such a name: a
/// finished run would have been lost over the spelling of a directory. The path is stored to be shown, never to be opened.
pub mod lossy_path {
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes `path` as text.
    pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&path.to_string_lossy())
    }

    /// Reads the text back as a path.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        String::deserialize(deserializer).map(PathBuf::from)
    }
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Host name.
    pub hostname: String,
    /// Kernel name, release and version, as `uname` has them.
    pub kernel: String,
    /// Processor model name.
    pub cpu_model: Option<String>,
    /// Processors this process may run on.
    pub cpu_count: u32,
    /// Physical cores; `None` where the topology is not told.
    pub core_count: Option<u32>,
    /// Sockets.
    pub socket_count: Option<u32>,
    /// NUMA nodes.
    pub node_count: Option<u32>,
    /// Installed memory.
    pub memory_bytes: u64,
    /// Frequency governor of the first processor.
    pub cpu_governor: Option<String>,
    /// Hypervisor, when one is visible.
    pub hypervisor: Option<String>,
    /// Limits that this process's control groups set.
    pub cgroup: CgroupLimits,
}

/// Limits set by control groups (v1 or v2). `None` is no limit found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CgroupLimits {
    /// Memory limit.
    pub memory_bytes: Option<u64>,
    /// Processors' worth of time.
    pub cpus: Option<f64>,
    /// I/O limits as the kernel words them, one a device.
    pub io: Vec<String>,
}

impl CgroupLimits {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        self.memory_bytes.is_none() && self.cpus.is_none() && self.io.is_empty()
    }
}

/// What kind of thing a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// A regular file.
    File,
    /// A block device.
    BlockDevice,
    /// No file at all: the null or the simulated engine.
    Synthetic,
}

/// Why direct I/O was or was not had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectIo {
    /// Opened with `O_DIRECT` and `statx` reports an alignment: requests really pass the page cache.
    pub granted: bool,
    /// Alignment of buffers in memory, bytes.
    pub memory_align: Option<u32>,
    /// Alignment of offsets and lengths, bytes.
    pub offset_align: Option<u32>,
    /// Why not, when not granted though asked for.
    pub reason: Option<String>,
}

impl DirectIo {
    /// Had, with one alignment for memory, offsets and lengths, bytes.
    pub fn granted(align: u32) -> Self {
        Self { granted: true, memory_align: Some(align), offset_align: Some(align), reason: None }
    }
}

/// One target: its own facts, its file system's, its device's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// As the user named it. Stored lossily, see [`lossy_path`].
    #[serde(with = "lossy_path")]
    pub path: PathBuf,
    /// File or device.
    pub kind: TargetKind,
    /// Size.
    pub size_bytes: u64,
    /// Bytes of the file that have blocks on the file system; `None` for devices.
    pub allocated_bytes: Option<u64>,
    /// Bytes allocated and never written (unwritten extents): reads of them never reach the device. `None` where unknown.
    pub unwritten_bytes: Option<u64>,
    /// Whether iostall made it.
    pub made_by_iostall: bool,
    /// Direct I/O; `None` when it was not asked for.
    pub direct: Option<DirectIo>,
    /// The file system it is on; `None` for devices.
    pub file_system: Option<FileSystem>,
    /// The block device at the bottom; `None` where there is none (tmpfs, overlay, network).
    pub device: Option<Device>,
}

impl Target {
    /// A target of which no more is known than this.
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

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystem {
    /// Type, such as `ext4` or `tmpfs`.
    pub kind: String,
    /// Where it is mounted. Stored lossily, see [`lossy_path`].
    #[serde(with = "lossy_path")]
    pub mount_point: PathBuf,
    /// What is mounted.
    pub source: String,
    /// Mount and super-block options, comma separated.
    pub options: String,
    /// Allocation block size.
    pub block_bytes: u64,
    /// Free bytes for an unprivileged user.
    pub free_bytes: u64,
    /// Whole size.
    pub total_bytes: u64,
}

/// A block device, and through `below` what it stands on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Kernel name, such as `nvme0n1` or `dm-3`.
    pub name: String,
    /// `major:minor`.
    pub number: String,
    /// Model, where the device tells.
    pub model: Option<String>,
    /// Serial number, where the device tells.
    pub serial: Option<String>,
    /// Firmware revision, where the device tells.
    pub firmware: Option<String>,
    /// Size.
    pub size_bytes: Option<u64>,
    /// Spins.
    pub rotational: Option<bool>,
    /// Active scheduler.
    pub scheduler: Option<String>,
    /// Write cache mode as the kernel sees it: `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Whether the device takes force-unit-access writes.
    pub fua: Option<bool>,
    /// Logical sector, bytes.
    pub logical_sector_bytes: Option<u32>,
    /// Physical sector, bytes.
    pub physical_sector_bytes: Option<u32>,
    /// Largest request in segments.
    pub max_segments: Option<u32>,
    /// Largest request, bytes.
    pub max_request_bytes: Option<u64>,
    /// Requests the block layer queues.
    pub queue_requests: Option<u32>,
    /// NUMA node.
    pub numa_node: Option<u32>,
    /// Devices this one is made of (partition of, mapped onto, mirrored over, loop backing device).
    pub below: Vec<Device>,
}

/// Cumulative block-layer counters of one device (`/proc/diskstats`), or their difference over a span.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// Kernel name.
    pub name: String,
    /// Requests completed.
    pub read_requests: u64,
    /// Requests merged before they reached the device.
    pub read_merges: u64,
    /// Bytes.
    pub read_bytes: u64,
    /// Time spent by all reads, milliseconds.
    pub read_ms: u64,
    /// Requests completed.
    pub write_requests: u64,
    /// Requests merged before they reached the device.
    pub write_merges: u64,
    /// Bytes.
    pub write_bytes: u64,
    /// Time spent by all writes, milliseconds.
    pub write_ms: u64,
    /// Flush requests completed.
    pub flush_requests: u64,
    /// Time the device had at least one request, milliseconds.
    pub busy_ms: u64,
}

impl DeviceCounters {
    /// What was added since `earlier`; `None` where any counter went back (the device was re-made).
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

    /// Mean size of a read as the device saw it; `None` without reads.
    pub fn read_request_bytes_mean(&self) -> Option<f64> {
        (self.read_requests > 0).then(|| self.read_bytes as f64 / self.read_requests as f64)
    }

    /// Mean size of a write as the device saw it; `None` without writes.
    pub fn write_request_bytes_mean(&self) -> Option<f64> {
        (self.write_requests > 0).then(|| self.write_bytes as f64 / self.write_requests as f64)
    }
}

/// Cumulative time of one processor by state (`/proc/stat`), or its difference over a span. In ticks (1/100 s).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTicks {
    /// Number of the processor.
    pub cpu: u32,
    /// User code, `nice` included.
    pub user: u64,
    /// Kernel, interrupts included.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle with I/O outstanding.
    pub iowait: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
}

impl CpuTicks {
    /// What was added since `earlier`, zero where a counter went back (iowait may).
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

    /// All states together.
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
        // What was read back is text, so it is stable from now on.
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
    }
}
