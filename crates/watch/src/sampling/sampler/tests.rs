//! Sources that hang, fail, refuse and panic.

use super::*;
use iostall_collect::{Filter, SourceError};
use iostall_measure::clock::utc_now;
use iostall_measure::{Clock, MonotonicClock};
use iostall_model::{Epoch, Sample, SampleTime};
use jiff::Timestamp;

use super::super::event::Missed;
use super::super::ticker::HELD_UP;
use std::sync::mpsc::{Sender, channel};

/// Answers at once, or says that it was asked and answers when it is told to.
struct Scripted {
    hold: Option<(Sender<Timestamp>, Receiver<()>)>,
    fails: bool,
}

impl Source for Scripted {
    fn read(&mut self) -> Result<Sample, SourceError> {
        if let Some((asked, hold)) = &self.hold {
            let _ = asked.send(utc_now());
            let _ = hold.recv();
        }
        if self.fails {
            return Err(SourceError::Connect { source_name: "x".into(), reason: "refused".into() });
        }
        Ok(Sample { taken: taken(), epoch: Epoch::default(), rows: Vec::new(), warnings: Vec::new() })
    }
}

fn taken() -> SampleTime {
    SampleTime { utc: utc_now(), clock: "test".into(), clock_ns: 1 }
}

const INTERVAL: Duration = Duration::from_millis(20);

fn options() -> SamplerOptions {
    SamplerOptions { interval: INTERVAL, until: None, filter: Filter::default() }
}

/// A thread that a busy machine kept from running misses ticks as well, and says so in a gap of its own.
fn is_missed(gap: &Missed) -> bool {
    gap.retry.is_none()
}

#[test]
fn a_source_that_hangs_delays_no_other_and_a_dead_one_is_a_gap_with_its_reason() {
    let (release, hold) = channel();
    let (asked, _hanging) = channel();
    let sources: Vec<Box<dyn Source>> = vec![
        Box::new(Scripted { hold: Some((asked, hold)), fails: false }),
        Box::new(Scripted { hold: None, fails: false }),
        Box::new(Scripted { hold: None, fails: true }),
    ];
    let (sampler, events) = Sampler::start(sources, &options());
    let (mut answers, mut gaps) = (0, 0);
    while answers < 5 || gaps < 5 {
        match events.recv().unwrap() {
            Event::Step { source, .. } => {
                assert_eq!(source, 1, "the one that hangs has not answered");
                answers += 1;
            }
            Event::Missed(gap) if is_missed(&gap) => assert_ne!(gap.source, 0, "{gap:?}"),
            Event::Missed(gap) => {
                assert!(gap.source == 2 && gap.gap.reason.contains("refused"), "{gap:?}");
                gaps += 1;
            }
        }
    }
    drop(release);
    sampler.stopper().stop();
    drop(events);
    sampler.join();
}

/// Refuses at the tries for which there is a `false`, and after the last of them.
struct Doorkeeper {
    lets_in: std::vec::IntoIter<bool>,
    tries: Arc<Mutex<u32>>,
}

impl Source for Doorkeeper {
    fn read(&mut self) -> Result<Sample, SourceError> {
        *self.tries.lock().unwrap() += 1;
        if self.lets_in.next().unwrap_or(false) {
            return Scripted { hold: None, fails: false }.read();
        }
        let (source_name, user) = ("x".to_owned(), "mon".to_owned());
        Err(SourceError::Login { source_name, user, reason: "wrong password".into() })
    }
}

