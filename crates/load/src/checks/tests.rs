//! One test a doubt: raised by the evidence for it, silent without.

use std::path::PathBuf;

use iostall_engine::files::{FileNow, PathNow};
use iostall_measure::platform::{
    CpuTicks, Device, DeviceCounters, DirectIo, FileSystem, Host, ProcessCpu, Target, TargetKind,
};
use iostall_measure::{Caching, Feature, Histogram, Nanos, Op, Percent, SyncCall, Unavailable};
use iostall_model::outcome::{
    EngineUse, ErrorOutcome, IntervalOp, IntervalPoint, OpenLoop, RoleOutcome, SpanOutcome,
};
use iostall_model::profile::SyncRule;
use iostall_model::{Cell, LoadOutcome, Profile, RoleProfile, SpanProfile, WarningCode};

use super::{BusyBefore, Evidence, check};

const GIB: u64 = 1 << 30;
const MEASURED_NS: u64 = 30_000_000_000;

/// A run that deserves no doubt: big written file, direct, deep enough, long enough, quiet.
pub(crate) struct Fixture {
    pub(crate) host: Host,
    pub(crate) target: Target,
    pub(crate) size_after: u64,
    pub(crate) least_seen: FileNow,
    pub(crate) path_after: PathNow,
    pub(crate) size_chosen: bool,
    pub(crate) busy: Vec<BusyBefore>,
    pub(crate) outcome: LoadOutcome,
}

impl Fixture {
    pub(crate) fn clean() -> Self {
        let role: RoleProfile = serde_json::from_value(
            serde_json::json!({"name": "data", "block-size": "8K", "queue-depth": 4, "workers": 1}),
        )
        .unwrap();
        let span = SpanProfile {
            warmup: Nanos(0),
            duration: Nanos(MEASURED_NS),
            cooldown: Nanos(0),
            interval: SpanProfile::default_interval(),
            worker_series: false,
            roles: vec![role],
        };
        let profile = Profile { name: "test".into(), description: String::new(), seed: 0, spans: vec![span] };
        Self {
            host: Host { memory_bytes: 8 * GIB, ..Host::default() },
            target: Target {
                path: PathBuf::from("data.dat"),
                kind: TargetKind::File,
                size_bytes: 64 * GIB,
                allocated_bytes: Some(64 * GIB),
                unwritten_bytes: Some(0),
                made_by_iostall: true,
                direct: Some(DirectIo::granted(512)),
                file_system: Some(FileSystem {
                    kind: "ext4".into(),
                    mount_point: PathBuf::from("/"),
                    source: "/dev/sda".into(),
                    options: "rw".into(),
                    block_bytes: 4096,
                    free_bytes: GIB,
                    total_bytes: 100 * GIB,
                }),
                device: Some(Device {
                    name: "sda".into(),
                    write_cache: Some("write back".into()),
                    ..Device::default()
                }),
            },
            size_after: 64 * GIB,
            least_seen: FileNow { size_bytes: 64 * GIB, allocated_bytes: 64 * GIB },
            path_after: PathNow::Same,
            size_chosen: false,
            busy: Vec::new(),
            outcome: LoadOutcome { profile, asked: None, spans: vec![span_outcome()] },
        }
    }

    fn role(&mut self) -> &mut RoleOutcome {
        &mut self.outcome.spans[0].roles[0]
    }

    fn asked(&mut self) -> &mut RoleProfile {
        &mut self.outcome.profile.spans[0].roles[0]
    }

    fn codes(&self) -> Vec<WarningCode> {
        let evidence = Evidence {
            host: &self.host,
            targets: std::slice::from_ref(&self.target),
            sizes_after: &[Some(self.size_after)],
            least_seen: &[Some(self.least_seen)],
            paths_after: &[self.path_after],
            sizes_chosen: &[self.size_chosen],
            busy_before: &self.busy,
            outcome: &self.outcome,
        };
        check(&evidence).into_iter().map(|warning| warning.code).collect()
    }
}

fn cell(op: Op, count: u64, latency_ns: u64) -> Cell {
    let mut service_ns = Histogram::new();
    (0..count).for_each(|_| service_ns.record(latency_ns));
    Cell {
        worker: 0,
        target: 0,
        op,
        bytes: count * 8192,
        failed: 0,
        service_ns,
        response_ns: None,
        intervals: Vec::new(),
    }
}

