//! Guards of simulated volumes, in their time: slower, as before, and what ends one.

use std::path::PathBuf;
use std::sync::Mutex;

use iostall_engine::sim::{Arrival, DeviceModel, SimFile};
use iostall_engine::{SimConfig, SimDevice};
use iostall_load::window::StopToken;
use iostall_measure::clock::NoRealSleep;
use iostall_measure::{ByteCount, ManualClock, Nanos, RunClock};
use iostall_model::guard::{DatabaseNear, GuardEnd, GuardPlan, PaidFor};
use iostall_model::{GuardOutcome, Run, RunId, TargetIdentity, Warning, WarningCode};
use iostall_session::analysis::guard::{GuardState, judged, trend_per_month, verdicts};
use iostall_session::guard::{GuardRequest, guard};
use iostall_session::recorder::Program;
use iostall_session::requirements::failures;
use iostall_session::{Dependencies, EngineChoice, Event, Observer, Session, SessionError};
use iostall_store::{
    DocumentError, Entry, Filter, RunNumber, Selector, SqliteStore, Store, StoreError, Stored, StoredCapacity,
};

const MS_NS: u64 = 1_000_000;

/// So many requests a second on average, each as long as chance has it.
#[derive(Debug)]
struct Volume {
    iops: f64,
    next_ns: f64,
}

impl DeviceModel for Volume {
    fn end_ns(&mut self, arrival: &Arrival) -> u64 {
        let start_ns = self.next_ns.max(arrival.now_ns as f64);
        self.next_ns = start_ns + arrival.exponential * 1e9 / self.iops;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive time")]
        let end_ns = self.next_ns as u64;
        end_ns + 100_000
    }
}

fn plan() -> GuardPlan {
    GuardPlan {
        queue_depth: 4,
        workers: 1,
        size: None,
        probe: Nanos(1000 * MS_NS),
        probes_max: 30,
        rate_iops: None,
        time_limit: Nanos(600_000 * MS_NS),
        byte_limit: ByteCount(1 << 40),
        tolerance: 0.05,
    }
}

/// A guard of a volume with `iops`, on a store that keeps it.
fn guarded(
    (iops, seed): (f64, u64),
    (plan, paid_for): (GuardPlan, PaidFor),
    baseline: Option<Selector>,
    store: &mut SqliteStore,
) -> Result<Run, SessionError> {
    guarded_near((iops, seed), (plan, paid_for), baseline, store, Vec::new())
}

/// The same beside databases that did this.
fn guarded_near(
    (iops, seed): (f64, u64),
    (plan, paid_for): (GuardPlan, PaidFor),
    baseline: Option<Selector>,
    store: &mut SqliteStore,
    databases: Vec<DatabaseNear>,
) -> Result<Run, SessionError> {
    let target = PathBuf::from("volume");
    let request = GuardRequest { target, plan, baseline, paid_for, databases, name: "guard".to_owned() };
    let run = guard_on((iops, seed), request, store, &())?;
    store.add(&run).unwrap();
    Ok(run)
}

fn guard_on(
    (iops, seed): (f64, u64),
    request: GuardRequest,
    store: &dyn Store,
    observer: &dyn Observer,
) -> Result<Run, SessionError> {
    let _guard = NoRealSleep::on_this_thread();
    let file = SimFile { size_bytes: 1 << 30, ..SimFile::default() };
    let config = SimConfig { seed, files: vec![file], ..SimConfig::default() };
    let device = SimDevice::with_model(config, Box::new(Volume { iops, next_ns: 0.0 }), ManualClock::new());
    let (clock, stop) = (RunClock::Manual(device.clock().clone()), StopToken::default());
    let given = Dependencies { program: Program::default(), clock, stop: &stop, observer };
    let session = Session::begin(EngineChoice::Simulated(device), given).unwrap();
    guard(request, Some(store), &session)
}

fn outcome(run: &Run) -> &GuardOutcome {
    run.body.as_kind().unwrap()
}

fn store() -> (tempfile::TempDir, SqliteStore) {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("runs.db")).unwrap();
    (directory, store)
}

#[test]
fn a_volume_that_lost_a_fifth_is_slower_than_its_baseline_and_one_that_did_not_is_not() {
    let (_directory, mut store) = store();
    let nothing = || (plan(), PaidFor::default());
    let first = guarded((800.0, 1), nothing(), None, &mut store).unwrap();
    assert!(judged(outcome(&first)).is_empty() && failures(&first).is_empty());
    assert_eq!(outcome(&first).points.len(), 2);
    let baseline = || Some(Selector::Number(1));
    for (iops, seed, is_slower) in [(800.0, 2, false), (640.0, 3, true), (480.0, 4, true), (800.0, 5, false)]
    {
        let run = guarded((iops, seed), nothing(), baseline(), &mut store).unwrap();
        let found = judged(outcome(&run));
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(!failures(&run).is_empty(), is_slower, "{iops}: {found:?}");
        assert_eq!(outcome(&run).ended, GuardEnd::Decided, "{found:?}");
    }
    let last = guarded((800.0, 6), nothing(), baseline(), &mut store).unwrap();
    assert_eq!(outcome(&last).history.len(), 5);
    assert!(trend_per_month(&last, outcome(&last)).is_none(), "it goes up and down");
}

