//! Qualifications of a simulated flash drive, in its time: how it falls, when it is steady, and what is kept of an interrupted one.

use std::path::PathBuf;
use std::sync::Mutex;

use iostall_engine::guard::WriteConsent;
use iostall_engine::sim::SimFile;
use iostall_engine::{SimConfig, SimDevice};
use iostall_flash::theory::{NandTimes, greedy};
use iostall_flash::{FlashBuild, FlashDevice};
use iostall_load::window::StopToken;
use iostall_measure::clock::NoRealSleep;
use iostall_measure::{Durability, ManualClock, Nanos, RunClock};
use iostall_model::flash::{Collect, FlashSettings, Separation, WritePattern};
use iostall_model::qualify::{Deviation, QualifyPlan, QualifyScale, QualifyTest, Stopped};
use iostall_model::{QualifyOutcome, Run};
use iostall_session::analysis::qualify::{Check, cliff, course, shown_window, steady_window};
use iostall_session::qualify::{QualifyRequest, QualifyStores, plan_of, qualify};
use iostall_session::recorder::Program;
use iostall_session::{Dependencies, EngineChoice, Event, Observer, Session, SessionError};
use iostall_store::{Selector, SqliteStore, Store};

const MS_NS: u64 = 1_000_000;
const PAGES_PER_BLOCK: u32 = 64;

/// A drive of one plane with `blocks` blocks, which has the speed that the formulas give. `is_full`: every page was written once.
fn drive(alpha: f64, blocks: u32, is_full: bool) -> SimDevice {
    drive_with(NandTimes::TYPICAL, alpha, blocks, is_full)
}

fn drive_with(times: NandTimes, alpha: f64, blocks: u32, is_full: bool) -> SimDevice {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers of a test")]
    let user_pages = (f64::from(blocks * PAGES_PER_BLOCK) / alpha).round() as u32;
    let settings = FlashSettings {
        page_bytes: 4096,
        pages_per_block: PAGES_PER_BLOCK,
        user_pages,
        alpha,
        collect: Collect::Greedy,
        separation: Separation::None,
        pattern: WritePattern::Uniform,
        trim_share: 0.0,
        seed: 1,
    };
    let (planes, channels) = (1, 1);
    let build = FlashBuild { settings, planes, channels, times, transfer_us: 1.0, idle_us: None };
    let mut model = FlashDevice::new(&build).unwrap();
    if is_full {
        model.fill().unwrap();
    }
    let size_bytes = u64::from(user_pages) * 4096;
    let file = SimFile { size_bytes, durability: Durability::WriteThrough, ..SimFile::default() };
    let config = SimConfig { seed: 7, files: vec![file], ..SimConfig::default() };
    SimDevice::with_model(config, Box::new(model), ManualClock::new())
}

fn request(test: QualifyTest, scale: QualifyScale, cell_ms: u64) -> QualifyRequest {
    let plan = plan_of(test, scale);
    QualifyRequest {
        target: PathBuf::from("drive"),
        consent: WriteConsent::none(),
        plan: QualifyPlan { queue_depth: 4, workers: 1, cell: Nanos(cell_ms * MS_NS), ..plan },
        rated_bytes: None,
        name: "q".to_owned(),
    }
}

fn on(
    device: &SimDevice,
    request: QualifyRequest,
    stores: QualifyStores<'_>,
    stop: &StopToken,
    observer: &dyn Observer,
) -> Result<Run, SessionError> {
    let _guard = NoRealSleep::on_this_thread();
    let clock = RunClock::Manual(device.clock().clone());
    let given = Dependencies { program: Program::default(), clock, stop, observer };
    let session = Session::begin(EngineChoice::Simulated(device.clone()), given).unwrap();
    qualify(request, stores, &session)
}

fn alone(device: &SimDevice, request: QualifyRequest) -> QualifyOutcome {
    let run = on(device, request, QualifyStores::default(), &StopToken::default(), &()).unwrap();
    run.body.as_kind::<QualifyOutcome>().unwrap().clone()
}

/// Published: with alpha 1.28 amplification is 1, 1, 1.34, 2.81, 2.61, 2.44, 2.36, … in each tenth of a fill, and 2.40 in the end.
#[test]
fn a_full_drive_falls_off_the_cliff_and_is_steady_only_after_the_overshoot() {
    let drive = drive(1.28, 1000, true);
    let outcome = alone(&drive, request(QualifyTest::Saturation, QualifyScale::Standard, 1000));
    let tenths: Vec<f64> = course(&outcome).iter().map(|(_, iops)| *iops).collect();
    let fall = cliff(&outcome).expect("a cliff");
    // The spare area lasts for 0.28 fills.
    assert!((0.2..=0.36).contains(&fall.fills), "{fall:?}");
    let lowest = tenths.iter().take(8).copied().fold(f64::INFINITY, f64::min);
    let window = steady_window(&outcome).expect("a steady state");
    let found = window.tracked[0].determination.average;
    assert!(lowest < found * 0.92, "no overshoot: {tenths:?}");
    assert!(window.fills.0 >= 1.0 && window.rounds == outcome.steady.unwrap(), "{:?}", window.fills);
    assert_eq!(outcome.stopped, Stopped::Steady);
    // Against the formula for uniform writes, collected greedily.
    let (times, amplification) = (NandTimes::TYPICAL, greedy(1.28, PAGES_PER_BLOCK));
    let expected = 1e6 / times.write_us(amplification, PAGES_PER_BLOCK);
    assert!((found / expected - 1.0).abs() < 0.05, "{found} for {expected}");
    let unworn = 1e6 / times.write_us(1.0, PAGES_PER_BLOCK);
    let ratio = times.iops_ratio(amplification, PAGES_PER_BLOCK);
    assert!((found / unworn / ratio - 1.0).abs() < 0.05, "{} for {ratio}", found / unworn);
    // The criterion alone takes a window in the overshoot.
    let early = QualifyOutcome {
        rounds: outcome
            .rounds
            .iter()
            .filter(|round| outcome.fills(round.written_bytes) < 1.05)
            .cloned()
            .collect(),
        ..outcome.clone()
    };
    let shown = shown_window(&early).unwrap();
    assert!(shown.checks.contains(&(Check::Criterion, true)) && !shown.is_steady(), "{shown:?}");
    assert_eq!(steady_window(&early), None);
}