fn span_outcome() -> SpanOutcome {
    SpanOutcome {
        measured_ns: MEASURED_NS,
        interrupted: false,
        target_bytes: Vec::new(),
        roles: vec![RoleOutcome {
            name: "data".into(),
            engine: EngineUse { name: "io_uring".into(), ..EngineUse::default() },
            cells: vec![cell(Op::Read, 5000, 24_000_000)],
            series: Vec::new(),
            commit: None,
            depth_asked: 4,
            depth_mean: 4.0,
            open_loop: None,
            cpu_user_ns: 1_000_000,
            cpu_system_ns: 1_000_000,
            unfinished: 4,
            unfinished_age_ns_max: 3_000_000,
            errors: Vec::new(),
            submit_calls: 5000,
        }],
        cpus: vec![CpuTicks { cpu: 0, user: 100, system: 100, idle: 2800, iowait: 0, steal: 0 }],
        process_user_ns: 1_000_000,
        process_system_ns: 1_000_000,
        busiest: Vec::new(),
        devices: Vec::new(),
    }
}

/// A minute of 3,000 reads a second, and of 300 from `second` on.
fn falls_after(second: u64) -> Vec<IntervalPoint> {
    let interval = |at: u64| {
        let count = if at < second { 3000 } else { 300 };
        let read = IntervalOp {
            op: Op::Read,
            count,
            bytes: count * 8192,
            latency_ns_mean: 1e6,
            latency_ns_p50: 1_000_000,
            latency_ns_p99: 1_000_000,
            latency_ns_max: 1_000_000,
        };
        let second_ns = 1_000_000_000;
        IntervalPoint { start_ns: at * second_ns, length_ns: second_ns, ops: vec![read] }
    };
    (0..60).map(interval).collect()
}

fn raised(change: impl FnOnce(&mut Fixture)) -> Vec<WarningCode> {
    let mut fixture = Fixture::clean();
    change(&mut fixture);
    fixture.codes()
}

#[test]
fn a_clean_run_raises_no_doubt() {
    assert_eq!(raised(|_| {}), []);
}

/// What makes one doubt due.
type Change = Box<dyn FnOnce(&mut Fixture)>;

/// Each change raises the doubt beside it and no other.
#[track_caller]
fn each_alone(cases: Vec<(WarningCode, Change)>) {
    for (code, change) in cases {
        assert_eq!(raised(change), [code], "{code:?}");
    }
}

/// Every machine does a little in the background: five percent of the time is not shared storage.
#[test]
fn a_device_that_was_busy_for_a_twentieth_of_the_time_is_quiet() {
    let busy = |busy_share: f64| {
        raised(|f| f.busy = vec![BusyBefore { device: "sda".into(), busy_share, iops: 3.0 }])
    };
    assert_eq!(busy(0.05), []);
    assert_eq!(busy(0.051), [WarningCode::DeviceBusy]);
}

#[test]
fn each_doubt_about_the_platform_is_raised_by_its_own_evidence_alone() {
    use WarningCode as W;
    each_alone(vec![
        (W::PageCache, Box::new(|f| f.asked().caching = Caching::Buffered)),
        (
            W::DirectRefused,
            Box::new(|f| {
                let direct = f.target.direct.as_mut().unwrap();
                direct.granted = false;
                direct.reason = Some("fuse without direct I/O".into());
            }),
        ),
        (W::TargetSmall, Box::new(|f| f.host.memory_bytes = 65 * GIB)),
        (W::TargetUnwritten, Box::new(|f| f.target.unwritten_bytes = Some(4096))),
        (W::TargetSparse, Box::new(|f| f.target.allocated_bytes = Some(GIB))),
        (W::TargetGrew, Box::new(|f| f.size_after = 65 * GIB)),
        (W::TargetReplaced, Box::new(|f| f.path_after = PathNow::Gone)),
        (W::TargetReplaced, Box::new(|f| f.path_after = PathNow::Other)),
        (W::TargetCut, Box::new(|f| f.least_seen.size_bytes = 4096)),
        (W::TargetCut, Box::new(|f| f.least_seen.allocated_bytes = 63 * GIB)),
        (
            W::CompressibleData,
            Box::new(|f| {
                f.asked().compressible_pct = Percent::new(50.0).unwrap();
                f.asked().write_pct = Percent::HUNDRED;
            }),
        ),
        (
            W::DeviceBusy,
            Box::new(|f| f.busy = vec![BusyBefore { device: "sda".into(), busy_share: 0.2, iops: 300.0 }]),
        ),
        (W::SyncTooFast, Box::new(|f| f.role().cells.push(cell(Op::Sync, 5000, 20_000)))),
        (W::CgroupLimit, Box::new(|f| f.host.cgroup.cpus = Some(1.5))),
        (
            W::MemoryFileSystem,
            Box::new(|f| {
                f.target.file_system.as_mut().unwrap().kind = "tmpfs".into();
                f.target.direct.as_mut().unwrap().granted = false;
            }),
        ),
    ]);
}

