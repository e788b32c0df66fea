//! Runs made by hand, for tests.

use iostall_measure::platform::{
    CgroupLimits, CpuTicks, Device, DeviceCounters, DirectIo, FileSystem, Host, Target, TargetKind,
};
use iostall_measure::{
    BlockSize, Caching, Durability, Histogram, Nanos, Op, Percent, Percentile, Rate, SyncCall,
};
use iostall_model::outcome::{
    Cell, EngineUse, ErrorOutcome, IntervalOp, IntervalPoint, LoadOutcome, OpenLoop, RoleOutcome, SpanOutcome,
};
use iostall_model::profile::{
    Access, Arrivals, BlockMix, Distribution, Profile, Region, RoleProfile, SpanProfile, SyncRule,
};
use iostall_model::run::{SCHEMA, SCHEMA_VERSION};
use iostall_model::{Point, Repeat, Run, RunBody, RunId, SweepOutcome, Warning, WarningCode};
use uuid::Uuid;

const SECONDS: u64 = 20;
const SECOND_NS: u64 = 1_000_000_000;

/// The load of a run.
pub(crate) fn load(run: &Run) -> &LoadOutcome {
    match &run.body {
        RunBody::Load(load) => load,
        _ => unreachable!("the fixture is a load run"),
    }
}

fn load_mut(run: &mut Run) -> &mut LoadOutcome {
    match &mut run.body {
        RunBody::Load(load) => load,
        _ => unreachable!("the fixture is a load run"),
    }
}

/// `count` latencies around `typical_ns` with a tail, the same ones each time.
fn latencies(seed: u64, count: u64, typical_ns: u64) -> Histogram {
    let mut histogram = Histogram::new();
    let mut state = seed;
    for _ in 0..count {
        // Knuth's MMIX generator; the high bits are the good ones.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let unit = (state >> 40) as f64 / f64::from(1_u32 << 24);
        let tail = if unit > 0.0 { -unit.ln() } else { 16.0 };
        let shape = 0.75 + 0.12 * tail + 0.03 * tail.powi(3);
        histogram.record(Nanos::from_seconds(typical_ns as f64 * shape / 1e9).0);
    }
    histogram
}

/// Second by second; the twelfth is slow.
fn interval(second: u64, ops: &[(Op, u64, u64, u64)]) -> IntervalPoint {
    let slow = if second == 12 { 5 } else { 1 };
    let made = ops.iter().filter_map(|(op, count, block, typical)| {
        let histogram = latencies(second + 77, (count / slow).min(400), typical * slow);
        let point = IntervalOp::of(*op, count / slow * block, &histogram)?;
        Some(IntervalOp { count: count / slow, ..point })
    });
    IntervalPoint { start_ns: second * SECOND_NS, length_ns: SECOND_NS, ops: made.collect() }
}

fn cell(worker: u32, target: u32, op: Op, block: u64, service_ns: Histogram) -> Cell {
    let bytes = service_ns.count() * block;
    Cell { worker, target, op, bytes, failed: 0, service_ns, response_ns: None, intervals: Vec::new() }
}

fn data_role() -> RoleOutcome {
    let mut cells = Vec::new();
    for worker in 0..2 {
        let seed = u64::from(worker);
        cells.push(cell(worker, 0, Op::Read, 8192, latencies(seed, 21_000, 420_000)));
        cells.push(cell(worker, 0, Op::Write, 8192, latencies(seed + 9, 9_000, 610_000)));
    }
    cells[1].failed = 3;
    RoleOutcome {
        name: "data".into(),
        engine: EngineUse {
            name: "io_uring".into(),
            features: vec!["single issuer".into(), "deferred task run".into(), "registered buffers".into()],
            refused: vec!["huge pages: none configured".into()],
        },
        cells,
        series: (0..SECONDS)
            .map(|second| {
                interval(second, &[(Op::Read, 2_100, 8192, 420_000), (Op::Write, 900, 8192, 610_000)])
            })
            .collect(),
        commit: None,
        depth_asked: 32,
        depth_mean: 31.62,
        open_loop: None,
        cpu_user_ns: 96_000_000,
        cpu_system_ns: 204_000_000,
        unfinished: 0,
        unfinished_age_ns_max: 0,
        errors: vec![ErrorOutcome {
            op: Op::Write,
            kind: "EIO".into(),
            message: "Input/output error".into(),
            count: 3,
            first_target: 0,
            first_offset: 1_048_576,
            first_length: 8192,
            first_moved: 4096,
        }],
        submit_calls: 15_000,
    }
}

