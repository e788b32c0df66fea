//! The XML report: DiskSpd's elements in DiskSpd's order, escaped.

mod statistics;

use iostall_measure::platform::CpuTicks;

use super::input::{
    CpuTopology, DiskspdReport, NOT_BEGUN, OpResult, Processor, TargetResult, TimeSpanResult,
};
use super::text::CpuShares;
use crate::xml::{XmlWriter, write_distribution, write_profile_into};
use crate::{DISKSPD_VERSION, DISKSPD_VERSION_DATE, DiskspdTimeSpan, EffectiveRange, SpanKind};
use statistics::{write_iops, write_target_latency, write_total_latency};

#[cfg(test)]
mod tests;

/// The whole report, without a line end.
pub fn write_xml(report: &DiskspdReport) -> String {
    let mut xml = XmlWriter::new();
    xml.open("Results", &[]);
    write_system(&mut xml, report);
    write_profile_into(&mut xml, &report.profile);
    for (result, span) in report.time_spans.iter().zip(&report.profile.time_spans) {
        xml.open("TimeSpan", &[]);
        if result.measured_ns == 0 {
            xml.leaf("Error", NOT_BEGUN);
        } else {
            write_span(&mut xml, report, result, span);
        }
        xml.close();
    }
    xml.close();
    xml.finish()
}

fn write_span(xml: &mut XmlWriter, report: &DiskspdReport, result: &TimeSpanResult, span: &DiskspdTimeSpan) {
    xml.leaf("TestTimeSeconds", format!("{:.2}", result.seconds()));
    xml.leaf("ThreadCount", result.threads.len());
    xml.leaf("RequestCount", span.request_count);
    xml.leaf("ProcCount", report.topology.cpu_count);
    write_cpus(xml, &report.topology, &result.cpus);
    let read = OpResult::sum(result.targets().map(|target| &target.read));
    let write = OpResult::sum(result.targets().map(|target| &target.write));
    if span.measure_latency {
        write_total_latency(xml, &read.latency_ns, &write.latency_ns);
    }
    if span.iops_stdev {
        let reads = read.buckets.as_ref().unwrap_or(&result.read_buckets);
        let writes = write.buckets.as_ref().unwrap_or(&result.write_buckets);
        write_iops(xml, reads, writes, result.bucket_ms);
    }
    for thread in &result.threads {
        xml.open("Thread", &[]);
        xml.leaf("Id", thread.id);
        for target in &thread.targets {
            write_target(xml, target, result, span);
        }
        xml.close();
    }
}

fn write_cpus(xml: &mut XmlWriter, topology: &CpuTopology, cpus: &[CpuTicks]) {
    let shares = |xml: &mut XmlWriter, shares: &CpuShares| {
        xml.leaf("UsagePercent", format!("{:.2}", shares.usage()));
        xml.leaf("UserPercent", format!("{:.2}", shares.user));
        xml.leaf("KernelPercent", format!("{:.2}", shares.kernel));
        xml.leaf("IdlePercent", format!("{:.2}", shares.idle));
    };
    xml.open("CpuUtilization", &[]);
    for ticks in cpus {
        let place = topology.processor(ticks.cpu).copied().unwrap_or_default();
        xml.open("CPU", &[]);
        xml.leaves(&[
            ("Socket", &place.socket),
            ("Node", &place.node),
            ("Group", &place.group),
            ("Core", &place.core),
            ("EfficiencyClass", &place.efficiency_class),
            ("Id", &ticks.cpu),
        ]);
        shares(xml, &CpuShares::of(ticks));
        xml.close();
    }
    xml.open("Average", &[]);
    shares(xml, &CpuShares::average(cpus));
    xml.close();
    xml.close();
}

fn write_target(xml: &mut XmlWriter, target: &TargetResult, result: &TimeSpanResult, span: &DiskspdTimeSpan) {
    let (read, write) = (&target.read, &target.write);
    xml.open("Target", &[]);
    xml.leaves(&[
        ("Path", &target.path),
        ("BytesCount", &(read.bytes + write.bytes)),
        ("FileSize", &target.file_size_bytes),
        ("IOCount", &(read.count + write.count)),
        ("ReadBytes", &read.bytes),
        ("ReadCount", &read.count),
        ("WriteBytes", &write.bytes),
        ("WriteCount", &write.count),
    ]);
    if !target.distribution.is_empty() {
        write_distribution(xml, SpanKind::Absolute, lengths(&target.distribution));
    }
    if span.measure_latency {
        write_target_latency(xml, &read.latency_ns, &write.latency_ns);
    }
    if span.iops_stdev
        && let (Some(reads), Some(writes)) = (&read.buckets, &write.buckets)
    {
        write_iops(xml, reads, writes, result.bucket_ms);
    }
    xml.close();
}

