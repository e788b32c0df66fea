//! Simulated servers of a fleet in one process: what `iostall fleet send --follow` runs, each with a key and a store of its own, on a
//! few threads. The samples of a store are made up when they are read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use iostall_measure::clock::utc_now;
use iostall_measure::{Clock as _, MonotonicClock};
use iostall_model::RunId;
use iostall_model::device::Placement;
use iostall_store::{Appended, Batch, RunMark, RunPut, SentRun, SentSheet, SheetMark, SheetPut, SourceId};
use iostall_watch::centre::Centre;
use iostall_watch::{Destination, FollowEvent, Follower, Known, WatchError};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::fleet_made_up::MadeUpStore;

/// Each has one connection at most, as a server has.
const THREADS: u64 = 256;
/// A store is looked at when it has a sample; otherwise it would be looked at so often.
const LOOK: Duration = Duration::from_secs(1);
const STACK_BYTES: usize = 512 << 10;
/// Nobody is due for so long at least, nanoseconds.
const REST_NS: u64 = 5_000_000;

/// What they saw, in the order in which they saw it.
#[derive(Default)]
pub(crate) struct Told {
    /// From when a sample was taken to when it was confirmed, milliseconds, while the service was up from the beginning.
    pub(crate) lags_ms: Mutex<Vec<u64>>,
    /// The same once it was away.
    pub(crate) late_lags_ms: Mutex<Vec<u64>>,
    /// When a server was answered for the first time after the service was away, milliseconds after that was back.
    pub(crate) back_ms: Mutex<Vec<u64>>,
    /// Servers that have sent.
    pub(crate) sent: AtomicU64,
    /// Servers that have noticed that the service was away.
    pub(crate) cut: AtomicU64,
    /// Tries that failed.
    pub(crate) failures: AtomicU64,
    /// When the service came back, nanoseconds of the clock of all; 0 before.
    back_at_ns: AtomicU64,
}

struct Agent {
    store: MadeUpStore,
    centre: Centre,
    follower: Follower,
    /// The last sample that was confirmed.
    confirmed: u64,
    is_cut: bool,
}

struct Shared {
    agents: Vec<Mutex<Agent>>,
    /// When each looks again, nanoseconds.
    due: Mutex<BinaryHeap<Reverse<(u64, usize)>>>,
    is_over: AtomicBool,
    clock: MonotonicClock,
    told: Told,
}

/// See the module.
pub(crate) struct Agents {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// Which servers there are.
pub(crate) struct Fleet<'a> {
    pub(crate) servers: u64,
    /// Each takes a sample so often, and all of them spread over that time.
    pub(crate) interval: SignedDuration,
    /// Of the centre.
    pub(crate) address: &'a str,
    pub(crate) fingerprint: &'a str,
    /// Where their keys are.
    pub(crate) place: &'a Path,
}

impl Agents {
    /// Has all of them begin.
    pub(crate) fn start(fleet: &Fleet<'_>) -> Self {
        let (begun, clock) = (utc_now(), MonotonicClock::new());
        let agent = |number| {
            let store = fleet.place.join(format!("{number}.db"));
            write_key(&store, number, fleet);
            let first = begun
                + fleet.interval * i32::try_from(number).unwrap() / i32::try_from(fleet.servers).unwrap();
            Mutex::new(Agent {
                store: MadeUpStore::new(number, first, fleet.interval),
                centre: Centre::open(&store, fleet.address).unwrap(),
                follower: Follower::new(LOOK, &clock),
                confirmed: 0,
                is_cut: false,
            })
        };
        let agents: Vec<Mutex<Agent>> = (0..fleet.servers).map(agent).collect();
        let first = |agent: &Mutex<Agent>| clock.now_ns() + agent.lock().unwrap().store.next_in_ns();
        let due = agents.iter().enumerate().map(|(place, agent)| Reverse((first(agent), place))).collect();
        let shared = Arc::new(Shared {
            agents,
            due: Mutex::new(due),
            is_over: AtomicBool::new(false),
            clock,
            told: Told::default(),
        });
        let thread = |_| {
            let shared = Arc::clone(&shared);
            let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
            builder.spawn(move || shared.run()).unwrap()
        };
        let threads = (0..THREADS.min(fleet.servers)).map(thread).collect();
        Self { shared, threads }
    }

    pub(crate) fn told(&self) -> &Told {
        &self.shared.told
    }

    /// The service is back.
    pub(crate) fn is_back(&self) {
        self.told().back_at_ns.store(self.shared.clock.now_ns(), Ordering::Relaxed);
    }

    /// Ends all; the last sample of each that was confirmed.
    pub(crate) fn end(self) -> (Vec<u64>, Told) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
        let shared = Arc::into_inner(self.shared).unwrap();
        let confirmed =
            shared.agents.into_iter().map(|agent| agent.into_inner().unwrap().confirmed).collect();
        (confirmed, shared.told)
    }
}

