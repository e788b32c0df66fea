//! A drive that was kept from what it can do is not called steady, however even its figures are.

use std::path::PathBuf;

use iostall_engine::guard::WriteConsent;
use iostall_engine::sim::SimFile;
use iostall_engine::{SimConfig, SimDevice};
use iostall_load::window::StopToken;
use iostall_measure::clock::NoRealSleep;
use iostall_measure::{ManualClock, Nanos, RunClock};
use iostall_model::QualifyOutcome;
use iostall_model::device::Link;
use iostall_model::qualify::{DriveConditions, DriveHealth, QualifyPlan, QualifyScale, QualifyTest};
use iostall_session::analysis::qualify::{Check, shown_window, steady_window};
use iostall_session::qualify::{QualifyRequest, QualifyStores, plan_of, qualify};
use iostall_session::recorder::Program;
use iostall_session::{Dependencies, EngineChoice, Session};

/// A steady qualification of a small device.
fn steady() -> QualifyOutcome {
    let _guard = NoRealSleep::on_this_thread();
    let file = SimFile { size_bytes: 8 << 20, ..SimFile::default() };
    // Slow, so that few requests fill its time.
    let config = SimConfig {
        seed: 7,
        files: vec![file],
        channels: 1,
        service_ns_base: 2_000_000,
        service_ns_tail_mean: 0,
        ..SimConfig::default()
    };
    let device = SimDevice::new(config, ManualClock::new());
    let clock = RunClock::Manual(device.clock().clone());
    let stop = StopToken::default();
    let given = Dependencies { program: Program::default(), clock, stop: &stop, observer: &() };
    let session = Session::begin(EngineChoice::Simulated(device), given).unwrap();
    let plan = plan_of(QualifyTest::Iops, QualifyScale::Standard);
    let request = QualifyRequest {
        target: PathBuf::from("drive"),
        consent: WriteConsent::none(),
        plan: QualifyPlan { queue_depth: 1, workers: 1, cell: Nanos(100_000_000), ..plan },
        rated_bytes: None,
        name: "q".to_owned(),
    };
    let run = qualify(request, QualifyStores::default(), &session).unwrap();
    run.body.as_kind::<QualifyOutcome>().unwrap().clone()
}

#[test]
fn a_throttled_drive_or_one_on_half_its_lanes_is_not_called_steady() {
    let outcome = steady();
    assert!(steady_window(&outcome).is_some(), "{:?}", shown_window(&outcome).map(|window| window.checks));
    let healthy = DriveHealth { throttled: Some(3), media_errors: Some(1), ..DriveHealth::default() };
    let after = |after: DriveHealth| {
        let mut conditions = DriveConditions::new(healthy.clone());
        conditions.then(after);
        QualifyOutcome { conditions: Some(conditions), ..outcome.clone() }
    };
    assert!(steady_window(&after(healthy.clone())).is_some());
    let link = Link {
        lanes: Some(2),
        lanes_max: Some(4),
        lane_mt_per_s: Some(16_000),
        lane_mt_per_s_max: Some(16_000),
    };
    for disturbed in [
        DriveHealth { throttled: Some(4), ..healthy.clone() },
        DriveHealth { media_errors: Some(2), ..healthy.clone() },
        DriveHealth { link: Some(link), ..healthy.clone() },
        DriveHealth { resets: Some(1), ..healthy.clone() },
    ] {
        let outcome = after(disturbed);
        assert!(steady_window(&outcome).is_none(), "{:?}", outcome.conditions);
        let shown = shown_window(&outcome).unwrap();
        assert_eq!(shown.missed(), Some(Check::Undisturbed));
    }
}
