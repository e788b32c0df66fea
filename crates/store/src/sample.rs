//! Sample runs for tests.

use iostall_measure::platform::{CgroupLimits, Device, DirectIo, FileSystem, Host, Target, TargetKind};
use iostall_measure::{Feature, Histogram, Op, Unavailable};
use iostall_model::outcome::{EngineUse, ErrorOutcome, IntervalOp, IntervalPoint, OpenLoop};
use iostall_model::run::{SCHEMA, SCHEMA_VERSION};
use iostall_model::{
    Cell, LoadOutcome, Profile, RoleOutcome, Run, RunBody, RunId, SpanOutcome, Warning, WarningCode,
};
use jiff::{Timestamp, ToSpan};

/// A profile with data and log roles, like an `oltp` load.
const PROFILE: &str = "
name = 'oltp'
seed = 42
[[spans]]
duration = '30s'
[[spans.roles]]
name = 'data'
block-size = '8K'
write-pct = 30
queue-depth = 32
[[spans.roles]]
name = 'log'
block-size = '4K'
write-pct = 100
access = 'sequential'
sync = { every = 1 }
[[spans.roles]]
name = 'temp'
block-size = '8K'
";

/// The start time of sample runs: number 1 starts a minute later, number 2 two minutes.
pub(crate) fn sample_epoch() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().expect("a moment")
}