#[test]
fn a_login_that_is_refused_is_tried_after_one_two_and_four_ticks_and_anew_after_a_success() {
    let tries = Arc::new(Mutex::new(0));
    let lets_in = vec![false, false, false, true].into_iter();
    let door = Doorkeeper { lets_in, tries: tries.clone() };
    let (sampler, events) = Sampler::start(vec![Box::new(door)], &options());
    // A machine that is busy with something else misses ticks: those are gaps of another kind.
    let is_of_the_door = |event: &Event| !matches!(event, Event::Missed(gap) if is_missed(gap));
    let pauses: Vec<u64> = events
        .iter()
        .filter(is_of_the_door)
        .take(12)
        .map(|event| match event {
            Event::Missed(gap) => gap.retry.unwrap().ticks,
            Event::Step { .. } => 0,
        })
        .collect();
    // Tries at the ticks 0, 1, 3 and 7; the last lets us in. Then at 8, 9 and 11.
    assert_eq!(pauses, [1, 2, 2, 4, 4, 4, 4, 0, 1, 2, 2, 4]);
    sampler.stopper().stop();
    drop(events);
    sampler.join();
    assert!(*tries.lock().unwrap() >= 7);
}

/// Fails as no source should.
struct Broken;

impl Source for Broken {
    fn read(&mut self) -> Result<Sample, SourceError> {
        panic!("nobody thought of this")
    }
}

/// A name that was not UTF-8 made the thread of its source panic: the collector went on without it, said nothing
/// and ended well.
#[test]
fn a_source_that_panics_is_a_gap_and_not_a_silence() {
    let (sampler, events) = Sampler::start(vec![Box::new(Broken)], &options());
    let gap = events.iter().find_map(|event| match event {
        Event::Missed(gap) if !is_missed(&gap) => Some(gap),
        _ => None,
    });
    assert!(gap.unwrap().gap.reason.contains("iostall itself failed"));
    sampler.stopper().stop();
    drop(events);
    sampler.join();
}

#[test]
fn a_reading_longer_than_the_interval_is_recorded_as_missed_ticks() {
    let (release, hold) = channel();
    let (asked, is_asked) = channel();
    let sources: Vec<Box<dyn Source>> = vec![
        Box::new(Scripted { hold: Some((asked, hold)), fails: false }),
        Box::new(Scripted { hold: None, fails: false }),
    ];
    let (sampler, events) = Sampler::start(sources, &options());
    // Five intervals pass while the first source hangs, by the clock of the other one's samples.
    let hangs_until = is_asked.recv().unwrap() + 5 * INTERVAL;
    let has_passed = |event: &Event| matches!(event, Event::Step { step, .. } if step.at() >= hangs_until);
    assert!(events.iter().any(|event| has_passed(&event)));
    release.send(()).unwrap();
    let missed = events.iter().find_map(|event| match event {
        Event::Missed(gap) if gap.source == 0 => Some(gap),
        _ => None,
    });
    let missed = missed.unwrap();
    assert!(missed.gap.missed >= 5 && missed.gap.reason.contains("longer than the interval"), "{missed:?}");
    drop(release);
    sampler.stopper().stop();
    drop(events);
    sampler.join();
}

#[test]
fn ticks_missed_while_nobody_took_the_events_are_not_laid_on_the_source() {
    let options = SamplerOptions { interval: Duration::from_millis(1), ..options() };
    let source: Box<dyn Source> = Box::new(Scripted { hold: None, fails: false });
    let (sampler, events) = Sampler::start(vec![source], &options);
    // Nothing is taken for twice as long as it takes to fill the channel. On a busy machine the one reading before the
    // wait may by chance have been slow as well: then it is as long again.
    let clock = MonotonicClock::new();
    let held_up = (0..100).any(|_| {
        clock.sleep_until(clock.now_ns() + 2 * EVENTS_WAITING_MAX as u64 * 1_000_000);
        let mut taken = events.iter().take(2 * EVENTS_WAITING_MAX);
        taken.any(|event| matches!(event, Event::Missed(gap) if gap.gap.reason == HELD_UP.0))
    });
    assert!(held_up);
    sampler.stopper().stop();
    drop(events);
    sampler.join();
}

#[test]
fn the_last_tick_ends_the_sampling_by_itself() {
    let until = utc_now() + jiff::SignedDuration::from_millis(70);
    let options = SamplerOptions { until: Some(until), ..options() };
    let (sampler, events) = Sampler::start(vec![Box::new(Scripted { hold: None, fails: false })], &options);
    assert!(events.into_iter().count() <= 4);
    sampler.join();
}
