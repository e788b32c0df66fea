//! What a stack promises about writes that are not torn, which settings of databases depend on it, and what cuts of power showed.

mod conditions;
mod proof;
mod protection;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iostall_collect::smart::nvme_power_fail;
use iostall_engine::files::is_block_device;
use iostall_host::{System, atomic_units, file_unit_bytes, is_written_in_place};
use iostall_measure::ByteCount;
use iostall_measure::platform::Device;
use iostall_model::atomic::{
    AtomicFileSystem, AtomicLayer, AtomicReport, AtomicUnits, NvmePowerFail, RequiredUnit,
};

use crate::error::SessionError;
use conditions::conditions;
use proof::proof;
use protection::protections;

const NVME_WAIT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub struct AtomicRequest {
    /// A file, a directory or a device.
    pub target: PathBuf,
    /// The file of all cuts of `powerfail check --cuts`, of which those of this target count.
    pub prove: Option<PathBuf>,
    /// The size of a write that must not be torn.
    pub require: Option<ByteCount>,
}

pub fn atomic(request: &AtomicRequest) -> Result<AtomicReport, SessionError> {
    let target = &request.target;
    let failed = |source| SessionError::Look { path: target.clone(), source };
    let metadata = std::fs::metadata(target).map_err(failed)?;
    if !metadata.is_file() && !metadata.is_dir() && !is_block_device(target) {
        return Err(failed(io::Error::other("no pages are written to a pipe, a socket or a terminal")));
    }
    let statx = atomic_units(target).map_err(failed)?;
    let system = System::here();
    let device = system.device_of(target);
    let is_device = device.as_ref().is_some_and(|device| is_node(target, device));
    let file_system = if is_device { None } else { file_system(&system, target) };
    let mut report = look(&system, target, statx, device.as_ref(), file_system);
    for layer in &mut report.layers {
        layer.nvme = nvme(layer);
    }
    report.proof = request.prove.as_deref().map(|cuts| proof(cuts, target)).transpose()?;
    report.protections = protections(&report);
    report.required = request.require.map(|size| {
        let bytes = size.bytes();
        let is_torn = report.proof.as_ref().is_some_and(|proof| proof.tore(bytes));
        RequiredUnit { bytes, is_met: report.promises(bytes) && !is_torn }
    });
    Ok(report)
}

fn look(
    system: &System,
    target: &Path,
    statx: Option<AtomicUnits>,
    device: Option<&Device>,
    file_system: Option<AtomicFileSystem>,
) -> AtomicReport {
    let mut layers = Vec::new();
    if let Some(device) = device {
        add_layers(system, device, &mut layers);
    }
    let mut report = AtomicReport {
        target: target.display().to_string(),
        kernel: system.kernel_release(),
        file_system,
        statx,
        layers,
        conditions: Vec::new(),
        protections: Vec::new(),
        proof: None,
        required: None,
    };
    report.conditions = conditions(&report);
    report
}

/// What the drive of a namespace says itself. It is an explanation, so that without it nothing is missing.
fn nvme(layer: &AtomicLayer) -> Option<NvmePowerFail> {
    let is_namespace = layer.device.starts_with("nvme") && layer.start_bytes.is_none();
    let ask = || nvme_power_fail(&format!("/dev/{}", layer.device), NVME_WAIT).ok().flatten();
    is_namespace.then(ask).flatten()
}

/// Whether `target` is the node of `device`, and no file on it.
fn is_node(target: &Path, device: &Device) -> bool {
    let resolved = std::fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
    resolved.starts_with("/dev") && resolved.ends_with(&device.name)
}

fn file_system(system: &System, target: &Path) -> Option<AtomicFileSystem> {
    let found = system.file_system_of(target)?;
    let is_btrfs = found.kind == "btrfs";
    Some(AtomicFileSystem {
        block_bytes: found.block_bytes,
        record_bytes: if found.kind == "zfs" { file_unit_bytes(target) } else { None },
        // Only a file may be opened without effects.
        is_in_place: file_unit_bytes(target).filter(|_| is_btrfs).and_then(|_| is_written_in_place(target)),
        kind: found.kind,
    })
}

fn add_layers(system: &System, device: &Device, layers: &mut Vec<AtomicLayer>) {
    let start_bytes = system.partition_start_bytes(&device.number);
    layers.push(AtomicLayer {
        device: device.name.clone(),
        model: device.model.clone().filter(|_| start_bytes.is_none()),
        logical_sector_bytes: device.logical_sector_bytes,
        physical_sector_bytes: device.physical_sector_bytes,
        start_bytes,
        queue: system.atomic_queue(&device.number),
        nvme: None,
    });
    device.below.iter().for_each(|below| add_layers(system, below, layers));
}
