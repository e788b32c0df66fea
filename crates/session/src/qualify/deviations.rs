//! What a run does otherwise than the specification, from what is known of the target.

use iostall_measure::platform::{Device, Target, TargetKind};
use iostall_model::qualify::{
    Deviation, Disturbance, Purged, QualifyPlan, QualifyRound, QualifyScale, QualifyTest, Stage,
};

use super::plan::{CELLS, PASSES, in_flight, plan_of};

pub(super) struct Circumstances<'a> {
    pub(super) plan: &'a QualifyPlan,
    pub(super) target: Option<&'a Target>,
    pub(super) active_bytes: u64,
    pub(super) purged: Purged,
    pub(super) passes: u32,
    /// Sizes that the target does not take, and the multiple that it takes, bytes.
    pub(super) left_out: &'a [(u32, u32)],
    pub(super) hypervisor: Option<&'a str>,
    pub(super) stages: &'a [Stage],
    pub(super) rounds: &'a [QualifyRound],
    pub(super) disturbances: &'a [Disturbance],
}

pub(super) fn deviations(of: &Circumstances<'_>) -> Vec<Deviation> {
    let mut found = of_method(of);
    if let Some(target) = of.target {
        found.extend(of_target(of, target));
    }
    found.extend(of.hypervisor.map(|name| Deviation::Virtual { hypervisor: name.to_owned() }));
    let interrupted = (1_u32..).zip(of.rounds).filter_map(|(before_round, round)| {
        round.idle_ns.map(|idle_ns| Deviation::Interrupted { before_round, idle_ns })
    });
    found.extend(interrupted);
    found.extend(of.disturbances.iter().map(|by| Deviation::Disturbed { by: *by }));
    found
}

fn of_method(of: &Circumstances<'_>) -> Vec<Deviation> {
    let plan = of.plan;
    let purged = match of.purged {
        Purged::None => Some(Deviation::NotPurged),
        Purged::Discarded => Some(Deviation::Discarded),
        Purged::Punched => Some(Deviation::Punched),
        // What the specification asks for.
        Purged::Formatted | Purged::BlocksErased | Purged::KeyErased => None,
    };
    let mut found = Vec::from_iter(purged);
    let is_preceded = of.stages.iter().any(|stage| stage.passes.0 > 0);
    let passes = of.passes;
    found.extend((is_preceded && passes < PASSES).then_some(Deviation::FewerPasses { passes }));
    if plan.test == QualifyTest::Iops {
        let cells = plan.cells().count();
        let is_fewer = cells + of.left_out.len() * plan.write_pcts.len() < CELLS;
        let cells = u32::try_from(cells).unwrap_or(u32::MAX);
        found.extend(is_fewer.then_some(Deviation::FewerCells { cells }));
    }
    if of.stages.iter().any(|stage| stage.by_fill) {
        found.push(Deviation::WindowsByFill);
    }
    let full = plan_of(plan.test, QualifyScale::Full);
    found.extend((!plan.test.is_specified()).then_some(Deviation::OwnTest));
    let is_short = plan.test.is_specified() && plan.cell < full.cell;
    let (cell_ns, specified_ns) = (plan.cell.0, full.cell.0);
    found.extend(is_short.then_some(Deviation::ShortCells { cell_ns, specified_ns }));
    if plan.test == QualifyTest::IdleRecovery {
        let bursts = |stages: &[Stage]| stages.get(1).map_or(0, |stage| stage.rounds_max);
        let (bursts, specified) = (bursts(of.stages), bursts(&full.stages()));
        found.extend((bursts < specified).then_some(Deviation::FewerBursts { bursts, specified }));
    }
    found.extend(
        of.left_out.iter().map(|(bytes, align)| Deviation::SizeLeftOut { bytes: *bytes, align: *align }),
    );
    let (queue_depth, workers) = (plan.queue_depth, plan.workers);
    let (queue_depth_wanted, workers_wanted) = in_flight(plan.test, QualifyScale::Full);
    let differs = plan.test.is_specified() && (queue_depth, workers) != (queue_depth_wanted, workers_wanted);
    let in_flight = Deviation::InFlight { queue_depth, workers, queue_depth_wanted, workers_wanted };
    found.extend(differs.then_some(in_flight));
    if plan.test == QualifyTest::WriteCache {
        found.push(Deviation::CacheByWriteThrough);
    }
    found
}

fn of_target(of: &Circumstances<'_>, target: &Target) -> Vec<Deviation> {
    let mut found = Vec::new();
    if let Some(system) = &target.file_system {
        let (name, options) = (system.kind.clone(), system.options.clone());
        found.push(Deviation::InFileSystem { name, options });
    }
    let bottom = target.device.as_ref().map(lowest);
    match bottom.and_then(|device| device.size_bytes) {
        Some(device_bytes) if device_bytes > of.active_bytes => {
            found.push(Deviation::PartOfDevice { used_bytes: of.active_bytes, device_bytes });
            found.push(Deviation::RestUnknown { rest_bytes: device_bytes - of.active_bytes });
        }
        Some(_) => {}
        None if target.kind == TargetKind::Synthetic => {}
        None => found.push(Deviation::DeviceUnknown),
    }
    let deepest = of
        .stages
        .iter()
        .flat_map(|stage| &stage.cells)
        .map(|cell| cell.queue_depth.saturating_mul(cell.workers));
    let queue = target.device.as_ref().and_then(|device| device.queue_requests);
    if let (Some(in_flight), Some(queue)) = (deepest.max(), queue) {
        found.extend((in_flight > queue).then_some(Deviation::DeeperThanQueue { in_flight, queue }));
    }
    if let Some(device) = bottom {
        found.push(match &device.write_cache {
            Some(mode) => Deviation::WriteCache { mode: mode.clone() },
            None => Deviation::WriteCacheUnknown,
        });
    }
    found
}

/// The disk under a partition or a mapped device.
pub(super) fn lowest(device: &Device) -> &Device {
    device.below.first().map_or(device, lowest)
}
