//! What a stack promises about writes that are not torn, which settings of databases depend on it, and what cuts of power showed.

mod conditions;
mod proof;
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
    AtomicFileSystem, AtomicLayer, AtomicReport, AtomicUnits, NvmePowerFail, PageProtection,
    ProtectionAdvice, RequiredUnit,
};

use crate::error::SessionError;
use conditions::conditions;
use proof::proof;

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

struct Database {
    engine: &'static str,
    setting: &'static str,
    page_bytes: u64,
    /// Whether it finds torn pages and prevents none.
    only_finds: bool,
    /// The condition where the file system replaces pages whole.
    on_records: &'static str,
    /// The condition where writes with `RWF_ATOMIC` are whole.
    on_units: &'static str,
}

const DATABASES: [Database; 3] = [
    Database {
        engine: "PostgreSQL",
        setting: "full_page_writes",
        page_bytes: 8192,
        only_finds: false,
        on_records: "recordsize stays at least a page, also where the files are copied to; pg_rewind needs it on, and a base backup turns it on",
        on_units: "the manual of your version says that it writes pages with RWF_ATOMIC: 18 and older do not",
    },
    Database {
        engine: "MySQL, MariaDB",
        setting: "innodb_doublewrite",
        page_bytes: 16_384,
        only_finds: false,
        on_records: "recordsize stays at least innodb_page_size, also where the files are copied to",
        on_units: "the manual of your version says that it writes pages with RWF_ATOMIC, or the vendor of the volume says so for O_DIRECT",
    },
    Database {
        engine: "SQL Server",
        setting: "PAGE_VERIFY CHECKSUM",
        page_bytes: 8192,
        only_finds: true,
        on_records: "",
        on_units: "",
    },
];

fn protections(report: &AtomicReport) -> Vec<PageProtection> {
    DATABASES.iter().map(|database| protection(report, database)).collect()
}

fn protection(report: &AtomicReport, database: &Database) -> PageProtection {
    let Database { engine, setting, page_bytes, only_finds, on_records, on_units } = *database;
    let is_promised = report.promises(page_bytes);
    let is_torn = report.proof.as_ref().is_some_and(|proof| proof.tore(page_bytes));
    let is_unit = report.units().is_some_and(|units| units.takes(page_bytes));
    let (advice, why) = match () {
        () if only_finds => (
            ProtectionAdvice::LeaveOn,
            "it finds torn pages and prevents none; a page that it finds comes back from a backup",
        ),
        () if is_torn => (ProtectionAdvice::LeaveOn, "cuts of power tore pages of this size"),
        () if is_promised && !is_unit => (ProtectionAdvice::OffIf, on_records),
        () if is_promised => (ProtectionAdvice::OffIf, on_units),
        () => (ProtectionAdvice::LeaveOn, "the stack promises nothing for a page"),
    };
    PageProtection {
        engine: engine.to_owned(),
        setting: setting.to_owned(),
        page_bytes,
        is_promised,
        advice,
        why: why.to_owned(),
    }
}
