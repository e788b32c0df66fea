//! What the system tells about itself: machine, control groups, file systems, devices, counters, and where
//! the bytes of a file are.
//!
//! Every parser is a function over text, and every reader goes through a [`System`], whose root can be a
//! made-up tree. Odd content never fails a run: the field is `None`.

mod allocation;
mod cgroup;
mod counters;
pub(crate) mod device;
mod file_system;
mod machine;
mod memory_group;
mod mounts;
mod page_cache;
mod signals;
pub(crate) mod system;

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use iostall_measure::platform::{
    CpuTicks, Device, DeviceCounters, DirectIo, FileSystem, Host, Target, TargetKind,
};

pub use allocation::{Allocation, allocation};
pub use memory_group::MemoryGroup;
pub use mounts::Mount;
pub use page_cache::{drop_from_cache, has_dirty_pages, page_cache_share};
pub use system::System;

use crate::guard;

/// The machine this process runs on.
pub fn host() -> Host {
    System::here().host()
}

/// The file system that holds `path`; `None` where no mount is known for it.
pub fn file_system_of(path: &Path) -> Option<FileSystem> {
    System::here().file_system_of(path)
}

/// The block device that `path` is, or that its file system is on, down to the hardware; `None` where
/// there is none (tmpfs, network).
pub fn device_of(path: &Path) -> Option<Device> {
    System::here().device_of(path)
}

/// Cumulative counters of the named devices, in the order of the names; a device that is gone is left out.
pub fn device_counters(names: &[String]) -> Vec<DeviceCounters> {
    System::here().device_counters(names)
}

/// Whether this process was started with the signal of this number ignored.
pub fn ignores_signal(number: i32) -> bool {
    System::here().ignores_signal(number)
}

/// Cumulative time of every processor that is online.
pub fn cpu_ticks() -> Vec<CpuTicks> {
    System::here().cpu_ticks()
}

/// Bytes in the page cache, of all files, that have yet to reach their devices; `None` where not told.
pub fn dirty_bytes() -> Option<u64> {
    System::here().dirty_bytes()
}

/// Memory that can be had without swapping, within what control groups allow this process; `None` where not told.
pub fn memory_available_bytes() -> Option<u64> {
    System::here().memory_available_bytes()
}

/// All that is known of a target without writing to it. `direct` is what opening it has found.
///
/// # Errors
/// When the target cannot be found, opened for reading or measured.
pub fn target(path: &Path, direct: Option<DirectIo>) -> io::Result<Target> {
    let system = System::here();
    let metadata = std::fs::metadata(path)?;
    let device = system.device_of(path);
    if metadata.file_type().is_block_device() {
        let size_bytes = match device.as_ref().and_then(|device| device.size_bytes) {
            Some(size_bytes) => size_bytes,
            None => io::Seek::seek(&mut std::fs::File::open(path)?, io::SeekFrom::End(0))?,
        };
        return Ok(Target {
            path: path.to_owned(),
            kind: TargetKind::BlockDevice,
            size_bytes,
            allocated_bytes: None,
            unwritten_bytes: None,
            made_by_iostall: false,
            direct,
            file_system: None,
            device,
        });
    }
    let allocation = allocation(path)?;
    Ok(Target {
        path: path.to_owned(),
        kind: TargetKind::File,
        size_bytes: allocation.size_bytes,
        allocated_bytes: Some(allocation.allocated_bytes),
        unwritten_bytes: allocation.unwritten_bytes,
        made_by_iostall: guard::made_by_iostall(path)?,
        direct,
        file_system: system.file_system_of(path),
        device,
    })
}
