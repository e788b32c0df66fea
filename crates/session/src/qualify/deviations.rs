//! What a run does otherwise than the specification, from what is known of the target.

use iostall_measure::platform::{Device, Target, TargetKind};
use iostall_model::qualify::{Deviation, Purged, QualifyPlan, QualifyRound, QualifyTest};

use super::plan::{CELL, CELLS, IN_FLIGHT, PASSES};

/// What is known when a run ends.
pub(super) struct Circumstances<'a> {
    pub(super) plan: &'a QualifyPlan,
    pub(super) target: Option<&'a Target>,
    pub(super) active_bytes: u64,
    pub(super) purged: Purged,
    /// How often the active range was written in order.
    pub(super) passes: u32,
    /// Sizes that the target does not take, and the multiple that it takes, bytes.
    pub(super) left_out: &'a [(u32, u32)],
    pub(super) hypervisor: Option<&'a str>,
    pub(super) rounds: &'a [QualifyRound],
}

/// All of them, those of the method first.
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
    found
}

fn of_method(of: &Circumstances<'_>) -> Vec<Deviation> {
    let plan = of.plan;
    let mut found = vec![match of.purged {
        Purged::None => Deviation::NotPurged,
        Purged::Discarded => Deviation::Discarded,
        Purged::Punched => Deviation::Punched,
    }];
    let cells = plan.cells().count();
    match plan.test {
        QualifyTest::Iops => {
            let passes = of.passes;
            found.extend((passes < PASSES).then_some(Deviation::FewerPasses { passes }));
            let is_fewer = cells + of.left_out.len() * plan.write_pcts.len() < CELLS;
            let cells = u32::try_from(cells).unwrap_or(u32::MAX);
            found.extend(is_fewer.then_some(Deviation::FewerCells { cells }));
        }
        QualifyTest::Saturation => found.push(Deviation::WindowsByFill),
    }
    found.extend((plan.cell < CELL).then_some(Deviation::ShortCells { cell_ns: plan.cell.0 }));
    found.extend(
        of.left_out.iter().map(|(bytes, align)| Deviation::SizeLeftOut { bytes: *bytes, align: *align }),
    );
    let (queue_depth, workers) = (plan.queue_depth, plan.workers);
    let differs = (queue_depth, workers) != IN_FLIGHT;
    found.extend(differs.then_some(Deviation::InFlight { queue_depth, workers }));
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
    if let Some(device) = bottom {
        found.push(match &device.write_cache {
            Some(mode) => Deviation::WriteCache { mode: mode.clone() },
            None => Deviation::WriteCacheUnknown,
        });
    }
    found
}

/// The disk under a partition or a mapped device.
fn lowest(device: &Device) -> &Device {
    device.below.first().map_or(device, lowest)
}
