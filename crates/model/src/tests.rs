//! What runs report about themselves.

mod comparisons;
mod figures;
mod flash;
mod kinds;
mod levels;
mod transfers;

use iostall_measure::platform::{Host, Target, TargetKind};
use iostall_measure::{Histogram, Op, Percent};
use jiff::Timestamp;

use crate::outcome::{Cell, EngineUse, RoleOutcome, SpanOutcome};
use crate::point::{Point, Repeat};
use crate::profile::Access;
use crate::run::{SCHEMA, SCHEMA_VERSION};
use crate::{LoadOutcome, Profile, Run, RunBody, RunId};

const MIB: u64 = 1 << 20;
const MS: u64 = 1_000_000;

fn latencies(ms: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    for ms in ms {
        histogram.record(ms * MS);
    }
    histogram
}

fn cell(op: Op, bytes: u64, ms: &[u64]) -> Cell {
    Cell {
        worker: 0,
        target: 0,
        op,
        bytes,
        failed: 0,
        service_ns: latencies(ms),
        response_ns: None,
        intervals: Vec::new(),
    }
}

fn engine(name: &str) -> EngineUse {
    EngineUse { name: name.into(), ..EngineUse::default() }
}

fn role(name: &str, cells: Vec<Cell>) -> RoleOutcome {
    RoleOutcome {
        name: name.into(),
        engine: engine("io_uring"),
        cells,
        series: Vec::new(),
        commit: None,
        depth_asked: 4,
        depth_mean: 3.5,
        open_loop: None,
        cpu_user_ns: 3 * MS,
        cpu_system_ns: 5 * MS,
        unfinished: 0,
        unfinished_age_ns_max: 0,
        errors: Vec::new(),
        submit_calls: 0,
    }
}

/// A span of two seconds with `roles`.
fn span(roles: Vec<RoleOutcome>) -> SpanOutcome {
    SpanOutcome {
        measured_ns: 2_000 * MS,
        interrupted: false,
        target_bytes: vec![600 * MIB],
        roles,
        cpus: Vec::new(),
        process_user_ns: 30 * MS,
        busiest: Vec::new(),
        process_system_ns: 10 * MS,
        devices: Vec::new(),
    }
}

/// A profile of one span with these roles, given as name and further lines.
fn profile(roles: &[(&str, &str)]) -> Profile {
    let roles = roles.iter().map(|(name, more)| {
        let size = if more.contains("block-size") { "" } else { "block-size = '8K'\n" };
        format!("[[spans.roles]]\nname = '{name}'\n{size}{more}\n")
    });
    toml::from_str(&format!("name = 'p'\n[[spans]]\n{}", roles.collect::<String>())).unwrap()
}

/// A point at that depth, with two workers on one target and two intervals of one second with these request
/// counts (8 KiB each).
fn point(queue_depth: u32, counts: [u64; 2]) -> Point {
    let repeat = |(index, count): (usize, u64)| Repeat {
        start_ns: index as u64 * 1_000 * MS,
        measured_ns: 1_000 * MS,
        count,
        bytes: count * 8192,
        failed: 0,
        latency_ns_mean: Some(2e6),
        latency_ns_p99: Some(3 * MS),
        backlog_at_end: None,
    };
    Point {
        targets: vec![0],
        block_size: "8K".parse().unwrap(),
        access: Access::Random,
        write_pct: Percent::ZERO,
        queue_depth,
        workers: 2,
        rate_iops: None,
        repeats: counts.into_iter().enumerate().map(repeat).collect(),
        latency_ns: latencies(&[1, 2, 3]),
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A run on one target of 1 GiB.
fn run(body: RunBody) -> Run {
    Run {
        schema: SCHEMA.into(),
        schema_version: SCHEMA_VERSION,
        id: RunId::new(at("2026-11-21T14:00:00Z")),
        name: "p".into(),
        tool_version: "0.1.0".into(),
        command_line: Vec::new(),
        started_utc: at("2026-11-21T14:00:00Z"),
        ended_utc: at("2026-11-21T14:00:02Z"),
        interrupted: false,
        host: Host { hostname: "db1".into(), ..Host::default() },
        targets: vec![Target::new("/data/t", TargetKind::File, 1024 * MIB)],
        devices: Vec::new(),
        identities: Vec::new(),
        warnings: Vec::new(),
        verdicts: Vec::new(),
        body,
    }
}

/// A load run with one role that read 200 × 8 KiB in two seconds.
fn load(more: &str) -> Run {
    let reads = cell(Op::Read, 200 * 8192, &[2; 200]);
    let spans = vec![span(vec![role("data", vec![reads])])];
    run(RunBody::Load(LoadOutcome { profile: profile(&[("data", more)]), asked: None, spans }))
}
