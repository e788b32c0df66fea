//! Cumulative counters of devices and CPUs, and dirty pages in the page cache.

use iostall_measure::platform::{CpuTicks, DeviceCounters};

use super::disk_stats::{DiskColumn, DiskStats};
use super::system::{System, kilobytes};

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
}
