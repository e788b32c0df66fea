//! What each kind of run reports.

use iostall_measure::platform::Device;

use super::flash::flash;
use super::*;
use crate::device::{DeviceIdentity, WorldWideNames};
use crate::kinds::{Outcome, SweetSpot};
use crate::paced::{MethodOutcome, Pace, WriteMethod};
use crate::sync::{LogLayout, ServerSetting, ServerSync, SyncMethod, SyncStep};
use crate::transfer::Mismatch;
use crate::{
    CapacityRecord, CopyOutcome, FsyncOutcome, MatrixOutcome, MatrixPlan, MaxRateOutcome, PacedOutcome,
    Summary, SweepOutcome, VerifyOutcome, Warning, WarningCode,
};

fn sweep() -> SweepOutcome {
    SweepOutcome {
        profile: profile(&[("data", "")]),
        target_bytes: vec![600 * MIB],
        engine: engine("io_uring"),
        latency_ns_p99_target: None,
        precision_pct: 5.0,
        repeats_max: 5,
        points: vec![point(1, [100, 100]), point(8, [500, 500]), point(4, [300, 300])],
        checked: None,
    }
}

fn matrix(size: Option<u64>) -> MatrixOutcome {
    let plan = MatrixPlan {
        sizes: vec!["8K".parse().unwrap()],
        accesses: vec![Access::Random],
        write_pcts: vec![Percent::ZERO],
        depths: vec![1, 8, 4],
        workers: 2,
        caching: iostall_measure::Caching::Buffered,
        durability: iostall_measure::Durability::WriteThrough,
        size: size.map(iostall_measure::ByteCount),
        seed: 1,
        warmup: iostall_measure::Nanos(0),
        interval: iostall_measure::Nanos(1_000 * MS),
        precision_pct: 5.0,
        repeats_max: 5,
    };
    MatrixOutcome {
        plan,
        engine: engine("io_uring"),
        points: sweep().points,
        resumed: None,
        earlier: Vec::new(),
    }
}

/// Two rates tried, then two confirmations, of which the faster meets the target.
fn max_rate() -> MaxRateOutcome {
    let open = |rate: f64, latency_ms: u64| Point {
        rate_iops: Some(rate),
        latency_ns: latencies(&[latency_ms; 200]),
        ..point(64, [200, 200])
    };
    MaxRateOutcome {
        profile: profile(&[("data", "")]),
        target_bytes: vec![600 * MIB],
        engine: engine("io_uring"),
        latency_ns_p99_target: 5 * MS,
        probe: None,
        points: vec![open(900.0, 1), open(800.0, 50), open(500.0, 1), open(600.0, 2), open(700.0, 50)],
        confirmations: 3,
    }
}

fn copy() -> CopyOutcome {
    CopyOutcome { bytes: 2_000 * MIB, elapsed_ns: 4_000 * MS, ..CopyOutcome::default() }
}

fn verify() -> VerifyOutcome {
    let mismatch = Mismatch { path: "a".into(), first_offset: None, message: "differs".into() };
    VerifyOutcome {
        files: 7,
        equal: 4,
        mismatches: vec![mismatch],
        bytes: 100 * MIB,
        elapsed_ns: 1_000 * MS,
        ..VerifyOutcome::default()
    }
}

fn paced() -> PacedOutcome {
    let step = |method, packets_per_burst, bytes| MethodOutcome {
        bytes,
        elapsed_ns: 1_000 * MS,
        ..MethodOutcome::new(
            method,
            Pace { packet_bytes: 800_000, packets_per_burst, period_ns: 50 * MS, delay_ns: 0 },
        )
    };
    PacedOutcome {
        interval_bytes: 100_000_000,
        total_bytes: None,
        memory_limit_bytes: None,
        methods: vec![
            step(WriteMethod::Buffered, 1, 10 * MIB),
            step(WriteMethod::Buffered, 6, 20 * MIB),
            step(WriteMethod::Direct, 6, 30 * MIB),
        ],
        sweet_spots: Vec::new(),
        gave_way: None,
    }
}

