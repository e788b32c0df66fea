//! Reads hundreds of sources with a few threads.
//!
//! A source is read at its own part of each interval. One that hangs keeps a thread until its time limit is over: so that no others wait
//! for it, sources that have not answered last time have only some of the threads, and a server never more than two.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use iostall_measure::clock::{receive, utc_now, wait_while};
use iostall_model::alert::Now;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::event::{Event, Missed, Next, Sampling};
use super::grace::Grace;
use super::sampler::{EVENTS_WAITING_MAX, Stopper};
use super::source_threads::{SetSource, SourceSet};
use super::ticker::{Due, Ticker};
use crate::clock::{MachineClock, WatchClock, utc_ns};

/// How many sources of one server are read at the same time, and how many connections to it stay open.
const OF_SERVER_MAX: usize = 2;
/// Of so many threads one may read a source that has not answered last time.
const THREADS_OF_ONE_FAILING: usize = 4;
/// Longest wait of a thread: a clock may be set, and sampling may be stopped.
const WAIT: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolLimits {
    pub(crate) threads: usize,
    /// Connections that stay open between readings. Other sources connect for each.
    pub(crate) connections: usize,
}

pub(crate) struct SourcePool {
    shared: Arc<Shared>,
    events: Receiver<Event>,
    threads: Vec<JoinHandle<()>>,
    until: Option<Timestamp>,
    grace: Grace,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    limits: PoolLimits,
    stopper: Stopper,
    clock: MachineClock,
    once: bool,
}

#[derive(Default)]
struct State {
    entries: Vec<Entry>,
    open: HashMap<String, usize>,
    next: u64,
}

struct Entry {
    /// Another one for each time that the source is put.
    number: u64,
    index: usize,
    server: String,
    /// Not there while the source is read.
    ticker: Option<Ticker>,
    due: Option<Due>,
    /// Whether it has not answered last time, or not been asked yet.
    is_failing: bool,
    is_connected: bool,
    is_removed: bool,
}

struct Reading {
    number: u64,
    ticker: Ticker,
    due: Due,
}

impl SourcePool {
    /// Without sources so far; ends after `until`, or with `once` after each source was read.
    pub(crate) fn new(limits: PoolLimits, until: Option<Timestamp>, once: bool) -> Self {
        let (sender, events) = sync_channel(EVENTS_WAITING_MAX);
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            limits,
            stopper: Stopper::default(),
            clock: MachineClock::default(),
            once,
        });
        let thread = |_| {
            let (shared, sender) = (Arc::clone(&shared), sender.clone());
            std::thread::spawn(move || shared.work(&sender))
        };
        let threads = (0..limits.threads.max(1)).map(thread).collect();
        Self { shared, events, threads, until, grace: Grace::default() }
    }

    fn is_over(&mut self) -> bool {
        let is_past = self.until.is_some_and(|until| utc_now() > until);
        let state = self.shared.lock();
        let is_reading = state.entries.iter().any(|entry| entry.ticker.is_none());
        let is_done = self.shared.once && state.entries.is_empty();
        drop(state);
        let is_ending = self.shared.stopper.is_set() || is_past;
        !is_reading && (is_ending || is_done) || self.grace.is_over(is_ending)
    }
}

impl SourceSet for SourcePool {
    fn put(&mut self, index: usize, source: SetSource) {
        self.remove(index);
        let phase = phase_of(&source.name);
        let ticker = Ticker::new(index, source.source, source.options).spread(phase);
        let now = self.shared.clock.now();
        let due = if self.shared.once { Some(Ticker::due_now(now)) } else { ticker.next(now) };
        let mut state = self.shared.lock();
        state.next += 1;
        let entry = Entry {
            number: state.next,
            index,
            server: source.server,
            ticker: Some(ticker),
            due,
            is_failing: true,
            is_connected: false,
            is_removed: false,
        };
        state.entries.push(entry);
        drop(state);
        self.shared.changed.notify_all();
    }

    fn remove(&mut self, index: usize) {
        let mut state = self.shared.lock();
        let State { entries, open, .. } = &mut *state;
        for entry in entries.iter_mut().filter(|entry| entry.index == index) {
            entry.is_removed = true;
        }
        entries.retain(|entry| {
            let is_gone = entry.is_removed && entry.ticker.is_some();
            if is_gone && entry.is_connected {
                close(open, &entry.server);
            }
            !is_gone
        });
    }

    fn stopper(&self) -> Stopper {
        self.shared.stopper.clone()
    }
}

impl Sampling for SourcePool {
    fn next(&mut self, limit: Duration) -> Next {
        let is_over = self.is_over();
        Next::of(&self.events, is_over, limit)
    }
}

