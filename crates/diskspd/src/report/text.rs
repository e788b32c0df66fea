//! The text report, byte for byte in DiskSpd's layout.

mod cpu;
mod distribution;
mod parameters;
mod tables;

pub(super) use cpu::CpuShares;

#[cfg(test)]
mod tests;

use self::tables::{line, per_second};
use super::input::{DiskspdReport, NOT_BEGUN, OpResult, TimeSpanResult};
use crate::DiskspdTimeSpan;

pub fn write_text(report: &DiskspdReport) -> String {
    let mut out = String::new();
    parameters::write(&mut out, report);
    write_system(&mut out, report);
    for ((number, result), span) in (1..).zip(&report.time_spans).zip(&report.profile.time_spans) {
        write_span(&mut out, report, number, result, span);
    }
    if report.time_spans.len() > 1 {
        write_totals(&mut out, &report.time_spans);
    }
    out
}

fn write_system(out: &mut String, report: &DiskspdReport) {
    line(out, "System information:\n");
    line(out, format!("\tcomputer name: {}", report.computer_name));
    line(out, format!("\tstart time: {}\n", report.start_time()));
    let topology = &report.topology;
    line(out, format!("\tcpu count:\t\t{}", topology.cpu_count));
    line(out, format!("\tcore count:\t\t{}", topology.core_count));
    line(out, format!("\tgroup count:\t\t{}", topology.group_count));
    line(out, format!("\tnode count:\t\t{}", topology.node_count));
    line(out, format!("\tsocket count:\t\t{}", topology.socket_count));
    line(out, format!("\theterogeneous cores:\t{}", if topology.is_heterogeneous() { 'y' } else { 'n' }));
    line(
        out,
        format!("\n\tactive power scheme:\t{} ({})", report.power_scheme.name, report.power_scheme.guid),
    );
}

fn write_span(
    out: &mut String,
    report: &DiskspdReport,
    number: u32,
    result: &TimeSpanResult,
    span: &DiskspdTimeSpan,
) {
    line(out, format!("\nResults for timespan {number}:"));
    line(out, "*".repeat(79) + "\n");
    if result.measured_ns == 0 {
        line(out, NOT_BEGUN);
        return;
    }
    line(out, format!("actual test time:\t{:.2}s", result.seconds()));
    line(out, format!("thread count:\t\t{}", result.threads.len()));
    if span.thread_count > 0 && span.request_count > 0 {
        line(out, format!("request count:\t\t{}", span.request_count));
    }
    cpu::write(out, &report.topology, &result.cpus);
    distribution::write_effective(out, result);
    tables::write(out, result, span);
    if span.measure_latency {
        tables::write_latency(out, result);
    }
}

fn write_totals(out: &mut String, results: &[TimeSpanResult]) {
    let seconds: f64 = results.iter().map(TimeSpanResult::seconds).sum();
    let reads = OpResult::sum(results.iter().flat_map(TimeSpanResult::targets).map(|target| &target.read));
    let writes = OpResult::sum(results.iter().flat_map(TimeSpanResult::targets).map(|target| &target.write));
    let row = |name: &str, bytes: u64, count: u64| {
        let mebibytes = per_second(bytes as f64 / 1_048_576.0, seconds);
        let rate = per_second(count as f64, seconds);
        format!("{name} | {bytes:15} | {count:12} | {mebibytes:10.2} | {rate:10.2}")
    };
    let rule = "-".repeat(79);
    line(out, "\n\nTotals:");
    line(out, "*".repeat(79) + "\n");
    line(out, "type   |       bytes     |     I/Os     |    MiB/s   |  I/O per s");
    line(out, &rule);
    line(out, row("write ", writes.bytes, writes.count));
    line(out, row("read  ", reads.bytes, reads.count));
    line(out, &rule);
    line(out, row("total ", writes.bytes + reads.bytes, writes.count + reads.count) + "\n");
    line(out, format!("total test time:\t{seconds:.2}s"));
}
