//! Whether something else had the machine: its devices before, its processors meanwhile.

use iostall_measure::Nanos;
use iostall_measure::foreign::shown;
use iostall_measure::platform::{CpuTicks, ProcessCpu};
use iostall_model::{Warning, WarningCode};

use super::evidence::BusyBefore;

/// A device busier than this before the run is shared with other programs.
const DEVICE_SHARE: f64 = 0.05;
/// Less of the processors than this is left over, or more than this was taken away.
const PROCESSOR_SHARE: f64 = 0.05;

pub fn devices(busy_before: &[BusyBefore]) -> Vec<Warning> {
    let busy = busy_before.iter().filter(|before| before.busy_share > DEVICE_SHARE);
    let warning = |before: &BusyBefore| {
        let (percent, iops) = (before.busy_share * 100.0, before.iops);
        let message = format!(
            "the device was busy {percent:.0} % of the time before the run ({iops:.0} requests a second): it is shared with other programs"
        );
        Warning::new(WarningCode::DeviceBusy, message)
            .about(&before.device)
            .hint("find the other load, or take these numbers as the capacity left over by it")
    };
    busy.map(warning).collect()
}

/// What each processor did between two readings.
pub fn cpus_between(before: &[CpuTicks], after: &[CpuTicks]) -> Vec<CpuTicks> {
    let earlier = |cpu: u32| before.iter().find(|ticks| ticks.cpu == cpu);
    after.iter().filter_map(|ticks| Some(ticks.since(earlier(ticks.cpu)?))).collect()
}

/// `busiest` are the processes that used most of them meanwhile, if that is known.
pub fn processors(cpus: &[CpuTicks], busiest: &[ProcessCpu]) -> Option<Warning> {
    let total: u64 = cpus.iter().map(CpuTicks::total).sum();
    if total == 0 {
        return None;
    }
    let share = |part: fn(&CpuTicks) -> u64| cpus.iter().map(part).sum::<u64>() as f64 / total as f64;
    let (idle, steal) = (share(|cpu| cpu.idle + cpu.iowait), share(|cpu| cpu.steal));
    let used_by = used_by(busiest);
    if steal > PROCESSOR_SHARE {
        let message = format!(
            "the hypervisor took {:.0} % of the processor time: latencies include waiting for it{used_by}",
            steal * 100.0
        );
        return Some(Warning::new(WarningCode::GeneratorBound, message));
    }
    (idle < PROCESSOR_SHARE).then(|| {
        let message = format!(
            "the machine's processors were {:.0} % busy: latencies include waiting for one{used_by}",
            100.0 - idle * 100.0
        );
        let is_ours = busiest.first().is_none_or(|process| process.pid == std::process::id());
        let hint = if is_ours {
            "use fewer workers, or a larger machine"
        } else {
            "measure again when the other programs are quiet"
        };
        Warning::new(WarningCode::GeneratorBound, message).hint(hint)
    })
}

fn used_by(busiest: &[ProcessCpu]) -> String {
    let one = |process: &ProcessCpu| {
        let (name, seconds) = (shown(&process.name), Nanos(process.cpu_ns).seconds());
        format!("{name} (pid {}) {seconds:.1} s", process.pid)
    };
    let all: Vec<String> = busiest.iter().map(one).collect();
    if all.is_empty() { String::new() } else { format!("; most CPU time went to {}", all.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(pid: u32) -> Option<String> {
        let cpus = [CpuTicks { user: 100, ..CpuTicks::default() }];
        processors(&cpus, &[ProcessCpu { pid, cpu_ns: 1, ..ProcessCpu::default() }]).unwrap().hint
    }

    /// The story: a compiler had the processors, and the advice was to use fewer workers.
    #[test]
    fn the_advice_depends_on_who_had_the_processors() {
        assert!(hint(std::process::id()).unwrap().contains("fewer workers"));
        assert!(hint(0).unwrap().contains("other programs"));
    }
}
