//! Qualifications of a simulated flash drive, in its time: how it falls, when it is steady, and what is kept of an interrupted one.

mod drive;
mod others;

use std::sync::Mutex;

use iostall_flash::theory::{NandTimes, greedy};
use iostall_load::window::StopToken;
use iostall_model::qualify::{Deviation, QualifyScale, QualifyTest, Stopped};
use iostall_model::{QualifyOutcome, Run};
use iostall_session::analysis::qualify::{Check, cliff, course, shown_window, steady_window};
use iostall_session::qualify::{QualifyRequest, QualifyStores};
use iostall_session::{Event, Observer};
use iostall_store::{Selector, SqliteStore, Store};

use drive::{PAGES_PER_BLOCK, alone, drive, drive_with, on, request};

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

/// The specification's 56 mixes and sizes, half a kilobyte to a megabyte, in its order.
#[test]
fn all_mixes_and_sizes_of_the_specification_become_steady_in_simulated_time() {
    let drive = drive_with(NandTimes { read_us: 600.0, ..NandTimes::TYPICAL }, 1.28, 60, false);
    let outcome = alone(&drive, request(QualifyTest::Iops, QualifyScale::Full, 3000));
    let window = shown_window(&outcome).unwrap();
    assert_eq!(outcome.stopped, Stopped::Steady, "{:?} {:?}", window.checks, window.tracked);
    assert_eq!((outcome.points.len(), window.tracked.len()), (56, 3));
    assert!(outcome.rounds.iter().all(|round| round.points.len() == 56));
    // A request of 1 MiB is 256 pages of one plane, one after the other.
    let rate = |index: usize| outcome.points[index].iops().unwrap();
    assert!((rate(0) * 256.0 / (1e6 / 600.0) - 1.0).abs() < 0.05, "{}", rate(0));
    assert!((rate(6) / (1e6 / 600.0) - 1.0).abs() < 0.05, "{}", rate(6));
    // 4 KiB in order of the table: more writes are slower.
    let of_4k: Vec<f64> = (0..7).map(|mix| rate(mix * 8 + 6)).collect();
    assert!(of_4k.windows(2).all(|two| two[0] > two[1]), "{of_4k:?}");
}

/// Stops the session after so many rounds.
pub(crate) struct StopAfter<'a> {
    pub(crate) rounds: Mutex<usize>,
    pub(crate) most: usize,
    pub(crate) stop: &'a StopToken,
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
    let short = || -> QualifyRequest {
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
