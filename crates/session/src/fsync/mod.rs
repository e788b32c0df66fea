//! Commits with each sync method, in log segments that iostall makes in a directory.

pub mod postgres_config;
mod segment;
mod server;

use iostall_engine::InputError;
use iostall_load::EngineKind;
use iostall_load::checks::{memory_file_system, too_fast};
use iostall_load::commits::{CommitError, CommitLog, Committing, Logs, Opened, commit_for};
use iostall_load::preset::preset;
use iostall_load::window::Window;
use iostall_measure::platform::{Host, Target, TargetKind};
use iostall_measure::{Clock, Nanos, Percentile};
use iostall_model::profile::Thresholds;
use iostall_model::sync::{LogLayout, ServerSetting, ServerSync, SyncMethod, SyncStep};
use iostall_model::{FsyncOutcome, Run, RunBody, Warning, WarningCode};

use crate::error::SessionError;
use crate::event::{Event, Part, Phase, RunProgress, SpanProgress};
use crate::machine::MachineWatch;
use crate::recorder::{Ended, RunRecorder};
use crate::session::Session;
use postgres_config::is_off;
use segment::Segments;
use server::{Found, server_of};

pub use segment::{FsyncRequest, segment_name};

/// Bytes of a segment: PostgreSQL's default.
const SEGMENT_BYTES: u64 = 16 << 20;
/// The warm-up is a tenth of the duration, and at most this long, nanoseconds.
const WARMUP_NS_MAX: u64 = 500_000_000;

pub fn fsync(request: &FsyncRequest, session: &Session<'_>) -> Result<Run, SessionError> {
    let server = server_of(&request.directory, request.data_directory.as_deref())?;
    let place = Place::prepare(request, session)?;
    let measuring = Measuring { request, session, place, started_ns: session.clock().now_ns() };
    let targets = measuring.place.targets(request)?;
    let watch = session.engine().opens_files().then(|| MachineWatch::begin(&targets, session.clock()));
    let recorder = session.recorder();
    let steps = measuring.steps();
    let of_machine = watch.map(MachineWatch::warnings).unwrap_or_default();
    if steps.iter().all(|step| step.commit_ns.is_empty()) {
        return Err(nothing_measured(&steps, session));
    }
    let measured = Measured { request, steps, server, targets, of_machine };
    Ok(finish(measured, recorder, session.interrupted()))
}

struct Measured<'a> {
    request: &'a FsyncRequest,
    steps: Vec<SyncStep>,
    server: Option<Found>,
    targets: Vec<Target>,
    /// What else had the machine.
    of_machine: Vec<Warning>,
}

fn finish(measured: Measured<'_>, recorder: RunRecorder, interrupted: bool) -> Run {
    let Measured { request, steps, server, targets, of_machine } = measured;
    let (server, unread) = server.map_or((None, Vec::new()), |found| (Some(found.server), found.unread));
    let outcome = FsyncOutcome {
        block_bytes: request.block.bytes().into(),
        segment_bytes: SEGMENT_BYTES,
        duration_ns: request.duration.nanos(),
        steps,
        server,
        thresholds: log_thresholds(),
    };
    let mut warnings = check(recorder.host(), &targets, &outcome, &unread, interrupted);
    warnings.extend(of_machine);
    let name = request.name.clone();
    recorder.finish(Ended { name, targets, warnings, interrupted, body: RunBody::Fsync(outcome) })
}

/// Those of the preset that loads a log: a commit is one of its writes.
fn log_thresholds() -> Option<Thresholds> {
    let profile = preset("log-write").ok()?;
    profile.spans.into_iter().flat_map(|span| span.roles).find_map(|role| role.thresholds)
}

fn nothing_measured(steps: &[SyncStep], session: &Session<'_>) -> SessionError {
    if session.interrupted() {
        return SessionError::Interrupted;
    }
    let cause = |step: &SyncStep| {
        let why = step.failed.as_ref().or(step.unavailable.as_ref())?;
        Some(format!("{}: {why}", step.method.name()))
    };
    let mut causes: Vec<String> = steps.iter().filter_map(cause).collect();
    causes.dedup();
    SessionError::NothingCommitted { causes: causes.join("; ") }
}

enum Place {
    Segments(Segments),
    /// The first file of a simulated device.
    Simulated(iostall_engine::SimDevice),
}

