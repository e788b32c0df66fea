//! Reads many sources on a common beat.
//!
//! Each source has a thread: a server that hangs delays its own next reading and nobody else's. What a source
//! could not be asked or did not answer is an event too, so that a hole in the history has its reason.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use iostall_measure::clock::utc_now;
use iostall_model::Sample;
use jiff::Timestamp;

use crate::schedule::{beats_missed, next_beat_ns};
use crate::source::{Filter, Source};

/// How many events may wait for the reader before sources wait too.
const EVENTS_WAITING_MAX: usize = 256;

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
    Gap(Gap),
}

/// Beats without a sample, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Place of the source in the list that was given.
    pub source: usize,
    /// The first beat without a sample.
    pub at: Timestamp,
    /// How many beats have none.
    pub beats: u64,
    /// Why, in a sentence.
    pub reason: String,
    /// What to do about it.
    pub hint: String,
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
            // A thread that panicked has closed its end of the channel: its gap shows in the history.
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

/// One source's thread.
struct Watch {
    index: usize,
    source: Box<dyn Source>,
    options: SamplerOptions,
    sender: SyncSender<Event>,
    stop: Arc<Stop>,
}

impl Watch {
    fn run(mut self) {
        let interval_ns = u64::try_from(self.options.interval.as_nanos()).unwrap_or(u64::MAX).max(1);
        let mut last_ns = None;
        loop {
            let beat_ns = next_beat_ns(utc_ns(), interval_ns, last_ns);
            let is_over = self.options.until.is_some_and(|until| timestamp(beat_ns) > until);
            if is_over || self.wait_until(beat_ns, interval_ns) {
                return;
            }
            let missed = last_ns.map_or(0, |last| beats_missed(last, beat_ns, interval_ns));
            if missed > 0 {
                let first_ns = last_ns.unwrap_or(beat_ns) + interval_ns;
                let reason = "the reading before took longer than the interval".to_owned();
                let hint = "a longer --interval, or fewer databases and files, gives it time".to_owned();
                let gap = Gap { source: self.index, at: timestamp(first_ns), beats: missed, reason, hint };
                if self.sender.send(Event::Gap(gap)).is_err() {
                    return;
                }
            }
            last_ns = Some(beat_ns);
            let event = self.read(timestamp(beat_ns));
            if self.sender.send(event).is_err() {
                return;
            }
        }
    }

    fn read(&mut self, at: Timestamp) -> Event {
        match self.source.read() {
            Ok(mut sample) => {
                sample.rows.retain(|row| self.options.filter.keeps(&row.subject));
                Event::Sample { source: self.index, sample }
            }
            Err(error) => {
                let (reason, hint) = (error.to_string(), error.hint());
                Event::Gap(Gap { source: self.index, at, beats: 1, reason, hint })
            }
        }
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
mod tests {
    use super::*;
    use crate::moment;
    use crate::source::SourceError;
    use iostall_model::Epoch;

    /// Answers at once, or not before it is told to.
    struct Scripted {
        hold: Option<Receiver<()>>,
        fails: bool,
    }

    impl Source for Scripted {
        fn read(&mut self) -> Result<Sample, SourceError> {
            if let Some(hold) = &self.hold {
                let _ = hold.recv();
            }
            if self.fails {
                return Err(SourceError::Connect { source_name: "x".into(), reason: "refused".into() });
            }
            Ok(Sample {
                taken: moment::now(),
                epoch: Epoch::default(),
                rows: Vec::new(),
                warnings: Vec::new(),
            })
        }
    }

    fn options() -> SamplerOptions {
        SamplerOptions { interval: Duration::from_millis(20), until: None, filter: Filter::default() }
    }

    #[test]
    fn a_source_that_hangs_delays_no_other_and_a_dead_one_is_a_gap_with_its_reason() {
        let (release, hold) = std::sync::mpsc::channel();
        let sources: Vec<Box<dyn Source>> = vec![
            Box::new(Scripted { hold: Some(hold), fails: false }),
            Box::new(Scripted { hold: None, fails: false }),
            Box::new(Scripted { hold: None, fails: true }),
        ];
        let (sampler, events) = Sampler::start(sources, &options());
        let (mut answers, mut gaps) = (0, 0);
        while answers < 5 || gaps < 5 {
            match events.recv().unwrap() {
                Event::Sample { source, .. } => {
                    assert_eq!(source, 1, "the one that hangs has not answered");
                    answers += 1;
                }
                Event::Gap(gap) if gap.source == 2 => {
                    assert!(gap.reason.contains("refused"));
                    gaps += 1;
                }
                Event::Gap(gap) => assert_eq!(gap.source, 1, "{gap:?}"),
            }
        }
        drop(release);
        sampler.stopper().stop();
        drop(events);
        sampler.join();
    }

    #[test]
    fn a_reading_longer_than_the_interval_is_recorded_as_missed_beats() {
        let (release, hold) = std::sync::mpsc::channel();
        let sources: Vec<Box<dyn Source>> = vec![
            Box::new(Scripted { hold: Some(hold), fails: false }),
            Box::new(Scripted { hold: None, fails: false }),
        ];
        let (sampler, events) = Sampler::start(sources, &options());
        // Five beats of the other source pass while the first one hangs.
        let mut beats = 0;
        while beats < 5 {
            beats += u32::from(matches!(events.recv().unwrap(), Event::Sample { source: 1, .. }));
        }
        for _ in 0..3 {
            release.send(()).unwrap();
        }
        let missed = std::iter::from_fn(|| events.recv().ok()).find_map(|event| match event {
            Event::Gap(gap) if gap.source == 0 => Some(gap),
            _ => None,
        });
        assert!(missed.unwrap().beats >= 3);
        drop(release);
        sampler.stopper().stop();
        drop(events);
        sampler.join();
    }

    #[test]
    fn the_last_beat_ends_the_sampling_by_itself() {
        let until = utc_now() + jiff::SignedDuration::from_millis(70);
        let options = SamplerOptions { until: Some(until), ..options() };
        let (sampler, events) =
            Sampler::start(vec![Box::new(Scripted { hold: None, fails: false })], &options);
        assert!(events.into_iter().count() <= 4);
        sampler.join();
    }
}
