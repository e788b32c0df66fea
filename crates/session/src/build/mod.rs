//! A build of drives for a database server, and how the layers under a file or device fit solid-state drives.

mod checks;
mod measured;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use iostall_host::System;
use iostall_measure::ByteCount;
use iostall_measure::platform::Device;
use iostall_model::build_plan::{BuildError, BuildPlan, BuildRequest, build_plan};
use iostall_model::stack_check::{StackLayer, StackReport};

use crate::error::{SessionError, UseCaseError};
use checks::checks;

pub use measured::{MeasuredDrive, measured_drive};

/// What to plan, and what to look at; one of them at least.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanRequest {
    /// `None`: nothing is to be built.
    pub build: Option<BuildRequest>,
    /// A file, a directory or a device.
    pub check: Option<PathBuf>,
    /// What the drives erase at once, where they do not say so.
    pub erase_block: Option<ByteCount>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PlanReport {
    pub plan: Option<BuildPlan>,
    pub stack: Option<StackReport>,
}

impl From<BuildError> for SessionError {
    fn from(error: BuildError) -> Self {
        let hint = error.hint();
        Self::OfUseCase(UseCaseError::new(error, hint))
    }
}

/// Plans, and looks. Nothing is written.
pub fn plan(request: &PlanRequest) -> Result<PlanReport, SessionError> {
    let plan = request.build.as_ref().map(build_plan).transpose()?;
    let look = |target: &PathBuf| stack_of(target, request.erase_block);
    Ok(PlanReport { plan, stack: request.check.as_ref().map(look).transpose()? })
}

fn stack_of(target: &Path, erase_block: Option<ByteCount>) -> Result<StackReport, SessionError> {
    // A path that is not there has no stack.
    std::fs::metadata(target).map_err(|source| SessionError::Look { path: target.to_owned(), source })?;
    let system = System::here();
    let device = system.device_of(target);
    let resolved = std::fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
    let is_node = device
        .as_ref()
        .is_some_and(|device| resolved.starts_with("/dev") && resolved.ends_with(&device.name));
    let file_system = if is_node { None } else { system.file_system_of(target) };
    let mut report = StackReport {
        target: target.display().to_string(),
        file_system,
        layers: layers(&system, device.as_ref()),
        checks: Vec::new(),
    };
    report.checks = checks(&report, erase_block);
    Ok(report)
}

fn layers(system: &System, device: Option<&Device>) -> Vec<StackLayer> {
    fn add(system: &System, device: &Device, depth: u32, layers: &mut Vec<StackLayer>) {
        let layout = system.block_layout(&device.number);
        layers.push(StackLayer {
            device: device.name.clone(),
            model: device.model.clone().filter(|_| layout.start_bytes.is_none()),
            depth,
            physical_sector_bytes: device.physical_sector_bytes,
            layout,
        });
        device.below.iter().for_each(|below| add(system, below, depth + 1, layers));
    }
    let mut all = Vec::new();
    if let Some(device) = device {
        add(system, device, 0, &mut all);
    }
    all
}