fn log_role() -> RoleOutcome {
    let mut write = cell(2, 1, Op::Write, 4096, latencies(5, 40_000, 55_000));
    write.response_ns = Some(latencies(6, 40_000, 70_000));
    let mut sync = cell(2, 1, Op::Sync, 0, latencies(7, 800, 1_900_000));
    sync.response_ns = Some(latencies(8, 800, 1_950_000));
    RoleOutcome {
        name: "log".into(),
        engine: EngineUse { name: "psync".into(), ..EngineUse::default() },
        cells: vec![write, sync],
        series: (0..SECONDS)
            .map(|second| interval(second, &[(Op::Write, 2_000, 4096, 70_000), (Op::Sync, 40, 0, 1_950_000)]))
            .collect(),
        commit: Some(latencies(11, 40_000, 2_400_000)),
        depth_asked: 8,
        depth_mean: 0.18,
        open_loop: Some(OpenLoop {
            rate_asked_iops: 2000.0,
            arrivals: 40_003,
            late_starts: 12,
            lateness_ns_max: 4_300_000,
            backlog_max: 9,
            backlog_at_end: 0,
            gap_coefficient_of_variation: 0.998,
        }),
        cpu_user_ns: 40_000_000,
        cpu_system_ns: 80_000_000,
        unfinished: 0,
        unfinished_age_ns_max: 0,
        errors: Vec::new(),
        submit_calls: 0,
    }
}

fn role(name: &str, block: u64) -> RoleProfile {
    let size = BlockSize::new(block).expect("a block size");
    RoleProfile {
        name: name.into(),
        targets: Vec::new(),
        region: Region::default(),
        block_size: BlockMix::single(size),
        write_pct: Percent::ZERO,
        access: Access::default(),
        random_pct: None,
        distribution: Distribution::default(),
        align: None,
        stride: None,
        shared_sequence: false,
        worker_offset: None,
        queue_depth: 1,
        workers: 1,
        rate: None,
        arrivals: Arrivals::default(),
        caching: Caching::default(),
        durability: Durability::default(),
        sync: None,
        burst: None,
        compressible_pct: Percent::ZERO,
        write_data: None,
        sequence_per_request: false,
        target_weights: Vec::new(),
        pin: None,
    }
}

fn profile() -> Profile {
    let data = RoleProfile {
        queue_depth: 16,
        workers: 2,
        write_pct: Percent::new(30.0).expect("a share"),
        ..role("data", 8192)
    };
    let log = RoleProfile {
        targets: vec!["log".into()],
        write_pct: Percent::HUNDRED,
        access: Access::Sequential,
        rate: Some(Rate::Iops(2000.0)),
        arrivals: Arrivals::Poisson,
        queue_depth: 8,
        sync: Some(SyncRule { every: 50, call: SyncCall::default() }),
        ..role("log", 4096)
    };
    let span = SpanProfile {
        warmup: Nanos(5 * SECOND_NS),
        duration: Nanos(SECONDS * SECOND_NS),
        cooldown: Nanos(0),
        interval: SpanProfile::default_interval(),
        worker_series: false,
        roles: vec![data, log],
    };
    Profile {
        name: "oltp".into(),
        description: "Random page reads and writes of a busy database, with its log beside them.".into(),
        seed: 42,
        spans: vec![span],
    }
}

fn target(path: &str, size_bytes: u64) -> Target {
    let device = Device {
        name: "nvme0n1".into(),
        number: "259:0".into(),
        model: Some("ACME Datacenter 7400".into()),
        serial: Some("S1234".into()),
        size_bytes: Some(960_197_124_096),
        rotational: Some(false),
        scheduler: Some("none".into()),
        write_cache: Some("write back".into()),
        fua: Some(true),
        logical_sector_bytes: Some(512),
        physical_sector_bytes: Some(4096),
        ..Device::default()
    };
    let mapped =
        Device { name: "dm-3".into(), number: "253:3".into(), below: vec![device], ..Device::default() };
    Target {
        path: path.into(),
        kind: TargetKind::File,
        size_bytes,
        allocated_bytes: Some(size_bytes),
        unwritten_bytes: Some(0),
        made_by_iostall: true,
        direct: Some(DirectIo {
            granted: true,
            memory_align: Some(512),
            offset_align: Some(512),
            reason: None,
        }),
        file_system: Some(FileSystem {
            kind: "ext4".into(),
            mount_point: "/var/lib/db".into(),
            source: "/dev/mapper/vg-db".into(),
            options: "rw,noatime".into(),
            block_bytes: 4096,
            free_bytes: 400 << 30,
            total_bytes: 880 << 30,
        }),
        device: Some(mapped),
    }
}

