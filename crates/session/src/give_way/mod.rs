//! Transfers that give way: while one runs, a thread reads at short intervals how long the users of a database
//! wait, and sets the transfer's rate and requests in flight accordingly.
//!
//! What is decided is in [`Governor`], which has no clock; here are the readings, the times and the log.

mod figure;
mod log;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use iostall_collect::{Filter, Source, SourceError};
use iostall_measure::clock::receive;
use iostall_measure::{Clock, RunClock};
use iostall_model::give_way::{Decision, GiveWay, Why};
use iostall_model::requirement::Requirement;
use iostall_model::{Kind, Sample, Step, Warning, WarningCode};
use iostall_stats::governor::{Governor, Reaction, Reading, Tuning};
use iostall_transfer::rate::RateLimit;

use self::figure::{BusyShare, Figure};
use self::log::{Found, Log};
use crate::event::{Event, Observer};

pub use self::figure::GiveWayError;

/// The longest time for a reading; a source that takes longer is silent.
pub const READING_LIMIT: Duration = Duration::from_secs(2);
/// A reading that lasts longer than this brings the floor before it is given up.
const READING_PATIENCE_NS: u64 = 500_000_000;
/// The rate of the floor if none is given, bytes a second.
pub const FLOOR_BYTES_PER_S: u64 = 4 << 20;

const INTERVAL_NS: u64 = 200_000_000;
/// [`INTERVAL_NS`] for a PostgreSQL whose collector process writes a file for each reading, at most twice a second.
const INTERVAL_OF_FILE_NS: u64 = 1_000_000_000;
/// PostgreSQL before this version has such a process.
const POSTGRES_WITHOUT_FILE: u32 = 15;
/// Backends of PostgreSQL report what they did at most once a second.
const LAG_OF_POSTGRES_NS: u64 = 1_000_000_000;
/// Readings take at most one part of this many of the time, so that they cost the source little.
const READING_PARTS: u64 = 20;
/// How many times the floor a transfer begins with.
const START_FLOORS: f64 = 4.0;
const IN_FLIGHT_MAX: u32 = 16;
/// Longest pause after a failed reading that may be repeated at any time.
const PAUSE_MAX: Duration = Duration::from_secs(2);

pub struct GiveWayRequest {
    pub name: String,
    /// Its readings end within [`READING_LIMIT`].
    pub source: Box<dyn Source>,
    /// All that is required; what is about the source is kept by giving way.
    pub requirements: Vec<Requirement>,
    /// The rate that the transfer never goes below, bytes a second.
    pub floor_bytes_per_s: u64,
    /// The rate that it never goes above, bytes a second.
    pub limit_bytes_per_s: Option<u64>,
}

pub(crate) struct Governed {
    rate: Arc<RateLimit>,
    floor_bytes_per_s: u64,
    /// When the reading in progress began, on the clock of the run; 0 between readings.
    reading_since_ns: AtomicU64,
    control: Mutex<Control>,
}

impl Governed {
    /// Reads the source for the first time, so that a wrong password or a setting that is off is found before
    /// anything is moved.
    pub(crate) fn begin(request: GiveWayRequest, clock: &RunClock) -> Result<Self, GiveWayError> {
        let GiveWayRequest { name, mut source, requirements, floor_bytes_per_s, limit_bytes_per_s } = request;
        let figures = Figure::of_requirements(&requirements)?;
        let mut kinds: Vec<Kind> = figures.iter().flat_map(Figure::kinds).copied().collect();
        kinds.sort_unstable();
        kinds.dedup();
        source.narrow(&Filter { kinds, ..Filter::default() });
        let before = source.read()?;
        for figure in &figures {
            if !figure.is_in(&before) {
                return Err(not_reported(&name, figure, &before));
            }
        }
        let limit = limit_bytes_per_s.unwrap_or(u64::MAX);
        let floor = floor_bytes_per_s.clamp(1, limit);
        let (interval_ns, lag_ns) = pace_of(&before);
        let rate = Arc::new(RateLimit::adjustable(1, 1));
        let governor = Governor::new(Tuning {
            floor: floor as f64,
            ceiling: limit as f64,
            start: floor as f64 * START_FLOORS,
            in_flight_max: IN_FLIGHT_MAX,
            request_bytes: rate.request_bytes_max(),
            lag_ns,
        });
        rate.set(whole(governor.rate()), governor.in_flight());
        let now_ns = clock.now_ns();
        let mut log = Log::new(&name, &figures, floor, now_ns);
        log.set_interval(interval_ns);
        let mut control = Control {
            source,
            busy: vec![BusyShare::default(); figures.len()],
            figures,
            governor,
            log,
            before,
            interval_ns,
            pause_ns: interval_ns,
            is_silent: false,
            read_at_ns: now_ns,
            taken_bytes: 0,
        };
        control.note(now_ns, Some(Why::Begin), None, None);
        let reading_since_ns = AtomicU64::new(0);
        Ok(Self { rate, floor_bytes_per_s: floor, reading_since_ns, control: Mutex::new(control) })
    }