impl Place {
    fn prepare(request: &FsyncRequest, session: &Session<'_>) -> Result<Self, SessionError> {
        if let EngineKind::Sim(device) = session.engine() {
            return Ok(Self::Simulated(device.clone()));
        }
        let most = request.committers.iter().copied().max().unwrap_or(1);
        let count = if request.log == LogLayout::Separate { most } else { 1 };
        let segments = Segments::make(request, count, SEGMENT_BYTES, &|| session.stopped())?;
        Ok(Self::Segments(segments))
    }

    fn targets(&self, request: &FsyncRequest) -> Result<Vec<Target>, SessionError> {
        match self {
            Self::Segments(segments) => Ok(vec![segments.facts()?]),
            Self::Simulated(_) => {
                Ok(vec![Target::new(&request.directory, TargetKind::Synthetic, SEGMENT_BYTES)])
            }
        }
    }
}

struct Measuring<'a> {
    request: &'a FsyncRequest,
    session: &'a Session<'a>,
    place: Place,
    started_ns: u64,
}

/// One setting, and how long the run takes after it, nanoseconds.
#[derive(Clone, Copy)]
struct Setting {
    method: SyncMethod,
    committers: u32,
    after_ns: u64,
}

impl Measuring<'_> {
    fn steps(&self) -> Vec<SyncStep> {
        let mut steps = Vec::new();
        let mut left = self.request.committers.len() * self.request.methods.len();
        for committers in &self.request.committers {
            for method in &self.request.methods {
                if self.session.stopped() {
                    return steps;
                }
                left -= 1;
                let after_ns = self.step_ns().saturating_mul(left as u64);
                let step = self.step(Setting { method: *method, committers: *committers, after_ns });
                // Stopped in its warm-up, it says nothing.
                if self.session.stopped() && step.commit_ns.is_empty() && step.failed.is_none() {
                    return steps;
                }
                self.session.observer().on(&Event::SyncMeasured(&step));
                steps.push(step);
            }
        }
        steps
    }

    /// One method. One that fails does not keep the others from being measured.
    fn step(&self, setting: Setting) -> SyncStep {
        let Setting { method, committers, .. } = setting;
        let empty = SyncStep::new(method, committers, self.request.log);
        match self.logs(method, committers) {
            Ok(Ok(logs)) => self
                .commit(logs, setting)
                .unwrap_or_else(|error| SyncStep { failed: Some(error.to_string()), ..empty }),
            Ok(Err(reason)) => SyncStep { unavailable: Some(reason), ..empty },
            Err(error) => SyncStep { failed: Some(error.to_string()), ..empty },
        }
    }

    fn logs(&self, method: SyncMethod, committers: u32) -> Result<Result<Logs, String>, CommitError> {
        let block_bytes = self.request.block.bytes();
        let segments = match &self.place {
            Place::Simulated(device) => {
                let log = CommitLog::simulated(device, method, block_bytes, SEGMENT_BYTES)?;
                return Ok(Ok(Logs::Shared(log)));
            }
            Place::Segments(segments) => segments,
        };
        let wanted = if self.request.log == LogLayout::Separate { committers } else { 1 };
        let mut logs = Vec::new();
        for path in segments.open_paths().take(wanted as usize) {
            match CommitLog::open(&path, method, block_bytes, SEGMENT_BYTES)? {
                Opened::Log(log) => logs.push(log),
                Opened::Unavailable(reason) => return Ok(Err(reason)),
            }
        }
        Ok(Ok(match (self.request.log, logs.pop()) {
            (LogLayout::Shared, Some(log)) => Logs::Shared(log),
            (_, last) => Logs::Separate(logs.into_iter().chain(last).collect()),
        }))
    }

    fn warmup_ns(&self) -> u64 {
        (self.request.duration.nanos() / 10).min(WARMUP_NS_MAX)
    }

    fn step_ns(&self) -> u64 {
        self.warmup_ns().saturating_add(self.request.duration.nanos())
    }

    fn commit(&self, logs: Logs, setting: Setting) -> Result<SyncStep, CommitError> {
        let Setting { method, committers, after_ns } = setting;
        let (clock, observer) = (self.session.clock(), self.session.observer());
        let (warmup_ns, duration_ns) = (self.warmup_ns(), self.request.duration.nanos());
        let start_ns = clock.now_ns();
        let measure_from_ns = start_ns.saturating_add(warmup_ns);
        let measure_to_ns = measure_from_ns.saturating_add(duration_ns);
        let window = Window { start_ns, measure_from_ns, measure_to_ns, stop_ns: measure_to_ns };
        let label = SyncStep::new(method, committers, self.request.log).label();
        let on_tick = || {
            let now_ns = clock.now_ns();
            let (phase, end_ns) = if now_ns < measure_from_ns {
                (Phase::Warmup, measure_from_ns)
            } else {
                (Phase::Measured, measure_to_ns)
            };
            let left_ns = measure_to_ns.saturating_sub(now_ns).saturating_add(after_ns);
            observer.on(&Event::SpanProgress(SpanProgress {
                part: Part::Point(&label),
                phase,
                left_ns: end_ns.saturating_sub(now_ns),
                whole: RunProgress::new(now_ns.saturating_sub(self.started_ns), Some(left_ns)),
                lengths: [Nanos(warmup_ns), Nanos(duration_ns), Nanos(0)],
                newest: &[],
            }));
        };
        let stop = self.session.stop();
        let measured =
            commit_for(logs, &Committing { method, committers, window, clock, stop, on_tick: &on_tick });
        observer.on(&Event::ProgressEnded);
        measured
    }
}