/// The story: what PostgreSQL and etcd do to their logs, fdatasync after every write, was said to be the page cache's numbers.
#[test]
fn a_sync_after_each_write_leaves_nothing_to_the_page_cache() {
    let synced = |every: u32, write_pct: Percent| {
        raised(|f| {
            let role = f.asked();
            (role.caching, role.write_pct) = (Caching::Buffered, write_pct);
            role.sync =
                Some(iostall_model::profile::SyncRule { every, call: iostall_measure::SyncCall::default() });
        })
    };
    assert_eq!(synced(1, Percent::HUNDRED), []);
    assert_eq!(synced(2, Percent::HUNDRED), [WarningCode::PageCache]);
    assert_eq!(synced(1, Percent::new(50.0).unwrap()), [WarningCode::PageCache]);
}

#[test]
fn each_doubt_about_the_generator_is_raised_by_its_own_evidence_alone() {
    use WarningCode as W;
    each_alone(vec![
        (W::DepthNotReached, Box::new(|f| f.role().depth_mean = 3.0)),
        (W::GeneratorBound, Box::new(|f| f.role().cpu_user_ns = MEASURED_NS)),
        (W::GeneratorBound, Box::new(|f| f.outcome.spans[0].cpus[0].idle = 0)),
        (
            W::RateNotHeld,
            Box::new(|f| {
                f.role().open_loop = Some(OpenLoop { arrivals: 100, late_starts: 2, ..OpenLoop::default() });
            }),
        ),
        (
            W::EngineFallback,
            Box::new(|f| {
                f.role().engine = EngineUse {
                    name: "psync".into(),
                    features: Vec::new(),
                    refused: vec![Unavailable::new(Feature::IoUring, "EPERM")],
                };
            }),
        ),
    ]);
}

#[test]
fn each_doubt_about_the_numbers_is_raised_by_its_own_evidence_alone() {
    use WarningCode as W;
    each_alone(vec![
        (W::FewSamples, Box::new(|f| f.role().cells = vec![cell(Op::Read, 999, 24_000_000)])),
        (W::ShortRun, Box::new(|f| f.outcome.spans[0].measured_ns = 9_000_000_000)),
        (
            W::IoErrors,
            Box::new(|f| {
                f.role().errors = vec![ErrorOutcome {
                    op: Op::Read,
                    kind: "EIO".into(),
                    message: "Input/output error".into(),
                    count: 3,
                    first_target: 0,
                    first_offset: 8192,
                    first_length: 8192,
                    first_moved: 0,
                }];
            }),
        ),
        (W::RateChanged, Box::new(|f| f.role().series = falls_after(20))),
        (W::UnfinishedRequests, Box::new(|f| f.role().unfinished_age_ns_max = 2_000_000_000)),
        (W::LatencyBatched, Box::new(|f| f.asked().batch = Some(8))),
        (W::Interrupted, Box::new(|f| f.outcome.spans[0].interrupted = true)),
    ]);
}

/// An average of burst and base rate was shown as the figure of a cloud volume.
#[test]
fn a_rate_that_changes_for_good_is_told_unless_the_profile_asked_for_it_or_it_is_short() {
    assert_eq!(raised(|f| f.role().series = falls_after(60)), []);
    assert_eq!(raised(|f| f.role().series = falls_after(58)), []);
    let paced = raised(|f| {
        f.role().series = falls_after(20);
        f.role().open_loop = Some(OpenLoop { arrivals: 100, ..OpenLoop::default() });
    });
    assert_eq!(paced, []);
}

#[test]
fn a_large_target_of_which_little_is_used_counts_by_what_is_used() {
    // The story: a gigabyte of a large disk, by --size or by a region, was answered from memory without a word.
    assert_eq!(raised(|f| f.outcome.spans[0].target_bytes = vec![GIB]), [WarningCode::TargetSmall]);
    assert_eq!(raised(|f| f.asked().region = "10G..12G".parse().unwrap()), [WarningCode::TargetSmall]);
    assert_eq!(raised(|f| f.outcome.spans[0].target_bytes = vec![9 * GIB]), []);
}