    pub(crate) fn rate(&self) -> Arc<RateLimit> {
        Arc::clone(&self.rate)
    }

    /// Controls the rate until the other side of `stop` is gone.
    pub(crate) fn control(&self, clock: &RunClock, stop: &Receiver<()>, observer: &dyn Observer) {
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wait = Duration::from_nanos(control.interval_ns);
        while receive(stop, wait) == Err(RecvTimeoutError::Timeout) {
            self.reading_since_ns.store(clock.now_ns().max(1), Ordering::Relaxed);
            let decision = control.tick(clock, &self.rate);
            self.reading_since_ns.store(0, Ordering::Relaxed);
            if let Some(decision) = decision {
                observer.on(&Event::GaveWay(&decision));
            }
            wait = Duration::from_nanos(control.pause_ns);
        }
        control.read_last(clock);
    }

    /// Takes the floor while a reading lasts longer than it should: a server that hangs says nothing until the
    /// reading is given up, and its users wait all that time.
    pub(crate) fn check(&self, now_ns: u64) {
        let since_ns = self.reading_since_ns.load(Ordering::Relaxed);
        if since_ns > 0 && now_ns.saturating_sub(since_ns) > READING_PATIENCE_NS {
            self.rate.set(self.floor_bytes_per_s, 1);
        }
    }

    pub(crate) fn gave_way(&self) -> GiveWay {
        self.control.lock().unwrap_or_else(PoisonError::into_inner).log.gave_way()
    }
}

struct Control {
    source: Box<dyn Source>,
    figures: Vec<Figure>,
    busy: Vec<BusyShare>,
    governor: Governor,
    log: Log,
    before: Sample,
    interval_ns: u64,
    pause_ns: u64,
    is_silent: bool,
    read_at_ns: u64,
    /// Bytes that the rate had let pass at the last reading.
    taken_bytes: u64,
}

impl Control {
    fn tick(&mut self, clock: &RunClock, rate: &RateLimit) -> Option<Decision> {
        let begun_ns = clock.now_ns();
        // A panic in a source would end this thread, and the transfer would go on at the rate of that moment.
        let read = catch_unwind(AssertUnwindSafe(|| self.source.read()));
        let now_ns = clock.now_ns();
        let moved = self.moved(now_ns, rate.taken_bytes());
        let took_ns = now_ns - begun_ns;
        let (reading, wait_ns, reason) = match read.unwrap_or(Err(SourceError::Defect)) {
            Ok(sample) => self.answered(sample, took_ns),
            Err(error) => self.failed(&error, took_ns),
        };
        let reaction = self.governor.step(now_ns, reading, moved);
        rate.set(whole(self.governor.rate()), self.governor.in_flight());
        let was_silent = std::mem::replace(&mut self.is_silent, reading == Reading::Silent);
        let why = match reaction {
            Reaction::Blind => Some(Why::Silent),
            _ if was_silent => Some(Why::Answers),
            Reaction::Missed => Some(Why::Missed),
            Reaction::Slower => Some(Why::Slower),
            Reaction::Faster if reading == Reading::Idle => Some(Why::Idle),
            Reaction::Faster => Some(Why::Faster),
            Reaction::Hold => None,
        };
        let decision = self.note(now_ns, why, wait_ns, reason)?;
        matches!(decision.why, Why::Silent | Why::Answers).then_some(decision)
    }

    /// Reads once more at the end: what users waited since the last reading counts too, and a short transfer may be over
    /// before there was a second one.
    fn read_last(&mut self, clock: &RunClock) {
        let begun_ns = clock.now_ns();
        if self.is_silent || begun_ns.saturating_sub(self.read_at_ns) < self.interval_ns {
            return;
        }
        let read = catch_unwind(AssertUnwindSafe(|| self.source.read()));
        let now_ns = clock.now_ns();
        match read.unwrap_or(Err(SourceError::Defect)) {
            Ok(sample) => drop(self.answered(sample, now_ns - begun_ns)),
            Err(_) => self.log.failed(now_ns - begun_ns),
        }
        self.note(now_ns, None, None, None);
    }

    fn note(
        &mut self,
        now_ns: u64,
        why: Option<Why>,
        wait_ns: Option<f64>,
        reason: Option<String>,
    ) -> Option<Decision> {
        let found = Found {
            why,
            wait_ns,
            bytes_per_s: self.governor.rate(),
            in_flight_max: self.governor.in_flight(),
            is_at_floor: self.governor.is_at_floor(),
            reason,
        };
        self.log.found(now_ns, found).cloned()
    }

    fn moved(&mut self, now_ns: u64, taken_bytes: u64) -> f64 {
        let bytes = taken_bytes - std::mem::replace(&mut self.taken_bytes, taken_bytes);
        let passed_ns = now_ns - std::mem::replace(&mut self.read_at_ns, now_ns);
        bytes as f64 / (passed_ns as f64 / 1e9).max(1e-3)
    }