/// What a server has beside its store once it has joined.
pub(crate) fn write_key(store: &Path, number: u64, fleet: &Fleet<'_>) {
    let key = Sha256::digest(format!("key {number}"));
    let secret = key.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    let document = json!({"version": 1, "centres": [{
        "address": fleet.address, "certificate": fleet.fingerprint, "name": format!("agent {number}"),
        "keys": [{"secret": secret, "made": utc_now()}],
    }]});
    let path = store.with_extension("db.fleet");
    std::fs::write(&path, document.to_string()).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::write(store, []).unwrap();
}

impl Shared {
    fn run(&self) {
        while !self.is_over.load(Ordering::Relaxed) {
            let now_ns = self.clock.now_ns();
            let next = self.due.lock().unwrap().pop();
            match next {
                Some(Reverse((due_ns, place))) if due_ns <= now_ns => {
                    let pause_ns = self.look(&mut self.agents[place].lock().unwrap());
                    self.due.lock().unwrap().push(Reverse((self.clock.now_ns() + pause_ns, place)));
                }
                next => {
                    self.due.lock().unwrap().extend(next);
                    self.clock.sleep_until(now_ns + REST_NS);
                }
            }
        }
    }

    /// How long to wait before the next look, nanoseconds.
    fn look(&self, agent: &mut Agent) -> u64 {
        let Agent { store, centre, follower, confirmed, is_cut } = agent;
        let mut failed = None;
        let mut to = Watched { centre, shared: self, confirmed, is_cut };
        let looked = follower.look(store, &mut to, &self.clock, &self.is_over, &mut |event| {
            if let FollowEvent::Cut(error) = event {
                failed = Some(error.to_string());
            }
        });
        let pause_ns = looked.unwrap();
        if failed.is_some() && self.told.back_at_ns.load(Ordering::Relaxed) == 0 && !*is_cut {
            *is_cut = true;
            self.told.cut.fetch_add(1, Ordering::Relaxed);
        }
        if u128::from(pause_ns) == LOOK.as_nanos() { store.next_in_ns() } else { pause_ns }
    }
}

/// The real centre, and what comes of it.
struct Watched<'a> {
    centre: &'a mut Centre,
    shared: &'a Shared,
    confirmed: &'a mut u64,
    is_cut: &'a mut bool,
}

impl Watched<'_> {
    fn counted<T>(&self, done: Result<T, WatchError>) -> Result<T, WatchError> {
        if done.is_err() {
            self.shared.told.failures.fetch_add(1, Ordering::Relaxed);
        }
        done
    }
}

impl Destination for Watched<'_> {
    fn begin(&mut self) -> Result<Option<String>, WatchError> {
        let done = self.centre.begin();
        self.counted(done)
    }

    fn remembered_as(&self) -> Option<&str> {
        self.centre.remembered_as()
    }

    fn known(&mut self, source: SourceId) -> Result<Known, WatchError> {
        let done = self.centre.known(source);
        let known = self.counted(done)?;
        assert!(
            known.appended >= *self.confirmed,
            "{} after {} were confirmed",
            known.appended,
            self.confirmed
        );
        let back_at_ns = self.shared.told.back_at_ns.load(Ordering::Relaxed);
        if back_at_ns > 0 && std::mem::take(self.is_cut) {
            let back_ms = (self.shared.clock.now_ns() - back_at_ns) / 1_000_000;
            self.shared.told.back_ms.lock().unwrap().push(back_ms);
        }
        Ok(known)
    }

    fn append(&mut self, after: u64, batch: &Batch) -> Result<Appended, WatchError> {
        let done = self.centre.append(after, batch);
        let appended = self.counted(done)?;
        let told = &self.shared.told;
        if *self.confirmed == 0 {
            told.sent.fetch_add(1, Ordering::Relaxed);
        }
        *self.confirmed = batch.sequence;
        let newest: Timestamp = *batch.samples.taken_utc.last().unwrap();
        let lag_ms = u64::try_from(utc_now().duration_since(newest).as_millis()).unwrap_or(0);
        let is_late = told.cut.load(Ordering::Relaxed) > 0 || told.back_at_ns.load(Ordering::Relaxed) > 0;
        if is_late { &told.late_lags_ms } else { &told.lags_ms }.lock().unwrap().push(lag_ms);
        Ok(appended)
    }

    fn place(&mut self, source: SourceId, placements: &[Placement]) -> Result<(), WatchError> {
        let done = self.centre.place(source, placements);
        self.counted(done)
    }

    fn lacking_runs(&mut self, marks: &[RunMark]) -> Result<Option<Vec<RunId>>, WatchError> {
        let done = self.centre.lacking_runs(marks);
        self.counted(done)
    }

    fn put_run(&mut self, run: &SentRun) -> Result<RunPut, WatchError> {
        let done = self.centre.put_run(run);
        self.counted(done)
    }

    fn lacking_sheets(&mut self, marks: &[SheetMark]) -> Result<Option<Vec<SheetMark>>, WatchError> {
        let done = self.centre.lacking_sheets(marks);
        self.counted(done)
    }

    fn put_sheet(&mut self, sheet: &SentSheet) -> Result<SheetPut, WatchError> {
        let done = self.centre.put_sheet(sheet);
        self.counted(done)
    }
}