#[test]
fn a_quick_saturation_is_never_steady_and_its_samples_are_all_kept() {
    let drive = drive(1.28, 200, true);
    let outcome = alone(&drive, request(QualifyTest::Saturation, QualifyScale::Quick, 2000));
    assert!(outcome.steady.is_none() && outcome.rounds.len() <= 60);
    assert!(outcome.rounds.windows(2).all(|two| two[0].written_bytes < two[1].written_bytes));
    assert!(outcome.deviations.contains(&Deviation::WindowsByFill));
}

/// The whole test on a drive that was never written: filled twice in order, then rounds until three mixes and sizes are steady.
#[test]
fn rounds_of_all_mixes_and_sizes_become_steady_after_a_whole_active_range() {
    // Slow reads, so that there are few requests to simulate in measurements that are long enough for steady writes.
    let drive = drive_with(NandTimes { read_us: 600.0, ..NandTimes::TYPICAL }, 1.28, 100, false);
    let outcome = alone(&drive, request(QualifyTest::Iops, QualifyScale::Standard, 6000));
    let before = outcome.preconditioning;
    assert_eq!((before.written_bytes, before.made_bytes), (2 * outcome.active_bytes, 0));
    let window = shown_window(&outcome).unwrap();
    assert_eq!(outcome.stopped, Stopped::Steady, "{:?} {:?}", window.checks, window.tracked);
    assert!(window.fills.1 >= 1.0 && window.tracked.len() == 3, "{:?}", window.fills);
    assert!(outcome.rounds.len() >= 10 && outcome.points.len() == 12);
    assert!(outcome.points.iter().all(|point| point.repeats.len() == 5 && point.failed() == 0));
}

/// Stops the session after so many rounds.
struct StopAfter<'a> {
    rounds: Mutex<usize>,
    most: usize,
    stop: &'a StopToken,
}

impl Observer for StopAfter<'_> {
    fn on(&self, event: &Event<'_>) {
        if let Event::RoundEnded { .. } = event {
            let mut rounds = self.rounds.lock().unwrap();
            *rounds += 1;
            if *rounds == self.most {
                self.stop.raise(1);
            }
        }
    }
}

/// A machine that dies loses the round in progress; a run that continues keeps the others, and says that the drive was idle.
#[test]
fn each_round_is_stored_as_it_ends_and_an_interrupted_run_is_continued() {
    let directory = tempfile::tempdir().unwrap();
    let open = || SqliteStore::open(directory.path().join("runs.sqlite")).unwrap();
    let device = drive(1.28, 50, false);
    let short = || {
        let mut request = request(QualifyTest::Iops, QualifyScale::Quick, 50);
        request.plan.rounds_max = 4;
        request
    };
    let stop = StopToken::default();
    let observer = StopAfter { rounds: Mutex::new(0), most: 2, stop: &stop };
    let mut checkpoints = open();
    let stores = QualifyStores { earlier: None, checkpoints: Some(&mut checkpoints) };
    let first = on(&device, short(), stores, &stop, &observer).unwrap();
    // What a dead process leaves: this run was never given to the store.
    let left = open().get(&Selector::Number(1)).unwrap().run;
    let rounds = |run: &Run| run.body.as_kind::<QualifyOutcome>().unwrap().rounds.clone();
    assert_eq!((left.id, left.interrupted, rounds(&left).len()), (first.id, true, 2));
    assert_eq!(rounds(&left), rounds(&first));

    let (earlier, mut checkpoints) = (open(), open());
    let stores = QualifyStores { earlier: Some(&earlier), checkpoints: Some(&mut checkpoints) };
    let second = on(&device, short(), stores, &StopToken::default(), &()).unwrap();
    let outcome = second.body.as_kind::<QualifyOutcome>().unwrap();
    assert_eq!((outcome.resumed, outcome.rounds.len(), second.interrupted), (Some(first.id), 4, false));
    assert_eq!(outcome.rounds[..2], rounds(&first)[..]);
    assert_eq!(outcome.preconditioning.written_bytes, outcome.active_bytes, "written in order only once");
    let is_gap = |one: &Deviation| matches!(one, Deviation::Interrupted { before_round: 3, .. });
    assert!(outcome.deviations.iter().any(is_gap), "{:?}", outcome.deviations);
    open().keep(&second).unwrap();

    // A complete run is not continued, nor one with other settings.
    let refused = |request| {
        let earlier = open();
        let stores = QualifyStores { earlier: Some(&earlier), checkpoints: None };
        on(&device, request, stores, &StopToken::default(), &()).unwrap_err().to_string()
    };
    assert!(refused(short()).contains("is complete"));
    let mut other = short();
    other.plan.rounds_max = 5;
    assert!(refused(other).contains("no interrupted qualification"));
}
