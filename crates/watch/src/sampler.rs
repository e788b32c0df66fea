//! Reads many sources on a common beat.
//!
//! Each source has a thread: a server that hangs delays its own next reading and nobody else's. What a source
//! could not be asked or did not answer is an event too, so that a hole in the history has its reason.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use iostall_collect::{Filter, Source, SourceError};
use iostall_measure::clock::utc_now;
use iostall_measure::{Clock, MonotonicClock};
use iostall_model::{Gap, Sample};
use jiff::Timestamp;

use crate::schedule::{beats_missed, beats_until_retry, next_beat_ns};

/// How many events may wait for the reader before sources wait too.
const EVENTS_WAITING_MAX: usize = 256;

/// Why beats were missed, and what to do: the source was slow …
const READ_TOO_LONG: (&str, &str) = (
    "the reading before took longer than the interval",
    "a longer --interval, or fewer databases and files, gives it time",
);
/// … or it was not, and we were …
const HELD_UP: (&str, &str) = (
    "iostall itself was held up",
    "see whether this machine is short of processors, or slow to write the store",
);
/// … or the time never was.
const SLEPT: (&str, &str) = (
    "this machine slept, or its clock was set forward",
    "let a time service move the clock little by little",
);

/// What to read, how often and how long.
#[derive(Clone, Debug)]
pub struct SamplerOptions {
    /// From beat to beat; at least a second makes sense.
    pub interval: Duration,
    /// The last beat; `None`: until told to stop.
    pub until: Option<Timestamp>,
    /// Which rows to keep.
    pub filter: Filter,
}

/// What a source did at a beat.
#[derive(Debug)]
pub enum Event {
    /// It answered.
    Sample {
        /// Place of the source in the list that was given.
        source: usize,
        /// Its answer, filtered.
        sample: Sample,
    },
    /// It did not.
    Missed(Missed),
}

/// A gap as it comes up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// Place of the source in the list that was given.
    pub source: usize,
    /// What is kept of it.
    pub gap: Gap,
    /// What to do about it.
    pub hint: String,
    /// When the source is asked again; `None` where that is being done already.
    pub retry: Option<Retry>,
}

/// The next try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// At which beat.
    pub at: Timestamp,
    /// How many beats that is after the last try: more, the more often a server has refused.
    pub beats: u64,
}

/// The threads that read.
pub struct Sampler {
    stop: Arc<Stop>,
    threads: Vec<JoinHandle<()>>,
}

impl Sampler {
    /// Starts a thread for every source. Events arrive until the last beat is over or `Sampler::stop` is
    /// called; then the channel closes.
    pub fn start(sources: Vec<Box<dyn Source>>, options: &SamplerOptions) -> (Self, Receiver<Event>) {
        let (sender, receiver) = sync_channel(EVENTS_WAITING_MAX);
        let stop = Arc::new(Stop::default());
        let threads = sources
            .into_iter()
            .enumerate()
            .map(|(index, mut source)| {
                source.narrow(&options.filter);
                let one = Watch {
                    index,
                    source,
                    options: options.clone(),
                    sender: sender.clone(),
                    stop: stop.clone(),
                    clock: MonotonicClock::new(),
                    failures: 0,
                    rest: None,
                };
                std::thread::spawn(move || one.run())
            })
            .collect();
        (Self { stop, threads }, receiver)
    }

    /// A handle that ends the sampling from anywhere, a signal's thread included.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Waits for the threads to end. Ends at once only after [`Stopper::stop`] and with the channel drained.
    pub fn join(self) {
        for thread in self.threads {
            // What panics in a source is a gap; nothing else here does.
            let _ = thread.join();
        }
    }
}

/// Ends the sampling.
#[derive(Clone)]
pub struct Stopper(Arc<Stop>);

impl Stopper {
    /// No beat begins after this; readings under way end within their limit.
    pub fn stop(&self) {
        self.0.set();
    }
}