/// One committer, and eight that share flushes; sync_file_range is the fastest and not durable.
fn fsync() -> FsyncOutcome {
    let step = |method, committers, commits: usize| SyncStep {
        measured_ns: 1_000 * MS,
        commit_ns: latencies(&vec![1; commits]),
        flush_ns: latencies(&vec![1; 100]),
        slice_ns: 500 * MS,
        slices: vec![commits as u64 / 2; 2],
        ..SyncStep::new(method, committers, LogLayout::Shared)
    };
    FsyncOutcome {
        block_bytes: 8192,
        segment_bytes: 16 * MIB,
        duration_ns: 1_000 * MS,
        steps: vec![
            step(SyncMethod::Fdatasync, 1, 100),
            step(SyncMethod::OpenDatasync, 1, 120),
            step(SyncMethod::SyncFileRange, 1, 900),
            step(SyncMethod::Fdatasync, 8, 640),
            SyncStep::new(SyncMethod::OpenSync, 8, LogLayout::Shared),
        ],
        server: None,
        thresholds: None,
    }
}

/// A disk's volatile cache took 900 commits a second by sync_file_range, and a listing showed them as what the disk can do.
#[test]
fn only_durable_commits_are_what_storage_can_do() {
    let fsync = fsync();
    let fastest = |committers| fsync.fastest(committers).map(|step| (step.method, step.committers));
    assert_eq!(fastest(Some(1)), Some((SyncMethod::OpenDatasync, 1)));
    assert_eq!(fastest(None), Some((SyncMethod::Fdatasync, 8)));
    assert_eq!(fsync.summary().iops, Some(640.0));
    assert_eq!(fsync.steps[3].commits_per_flush(), Some(6.4));
    assert_eq!(fsync.committers(), [1, 8]);
    let names: Vec<String> = fsync.measured().into_iter().map(|one| one.name).collect();
    assert_eq!(names.len(), 4, "a method that is unavailable is no measurement");
    assert_eq!(names[3], "fdatasync, 8 committers");
    assert_eq!(fsync.measured()[3].intervals[0].iops, Some(640.0));
}

#[test]
fn a_server_s_method_is_one_of_ours_or_unknown() {
    let method = |value: &str| {
        let setting = |value: &str| ServerSetting {
            name: "wal_sync_method".into(),
            value: value.into(),
            source: "default".into(),
        };
        ServerSync { settings: vec![setting(value)], ..ServerSync::default() }.method()
    };
    assert_eq!(method("Open_Datasync"), Some(SyncMethod::OpenDatasync));
    assert_eq!(method("fsync_writethrough"), None);
    assert_eq!(ServerSync::default().method(), None);
}

fn all() -> Vec<Run> {
    let RunBody::Load(of_load) = load("").body else { unreachable!() };
    vec![
        run(RunBody::Load(of_load)),
        run(RunBody::Sweep(Box::new(sweep()))),
        run(RunBody::Matrix(Box::new(matrix(Some(300 * MIB))))),
        run(RunBody::MaxRate(Box::new(max_rate()))),
        run(RunBody::Copy(Box::new(copy()))),
        run(RunBody::Verify(verify())),
        run(RunBody::Write(paced())),
        run(RunBody::Fsync(fsync())),
        run(RunBody::Backup(Box::default())),
        run(RunBody::Restore(Box::default())),
        run(RunBody::BackupVerify(Box::default())),
        run(RunBody::BackupTune(Box::default())),
        run(RunBody::BackupDrill(Box::default())),
        run(RunBody::SqlServerBackup(Box::default())),
        run(RunBody::SqlServerVerify(Box::default())),
        run(RunBody::Flash(Box::new(flash()))),
    ]
}

#[test]
fn each_kind_has_its_word_and_only_loads_have_a_profile_engines_and_points() {
    let words: Vec<&str> = all().iter().map(|run| run.body.kind()).collect();
    assert_eq!(
        words,
        [
            "load",
            "sweep",
            "matrix",
            "max-rate",
            "copy",
            "verify",
            "write",
            "fsync",
            "backup",
            "restore",
            "backup-verify",
            "backup-tune",
            "backup-drill",
            "sql-server-backup",
            "sql-server-verify",
            "flash"
        ]
    );
    let answers: Vec<(bool, usize, usize)> = all()
        .iter()
        .map(|run| {
            let outcome = run.body.outcome();
            (outcome.profile().is_some(), outcome.engines().len(), outcome.points().len())
        })
        .collect();
    assert_eq!(answers[..4], [(true, 1, 0), (true, 1, 3), (false, 1, 3), (true, 1, 5)]);
    assert!(answers[4..].iter().all(|moved| *moved == (false, 0, 0)), "{answers:?}");
}

