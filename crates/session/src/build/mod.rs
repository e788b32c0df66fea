//! A build of drives for a database server, and how the layers under a file or device fit solid-state drives.

mod checks;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use iostall_host::System;
use iostall_measure::ByteCount;
use iostall_measure::platform::Device;
use iostall_model::build_plan::{BuildError, BuildPlan, BuildRequest, build_plan};
use iostall_model::capacity::CapacityPoint;
use iostall_model::profile::{Access, BlockMix};
use iostall_model::stack_check::{StackLayer, StackReport};
use iostall_model::warning::{Rank, names};
use iostall_model::{CapacityRecord, Run, RunNumber};
use iostall_store::{Selector, Store};
use thiserror::Error;

use crate::error::{SessionError, UseCaseError, of_use_case};
use checks::checks;

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

of_use_case!(BuildError);

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

#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredDrive {
    pub iops: f64,
    /// Mean latency of a random request at that rate, milliseconds.
    pub latency_ms: f64,
    /// Sequential bytes a second; `None` if the run has nothing sequential.
    pub bytes_per_s: Option<f64>,
    /// The run and the measurement that the figures come from, in a few words.
    pub from: String,
}

#[derive(Debug, Error)]
enum NoDrive {
    #[error("run {number} measured no random requests of a device")]
    NothingRandom { number: u32 },
    #[error("the numbers of run {number} are not those of a device: {warnings}")]
    NotValid { number: u32, warnings: String },
    #[error("run {number} asked for a rate and got it, which does not say what the drive can do")]
    Paced { number: u32 },
}

impl From<NoDrive> for SessionError {
    fn from(error: NoDrive) -> Self {
        let hint = "`iostall load --preset random-read` measures them, and `iostall runs` lists the runs";
        Self::OfUseCase(UseCaseError::new(error, Some(hint.to_owned())))
    }
}

/// Why there is nothing random in what `run` says of its device.
fn no_drive(number: u32, run: &Run) -> NoDrive {
    if !run.is_valid() {
        let warnings = names(run.codes(), |code| code.rank() == Rank::Invalidates);
        return NoDrive::NotValid { number, warnings };
    }
    let all = run.body.outcome().capacities(run.targets.len());
    let mut random = all.iter().filter(|one| one.shape.access == Access::Random);
    let is_paced = random.any(|one| one.curve.iter().any(CapacityPoint::is_paced));
    if is_paced { NoDrive::Paced { number } } else { NoDrive::NothingRandom { number } }
}

/// The drive that the run `selector` measured. Of several shapes of random requests that counts whose size is nearest to
/// `request_bytes`, and of these the slowest, because a build must do with the worst of them.
pub fn measured_drive(
    store: &dyn Store,
    selector: &Selector,
    request_bytes: ByteCount,
) -> Result<MeasuredDrive, SessionError> {
    let stored = store.get(selector)?;
    let RunNumber(number) = stored.number;
    let records = CapacityRecord::of_run(&stored.run);
    let best = |access: Access| {
        let records = records.iter().filter(move |record| record.shape.access == access);
        records.filter_map(|record| Some((record, record.best().filter(|point| point.iops > 0.0)?)))
    };
    let factor = |record: &CapacityRecord| distance(&record.shape.block_size, request_bytes);
    let nearest = best(Access::Random).min_by(|(ours, one), (theirs, other)| {
        factor(ours).total_cmp(&factor(theirs)).then(one.iops.total_cmp(&other.iops))
    });
    let Some((record, point)) = nearest else { return Err(no_drive(number, &stored.run).into()) };
    let rates = best(Access::Sequential).map(|(_, point)| point.mib_per_s * 1_048_576.0);
    let warned_of = record.warned_of();
    let suffix = if warned_of.is_empty() { warned_of } else { format!("; in doubt: {warned_of}") };
    Ok(MeasuredDrive {
        iops: point.iops,
        latency_ms: latency_ms(point),
        bytes_per_s: rates.reduce(f64::min).filter(|rate| *rate > 0.0),
        from: format!(
            "run {number}: random {}, {} writes, {} in flight{suffix}",
            record.shape.block_size, record.shape.write_pct, point.in_flight
        ),
    })
}

/// How many times as large, or as small, requests are as those that are asked for.
fn distance(size: &BlockMix, asked: ByteCount) -> f64 {
    let (ours, asked) = (size.mean_bytes(), asked.bytes().max(1) as f64);
    (ours / asked).max(asked / ours)
}

/// By Little's law, as all requests in flight were always in use.
fn latency_ms(point: &CapacityPoint) -> f64 {
    point.in_flight as f64 / point.iops * 1e3
}
