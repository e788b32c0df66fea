//! What the system reports about itself: machine, control groups, mounts, file systems, devices and counters.
//!
//! Parsers are functions on text, and readers use a [`System`], whose root can be a test directory.
//! Unexpected content never fails a run: the field is `None`. Nothing here is `unsafe`, and nothing is
//! written except iostall's own control group. Programs are also started here, because process groups depend
//! on the platform.

mod accounts;
mod atomic;
mod boot;
mod cgroup;
mod counters;
mod device;
mod drive_health;
mod ending;
mod group_io;
mod identity;
mod layout;
mod locale;
mod machine;
mod memory_group;
mod mounts;
mod owner_only;
mod placement;
mod processors;
mod program;
mod settings;
mod system;
mod target_identity;
mod topology;
mod volumes;

use std::path::Path;

use iostall_measure::platform::{CpuTicks, Device, DeviceCounters, FileSystem, Host, ProcessCpu};

pub use accounts::Account;
pub use atomic::{atomic_units, file_unit_bytes, is_written_in_place};
pub use boot::since_boot_ns;
pub use counters::{DiskColumn, DiskStats, Pressure};
pub use device::name_of;
pub use drive_health::LogPlace;
pub use ending::{Ending, EndingNews, SignalSet, fail_at_size_limits, on_ending_signals};
pub use group_io::{GroupDeviceIo, GroupIo};
pub use identity::identity_of;
pub use locale::locale_is_utf8;
pub use machine::machine_name;
pub use memory_group::MemoryGroup;
pub use mounts::{Mount, mount_point_of};
pub use owner_only::{create_directory_for_owner, create_file_for_owner};
pub use program::{CommandAtRoot, Program};
pub use system::{System, Unreadable, device_number};
pub use topology::Topology;
pub use volumes::Volumes;

pub fn host() -> Host {
    System::here().host()
}

/// The file system that holds `path`; `None` if its mount is unknown.
pub fn file_system_of(path: &Path) -> Option<FileSystem> {
    System::here().file_system_of(path)
}

/// The block device that `path` is, or that its file system is on, down to the hardware; `None` if there is
/// none (tmpfs, network).
pub fn device_of(path: &Path) -> Option<Device> {
    System::here().device_of(path)
}

/// Cumulative counters of the named devices, in that order; missing devices are left out.
pub fn device_counters(names: &[String]) -> Vec<DeviceCounters> {
    System::here().device_counters(names)
}

pub fn cpu_ticks() -> Vec<CpuTicks> {
    System::here().cpu_ticks()
}

pub fn process_cpu_times() -> Vec<ProcessCpu> {
    System::here().process_cpu_times()
}

/// Bytes in the page cache that have not reached their devices; `None` if unknown.
pub fn dirty_bytes() -> Option<u64> {
    System::here().dirty_bytes()
}

/// Memory available without swapping, within the limits of this process's control groups; `None` if unknown.
pub fn memory_available_bytes() -> Option<u64> {
    System::here().memory_available_bytes()
}
