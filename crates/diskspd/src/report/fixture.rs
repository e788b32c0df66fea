//! A report of made-up measurements for any command line.

use iostall_measure::Histogram;
use iostall_measure::platform::CpuTicks;

use super::input::{
    CpuTopology, DiskspdReport, IntervalBucket, OpResult, PowerScheme, TargetResult, ThreadResult,
    TimeSpanResult,
};
use crate::command_line::Surroundings;
use crate::{DiskspdProfile, DiskspdTarget, Parsed, parse};

pub(super) fn profile(line: &str) -> DiskspdProfile {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    match parse(&words, &Surroundings { exists: &|_| false, clock_seed: 0 }) {
        Ok(Parsed::Run(request)) => request.profile,
        other => panic!("{line}: {other:?}"),
    }
}

fn bucket(count: u64) -> IntervalBucket {
    let latency = 305_000.0;
    IntervalBucket {
        count,
        latency_ns_sum: latency * count as f64,
        latency_ns_sum_of_squares: Some((latency * latency + 2.1e5 * 2.1e5) * count as f64),
        latency_ns_min: Some(95_000),
        latency_ns_max: Some(515_000),
    }
}

/// 1 GiB in blocks of 8 KiB: mean 0.305 ms, deviation 0.210 ms.
fn op(thread: u32) -> OpResult {
    let mut latency_ns = Histogram::new();
    for _ in 0..65536 {
        latency_ns.record(95_000);
        latency_ns.record(515_000);
    }
    let counts = if thread == 0 { [13000, 13241] } else { [13100, 13296] };
    OpResult { count: 131_072, bytes: 1 << 30, latency_ns, buckets: Some(counts.map(bucket).to_vec()) }
}

/// Each thread has done 1 GiB on each of its targets in 10 s: writes if the target is only written, otherwise
/// reads.
pub(super) fn report(line: &str) -> DiskspdReport {
    let profile = profile(line);
    let span = &profile.time_spans[0];
    let work = |target: &DiskspdTarget, thread: u32| {
        let (read, write) = if target.write_pct == 100 {
            (OpResult::none(), op(thread))
        } else {
            (op(thread), OpResult::none())
        };
        TargetResult {
            path: target.path.clone(),
            file_size_bytes: 4 << 30,
            read,
            write,
            distribution: target.effective_ranges(4 << 30),
        }
    };
    let mut threads = Vec::new();
    for target in &span.targets {
        for _ in 0..target.threads_per_file {
            let id = u32::try_from(threads.len()).expect("few threads");
            threads.push(ThreadResult { id, targets: vec![work(target, id)] });
        }
    }
    let ticks = |cpu, user, system, idle| CpuTicks { cpu, user, system, idle, iowait: 0, steal: 7 };
    let result = TimeSpanResult {
        measured_ns: 10_000_000_000,
        cpus: vec![ticks(0, 100, 200, 700), ticks(1, 0, 50, 950)],
        threads,
        bucket_ms: span.bucket_ms,
        read_buckets: Vec::new(),
        write_buckets: Vec::new(),
    };
    DiskspdReport {
        command_line: format!("diskspd {line}"),
        computer_name: "dbhost".into(),
        started_utc: "2026-03-05T07:08:09Z".parse().expect("a time"),
        topology: CpuTopology {
            cpu_count: 2,
            core_count: 2,
            group_count: 1,
            node_count: 1,
            socket_count: 1,
            processors: Vec::new(),
        },
        power_scheme: PowerScheme::governor(Some("performance")),
        time_spans: vec![result; profile.time_spans.len()],
        profile,
    }
}
