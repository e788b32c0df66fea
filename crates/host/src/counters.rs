//! Cumulative counters of devices, CPUs and processes, the time that tasks waited for I/O, and dirty pages in the page cache.

use iostall_measure::platform::{CpuTicks, DeviceCounters, ProcessCpu};

use crate::system::{System, Unreadable, kilobytes};

/// Unit of `/proc/diskstats`, whatever the device's sector size.
const SECTOR_BYTES: u64 = 512;

impl System {
    /// Cumulative counters of the named devices, in that order; missing devices are left out.
    pub fn device_counters(&self, names: &[String]) -> Vec<DeviceCounters> {
        let all = self.disk_stats().unwrap_or_default();
        names.iter().filter_map(|name| counters_of(all.iter().find(|stats| stats.name == *name)?)).collect()
    }

    pub fn cpu_ticks(&self) -> Vec<CpuTicks> {
        self.text("/proc/stat").map(|text| parse_stat(&text)).unwrap_or_default()
    }

    /// Bytes in the page cache that have not reached their devices: dirty pages and pages being written.
    pub fn dirty_bytes(&self) -> Option<u64> {
        let text = self.text("/proc/meminfo")?;
        kilobytes(&text, "Dirty")?.checked_add(kilobytes(&text, "Writeback")?)
    }
}

/// Counters in bytes; `None` if a column is missing that every kernel has. Flushes are counted since Linux
/// 5.5 and read as 0 before.
fn counters_of(stats: &DiskStats) -> Option<DeviceCounters> {
    let bytes = |column| stats.get(column)?.checked_mul(SECTOR_BYTES);
    Some(DeviceCounters {
        name: stats.name.clone(),
        read_requests: stats.get(DiskColumn::Reads)?,
        read_merges: stats.get(DiskColumn::ReadsMerged)?,
        read_bytes: bytes(DiskColumn::SectorsRead)?,
        read_ms: stats.get(DiskColumn::ReadMs)?,
        write_requests: stats.get(DiskColumn::Writes)?,
        write_merges: stats.get(DiskColumn::WritesMerged)?,
        write_bytes: bytes(DiskColumn::SectorsWritten)?,
        write_ms: stats.get(DiskColumn::WriteMs)?,
        busy_ms: stats.get(DiskColumn::BusyMs)?,
        flush_requests: stats.get(DiskColumn::Flushes).unwrap_or(0),
    })
}

/// Lines `cpuN user nice system idle iowait irq softirq steal guest guest_nice`. User time includes guest
/// time.
fn parse_stat(text: &str) -> Vec<CpuTicks> {
    text.lines().filter_map(parse_cpu).collect()
}

fn parse_cpu(line: &str) -> Option<CpuTicks> {
    let mut fields = line.split_ascii_whitespace();
    let cpu = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
    let ticks: Vec<u64> = fields.map(str::parse).collect::<Result<_, _>>().ok()?;
    let field = |index: usize| ticks.get(index).copied().unwrap_or(0);
    let user = ticks.first()?.checked_add(field(1))?;
    let system = field(2).checked_add(field(5))?.checked_add(field(6))?;
    Some(CpuTicks { cpu, user, system, idle: field(3), iowait: field(4), steal: field(7) })
}

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
        pids.filter_map(|pid| parse_process(pid, &self.text(format!("/proc/{pid}/stat"))?)).collect()
    }
}

/// `812 (name) S 1 …`; the name may contain spaces and parentheses.
fn parse_process(pid: u32, text: &str) -> Option<ProcessCpu> {
    let (before, fields) = text.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let field = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let ticks = field(USER_TICKS)?.checked_add(field(SYSTEM_TICKS)?)?;
    let (started, name) = (field(START_TICKS)?, name.to_owned());
    Some(ProcessCpu { pid, started, name, cpu_ns: ticks.checked_mul(TICK_NS)? })
}

/// An `io.pressure` file: cumulative since boot, or since the group was created. The averages in it cannot be
/// summed and are not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Time in which at least one task waited, microseconds.
    pub some_us: Option<u64>,
    /// Time in which all tasks waited at once, microseconds.
    pub full_us: Option<u64>,
}

impl Pressure {
    /// Parses the file; `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let mut found = Self::default();
        for line in text.lines() {
            let mut words = line.split(' ');
            let total = match words.next()? {
                "some" => &mut found.some_us,
                "full" => &mut found.full_us,
                _ => continue,
            };
            *total = Some(words.find_map(|word| word.strip_prefix("total="))?.parse().ok()?);
        }
        (found != Self::default()).then_some(found)
    }
}

impl System {
    /// I/O pressure of the whole machine; `None` if the file has no numbers.
    pub fn io_pressure(&self) -> Result<Option<Pressure>, Unreadable> {
        self.read("/proc/pressure/io").map(|text| Pressure::parse(&text))
    }
}

/// A column of `/proc/diskstats` after the name, in the order of the line: 11 columns, 15 since kernel 4.18 and 17 since 5.5 (the
/// kernel's `Documentation/admin-guide/iostats.rst`). Sectors are always 512 bytes; times are whole milliseconds in 32 bits and wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DiskColumn {
    Reads,
    /// Reads merged before they reached the device.
    ReadsMerged,
    SectorsRead,
    ReadMs,
    Writes,
    WritesMerged,
    SectorsWritten,
    WriteMs,
    InFlight,
    /// Time with at least one request in flight.
    BusyMs,
    /// Time weighted by the requests in flight.
    InFlightMs,
    Discards,
    DiscardsMerged,
    SectorsDiscarded,
    DiscardMs,
    Flushes,
    FlushMs,
}