#[derive(Default)]
struct Stop {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    fn set(&self) {
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for `length` or until stopped; whether it was stopped.
    fn wait(&self, length: Duration) -> bool {
        let guard = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let (guard, _) = self
            .changed
            .wait_timeout_while(guard, length, |is_set| !*is_set)
            .unwrap_or_else(PoisonError::into_inner);
        *guard
    }
}

/// A beat that is over.
struct Beat {
    due_ns: u64,
    /// When reading began, by the clock that stands still while the machine sleeps.
    began_ns: u64,
    /// Whether reading took an interval or longer.
    was_slow: bool,
}

/// One source's thread.
struct Watch {
    index: usize,
    source: Box<dyn Source>,
    options: SamplerOptions,
    sender: SyncSender<Event>,
    stop: Arc<Stop>,
    clock: MonotonicClock,
    /// Tries that failed one after the other, those not counted after which the next beat tries again.
    failures: u32,
    /// Beats for which the source is still left alone, and the gap that each of them is.
    rest: Option<(u64, Missed)>,
}

impl Watch {
    fn run(mut self) {
        let interval_ns = self.interval_ns();
        let mut last: Option<Beat> = None;
        loop {
            let last_ns = last.as_ref().map(|last| last.due_ns);
            let beat_ns = next_beat_ns(utc_ns(), interval_ns, last_ns);
            let awake_ns = last.as_ref().map_or(0, |last| self.clock.now_ns().saturating_sub(last.began_ns));
            let is_over = self.options.until.is_some_and(|until| timestamp(beat_ns) > until);
            if is_over || self.wait_until(beat_ns, interval_ns) {
                return;
            }
            if let Some(last) = &last
                && let missed @ 1.. = beats_missed(last.due_ns, beat_ns, interval_ns)
            {
                let why = match () {
                    () if last.was_slow => READ_TOO_LONG,
                    () if awake_ns >= interval_ns => HELD_UP,
                    () => SLEPT,
                };
                let gap = self.missed(timestamp(last.due_ns + interval_ns), missed, why);
                if self.sender.send(Event::Missed(gap)).is_err() {
                    return;
                }
            }
            let began_ns = self.clock.now_ns();
            let event = self.at_beat(timestamp(beat_ns));
            let was_slow = self.clock.now_ns() - began_ns >= interval_ns;
            last = Some(Beat { due_ns: beat_ns, began_ns, was_slow });
            if self.sender.send(event).is_err() {
                return;
            }
        }
    }

    fn interval_ns(&self) -> u64 {
        u64::try_from(self.options.interval.as_nanos()).unwrap_or(u64::MAX).max(1)
    }

    /// Beats that went by while this thread did something else or did not run.
    fn missed(&self, at: Timestamp, missed: u64, (reason, hint): (&str, &str)) -> Missed {
        let gap = Gap { at, missed, reason: reason.into() };
        Missed { source: self.index, gap, hint: hint.into(), retry: None }
    }

    fn at_beat(&mut self, at: Timestamp) -> Event {
        if let Some((beats, missed)) = &mut self.rest
            && *beats > 0
        {
            *beats -= 1;
            let gap = Gap { at, ..missed.gap.clone() };
            return Event::Missed(Missed { gap, ..missed.clone() });
        }
        // A panic in one source's thread would end it unnoticed, while the others go on for months.
        let read = catch_unwind(AssertUnwindSafe(|| self.source.read()));
        match read.unwrap_or(Err(SourceError::Defect)) {
            Ok(mut sample) => {
                (self.failures, self.rest) = (0, None);
                sample.rows.retain(|row| self.options.filter.keeps(&row.subject));
                Event::Sample { source: self.index, sample }
            }
            Err(error) => Event::Missed(self.failed(at, &error)),
        }
    }

    /// The gap of a try that failed, and how many beats go by until the next.
    fn failed(&mut self, at: Timestamp, error: &SourceError) -> Missed {
        let interval_ns = self.interval_ns();
        let longest = error.longest_pause().map(|pause| u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX));
        let beats = longest.map_or(1, |longest_ns| {
            self.failures = self.failures.saturating_add(1);
            beats_until_retry(self.failures, interval_ns, longest_ns)
        });
        let next_ns = next_beat_ns(utc_ns(), interval_ns, None).saturating_add((beats - 1) * interval_ns);
        let missed = Missed {
            source: self.index,
            gap: Gap { at, missed: 1, reason: error.to_string() },
            hint: error.hint(),
            retry: Some(Retry { at: timestamp(next_ns), beats }),
        };
        self.rest = Some((beats - 1, missed.clone()));
        missed
    }

    /// Waits for the beat by the wall clock; whether to stop instead. A clock set back ends the wait: the next
    /// beat is then another one.
    fn wait_until(&self, beat_ns: u64, interval_ns: u64) -> bool {
        loop {
            let now_ns = utc_ns();
            if now_ns >= beat_ns {
                return self.stop.wait(Duration::ZERO);
            }
            let wait_ns = (beat_ns - now_ns).min(interval_ns.saturating_mul(2));
            if self.stop.wait(Duration::from_nanos(wait_ns)) {
                return true;
            }
            if beat_ns.saturating_sub(utc_ns()) > interval_ns.saturating_mul(2) {
                return false;
            }
        }
    }
}

fn utc_ns() -> u64 {
    u64::try_from(utc_now().as_nanosecond()).unwrap_or(0)
}

fn timestamp(ns: u64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(ns)).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