fn span() -> SpanOutcome {
    SpanOutcome {
        measured_ns: SECONDS * SECOND_NS,
        interrupted: false,
        target_bytes: Vec::new(),
        roles: vec![data_role(), log_role()],
        cpus: (0..8)
            .map(|cpu| CpuTicks { cpu, user: 60, system: 90, idle: 1_700, iowait: 150, steal: 0 })
            .collect(),
        process_user_ns: 150_000_000,
        process_system_ns: 300_000_000,
        devices: vec![DeviceCounters {
            name: "nvme0n1".into(),
            read_requests: 42_000,
            read_bytes: 42_000 * 8192,
            write_requests: 40_000,
            write_merges: 18_000,
            write_bytes: 18_000 * 8192 + 40_000 * 4096,
            flush_requests: 800,
            busy_ms: 14_400,
            ..DeviceCounters::default()
        }],
    }
}

/// Two roles that ran together: pages in a closed loop, a log in an open one. With warnings and errors.
pub(crate) fn run() -> Run {
    let words = ["iostall", "load", "--preset", "oltp", "/var/lib/db/data.bin"];
    Run {
        schema: SCHEMA.into(),
        schema_version: SCHEMA_VERSION,
        id: RunId(Uuid::from_u128(0x0192_f0c4_4d00_7000_8000_0000_0000_0001)),
        name: "oltp".into(),
        tool_version: "0.1.0".into(),
        command_line: words.map(str::to_owned).to_vec(),
        started_utc: "2026-11-20T10:15:00.25Z".parse().expect("a time"),
        ended_utc: "2026-11-20T10:15:25.5Z".parse().expect("a time"),
        interrupted: false,
        host: Host {
            hostname: "db1".into(),
            kernel: "Linux 6.8.0-45-generic #45-Ubuntu SMP".into(),
            cpu_model: Some("AMD EPYC 9354P".into()),
            cpu_count: 8,
            core_count: Some(4),
            socket_count: Some(1),
            node_count: Some(1),
            memory_bytes: 32 << 30,
            cpu_governor: Some("performance".into()),
            hypervisor: Some("KVM".into()),
            cgroup: CgroupLimits::default(),
        },
        targets: vec![target("/var/lib/db/data.bin", 8 << 30), target("/var/lib/db/log.bin", 1 << 30)],
        warnings: vec![
            Warning::new(WarningCode::TargetSmall, "the target (8 GiB) fits in memory (32 GiB).")
                .about("data")
                .hint("use a target of at least 64 GiB: --size 64GiB"),
            Warning::new(WarningCode::IoErrors, "3 writes failed."),
        ],
        body: RunBody::Load(LoadOutcome { profile: profile(), spans: vec![span()] }),
    }
}

/// The same, stopped by the user.
pub(crate) fn interrupted() -> Run {
    let mut run = run();
    run.interrupted = true;
    load_mut(&mut run).spans[0].interrupted = true;
    run.warnings.push(Warning::new(WarningCode::Interrupted, "the run was interrupted after 20 s."));
    run
}

/// Stopped before anything completed.
pub(crate) fn empty() -> Run {
    let mut run = interrupted();
    run.warnings.truncate(1);
    let span = &mut load_mut(&mut run).spans[0];
    span.measured_ns = 0;
    span.cpus.clear();
    span.process_user_ns = 0;
    span.process_system_ns = 0;
    for device in &mut span.devices {
        *device = DeviceCounters { name: device.name.clone(), ..DeviceCounters::default() };
    }
    for role in &mut span.roles {
        for cell in &mut role.cells {
            cell.service_ns = Histogram::new();
            cell.response_ns = cell.response_ns.as_ref().map(|_| Histogram::new());
            cell.bytes = 0;
            cell.failed = 0;
        }
        role.series.clear();
        role.errors.clear();
        role.commit = role.commit.as_ref().map(|_| Histogram::new());
        role.depth_mean = 0.0;
        role.open_loop = role
            .open_loop
            .as_ref()
            .map(|open| OpenLoop { rate_asked_iops: open.rate_asked_iops, ..OpenLoop::default() });
        role.cpu_user_ns = 0;
        role.cpu_system_ns = 0;
        role.submit_calls = 0;
    }
    run
}