#[test]
fn an_outcome_is_found_by_its_kind_and_by_no_other() {
    for run in all() {
        let found = [
            run.body.as_kind::<LoadOutcome>().is_some(),
            run.body.as_kind::<SweepOutcome>().is_some(),
            run.body.as_kind::<CopyOutcome>().is_some(),
        ];
        assert_eq!(found, ["load", "sweep", "copy"].map(|kind| run.body.kind() == kind));
    }
}

/// Comparison and capacity need the used part of a target: if only 300 MiB of a terabyte file were used, all
/// of it may have been in the device's cache.
#[test]
fn what_was_used_of_a_target_is_what_the_run_says_or_all_of_it() {
    let used: Vec<u64> = all().iter().map(|run| run.used_bytes(0) / MIB).collect();
    assert_eq!(used[..4], [600, 600, 300, 600]);
    assert!(used[4..].iter().all(|used| *used == 1024), "{used:?}");
    assert_eq!(
        run(RunBody::Matrix(Box::new(matrix(Some(5_000 * MIB))))).used_bytes(0),
        1024 * MIB,
        "no more than there is"
    );
    assert_eq!(run(RunBody::Matrix(Box::new(matrix(None)))).used_bytes(0), 1024 * MIB);
    assert_eq!(all()[0].used_bytes(1), 0, "there is no second target");
}

#[test]
fn what_can_be_compared_has_the_names_that_another_run_gives_it_too() {
    let names = |run: &Run| -> Vec<String> {
        run.body.outcome().measured().into_iter().map(|measured| measured.name).collect()
    };
    let all = all();
    let points = ["1", "8", "4"].map(|depth| format!("random read 8K, depth {depth} × 2 workers, target 1"));
    assert_eq!(names(&all[0]), ["data read"]);
    assert_eq!((names(&all[1]), names(&all[2])), (points.to_vec(), points.to_vec()));
    assert_eq!(names(&all[3]).len(), 5);
    assert!(all[4..7].iter().chain(&all[8..]).all(|run| names(run).is_empty()));
    let RunBody::Load(mut of_load) = load("").body else { unreachable!() };
    of_load.profile.spans.push(of_load.profile.spans[0].clone());
    of_load.spans.push(of_load.spans[0].clone());
    of_load.spans[1].roles[0].cells.push(cell(Op::Sync, 0, &[1]));
    assert_eq!(
        names(&run(RunBody::Load(of_load))),
        ["span 1 data read", "span 2 data read"],
        "a sync moves no data"
    );
}

#[test]
fn a_listing_shows_the_best_setting_and_the_length_of_all() {
    let summaries: Vec<Summary> = all().iter().map(|run| run.body.outcome().summary()).collect();
    let of_points = |index: usize| (summaries[index].iops, summaries[index].measured_ns);
    assert_eq!(of_points(0), (Some(100.0), Some(2_000 * MS)));
    assert_eq!(of_points(1), (Some(500.0), Some(6_000 * MS)));
    assert_eq!(of_points(2), of_points(1));
    assert_eq!(of_points(3), (Some(200.0), Some(10_000 * MS)));
    assert!(summaries[3].latency_ns_p99 < Some(5 * MS), "of a search the rate that it confirmed is shown");
    assert_eq!(summaries[1].block_size.as_deref(), Some("8K"));
    assert!(summaries[0].latency_ns_p99 > Some(MS) && summaries[1].mib_per_s.is_some());
    let moved: Vec<(Option<u64>, Option<f64>)> =
        summaries[4..7].iter().map(|summary| (summary.measured_ns, summary.mib_per_s)).collect();
    assert_eq!(
        moved,
        [(Some(4_000 * MS), Some(500.0)), (Some(1_000 * MS), Some(100.0)), (Some(3_000 * MS), Some(20.0))]
    );
    assert_eq!(Summary::of_moved(5, 0), Summary::default());
    assert_eq!(Summary::of_points(&[], None), Summary::default());
}