/// Reproducible pseudo-random numbers (splitmix64).
fn scramble(mut state: u64) -> u64 {
    state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// Latencies of a disk: most near `base_ns`, one in a hundred far above.
fn latencies(seed: u64, count: u64, base_ns: u64) -> Histogram {
    let mut histogram = Histogram::new();
    for index in 0..count {
        let noise = scramble(seed.wrapping_mul(1_000_003).wrapping_add(index));
        let stretch = if noise.is_multiple_of(100) { 40 } else { 1 };
        // The product of two uniform numbers is skewed like latencies are.
        let shares = (((noise >> 8) & 0xffff) * ((noise >> 32) & 0xffff)) >> 16;
        histogram.record(stretch * (base_ns + base_ns * shares / 0x8000));
    }
    histogram
}

pub(crate) fn sample_id(number: u64) -> RunId {
    let bits = u128::from(scramble(number)) | (u128::from(scramble(!number)) << 64);
    RunId(uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid())
}

/// A small run that uses every feature. The same `number` gives the same run.
pub(crate) fn sample_run(number: u64) -> Run {
    run_of(number, 2, 3, 200)
}

/// A run as large as thirty seconds of three roles with four workers each.
pub(crate) fn thirty_second_run() -> Run {
    run_of(1, 4, 30, 60_000)
}

fn run_of(number: u64, workers: u32, seconds: u64, requests: u64) -> Run {
    let profile: Profile = toml::from_str(PROFILE).expect("the profile above");
    let minutes = i64::try_from(number).expect("a small number");
    let started_utc = sample_epoch() + minutes.minutes() + 500.milliseconds();
    let roles = ["data", "log", "temp"];
    Run {
        schema: SCHEMA.into(),
        schema_version: SCHEMA_VERSION,
        id: sample_id(number),
        name: profile.name.clone(),
        tool_version: "0.1.0".into(),
        command_line: ["iostall", "load", "--preset", "oltp", "/data/t \"1\".ibd"].map(String::from).into(),
        started_utc,
        ended_utc: started_utc + 30.seconds(),
        interrupted: number.is_multiple_of(2),
        host: host(),
        targets: vec![target(number)],
        devices: Vec::new(),
        identities: Vec::new(),
        verdicts: Vec::new(),
        warnings: vec![
            Warning::new(WarningCode::TargetSmall, "the target fits in memory").hint("take a larger one"),
            Warning::new(WarningCode::FewSamples, "5-nines needs a million samples").about("log"),
        ],
        body: RunBody::Load(LoadOutcome {
            asked: None,
            spans: vec![SpanOutcome {
                measured_ns: seconds * 1_000_000_000 + 137,
                interrupted: false,
                target_bytes: Vec::new(),
                roles: (0..)
                    .zip(roles)
                    .map(|(index, name)| role(name, number + index, workers, seconds, requests))
                    .collect(),
                cpus: Vec::new(),
                process_user_ns: 1_234_567_890,
                busiest: Vec::new(),
                process_system_ns: 2_345_678_901,
                devices: Vec::new(),
            }],
            profile,
        }),
    }
}

fn role(name: &str, seed: u64, workers: u32, seconds: u64, requests: u64) -> RoleOutcome {
    let syncs = name == "log";
    let ops = if syncs { [Op::Write, Op::Sync] } else { [Op::Read, Op::Write] };
    let mut cells = Vec::new();
    for worker in 0..workers {
        for (op, salt) in ops.into_iter().zip([3, 5]) {
            let service_ns = latencies(seed * 31 + u64::from(worker) * 7 + salt, requests, 90_000 * salt);
            let bytes = if op == Op::Sync { 0 } else { requests * 8192 };
            cells.push(Cell {
                worker,
                target: 0,
                op,
                bytes,
                failed: 0,
                service_ns,
                response_ns: None,
                intervals: Vec::new(),
            });
        }
    }
    let series = (0..seconds)
        .map(|second| IntervalPoint {
            start_ns: second * 1_000_000_000,
            length_ns: 1_000_000_000,
            ops: ops
                .into_iter()
                .filter_map(|op| IntervalOp::of(op, 8192 * 500, &latencies(seed ^ second, 500, 100_000)))
                .collect(),
        })
        .collect();
    RoleOutcome {
        name: name.into(),
        engine: EngineUse {
            name: "io_uring".into(),
            features: vec!["registered files".into()],
            refused: vec![Unavailable::new(Feature::HugePages, "none free")],
        },
        cells,
        series,
        commit: syncs.then(|| latencies(seed, requests, 700_000)),
        depth_asked: 32,
        depth_mean: 31.7 / 3.0,
        open_loop: syncs.then(|| OpenLoop {
            rate_asked_iops: 1000.1,
            arrivals: 30_003,
            ..OpenLoop::default()
        }),
        cpu_user_ns: 123_456,
        cpu_system_ns: 654_321,
        unfinished: 1,
        unfinished_age_ns_max: 77,
        errors: vec![ErrorOutcome {
            op: Op::Write,
            kind: "ENOSPC".into(),
            message: "No space left on device".into(),
            count: 3,
            first_target: 0,
            first_offset: 1 << 40,
            first_length: 8192,
            first_moved: 512,
        }],
        submit_calls: 4321,
    }
}

fn host() -> Host {
    Host {
        hostname: "db1".into(),
        kernel: "Linux 6.12.0".into(),
        cpu_count: 2,
        memory_bytes: 8 << 30,
        cgroup: CgroupLimits { cpus: Some(1.5), ..CgroupLimits::default() },
        ..Host::default()
    }
}

fn target(number: u64) -> Target {
    Target {
        path: format!("/data/t{number}.ibd").into(),
        kind: TargetKind::File,
        size_bytes: 1 << 30,
        allocated_bytes: Some(1 << 30),
        unwritten_bytes: None,
        made_by_iostall: true,
        direct: Some(DirectIo::granted(512)),
        file_system: Some(FileSystem {
            kind: "ext4".into(),
            mount_point: "/data".into(),
            source: "/dev/nvme0n1p1".into(),
            options: "rw,noatime".into(),
            block_bytes: 4096,
            free_bytes: 1 << 36,
            total_bytes: 1 << 38,
        }),
        device: Some(Device {
            name: format!("nvme{}n1", number % 3),
            model: Some("Fast Drive 9".into()),
            ..Device::default()
        }),
    }
}