const COLUMNS: usize = DiskColumn::FlushMs as usize + 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskStats {
    /// `major:minor`.
    pub number: String,
    pub name: String,
    columns: Vec<u64>,
}

impl DiskStats {
    /// The value of a column; `None` if the kernel is too old for it.
    pub fn get(&self, column: DiskColumn) -> Option<u64> {
        self.columns.get(column as usize).copied()
    }

    /// Parses one line; `None` if it is malformed.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (major, minor, name) = (words.next()?, words.next()?, words.next()?);
        let columns = words.take(COLUMNS).map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Self { number: format!("{major}:{minor}"), name: name.to_owned(), columns })
    }
}

impl System {
    /// The counters of every block device, including unused ones.
    pub fn disk_stats(&self) -> Result<Vec<DiskStats>, Unreadable> {
        let text = self.read("/proc/diskstats")?;
        Ok(text.lines().filter_map(DiskStats::parse).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diskstats_of_new_and_old_kernels_are_read_and_odd_lines_are_not() {
        let text = "\
 254       0 vda 57313 10349 6022418 26524 26593 14574 3025208 7460 0 10884 34790 8559 34 752912 651 3740 153
   8       0 sda 1 2 3 4 5 6 7 8 9 10 11
   8      16 sdb 1 2 3
   8      32 sdc 1 2 x 4 5 6 7 8 9 10 11
";
        let stats: Vec<DiskStats> = text.lines().filter_map(DiskStats::parse).collect();
        let all: Vec<DeviceCounters> = stats.iter().filter_map(counters_of).collect();
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].read_bytes, 6_022_418 * 512);
        assert_eq!((all[0].write_requests, all[0].write_ms, all[0].busy_ms), (26_593, 7460, 10_884));
        assert_eq!((all[0].flush_requests, all[1].flush_requests), (3740, 0));
        assert_eq!((all[1].name.as_str(), all[1].write_bytes, all[1].busy_ms), ("sda", 7 * 512, 10));
    }

    #[test]
    fn processor_time_is_read_by_processor_and_the_sum_line_is_not() {
        let text = "cpu  15498 0 5078 251911 727 0 83 113 0 0\ncpu0 6908 2 2119 127532 68 1 9 56 7 7\ncpu1 5 0 1\nintr 28 0\ncpufreq 1\ncpu2\n";
        let ticks = parse_stat(text);
        assert_eq!(ticks.len(), 2);
        assert_eq!(
            ticks[0],
            CpuTicks { cpu: 0, user: 6910, system: 2129, idle: 127_532, iowait: 68, steal: 56 }
        );
        assert_eq!(ticks[1], CpuTicks { cpu: 1, user: 5, system: 1, ..CpuTicks::default() });
    }

    #[test]
    fn this_machine_has_processors_and_a_page_cache() {
        let system = System::here();
        assert!(system.cpu_ticks().iter().any(|ticks| ticks.total() > 0));
        assert!(system.dirty_bytes().is_some());
        assert_eq!(system.device_counters(&["no such device".into()]), []);
    }

    #[test]
    fn the_time_of_a_process_is_read_whatever_its_name() {
        let text = "812 (a (b) c) S 1 812 812 0 -1 4194560 1 2 3 4 150 50 6 7 20 0 1 0 98765 1 2 3";
        let found = parse_process(812, text).unwrap();
        let name = "a (b) c".to_owned();
        assert_eq!(found, ProcessCpu { pid: 812, started: 98_765, name, cpu_ns: 2_000_000_000 });
        for bad in ["", "812", "812 (x", "812 (x) S 1", "812 (x) S 1 1 1 0 -1 1 1 2 3 4 -5 50 6 7 20 0 1 0 9"]
        {
            assert_eq!(parse_process(812, bad), None, "{bad}");
        }
    }

    #[test]
    fn this_process_is_among_those_of_this_machine() {
        let own = std::process::id();
        assert!(System::here().process_cpu_times().iter().any(|process| process.pid == own));
    }

    #[test]
    fn only_the_totals_are_kept_because_averages_cannot_be_summed() {
        let text = "some avg10=0.13 avg60=0.08 avg300=0.12 total=9127822\n\
                    full avg10=0.00 avg60=0.00 avg300=0.08 total=8150379\n";
        let found = Pressure::parse(text).unwrap();
        assert_eq!((found.some_us, found.full_us), (Some(9_127_822), Some(8_150_379)));
        let some = Pressure::parse("some avg10=0.00 total=5\n").unwrap();
        assert_eq!((some.some_us, some.full_us), (Some(5), None));
    }

    #[test]
    fn what_is_no_pressure_is_none() {
        for odd in ["", "nonsense", "some total=x\n", "some avg10=0.00\n"] {
            assert_eq!(Pressure::parse(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn kernels_of_every_age_are_read_by_the_number_of_their_columns() {
        let old = DiskStats::parse(" 8 0 sda 1 2 3 4 5 6 7 8 9 10 11").unwrap();
        assert_eq!((old.number.as_str(), old.name.as_str()), ("8:0", "sda"));
        assert_eq!((old.get(DiskColumn::InFlightMs), old.get(DiskColumn::Discards)), (Some(11), None));
        let new = DiskStats::parse("8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x").unwrap();
        assert_eq!((new.get(DiskColumn::Reads), new.get(DiskColumn::FlushMs)), (Some(1), Some(17)));
    }

    #[test]
    fn what_is_no_line_of_it_is_left_out() {
        assert_eq!(DiskStats::parse("8 0"), None);
        assert_eq!(DiskStats::parse("8 0 sda 1 x 3"), None);
    }
}