fn check(
    host: &Host,
    targets: &[Target],
    outcome: &FsyncOutcome,
    unread: &[InputError],
    interrupted: bool,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if interrupted {
        let message = "stopped early; the measurements up to then are valid";
        warnings.push(Warning::new(WarningCode::Interrupted, message));
    }
    warnings.extend(outcome.server.iter().flat_map(waits_for_nothing));
    warnings.extend(failures(&outcome.steps));
    let in_memory: Vec<Warning> = targets.iter().filter_map(memory_file_system).collect();
    if in_memory.is_empty() {
        warnings.extend(targets.iter().flat_map(|target| flushes(host, target, &outcome.steps)));
    }
    warnings.extend(in_memory);
    warnings.extend(unread.iter().map(not_read));
    warnings
}

fn waits_for_nothing(server: &ServerSync) -> Vec<Warning> {
    let off = |name| server.setting(name).filter(|setting| is_off(&setting.value));
    let warning = |setting: &ServerSetting, loss: &str, hint: &str| {
        let ServerSetting { name, value, source } = setting;
        Warning::new(WarningCode::SyncOff, format!("{name} = {value} ({source}): {loss}"))
            .about(&server.data_directory)
            .hint(hint)
    };
    let fsync = off("fsync").map(|setting| {
        warning(
            setting,
            "this server flushes nothing, and a power failure or a crash of the system can destroy the whole database; \
             the numbers here are not what it does",
            "set fsync = on, unless every byte of this database can be created again",
        )
    });
    let commit = off("synchronous_commit").map(|setting| {
        warning(
            setting,
            "commits return before they are durable, and a crash loses those of the last moments, up to three times \
             wal_writer_delay; the numbers here are not what they wait for",
            "set synchronous_commit = on where a reported commit must not be lost; it can be set by role, database and transaction",
        )
    });
    fsync.into_iter().chain(commit).collect()
}

fn failures(steps: &[SyncStep]) -> Vec<Warning> {
    let failed = steps.iter().filter_map(|step| Some((step, step.failed.as_ref()?)));
    failed.map(|(step, why)| Warning::new(WarningCode::IoErrors, why.as_str()).about(step.label())).collect()
}

/// A warning about each method whose flushes were faster than the device's media, with the first number of committers that shows it.
fn flushes(host: &Host, target: &Target, steps: &[SyncStep]) -> Vec<Warning> {
    let mut found: Vec<(&str, Warning)> = Vec::new();
    for step in steps.iter().filter(|step| step.method.is_durable()) {
        let name = step.method.name();
        let median = step.flush_ns.value_at(Percentile::P50);
        let warning = median.and_then(|median_ns| too_fast(host, target.device.as_ref(), median_ns));
        if let Some(warning) = warning
            && !found.iter().any(|(known, _)| *known == name)
        {
            found.push((name, warning.about(step.label())));
        }
    }
    found.into_iter().map(|(_, warning)| warning).collect()
}

fn not_read(error: &InputError) -> Warning {
    let message = format!("{error}: the settings shown may not be the server's");
    Warning::new(WarningCode::MissingGrant, message).hint("run it as the user of the server")
}