/// Two spans of the same settings, the second one slower.
pub(crate) fn two_spans() -> Run {
    let mut run = run();
    let load = load_mut(&mut run);
    load.profile.spans.push(load.profile.spans[0].clone());
    let mut slower = load.spans[0].clone();
    slower.measured_ns *= 2;
    load.spans.push(slower);
    run
}

/// Every text that can come from outside tries to break out of where it is shown.
pub(crate) fn hostile() -> Run {
    use std::os::unix::ffi::OsStringExt;
    let nasty = "</script><script>alert(1)</script>\"'&<b><a href='x'>\u{1b}[31m\u{2028}";
    let mut run = run();
    run.name = nasty.into();
    run.command_line.push(nasty.into());
    run.host.hostname = nasty.into();
    let mut bytes = nasty.as_bytes().to_vec();
    bytes.push(0xff);
    run.targets[0].path = std::ffi::OsString::from_vec(bytes).into();
    run.warnings[0].message = nasty.into();
    run.warnings[0].hint = Some(nasty.into());
    run.warnings[0].subject = Some(nasty.into());
    let load = load_mut(&mut run);
    load.profile.description = nasty.into();
    load.profile.spans[0].roles[0].name = nasty.into();
    load.spans[0].roles[0].name = nasty.into();
    load.spans[0].roles[0].errors[0].message = nasty.into();
    load.spans[0].devices[0].name = nasty.into();
    run
}

/// A percentile of a fixture's role, for comparison.
pub(crate) fn p99_of_reads(run: &Run) -> u64 {
    let reads = load(run).spans[0].roles[0].op(Op::Read).expect("it reads");
    reads.service_ns.value_at(Percentile::P99).expect("it has samples")
}

/// A sweep of a device of eight parallel units that each take 100 µs, limited at 60,000 IOPS.
pub(crate) fn sweep() -> Run {
    let in_flight = |power: u32| 1_u32 << power;
    let points: Vec<Point> = (0..8).map(|power| swept(in_flight(power), u64::from(power))).collect();
    let mut role = profile().spans[0].roles[0].clone();
    (role.write_pct, role.distribution, role.region) = Default::default();
    let span = SpanProfile { roles: vec![role], ..profile().spans[0].clone() };
    let body = SweepOutcome {
        profile: Profile { name: "sweep".into(), description: String::new(), seed: 0, spans: vec![span] },
        engine: EngineUse { name: "io_uring".into(), ..EngineUse::default() },
        latency_ns_p99_target: Some(500_000),
        precision_pct: 3.0,
        repeats_max: 8,
        checked: Some(points[2].clone()),
        points,
    };
    let targets = vec![target("/var/lib/db/data.bin", 8 << 30)];
    Run { name: "sweep".into(), targets, warnings: Vec::new(), body: RunBody::Sweep(Box::new(body)), ..run() }
}

/// The point of [`sweep`] with `queue_depth` in flight.
fn swept(queue_depth: u32, seed: u64) -> Point {
    let count = u64::from(queue_depth.min(6)) * 10_000;
    let typical_ns = u64::from(queue_depth) * SECOND_NS / count;
    let latency_ns = latencies(seed, 3000, typical_ns * 19 / 20);
    let repeat = |index: u64| Repeat {
        start_ns: (seed * 4 + index) * SECOND_NS,
        measured_ns: SECOND_NS,
        count: count + index * 100,
        bytes: count * 8192,
        failed: 0,
        latency_ns_mean: latency_ns.mean(),
        latency_ns_p99: latency_ns.value_at(Percentile::P99),
        backlog_at_end: None,
    };
    Point {
        targets: vec![0],
        block_size: BlockMix::single(BlockSize::new(8192).expect("a size")),
        access: Access::Random,
        write_pct: Percent::ZERO,
        queue_depth,
        workers: 1,
        rate_iops: None,
        repeats: (0..3).map(repeat).collect(),
        latency_ns,
    }
}