#[test]
fn a_summary_of_roles_has_each_block_size_once_and_no_rate_over_no_time() {
    let roles =
        profile(&[("a", "block-size = '8K'"), ("b", "block-size = '64K'"), ("c", "block-size = '8K'")]);
    let summary = Summary::of_spans(
        &roles,
        &[span(vec![role("a", vec![cell(Op::Read, MIB, &[1]), cell(Op::Sync, 0, &[9])])])],
    );
    assert_eq!(summary.block_size.as_deref(), Some("8K, 64K"));
    assert_eq!(
        (summary.iops, summary.mib_per_s),
        (Some(0.5), Some(0.5)),
        "a sync is no request of the count"
    );
    let nothing = Summary::of_spans(&profile(&[("a", "")]), &[]);
    assert_eq!((nothing.measured_ns, nothing.iops, nothing.latency_ns_p99), (None, None, None));
}

#[test]
fn the_rate_that_is_promised_is_the_highest_confirmed_one_that_answers_in_time() {
    let mut search = max_rate();
    assert_eq!(search.best().and_then(|point| point.rate_iops), Some(600.0));
    search.confirmations = 1;
    assert!(search.best().is_none(), "the only confirmation was too slow");
    search.confirmations = 99;
    assert_eq!(search.best().and_then(|point| point.rate_iops), Some(900.0));
}

/// Headroom needs what a device delivered. Only a load on one target shows it, and the device is identified
/// by its properties.
#[test]
fn a_run_says_of_each_device_what_it_gave() {
    let on_device = |mut run: Run| {
        let device = Device { name: "sda".into(), model: Some("DC".into()), ..Device::default() };
        run.targets[0].device = Some(device);
        let names = WorldWideNames { naa: Some("5000".into()), ..WorldWideNames::default() };
        run.devices = vec![Some(DeviceIdentity { names, ..DeviceIdentity::default() })];
        run.warnings = vec![Warning::new(WarningCode::DeviceBusy, "busy")];
        run
    };
    let of = |run: Run| CapacityRecord::of_run(&on_device(run));
    let all = all();
    let [of_load] = &of(all[0].clone())[..] else { panic!("one target, one record") };
    assert_eq!((of_load.device_key.as_deref(), of_load.device.as_str()), (Some("naa.5000"), "sda"));
    assert_eq!((of_load.host.as_str(), &of_load.warnings[..]), ("db1", &[WarningCode::DeviceBusy][..]));
    assert_eq!((of_load.curve[0].in_flight, of_load.curve[0].iops), (4, 100.0));
    let [of_sweep] = &of(all[1].clone())[..] else { panic!("one target, one record") };
    let curve: Vec<(u64, f64)> = of_sweep.curve.iter().map(|point| (point.in_flight, point.iops)).collect();
    assert_eq!(
        curve,
        [(2, 100.0), (8, 300.0), (16, 500.0)],
        "by depth, in whatever order they were measured"
    );
    assert_eq!(of_sweep.best().map(|point| point.in_flight), Some(16));
    assert!(of(all[2].clone()).is_empty(), "what the page cache gave is not the device's");
    assert!(of(all[3].clone()).is_empty(), "its rates were asked for and reached");
    let mut probed = all[3].clone();
    let RunBody::MaxRate(search) = &mut probed.body else { unreachable!("a search for a rate") };
    search.probe = Some(point(8, [300, 300]));
    let [of_search] = &of(probed)[..] else { panic!("the closed loop before it says what there is") };
    assert_eq!(of_search.curve.len(), 1);
    assert!(
        all[4..].iter().all(|run| of(run.clone()).is_empty()),
        "a copy does not say what a device can do"
    );
    assert!(CapacityRecord::of_run(&all[0]).is_empty(), "in memory or on a network there is no device");
    let mut on_two = on_device(all[0].clone());
    on_two.targets.push(on_two.targets[0].clone());
    assert!(CapacityRecord::of_run(&on_two).is_empty(), "of two targets nobody knows which gave what");
}