#[test]
fn what_is_paid_for_is_asked_for_and_budgets_hold() {
    let (_directory, mut store) = store();
    let paid = |iops: f64| PaidFor { iops: Some(iops), bytes_per_s: None };
    let kept = guarded((800.0, 1), (plan(), paid(780.0)), None, &mut store).unwrap();
    assert!(failures(&kept).is_empty(), "{:?}", judged(outcome(&kept)));
    let missed = guarded((800.0, 2), (plan(), paid(1200.0)), None, &mut store).unwrap();
    assert_eq!(judged(outcome(&missed))[0].look.state, GuardState::Slower);
    assert!(!failures(&missed).is_empty());
    let short = GuardPlan { time_limit: Nanos(5000 * MS_NS), ..plan() };
    let timed = guarded((800.0, 3), (short, PaidFor::default()), None, &mut store).unwrap();
    assert_eq!((outcome(&timed).ended, timed.interrupted), (GuardEnd::Time, false));
    let few = GuardPlan { byte_limit: ByteCount(100 << 20), ..plan() };
    let bytes = guarded((800.0, 4), (few, PaidFor::default()), None, &mut store).unwrap();
    assert_eq!(outcome(&bytes).ended, GuardEnd::Bytes);
    assert!(outcome(&bytes).moved_bytes() < 400 << 20, "{}", outcome(&bytes).moved_bytes());
}

#[test]
fn a_canary_compares_latencies_and_probes_that_differ_are_not_compared() {
    let (_directory, mut store) = store();
    let canary = || GuardPlan { rate_iops: Some(100.0), probes_max: 10, queue_depth: 1, ..plan() };
    let nothing = PaidFor::default;
    guarded((2000.0, 1), (canary(), nothing()), None, &mut store).unwrap();
    let baseline = || Some(Selector::Number(1));
    let same = guarded((2000.0, 2), (canary(), nothing()), baseline(), &mut store).unwrap();
    assert!(failures(&same).is_empty(), "{:?}", judged(outcome(&same)));
    let slower = guarded((1000.0, 3), (canary(), nothing()), baseline(), &mut store).unwrap();
    assert!(!failures(&slower).is_empty(), "{:?}", judged(outcome(&slower)));
    let error = guarded((2000.0, 4), (plan(), nothing()), baseline(), &mut store).unwrap_err();
    assert!(error.to_string().contains("another size, length, rate or depth"), "{error}");
}

/// The device may look quiet while a database waits for it: many requests that a cache answers, or few that take long.
#[test]
fn a_canary_leaves_a_database_alone_that_works_or_of_which_nothing_is_known() {
    let (_directory, mut store) = store();
    let canary = || GuardPlan { rate_iops: Some(100.0), probes_max: 10, queue_depth: 1, ..plan() };
    let near = |iops: f64, stall_per_s: f64| DatabaseNear {
        name: "postgres://127.0.0.1".to_owned(),
        iops: Some(iops),
        stall_per_s: Some(stall_per_s),
        until_utc: Some(jiff::Timestamp::UNIX_EPOCH),
    };
    let unknown = || DatabaseNear { until_utc: None, iops: None, stall_per_s: None, ..near(0.0, 0.0) };
    for (databases, ended) in [
        (vec![near(20.0, 0.01)], GuardEnd::Probes),
        (vec![near(20.0, 0.01), near(400.0, 0.01)], GuardEnd::DatabaseBusy),
        (vec![near(3.0, 0.9)], GuardEnd::DatabaseBusy),
        (vec![unknown()], GuardEnd::DatabaseUnknown),
    ] {
        let asked = (canary(), PaidFor::default());
        let run = guarded_near((2000.0, 1), asked, None, &mut store, databases.clone()).unwrap();
        assert_eq!(outcome(&run).ended, ended, "{databases:?}");
        assert_eq!(outcome(&run).points.is_empty(), ended != GuardEnd::Probes);
        assert_eq!(outcome(&run).databases, databases);
        assert!(failures(&run).is_empty());
    }
    // Whoever asks for a whole guard means it.
    let run =
        guarded_near((2000.0, 1), (plan(), PaidFor::default()), None, &mut store, vec![unknown()]).unwrap();
    assert!(!outcome(&run).points.is_empty());
}

/// A run of `first`'s measurements under another id, changed by `change`, in the store; its number.
fn stored_like(first: &Run, store: &mut SqliteStore, change: impl FnOnce(&mut Run)) -> Selector {
    let mut run = Run { id: RunId::new(iostall_measure::clock::utc_now()), ..first.clone() };
    change(&mut run);
    Selector::Number(store.add(&run).unwrap().0)
}

