//! The ticks of one source, except the waiting.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use iostall_collect::{Source, SourceError};
use iostall_engine::random_bytes;
use iostall_model::alert::Now;
use iostall_model::device::Placement;
use iostall_model::{Gap, Sample, Step, with_unread_of};
use jiff::Timestamp;

use super::event::{Event, Missed, Retry, SamplerOptions};
use super::schedule::{next_tick_ns, ticks_missed, ticks_until_retry};
use crate::clock::{WatchClock, timestamp, utc_ns};

/// Why samples were missed, and what to do: the source was slow …
pub(super) const READ_TOO_LONG: (&str, &str) = (
    "the previous reading took longer than the interval",
    "use a longer --interval, or read fewer databases and files",
);
pub(super) const HELD_UP: (&str, &str) = (
    "iostall itself was delayed",
    "check whether this machine is short of CPU time or slow in writing the store",
);
/// … or the machine was suspended.
pub(super) const SLEPT: (&str, &str) =
    ("this machine slept, or its clock was set forward", "let a time service adjust the clock gradually");

/// A first tick that is farther away is not waited for: a wrong address is noticed at once, not in an hour.
const FIRST_WAIT_NS_MAX: u64 = 60_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// Calendar time, nanoseconds since 1970.
    pub(crate) at_ns: u64,
    /// Time from the start of the last reading to the start of the wait for this tick, on the clock that
    /// stops while the machine sleeps.
    awake_ns: u64,
}

struct Last {
    /// Without the phase.
    due_ns: u64,
    began_ns: u64,
    was_slow: bool,
}

pub(crate) struct Ticker {
    index: usize,
    source: Box<dyn Source>,
    options: SamplerOptions,
    /// How long after whole intervals it is read, and pauses differ at random; `None`: at whole intervals, and they do not.
    phase_ns: Option<u64>,
    last: Option<Last>,
    /// Consecutive failures, except those after which the next tick tries again.
    failures: u32,
    /// Ticks for which the source is still left alone, and the gap for each.
    rest: Option<(u64, Missed)>,
    before: Option<Arc<Sample>>,
    /// What its volumes are, as it said last.
    placements: Vec<Placement>,
    gaps: Vec<Gap>,
}

impl Ticker {
    pub(super) const FIRST_WAIT_NS: u64 = FIRST_WAIT_NS_MAX;