/// Consecutive shares and lengths; a part without requests is a range without a share.
fn lengths(ranges: &[EffectiveRange]) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    let mut reached = 0;
    for range in ranges {
        if range.start > reached {
            found.push(("0".to_owned(), range.start - reached));
        }
        let digits = usize::from(range.rescaled);
        found.push((format!("{:.digits$}", range.io_pct), range.end - range.start));
        reached = range.end;
    }
    found
}

fn write_system(xml: &mut XmlWriter, report: &DiskspdReport) {
    xml.open("System", &[]);
    xml.leaf("ComputerName", &report.computer_name);
    xml.open("Tool", &[]);
    xml.leaf("Version", DISKSPD_VERSION);
    xml.leaf("VersionDate", DISKSPD_VERSION_DATE);
    xml.close();
    xml.leaf("RunTime", report.start_time());
    let power = &report.power_scheme;
    xml.empty("PowerScheme", &[("Name", &power.name), ("Guid", &power.guid)]);
    write_topology(xml, &report.topology);
    xml.close();
}

/// More than Linux supports. A limit is needed because a run may come from an untrusted source.
const PROCESSORS_MAX: u32 = 65_536;

/// A processor mask of any width. Windows has at most 64 processors per group, but Linux has a single group,
/// so large machines have masks of more than 64 bits, as in other Linux tools.
fn mask(ids: impl Iterator<Item = u32>) -> String {
    let mut digits: Vec<u32> = vec![0];
    for id in ids.filter(|id| *id < PROCESSORS_MAX) {
        let place = id as usize / 4;
        digits.resize(digits.len().max(place + 1), 0);
        digits[place] |= 1 << (id % 4);
    }
    let hex = digits.iter().rev().filter_map(|digit| char::from_digit(*digit, 16));
    format!("0x{}", hex.collect::<String>())
}

fn ids<'a>(processors: impl IntoIterator<Item = &'a Processor>) -> impl Iterator<Item = u32> {
    processors.into_iter().map(|cpu| cpu.id)
}

fn write_topology(xml: &mut XmlWriter, topology: &CpuTopology) {
    let (count, processors) = (topology.cpu_count, &topology.processors);
    let all = if processors.is_empty() { mask(0..count) } else { mask(ids(processors)) };
    xml.open("ProcessorTopology", &[("Heterogeneous", &topology.is_heterogeneous())]);
    xml.empty(
        "Group",
        &[
            ("Group", &0),
            ("MaximumProcessors", &count),
            ("ActiveProcessors", &count),
            ("ActiveProcessorMask", &all),
        ],
    );
    for (name, pick) in [("Node", (|cpu| cpu.node) as fn(&Processor) -> u32), ("Socket", |cpu| cpu.socket)] {
        for number in distinct(processors, pick) {
            xml.open(name, &[(name, &number)]);
            let mask = mask(ids(processors.iter().filter(|cpu| pick(cpu) == number)));
            xml.empty("Group", &[("Group", &0), ("Mask", &mask)]);
            xml.close();
        }
    }
    for number in distinct(processors, |cpu| cpu.core) {
        let of_core = || processors.iter().filter(|cpu| cpu.core == number);
        let class = of_core().map(|cpu| cpu.efficiency_class).max().unwrap_or(0);
        let mask = mask(ids(of_core()));
        let attributes: [(&str, &dyn std::fmt::Display); 4] =
            [("Group", &0), ("Core", &number), ("Mask", &mask), ("EfficiencyClass", &class)];
        xml.empty("Core", &attributes);
    }
    xml.close();
}

fn distinct(processors: &[Processor], pick: fn(&Processor) -> u32) -> Vec<u32> {
    let mut numbers: Vec<u32> = processors.iter().map(pick).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}