    fn answered(&mut self, sample: Sample, took_ns: u64) -> (Reading, Option<f64>, Option<String>) {
        let sample = Arc::new(sample);
        let step = Step::between(&self.before, Arc::clone(&sample));
        let waits: Vec<Option<(f64, u64)>> = (self.figures.iter().zip(&mut self.busy))
            .map(|(figure, busy)| {
                let stalled = figure.of_step(&step);
                let busy = busy.with(stalled);
                Some((figure.wait_ns(stalled.mean_ns()?, busy), stalled.operations))
            })
            .collect();
        drop(step);
        self.before = Arc::unwrap_or_clone(sample);
        self.log.read(&waits, took_ns);
        self.pause_ns = self.interval_ns.max(took_ns.saturating_mul(READING_PARTS));
        self.log.set_interval(self.pause_ns);
        let pressed = self.figures.iter().zip(&waits).filter_map(|(figure, wait)| {
            let (wait_ns, _) = (*wait)?;
            Some((figure.pressure(wait_ns), wait_ns))
        });
        let worst = pressed.reduce(|worst, other| if other.0 > worst.0 { other } else { worst });
        match worst {
            Some((pressure, wait_ns)) => (Reading::Pressure(pressure), Some(wait_ns), None),
            None => (Reading::Idle, None, None),
        }
    }

    /// A source that failed is asked again after pauses that double, because each attempt costs it something, and a
    /// refused login may be counted.
    fn failed(&mut self, error: &SourceError, took_ns: u64) -> (Reading, Option<f64>, Option<String>) {
        self.log.failed(took_ns);
        let longest = error.longest_pause().unwrap_or(PAUSE_MAX);
        let longest_ns = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
        self.pause_ns = if self.is_silent { self.pause_ns.saturating_mul(2) } else { self.interval_ns };
        self.pause_ns = self.pause_ns.min(longest_ns);
        (Reading::Silent, None, Some(error.to_string()))
    }
}

/// Time between readings of the source of `sample`, and how late they are, nanoseconds.
fn pace_of(sample: &Sample) -> (u64, u64) {
    let is_postgres = sample.rows.iter().any(|row| {
        matches!(
            row.subject.kind,
            Kind::PostgresWal | Kind::PostgresDatabase | Kind::PostgresIo | Kind::PostgresIoBlocks
        )
    });
    match is_postgres {
        true if sample.epoch.version < POSTGRES_WITHOUT_FILE => {
            (INTERVAL_OF_FILE_NS, LAG_OF_POSTGRES_NS + INTERVAL_OF_FILE_NS)
        }
        true => (INTERVAL_NS, LAG_OF_POSTGRES_NS + INTERVAL_NS),
        false => (INTERVAL_NS, 2 * INTERVAL_NS),
    }
}

/// The setting or privilege that hides a figure is among the warnings of the reading.
fn not_reported(name: &str, figure: &Figure, sample: &Sample) -> GiveWayError {
    let is_about = |warning: &&Warning| match warning.code {
        WarningCode::SettingOff => {
            let wants_log = figure.kinds().contains(&Kind::PostgresWal);
            warning.message.contains("wal") == wants_log || !is_of_postgres(sample)
        }
        WarningCode::MissingGrant | WarningCode::NotCounted => true,
        _ => false,
    };
    let warning = sample.warnings.iter().find(is_about);
    GiveWayError::NotReported {
        source_name: name.to_owned(),
        requirement: figure.requirement().to_owned(),
        reason: warning.map(|warning| warning.message.clone()),
        hint: warning.and_then(|warning| warning.hint.clone()),
    }
}

fn is_of_postgres(sample: &Sample) -> bool {
    sample.warnings.iter().any(|warning| warning.message.contains("track_"))
}

pub(crate) fn warnings(gave_way: &GiveWay) -> Vec<Warning> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let share = |ns: u64| ns as f64 / gave_way.governed_ns.max(1) as f64 * 100.0;
    let mut warnings = Vec::new();
    if gave_way.failed_readings > 0 {
        let reason = gave_way.decisions.iter().rev().find_map(|decision| decision.reason.as_ref());
        let reason = reason.map(|reason| format!("; the last reason was: {reason}")).unwrap_or_default();
        let message = format!(
            "{} did not answer for {:.0} s ({:.0} % of the time): the transfer went at its floor, and how long its users \
             waited then is unknown{reason}",
            gave_way.source,
            seconds(gave_way.silent_ns),
            share(gave_way.silent_ns),
        );
        warnings.push(Warning::new(WarningCode::SourceSilent, message).about(gave_way.source.clone()));
    }
    if gave_way.missed_at_floor_ns > 0 {
        let message = format!(
            "for {:.0} s ({:.0} % of the time) users of {} waited longer than required although the transfer was at its floor",
            seconds(gave_way.missed_at_floor_ns),
            share(gave_way.missed_at_floor_ns),
            gave_way.source,
        );
        let hint = "a lower --yield-floor leaves them more; if they wait as long without the transfer, the limit is below what \
                    this storage can do";
        warnings
            .push(Warning::new(WarningCode::FloorMissed, message).about(gave_way.source.clone()).hint(hint));
    }
    warnings
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests;
