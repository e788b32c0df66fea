//! Looks whether something else has the machine: its devices before the measurement, its processors meanwhile.

use iostall_engine::cpu::CpuTime;
use iostall_host as host;
use iostall_load::checks::{BusyBefore, cpus_between, devices, processors};
use iostall_measure::platform::{CpuTicks, Device, ProcessCpu, Target};
use iostall_measure::{Clock as _, RunClock};
use iostall_model::Warning;

const LOOK_BEFORE_NS: u64 = 300_000_000;
/// As many of the busiest processes are named.
const BUSIEST_MAX: usize = 3;
/// Of one tick of a processor.
const TICK_NS: u64 = 10_000_000;
/// In a shorter time others are soon busy by chance: two seconds, ticks of each processor.
const TICKS_MIN: u64 = 200;

/// Distinct names of the block devices under `targets`, including the lowest layers.
pub(crate) fn device_names<'a>(targets: impl IntoIterator<Item = &'a Target>) -> Vec<String> {
    fn collect(device: &Device, names: &mut Vec<String>) {
        if !names.contains(&device.name) {
            names.push(device.name.clone());
        }
        device.below.iter().for_each(|below| collect(below, names));
    }
    let mut names = Vec::new();
    targets
        .into_iter()
        .filter_map(|target| target.device.as_ref())
        .for_each(|device| collect(device, &mut names));
    names
}

pub(crate) fn look_before(devices: &[String], clock: &RunClock) -> Vec<BusyBefore> {
    let before = host::device_counters(devices);
    let from_ns = clock.now_ns();
    clock.sleep_until(from_ns + LOOK_BEFORE_NS);
    let seconds = (clock.now_ns() - from_ns) as f64 / 1e9;
    host::device_counters(devices)
        .iter()
        .filter_map(|after| {
            let then = before.iter().find(|counters| counters.name == after.name)?;
            let added = after.since(then)?;
            Some(BusyBefore {
                device: added.name.clone(),
                busy_share: added.busy_ms as f64 / 1e3 / seconds,
                iops: (added.read_requests + added.write_requests) as f64 / seconds,
            })
        })
        .collect()
}

/// For what is measured without a load's own look.
pub(crate) struct MachineWatch {
    busy_before: Vec<BusyBefore>,
    cpus: Vec<CpuTicks>,
    processes: Vec<ProcessCpu>,
}

impl MachineWatch {
    /// Looks at the devices for a moment before it returns.
    pub(crate) fn begin(targets: &[Target], clock: &RunClock) -> Self {
        let names = device_names(targets);
        let busy_before = if names.is_empty() { Vec::new() } else { look_before(&names, clock) };
        Self { busy_before, cpus: host::cpu_ticks(), processes: host::process_cpu_times() }
    }

    pub(crate) fn warnings(self) -> Vec<Warning> {
        let cpus = cpus_between(&self.cpus, &host::cpu_ticks());
        let busiest = ProcessCpu::busiest(&self.processes, host::process_cpu_times(), BUSIEST_MAX);
        devices(&self.busy_before).into_iter().chain(processors(&cpus, &busiest)).collect()
    }
}

/// Where others had most of the processors since `before`, of which this process used `own`: a copy that compares or compresses has
/// them busy itself.
pub(crate) fn processors_of_others(before: &[CpuTicks], own: CpuTime) -> Option<Warning> {
    let cpus = cpus_between(before, &host::cpu_ticks());
    let total: u64 = cpus.iter().map(CpuTicks::total).sum();
    let busy: u64 = cpus.iter().map(|cpu| cpu.user + cpu.system + cpu.steal).sum();
    let is_ours = own.user_ns.saturating_add(own.system_ns) > busy.saturating_mul(TICK_NS) / 2;
    if total < TICKS_MIN * cpus.len() as u64 || is_ours { None } else { processors(&cpus, &[]) }
}

#[cfg(test)]
mod tests {
    use iostall_measure::platform::TargetKind;
    use iostall_model::WarningCode;

    use super::*;

    #[test]
    fn a_device_that_is_written_beside_is_seen() {
        let mut target = Target::new("data.dat", TargetKind::File, 1);
        let below = Device { name: "sda".into(), ..Device::default() };
        target.device =
            Some(Device { name: "dm-0".into(), below: vec![below.clone(), below], ..Device::default() });
        assert_eq!(device_names([&target, &target]), ["dm-0", "sda"]);
        let busy = BusyBefore { device: "sda".into(), busy_share: 0.5, iops: 900.0 };
        let watch = MachineWatch { busy_before: vec![busy], cpus: Vec::new(), processes: Vec::new() };
        let codes: Vec<WarningCode> = watch.warnings().iter().map(|warning| warning.code).collect();
        assert!(codes.contains(&WarningCode::DeviceBusy), "{codes:?}");
    }
}