/// The story: a baseline of a file in memory, on another device, made the disk "slower: 13.5 % of its speed".
#[test]
fn a_baseline_of_another_thing_or_of_an_invalid_run_is_refused_by_name() {
    let (_directory, mut store) = store();
    let nothing = || (plan(), PaidFor::default());
    let first = guarded((800.0, 1), nothing(), None, &mut store).unwrap();
    let other = TargetIdentity::Synthetic { name: "another".to_owned() };
    let of_other = stored_like(&first, &mut store, |run| run.identities = vec![Some(other)]);
    let of_older = stored_like(&first, &mut store, |run| run.identities.clear());
    let of_clone = stored_like(&first, &mut store, |run| {
        (run.host.boot, run.host.machine) = (None, Some("clone".to_owned()));
    });
    for (baseline, is_known) in [(of_other, true), (of_older, true), (of_clone, first.host.machine.is_some())]
    {
        let refused = guarded((800.0, 2), nothing(), Some(baseline), &mut store);
        let said = refused.err().map(|error| error.to_string());
        assert!(!is_known || said.as_ref().is_some_and(|said| said.contains("another file")), "{said:?}");
    }
    let invalid = stored_like(&first, &mut store, |run| {
        run.warnings.push(Warning::new(WarningCode::MemoryFileSystem, "in memory"));
    });
    let refused = guarded((800.0, 3), nothing(), Some(invalid), &mut store).unwrap_err().to_string();
    assert!(refused.contains("memory-file-system"), "{refused}");
    let last = guarded((800.0, 4), nothing(), None, &mut store).unwrap();
    assert!(outcome(&last).history.iter().all(|past| past.run == first.id), "{:?}", outcome(&last).history);
}

/// The story: a baseline that was taken while the processors were busy was compared with as if it were the volume's.
#[test]
fn a_disturbed_baseline_leaves_the_next_guard_without_a_verdict() {
    let (_directory, mut store) = store();
    let nothing = || (plan(), PaidFor::default());
    let first = guarded((800.0, 1), nothing(), None, &mut store).unwrap();
    let disturbed = stored_like(&first, &mut store, |run| {
        run.warnings.push(Warning::new(WarningCode::GeneratorBound, "busy"));
    });
    let run = guarded((400.0, 2), nothing(), Some(disturbed), &mut store).unwrap();
    assert!(verdicts(&run, outcome(&run)).iter().all(|one| one.is_disturbed) && failures(&run).is_empty());
    let clean = guarded((400.0, 3), nothing(), Some(Selector::Number(1)), &mut store).unwrap();
    assert!(!failures(&clean).is_empty(), "{:?}", judged(outcome(&clean)));
}

/// A store of which one run is of a newer iostall.
struct WithNewer<'a> {
    store: &'a mut SqliteStore,
    unreadable: u32,
}

impl Store for WithNewer<'_> {
    fn add(&mut self, run: &Run) -> Result<RunNumber, StoreError> {
        self.store.add(run)
    }

    fn keep(&mut self, run: &Run) -> Result<RunNumber, StoreError> {
        self.store.keep(run)
    }

    fn find(&self, selector: &Selector) -> Result<Entry, StoreError> {
        self.store.find(selector)
    }

    fn get(&self, selector: &Selector) -> Result<Stored, StoreError> {
        if *selector == Selector::Number(self.unreadable) {
            let (run, source) = (selector.to_string(), DocumentError::Encoding("json+zstd2".to_owned()));
            return Err(StoreError::Document { run, source });
        }
        self.store.get(selector)
    }

    fn list(&self, filter: &Filter) -> Result<Vec<Entry>, StoreError> {
        self.store.list(filter)
    }

    fn export(&self, selector: &Selector) -> Result<String, StoreError> {
        self.store.export(selector)
    }

    fn capacities(
        &self,
        device: Option<&str>,
        limit: Option<u32>,
    ) -> Result<Vec<StoredCapacity>, StoreError> {
        self.store.capacities(device, limit)
    }

    fn delete(&mut self, selector: &Selector) -> Result<Entry, StoreError> {
        self.store.delete(selector)
    }
}

#[derive(Default)]
struct Said(Mutex<Vec<String>>);

impl Observer for Said {
    fn on(&self, event: &Event<'_>) {
        if let Event::MayNotFit { message } = event {
            self.0.lock().unwrap().push((*message).to_owned());
        }
    }
}

/// The story: one run of a newer iostall in the store, and no guard of any target could begin, for ever.
#[test]
fn a_run_that_cannot_be_read_is_passed_over_and_counted() {
    let (_directory, mut store) = store();
    for seed in [1, 2] {
        guarded((800.0, seed), (plan(), PaidFor::default()), None, &mut store).unwrap();
    }
    let with_newer = WithNewer { store: &mut store, unreadable: 1 };
    let said = Said::default();
    let request = GuardRequest {
        target: PathBuf::from("volume"),
        plan: plan(),
        baseline: None,
        paid_for: PaidFor::default(),
        databases: Vec::new(),
        name: "guard".to_owned(),
    };
    let run = guard_on((800.0, 3), request, &with_newer, &said).unwrap();
    assert_eq!(outcome(&run).history.len(), 1);
    let said = said.0.lock().unwrap().join("; ");
    assert!(said.contains("1 earlier run cannot be read"), "{said}");
}