impl Drop for SourcePool {
    fn drop(&mut self) {
        self.shared.stopper.stop();
        self.shared.changed.notify_all();
        // A thread that waits for somebody to take its event would wait for ever.
        while self.threads.iter().any(|thread| !thread.is_finished()) && !self.grace.is_over(true) {
            let _ = receive(&self.events, WAIT);
        }
        for thread in self.threads.drain(..).filter(JoinHandle::is_finished) {
            // A panic in a source becomes a gap; nothing else here panics.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, sender: &SyncSender<Event>) {
        while let Some(Reading { number, mut ticker, due }) = self.take() {
            let missed = ticker.missed_before(due);
            let was_resting = ticker.is_resting();
            let event = ticker.tick(due, &self.clock);
            let has_failed = matches!(&event, Event::Missed(Missed { retry: Some(_), .. }));
            if !was_resting && !self.may_stay_open(number, has_failed) {
                ticker.disconnect();
            }
            // Before the next reading of the source, by whichever thread.
            let is_heard = missed.into_iter().chain([event]).all(|event| sender.send(event).is_ok());
            self.put_back(number, ticker, has_failed);
            if !is_heard {
                return;
            }
        }
    }

    fn take(&self) -> Option<Reading> {
        let mut state = self.lock();
        loop {
            if self.stopper.is_set() {
                return None;
            }
            let now = self.clock.now();
            if let Some(place) = self.next_place(&mut state.entries, now) {
                let entry = &mut state.entries[place];
                if let Some((ticker, due)) = entry.ticker.take().zip(entry.due) {
                    let due = ticker.catch_up(due, now);
                    return Some(Reading { number: entry.number, ticker, due });
                }
            }
            let wait = next_due_ns(&state.entries, now).map_or(WAIT, |ns| Duration::from_nanos(ns).min(WAIT));
            let mut has_waited = false;
            state = wait_while(&self.changed, state, wait, |_| !std::mem::replace(&mut has_waited, true));
        }
    }

    /// The source that has been due for longest, of those that may be read now.
    fn next_place(&self, entries: &mut [Entry], now: Now) -> Option<usize> {
        let now_ns = utc_ns(now.utc);
        for entry in entries.iter_mut() {
            entry.follow_clock(now);
        }
        let read: Vec<&Entry> = entries.iter().filter(|entry| entry.ticker.is_none()).collect();
        let failing = read.iter().filter(|entry| entry.is_failing).count();
        let has_room = failing < (self.limits.threads / THREADS_OF_ONE_FAILING).max(1);
        let of_server = |server: &str| read.iter().filter(|entry| entry.server == server).count();
        let may_be_read = |entry: &Entry| {
            let is_resting = entry.ticker.as_ref().is_some_and(Ticker::is_resting);
            is_resting || (has_room || !entry.is_failing) && of_server(&entry.server) < OF_SERVER_MAX
        };
        let due = entries.iter().enumerate().filter_map(|(place, entry)| {
            let at_ns = entry.due?.at_ns;
            (entry.ticker.is_some() && at_ns <= now_ns && may_be_read(entry)).then_some((at_ns, place))
        });
        due.min().map(|(_, place)| place)
    }

    fn may_stay_open(&self, number: u64, has_failed: bool) -> bool {
        let mut state = self.lock();
        let State { entries, open, .. } = &mut *state;
        let Some(entry) = entries.iter_mut().find(|entry| entry.number == number) else { return false };
        let of_server = open.get(&entry.server).copied().unwrap_or(0);
        let has_room = of_server < OF_SERVER_MAX && open.values().sum::<usize>() < self.limits.connections;
        let stays = !has_failed && !entry.is_removed && !self.once && (entry.is_connected || has_room);
        match (entry.is_connected, stays) {
            (false, true) => *open.entry(entry.server.clone()).or_default() += 1,
            (true, false) => close(open, &entry.server),
            _ => {}
        }
        entry.is_connected = stays;
        stays
    }

    fn put_back(&self, number: u64, ticker: Ticker, has_failed: bool) {
        let due = if self.once { None } else { ticker.next(self.clock.now()) };
        let mut state = self.lock();
        if let Some(place) = state.entries.iter().position(|entry| entry.number == number) {
            if state.entries[place].is_removed || due.is_none() {
                let entry = state.entries.swap_remove(place);
                if entry.is_connected {
                    close(&mut state.open, &entry.server);
                }
            } else {
                let entry = &mut state.entries[place];
                (entry.ticker, entry.due, entry.is_failing) = (Some(ticker), due, has_failed);
            }
        }
        drop(state);
        self.changed.notify_all();
    }
}

impl Entry {
    /// A clock that was set back makes the next tick a different one.
    fn follow_clock(&mut self, now: Now) {
        let (Some(ticker), Some(due)) = (&self.ticker, self.due) else { return };
        let wait_ns = due.at_ns.saturating_sub(utc_ns(now.utc));
        if wait_ns > ticker.interval_ns().saturating_mul(2).max(Ticker::FIRST_WAIT_NS) {
            self.due = ticker.next(now);
        }
    }
}

fn close(open: &mut HashMap<String, usize>, server: &str) {
    if let Some(count) = open.get_mut(server) {
        *count = count.saturating_sub(1);
    }
}

/// How long until the next source is due; `None` if some are already, and wait for others.
fn next_due_ns(entries: &[Entry], now: Now) -> Option<u64> {
    let now_ns = utc_ns(now.utc);
    let waiting = entries.iter().filter(|entry| entry.ticker.is_some()).filter_map(|entry| entry.due);
    waiting.map(|due| due.at_ns).filter(|at_ns| *at_ns > now_ns).min().map(|at_ns| at_ns - now_ns)
}

/// The part of its interval at which a source is read: the same after a restart.
fn phase_of(name: &str) -> u32 {
    let hash = Sha256::digest(name.as_bytes());
    hash.iter().take(4).fold(0, |phase, byte| phase << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests;
