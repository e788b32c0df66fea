//! Facts about a target, read before it is measured.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use iostall_host::System;
use iostall_measure::platform::{DirectIo, Target, TargetKind};

use crate::files::allocation;
use crate::guard;

/// Everything that can be found out about a target without writing to it. `direct` is the result of opening
/// it.
pub fn target_facts(path: &Path, direct: Option<DirectIo>) -> io::Result<Target> {
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
