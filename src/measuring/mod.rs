//! What every command that puts load on storage does: choose the engine, prepare the targets, run a profile, and
//! judge the numbers. The commands differ in the profiles they run and in what they make of the runs.

mod hold;
mod keeping;
mod progress;
mod survey;
mod targets;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use iostall_engine::uring::{UringConfig, UringEngine};
use iostall_host as host;
use iostall_load::profile::{self, ProfileFileError};
use iostall_load::runner::{Observer, Phase, run_span};
use iostall_load::trust::{BusyBefore, Evidence, judge};
use iostall_load::window::StopSign;
use iostall_load::{EngineKind, RunError, SpanJob};
use iostall_measure::clock::utc_now;
use iostall_measure::platform::{Host, Target};
use iostall_measure::{Clock, MonotonicClock, Unavailable};
use iostall_model::outcome::IntervalPoint;
use iostall_model::run::{SCHEMA, SCHEMA_VERSION};
use iostall_model::{LoadOutcome, Profile, Run, RunBody, RunId, SpanOutcome, SpanProfile, Warning};
use jiff::Timestamp;

use crate::cli::EngineChoice;
use crate::command_line;
use crate::failure::{hinted, unread};
use crate::interrupt::on_signal;
use crate::printer::Printer;

pub(crate) use iostall_session::names::{check_named_once, is_named};
pub(crate) use keeping::Keeping;
use progress::LiveLine;
pub(crate) use survey::{Effort, PointJob, Survey, has_failures};
pub(crate) use targets::{OwnSize, SCRATCH_NAME, TargetRequest, Targets, named_or_scratch};

/// How long the devices are watched before the load begins.
const LOOK_BEFORE_NS: u64 = 300_000_000;

/// Ctrl-C before anything was measured.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted before anything was measured; what was made for the run is removed")
    }
}

impl std::error::Error for Interrupted {}

/// The profile in the file at `path`.
pub(crate) fn read_profile(path: &Path) -> anyhow::Result<Profile> {
    profile::read_profile(path).map_err(|error| match error {
        ProfileFileError::Input(error) => unread(error),
        other @ ProfileFileError::Profile(_) => other.into(),
    })
}

/// What all runs of one command share.
pub(crate) struct Session<'a> {
    printer: &'a Printer,
    clock: MonotonicClock,
    stop: Arc<StopSign>,
    engine: EngineKind,
    /// Why io_uring is not used, where it was wanted.
    fallback: Option<Unavailable>,
}

impl<'a> Session<'a> {
    /// Chooses the engine and begins to listen for Ctrl-C. Once a process.
    pub(crate) fn begin(choice: EngineChoice, printer: &'a Printer) -> anyhow::Result<Self> {
        let clock = MonotonicClock::new();
        let stop = Arc::new(StopSign::default());
        let (to_stop, its_clock) = (Arc::clone(&stop), clock.clone());
        on_signal(Some(printer), move || to_stop.raise(its_clock.now_ns()))?;
        let (engine, fallback) = choose_engine(choice, printer)?;
        Ok(Self { printer, clock, stop, engine, fallback })
    }

    /// Whether the user asked to stop: a load that gave up by itself does not count.
    pub(crate) fn interrupted(&self) -> bool {
        self.stop.is_raised() && !self.stop.given_up()
    }

    /// Checks, makes and describes the targets of `profile`.
    pub(crate) fn prepare(&self, request: &TargetRequest, profile: &Profile) -> anyhow::Result<Targets> {
        Targets::prepare(request, profile, self)
    }

    /// Runs `profile` on `targets` and judges the numbers. Interrupted, it gives what was measured until then.
    pub(crate) fn measure(&self, profile: Profile, targets: &Targets, name: &str) -> anyhow::Result<Run> {
        let devices = targets.devices();
        let busy_before = self.look_before(&devices);
        let started_utc = utc_now();
        let spans = self.run_spans(&profile, targets, &devices)?;
        let interrupted = spans.iter().any(|span| span.interrupted) || spans.len() < profile.spans.len();
        let host = host::host();
        let facts = targets.facts();
        let outcome = LoadOutcome { profile, spans };
        let warnings = judge(&Evidence {
            host: &host,
            targets: &facts,
            sizes_after: &targets.sizes_now(),
            least_seen: &targets.least_seen(),
            paths_after: &targets.paths_now(),
            busy_before: &busy_before,
            outcome: &outcome,
        });
        let body = RunBody::Load(outcome);
        Ok(Run { interrupted, ..record(name, started_utc, host, facts, warnings, body) })
    }

