//! Current values of the sources being sampled.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use iostall_model::{Change, ResetReason, Sample, Step};

use crate::clock::WatchClock;
use crate::figure::Figure;
use crate::push::PushCounts;

#[derive(Clone, Debug, Default)]
pub struct SourceNow {
    pub name: String,
    pub last: Option<Arc<Sample>>,
    pub is_up: bool,
    pub age_ns: Option<u64>,
    pub samples: u64,
    /// Missed samples since then.
    pub gaps: u64,
    /// Row intervals lost to resets since then, by reason.
    pub resets: BTreeMap<ResetReason, u64>,
}

struct Seen {
    now: SourceNow,
    arrived_ns: Option<u64>,
    is_retired: bool,
}

/// The current values. Clones share them.
#[derive(Clone)]
pub struct Metrics<C> {
    seen: Arc<Mutex<Vec<Seen>>>,
    pushes: Arc<Mutex<Vec<Arc<PushCounts>>>>,
    clock: C,
}

impl<C: WatchClock> Metrics<C> {
    pub fn new(clock: C) -> Self {
        Self { seen: Arc::default(), pushes: Arc::default(), clock }
    }

    /// Adds a source, which is not up until its first tick. Sources are numbered in order of addition.
    pub(crate) fn add(&self, name: &str) {
        let now = SourceNow { name: name.to_owned(), ..SourceNow::default() };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push(Seen { now, arrived_ns: None, is_retired: false });
    }

    /// Source number `source` is not sampled any more, and has no values.
    pub(crate) fn retire(&self, source: usize) {
        self.change(source, |seen| seen.is_retired = true);
    }

    /// The current state of the sources. Samples are shared, so the lock is held only briefly.
    pub fn now(&self) -> Vec<SourceNow> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ns = self.clock.now().clock_ns;
        let with_age = |seen: &Seen| SourceNow {
            age_ns: seen.arrived_ns.map(|arrived_ns| now_ns.saturating_sub(arrived_ns)),
            ..seen.now.clone()
        };
        seen.iter().filter(|seen| !seen.is_retired).map(with_age).collect()
    }

    pub(crate) fn put_pushes(&self, pushes: Vec<Arc<PushCounts>>) {
        *self.pushes.lock().unwrap_or_else(PoisonError::into_inner) = pushes;
    }

    /// What does not arrive at the receivers.
    pub fn figures(&self) -> Vec<Figure> {
        let pushes = self.pushes.lock().unwrap_or_else(PoisonError::into_inner);
        pushes.iter().flat_map(|push| push.now().figures()).collect()
    }

    pub(crate) fn step(&self, source: usize, step: &Step) {
        let arrived_ns = Some(self.clock.now().clock_ns);
        self.change(source, |seen| {
            seen.arrived_ns = arrived_ns;
            seen.now.last = Some(Arc::clone(&step.sample));
            seen.now.is_up = true;
            seen.now.samples += 1;
            for change in &step.changes {
                if let Change::Reset(reason) = change {
                    *seen.now.resets.entry(*reason).or_default() += 1;
                }
            }
        });
    }

    pub(crate) fn gap(&self, source: usize, missed: u64) {
        self.change(source, |seen| {
            seen.now.is_up = false;
            seen.now.gaps += missed;
        });
    }

    fn change(&self, source: usize, change: impl FnOnce(&mut Seen)) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = seen.get_mut(source) {
            change(seen);
        }
    }
}
