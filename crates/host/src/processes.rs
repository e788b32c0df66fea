//! CPU time of every process.

use iostall_measure::platform::ProcessCpu;

use super::system::System;

/// Nanoseconds in a tick, in which Linux reports CPU time to programs on every architecture that we build for.
const TICK_NS: u64 = 10_000_000;

/// Fields of `/proc/PID/stat` after the name, counted from 0.
const USER_TICKS: usize = 11;
const SYSTEM_TICKS: usize = 12;
const START_TICKS: usize = 19;

impl System {
    /// Cumulative CPU time of every process. One that ends meanwhile, or that may not be seen, is left out.
    pub fn process_cpu_times(&self) -> Vec<ProcessCpu> {
        let pids = self.names_in("/proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
        pids.filter_map(|pid| parse(pid, &self.text(format!("/proc/{pid}/stat"))?)).collect()
    }
}

/// `812 (name) S 1 …`; the name may contain spaces and parentheses.
fn parse(pid: u32, text: &str) -> Option<ProcessCpu> {
    let (before, fields) = text.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let field = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let ticks = field(USER_TICKS)?.checked_add(field(SYSTEM_TICKS)?)?;
    let (started, name) = (field(START_TICKS)?, name.to_owned());
    Some(ProcessCpu { pid, started, name, cpu_ns: ticks.checked_mul(TICK_NS)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_process_is_read_whatever_its_name() {
        let text = "812 (a (b) c) S 1 812 812 0 -1 4194560 1 2 3 4 150 50 6 7 20 0 1 0 98765 1 2 3";
        let found = parse(812, text).unwrap();
        let name = "a (b) c".to_owned();
        assert_eq!(found, ProcessCpu { pid: 812, started: 98_765, name, cpu_ns: 2_000_000_000 });
        for bad in ["", "812", "812 (x", "812 (x) S 1", "812 (x) S 1 1 1 0 -1 1 1 2 3 4 -5 50 6 7 20 0 1 0 9"]
        {
            assert_eq!(parse(812, bad), None, "{bad}");
        }
    }

    #[test]
    fn this_process_is_among_those_of_this_machine() {
        let own = std::process::id();
        assert!(System::here().process_cpu_times().iter().any(|process| process.pid == own));
    }
}