    /// What the devices do before we do anything.
    fn look_before(&self, devices: &[String]) -> Vec<BusyBefore> {
        let before = host::device_counters(devices);
        let from_ns = self.clock.now_ns();
        self.clock.sleep_until(from_ns + LOOK_BEFORE_NS);
        let seconds = (self.clock.now_ns() - from_ns) as f64 / 1e9;
        host::device_counters(devices)
            .iter()
            .filter_map(|after| {
                let then = before.iter().find(|counters| counters.name == after.name)?;
                let added = after.since(then)?;
                Some(BusyBefore {
                    device: added.name.clone(),
                    busy_share: added.busy_ms as f64 / 1e3 / seconds,
                    iops: (added.read_requests + added.write_requests) as f64 / seconds,
                })
            })
            .collect()
    }

    fn run_spans(
        &self,
        profile: &Profile,
        targets: &Targets,
        devices: &[String],
    ) -> anyhow::Result<Vec<SpanOutcome>> {
        let mut outcomes = Vec::with_capacity(profile.spans.len());
        for (index, span) in profile.spans.iter().enumerate() {
            let spans = profile.spans.len();
            let prefix = if spans > 1 { format!("span {}/{spans}  ", index + 1) } else { String::new() };
            outcomes.push(self.run_span(span, profile.seed, (targets, index), devices, prefix)?);
            if self.stop.is_raised() {
                break;
            }
        }
        Ok(outcomes)
    }

    fn run_span(
        &self,
        span: &SpanProfile,
        seed: u64,
        (targets, index): (&Targets, usize),
        devices: &[String],
        prefix: String,
    ) -> anyhow::Result<SpanOutcome> {
        let mut line = LiveLine::new(self.printer, [span.warmup, span.duration, span.cooldown], prefix);
        let mut observer = Watching { targets, line: &mut line };
        let targets = &targets.for_span(index);
        let (engine, fallback) = (self.engine, self.fallback.as_ref());
        let job = SpanJob { span, seed, targets, engine, fallback, devices };
        let outcome = run_span(job, &self.clock, &self.stop, &mut observer);
        self.printer.clear();
        outcome.map_err(with_hint)
    }
}

/// Looks at the targets, too, whenever the live line is drawn.
struct Watching<'a, 'b> {
    targets: &'a Targets,
    line: &'a mut LiveLine<'b>,
}

impl Observer for Watching<'_, '_> {
    fn tick(&mut self, phase: Phase, left_ns: u64, newest: &[Option<&IntervalPoint>]) {
        self.targets.look();
        self.line.tick(phase, left_ns, newest);
    }
}

/// A run that ends now.
fn record(
    name: &str,
    started_utc: Timestamp,
    host: Host,
    targets: Vec<Target>,
    warnings: Vec<Warning>,
    body: RunBody,
) -> Run {
    Run {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        id: RunId::new(started_utc),
        name: name.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: command_line::recorded(),
        started_utc,
        ended_utc: utc_now(),
        interrupted: false,
        host,
        targets,
        warnings,
        body,
    }
}

/// io_uring where the kernel allows it; else threads, with the cause, which is said.
fn choose_engine(
    choice: EngineChoice,
    printer: &Printer,
) -> anyhow::Result<(EngineKind, Option<Unavailable>)> {
    let probe = UringConfig { capacity: 1, files: &[], buffers: None };
    match choice {
        EngineChoice::Psync => Ok((EngineKind::Psync, None)),
        EngineChoice::Null => Ok((EngineKind::Null, None)),
        EngineChoice::Auto | EngineChoice::Uring => match UringEngine::new(&probe) {
            Ok(_ring) => Ok((EngineKind::Uring, None)),
            Err(error) if choice == EngineChoice::Auto => {
                let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                printer.note(&format!("note: {error}, so threads do the I/O{hint}"));
                Ok((EngineKind::Psync, Some(error.without_ring())))
            }
            Err(error) => {
                let hint = error.hint().unwrap_or("leave --engine out to use threads").to_owned();
                Err(hinted(error, hint))
            }
        },
    }
}

fn with_hint(error: RunError) -> anyhow::Error {
    match error.hint().map(str::to_owned) {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}