    pub(crate) fn new(index: usize, mut source: Box<dyn Source>, options: SamplerOptions) -> Self {
        source.narrow(&options.filter);
        Self {
            index,
            source,
            options,
            phase_ns: None,
            last: None,
            failures: 0,
            rest: None,
            before: None,
            placements: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// Reads when `phase` parts of 2³² of each interval are over, and leaves a failing source alone for a time that is not the same
    /// for all.
    pub(crate) fn spread(self, phase: u32) -> Self {
        let phase_ns = (u128::from(self.interval_ns()) * u128::from(phase)) >> u32::BITS;
        Self { phase_ns: Some(u64::try_from(phase_ns).unwrap_or(0)), ..self }
    }

    pub(crate) fn disconnect(&mut self) {
        self.source.disconnect();
    }

    pub(crate) fn is_resting(&self) -> bool {
        self.rest.as_ref().is_some_and(|(ticks, _)| *ticks > 0)
    }

    pub(crate) fn due_now(now: Now) -> Due {
        Due { at_ns: utc_ns(now.utc), awake_ns: 0 }
    }

    /// The newest tick up to `now`, where `due` has passed longer than an interval ago.
    pub(crate) fn catch_up(&self, due: Due, now: Now) -> Due {
        let late = utc_ns(now.utc).saturating_sub(due.at_ns) / self.interval_ns();
        let awake_ns = self.last.as_ref().map_or(0, |last| now.clock_ns.saturating_sub(last.began_ns));
        if late == 0 { due } else { Due { at_ns: due.at_ns + late * self.interval_ns(), awake_ns } }
    }

    fn phase_ns(&self) -> u64 {
        self.phase_ns.unwrap_or(0)
    }

    pub(crate) fn interval_ns(&self) -> u64 {
        u64::try_from(self.options.interval.as_nanos()).unwrap_or(u64::MAX).max(1)
    }

    pub(crate) fn next(&self, now: Now) -> Option<Due> {
        let (last, now_ns) = (self.last.as_ref(), utc_ns(now.utc));
        let phase_ns = self.phase_ns();
        let base_ns = now_ns.saturating_sub(phase_ns);
        let tick_ns =
            next_tick_ns(base_ns, self.interval_ns(), last.map(|last| last.due_ns)).saturating_add(phase_ns);
        let is_at_once = last.is_none() && tick_ns - now_ns > FIRST_WAIT_NS_MAX;
        let at_ns = if is_at_once { now_ns + phase_ns % FIRST_WAIT_NS_MAX } else { tick_ns };
        let awake_ns = last.map_or(0, |last| now.clock_ns.saturating_sub(last.began_ns));
        let is_over = self.options.until.is_some_and(|until| timestamp(at_ns) > until);
        (!is_over).then_some(Due { at_ns, awake_ns })
    }

    /// The result of the tick `due`. Called after [`Ticker::missed_before`], whose result need not wait for a
    /// long reading.
    pub(crate) fn tick(&mut self, due: Due, clock: &impl WatchClock) -> Event {
        let began_ns = clock.now().clock_ns;
        let event = self.read(timestamp(due.at_ns), clock);
        let was_slow = clock.now().clock_ns.saturating_sub(began_ns) >= self.interval_ns();
        let base_ns = due.at_ns.saturating_sub(self.phase_ns());
        let due_ns = base_ns - base_ns % self.interval_ns();
        self.last = Some(Last { due_ns, began_ns, was_slow });
        event
    }

    /// Ticks that passed during a long reading or while the process did not run.
    pub(crate) fn missed_before(&mut self, due: Due) -> Option<Event> {
        let interval_ns = self.interval_ns();
        let last = self.last.as_ref()?;
        let phase_ns = self.phase_ns();
        let missed = ticks_missed(last.due_ns, due.at_ns.saturating_sub(phase_ns), interval_ns);
        let (reason, hint) = match () {
            () if missed == 0 => return None,
            () if last.was_slow => READ_TOO_LONG,
            () if due.awake_ns >= interval_ns => HELD_UP,
            () => SLEPT,
        };
        let at = timestamp(last.due_ns + interval_ns + phase_ns);
        let gap = Gap { at, missed, reason: reason.into() };
        Some(self.report(Missed { source: self.index, gap, hint: hint.into(), retry: None }))
    }

    fn report(&mut self, missed: Missed) -> Event {
        match self.gaps.last_mut().filter(|last| last.reason == missed.gap.reason) {
            Some(last) => last.missed = last.missed.saturating_add(missed.gap.missed),
            None => self.gaps.push(missed.gap.clone()),
        }
        Event::Missed(missed)
    }

    fn read(&mut self, at: Timestamp, clock: &impl WatchClock) -> Event {
        if let Some((ticks, missed)) = &mut self.rest
            && *ticks > 0
        {
            *ticks -= 1;
            let gap = Gap { at, ..missed.gap.clone() };
            let again = Missed { gap, ..missed.clone() };
            return self.report(again);
        }
        // A panic in a source's thread would end it unnoticed, while the others continue for months.
        let read = catch_unwind(AssertUnwindSafe(|| self.source.read()));
        match read.unwrap_or(Err(SourceError::Defect)) {
            Ok(sample) => {
                let placements = self.new_placements();
                Event::Step { source: self.index, step: self.step(sample), placements }
            }
            Err(error) => {
                let missed = self.failed(at, &error, clock.now());
                self.report(missed)
            }
        }
    }

    fn new_placements(&mut self) -> Option<Vec<Placement>> {
        let now = self.source.placements();
        (now != self.placements).then(|| {
            self.placements.clone_from(&now);
            now
        })
    }

    /// The only place where samples of a running source are compared.
    fn step(&mut self, mut sample: Sample) -> Step {
        (self.failures, self.rest) = (0, None);
        self.options.filter.apply(&mut sample);
        let sample = Arc::new(match &self.before {
            Some(before) => with_unread_of(sample, before),
            None => sample,
        });
        let before = self.before.replace(Arc::clone(&sample));
        let mut step = match &before {
            Some(before) => Step::between(before, sample),
            None => Step::first(sample),
        };
        step.gaps = std::mem::take(&mut self.gaps);
        step
    }

    /// The gap for a failed attempt, and how many ticks to wait before the next.
    fn failed(&mut self, at: Timestamp, error: &SourceError, now: Now) -> Missed {
        let interval_ns = self.interval_ns();
        let longest = error.longest_pause().map(|pause| u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX));
        let ticks = longest.map_or(1, |longest_ns| {
            self.failures = self.failures.saturating_add(1);
            self.jittered(ticks_until_retry(self.failures, interval_ns, longest_ns))
        });
        let phase_ns = self.phase_ns();
        let next_ns = next_tick_ns(utc_ns(now.utc).saturating_sub(phase_ns), interval_ns, None)
            .saturating_add(phase_ns)
            .saturating_add((ticks - 1) * interval_ns);
        let missed = Missed {
            source: self.index,
            gap: Gap { at, missed: 1, reason: error.to_string() },
            hint: error.hint(),
            retry: Some(Retry { at: timestamp(next_ns), ticks }),
        };
        self.rest = Some((ticks - 1, missed.clone()));
        missed
    }

    /// Up to a quarter more ticks, at random, where sources are spread.
    fn jittered(&self, ticks: u64) -> u64 {
        let part = self.phase_ns.and_then(|_| random_bytes::<1>().ok()).map_or(0, |[part]| part);
        ticks.saturating_add((ticks / 4).saturating_mul(u64::from(part)) / 255)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use iostall_collect::Filter;

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// A source whose password is wrong.
    struct Refusing;

    impl Source for Refusing {
        fn read(&mut self) -> Result<Sample, SourceError> {
            let (source_name, user) = ("x".to_owned(), "mon".to_owned());
            Err(SourceError::Login { source_name, user, reason: "wrong password".into() })
        }
    }

    /// Hundreds of sources would be read in the same second, and again after the same pauses.
    #[test]
    fn spread_sources_are_read_at_their_part_of_each_interval_and_pauses_differ() {
        let interval = Duration::from_secs(40);
        let options = || SamplerOptions { interval, until: None, filter: Filter::default() };
        let start: Timestamp = "2026-11-22T10:00:00Z".parse().unwrap();
        let clock = At(Now { utc: start, clock_ns: 0 });
        let due =
            |phase| Ticker::new(0, Box::new(Refusing), options()).spread(phase).next(clock.now()).unwrap();
        let seconds = |due: Due| timestamp(due.at_ns).duration_since(start).as_secs();
        assert_eq!(
            [0, 1 << 30, 3 << 30].map(|phase| seconds(due(phase))),
            [0, 10, 30].map(|s| if s == 0 { 40 } else { s })
        );
        let mut ticker = Ticker::new(0, Box::new(Refusing), options()).spread(1 << 30);
        let mut clock = clock;
        let mut tries = Vec::new();
        for _ in 0..40 {
            let due = ticker.next(clock.now()).unwrap();
            assert_eq!(seconds(due) % 40, 10);
            clock = At(Now { utc: timestamp(due.at_ns), clock_ns: clock.0.clock_ns + 40 * SECOND_NS });
            assert!(ticker.missed_before(due).is_none());
            let is_resting = ticker.is_resting();
            let Event::Missed(Missed { retry: Some(retry), .. }) = ticker.tick(due, &clock) else { panic!() };
            assert_eq!(retry.at.duration_since(start).as_secs() % 40, 10);
            if !is_resting {
                tries.push(retry.ticks);
            }
        }
        // 300 seconds are seven ticks of 40, and a quarter of those is one more at most.
        assert!(tries.starts_with(&[1, 2, 4]) || tries.starts_with(&[1, 2, 5]), "{tries:?}");
        assert!(tries.iter().skip(3).all(|ticks| (7..=8).contains(ticks)), "{tries:?}");
    }

    /// A drive that is asked every hour: `collect run --duration 3s` of a wrong place ended without a word.
    #[test]
    fn a_source_with_a_long_interval_is_read_at_once_and_then_at_whole_intervals() {
        let options = |seconds| SamplerOptions {
            interval: Duration::from_secs(seconds),
            until: None,
            filter: Filter::default(),
        };
        let start: Timestamp = "2026-11-22T10:20:00Z".parse().unwrap();
        let clock = At(Now { utc: start, clock_ns: 0 });
        let mut hourly = Ticker::new(0, Box::new(Refusing), options(3_600));
        let first = hourly.next(clock.now()).unwrap();
        assert_eq!(first.at_ns, utc_ns(start));
        hourly.tick(first, &clock);
        let second = hourly.next(clock.now()).unwrap();
        assert_eq!(timestamp(second.at_ns), "2026-11-22T11:00:00Z".parse().unwrap());
        assert!(hourly.missed_before(second).is_none());
        let minutely = Ticker::new(0, Box::new(Refusing), options(60)).next(clock.now()).unwrap();
        assert_eq!(timestamp(minutely.at_ns), "2026-11-22T10:21:00Z".parse().unwrap());
    }

    /// A clock that stands still.
    #[derive(Clone)]
    struct At(Now);

    impl WatchClock for At {
        fn now(&self) -> Now {
            self.0
        }
    }

    #[test]
    fn the_time_of_the_next_try_is_that_of_a_tick_as_many_ticks_later() {
        let interval = Duration::from_secs(5);
        let mut ticker = Ticker::new(
            0,
            Box::new(Refusing),
            SamplerOptions { interval, until: None, filter: Filter::default() },
        );
        let start: Timestamp = "2026-11-22T10:00:00Z".parse().unwrap();
        let mut tries = Vec::new();
        for tick in 0..7_u32 {
            let utc = start + jiff::SignedDuration::try_from(interval * tick).unwrap();
            let clock = At(Now { utc, clock_ns: u64::from(tick) * 5 * SECOND_NS });
            let due = Due { at_ns: utc_ns(utc), awake_ns: 0 };
            let Event::Missed(Missed { retry: Some(retry), .. }) = ticker.tick(due, &clock) else { panic!() };
            tries.push((retry.ticks, retry.at.duration_since(start).as_secs()));
        }
        // Tried at 0, 5, 15 and 35 seconds; the ticks in between repeat what the last try said.
        assert_eq!(tries, [(1, 5), (2, 15), (2, 15), (4, 35), (4, 35), (4, 35), (4, 35)]);
    }
}