/// `iostall load` alone warned about the size that it had chosen itself, and `--preset postgres` about the syncs of its own pace.
#[test]
fn a_default_does_not_warn_about_itself() {
    let small = |f: &mut Fixture| f.host.memory_bytes = 128 * GIB;
    assert_eq!(raised(small), [WarningCode::TargetSmall]);
    let chosen = raised(|f| {
        small(f);
        f.size_chosen = true;
    });
    assert_eq!(chosen, []);
    let syncs = |f: &mut Fixture| {
        f.role().cells = vec![cell(Op::Write, 5000, 24_000_000), cell(Op::Sync, 60, 24_000_000)];
    };
    assert_eq!(raised(syncs), [WarningCode::FewSamples]);
    let rarely = raised(|f| {
        syncs(f);
        f.asked().sync = Some(SyncRule { every: 200, call: SyncCall::default() });
    });
    assert_eq!(rarely, []);
    let paced = |rate: f64| {
        raised(|f| {
            f.role().cells = vec![cell(Op::Write, 120, 24_000_000)];
            f.role().open_loop =
                Some(OpenLoop { rate_asked_iops: rate, arrivals: 120, ..OpenLoop::default() });
        })
    };
    assert_eq!(paced(4.0), []);
    assert_eq!(paced(400.0), [WarningCode::FewSamples]);
}

/// "The processors were 97 % busy" did not say with what.
#[test]
fn a_busy_machine_is_reported_with_the_processes_that_kept_it_busy() {
    let mut fixture = Fixture::clean();
    fixture.outcome.spans[0].cpus[0].idle = 0;
    let process = |pid, name: &str, seconds: u64| ProcessCpu {
        pid,
        started: 1,
        name: name.into(),
        cpu_ns: seconds * 1_000_000_000,
    };
    fixture.outcome.spans[0].busiest = vec![process(812, "mariadbd", 18), process(7, "evil\u{1b}name", 9)];
    let evidence = Evidence {
        host: &fixture.host,
        targets: std::slice::from_ref(&fixture.target),
        sizes_after: &[Some(fixture.size_after)],
        least_seen: &[None],
        paths_after: &[],
        sizes_chosen: &[],
        busy_before: &[],
        outcome: &fixture.outcome,
    };
    let message = &check(&evidence)[0].message;
    assert!(
        message.ends_with("; most CPU time went to mariadbd (pid 812) 18.0 s, evil\\u{1b}name (pid 7) 9.0 s"),
        "{message}"
    );
}

#[test]
fn too_few_samples_name_the_operation_that_has_them() {
    let mut fixture = Fixture::clean();
    fixture.role().cells = vec![cell(Op::Write, 5000, 24_000_000), cell(Op::Sync, 8, 24_000_000)];
    let evidence = Evidence {
        host: &fixture.host,
        targets: std::slice::from_ref(&fixture.target),
        sizes_after: &[Some(fixture.size_after)],
        least_seen: &[None],
        paths_after: &[],
        sizes_chosen: &[],
        busy_before: &[],
        outcome: &fixture.outcome,
    };
    let warnings = check(&evidence);
    assert!(warnings[0].message.starts_with("8 syncs"), "{}", warnings[0].message);
}

/// Reads of 512 KiB as the device counted them.
fn device_reads(requests: u64) -> Vec<DeviceCounters> {
    let (read_requests, read_bytes) = (requests, requests << 19);
    vec![DeviceCounters { name: "sda".into(), read_requests, read_bytes, ..Default::default() }]
}

#[test]
fn requests_that_reach_the_device_in_pieces_are_told() {
    // 5000 reads of 8 KiB are 39 MiB, which is 78 pieces.
    let large = |f: &mut Fixture| f.asked().block_size = "1M".parse().unwrap();
    let codes = raised(|f| {
        large(f);
        f.outcome.spans[0].devices = device_reads(78);
    });
    assert_eq!(codes, [WarningCode::RequestsSplit]);
}

#[test]
fn the_sizes_of_others_and_of_the_page_cache_are_not_taken_for_ours() {
    // The story: reads answered by the page cache while somebody else wrote small blocks were called split by the device's limits.
    let others = raised(|f| {
        f.asked().block_size = "1M".parse().unwrap();
        f.outcome.spans[0].devices = device_reads(200);
    });
    assert_eq!(others, []);
    let cached = raised(|f| {
        f.asked().block_size = "1M".parse().unwrap();
        f.asked().caching = Caching::Buffered;
        f.outcome.spans[0].devices = device_reads(78);
    });
    assert_eq!(cached, [WarningCode::PageCache]);
}