/// The story: 1,066,208 IOPS of a file of holes, and the 30 a second that were asked for, were what a drive can do for ever after.
#[test]
fn what_is_invalid_or_was_no_more_than_asked_for_is_no_capacity() {
    let mut run = all()[1].clone();
    run.targets[0].device = Some(Device { name: "sda".into(), ..Device::default() });
    let records = CapacityRecord::of_run(&run);
    assert_eq!((records.len(), records[0].warned_of().as_str()), (1, ""));
    run.warnings = vec![Warning::new(WarningCode::TargetSmall, "small")];
    assert_eq!(CapacityRecord::of_run(&run)[0].warned_of(), "target-small");
    run.warnings.push(Warning::new(WarningCode::TargetSparse, "holes"));
    assert!(CapacityRecord::of_run(&run).is_empty());
    let mut older = records[0].clone();
    older.warnings = vec![WarningCode::TargetSparse];
    assert_eq!(older.of_device(), None, "stored before there was a gate");
    let mut paced = records[0].clone();
    paced.curve.iter_mut().for_each(|point| point.rate_iops = Some(30.0));
    assert_eq!(paced.clone().of_device(), None);
    paced.curve[0].is_saturated = true;
    assert_eq!(
        paced.of_device().map(|record| record.curve.len()),
        Some(1),
        "more was asked for than it could do"
    );
}

/// The story: `runs` showed a rate that no search had confirmed.
#[test]
fn a_search_without_a_confirmed_rate_has_no_rate_to_show() {
    let mut search = max_rate();
    assert!(search.summary().iops.is_some());
    search.confirmations = 0;
    assert_eq!(search.summary().iops, None);
}

#[test]
fn a_copy_has_brought_something_as_soon_as_anything_is_there() {
    assert!(!CopyOutcome::default().has_copied_something());
    let with = |set: fn(&mut CopyOutcome)| {
        let mut outcome = CopyOutcome::default();
        set(&mut outcome);
        outcome.has_copied_something()
    };
    assert!(with(|outcome| outcome.counts.files = 1) && with(|outcome| outcome.counts.symlinks = 1));
    assert!(with(|outcome| outcome.counts.hard_links = 1) && with(|outcome| outcome.counts.specials = 1));
    assert!(with(|outcome| outcome.counts.already_there = 1));
}

#[test]
fn the_cost_of_a_copy_is_told_from_64_mib_on() {
    let mut outcome = copy();
    assert!((outcome.megabytes_per_second().unwrap() - 524.288).abs() < 1e-9);
    (outcome.bytes, outcome.used.cpu_user_ns, outcome.used.cpu_system_ns) = (512 * MIB, 300 * MS, 100 * MS);
    assert!((outcome.cpu_seconds_per_gibibyte().unwrap() - 0.8).abs() < 1e-9);
    outcome.bytes = 64 * MIB;
    assert!(outcome.cpu_seconds_per_gibibyte().is_some());
    outcome.bytes -= 1;
    assert_eq!(outcome.cpu_seconds_per_gibibyte(), None);
    outcome.elapsed_ns = 0;
    assert_eq!(outcome.megabytes_per_second(), None);
    // Zero values are left out of the document and read back as zero.
    let text = serde_json::to_string(&outcome).unwrap();
    assert!(!text.contains("remaining"));
    outcome.remaining = 3;
    assert!(serde_json::to_string(&outcome).unwrap().contains("\"remaining\":3"));
}

#[test]
fn files_that_are_neither_equal_nor_different_were_not_checked() {
    assert_eq!(verify().unchecked(), 2);
}

#[test]
fn a_sweet_spot_is_the_step_of_its_method_and_its_burst() {
    let outcome = paced();
    let spot = |method, packets_per_burst| SweetSpot { method, packets_per_burst };
    let bytes = |spot: SweetSpot| outcome.step_of(&spot).map(|step| step.bytes / MIB);
    assert_eq!(bytes(spot(WriteMethod::Direct, Some(6))), Some(30));
    assert_eq!(bytes(spot(WriteMethod::Buffered, Some(6))), Some(20));
    assert_eq!(
        (bytes(spot(WriteMethod::Direct, Some(1))), bytes(spot(WriteMethod::Direct, None))),
        (None, None)
    );
}
