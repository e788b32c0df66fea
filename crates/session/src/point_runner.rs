//! The point runner: a run of many short measurements, such as points of a sweep or cells of a matrix.
//! Examines the machine once, and collects the warnings of all measurements, each kind once.

use iostall_load::checks::BusyBefore;
use iostall_load::window::StopToken;
use iostall_measure::platform::Target;
use iostall_measure::{Clock, Histogram, Nanos, Percent, Percentile};
use iostall_model::outcome::{EngineUse, IntervalPoint, RoleOutcome};
use iostall_model::{
    LoadOutcome, Point, Profile, Repeat, RoleProfile, Run, RunBody, SpanOutcome, SpanProfile, Warning,
    WarningCode,
};

use crate::analysis::points::iops_half_width;
use crate::error::SessionError;
use crate::event::{Event, Part};
use crate::recorder::{Ended, RunRecorder};
use crate::session::{Session, SpanPlace, check};
use crate::targets::Targets;

/// The warm-up before repeating a setting that has just run is this fraction of the first one.
const WARMUP_SHARE: u64 = 5;

/// Warnings that do not apply here: intervals are short on purpose; the confidence of their mean and the
/// supported percentiles are shown with them, and so are the backlog of a rate that was too high and the rates of all intervals.
const IGNORED: [WarningCode; 5] = [
    WarningCode::ShortRun,
    WarningCode::FewSamples,
    WarningCode::Interrupted,
    WarningCode::RateNotHeld,
    WarningCode::RateChanged,
];

#[derive(Clone, Copy, Debug)]
pub struct Precision {
    pub warmup: Nanos,
    pub interval: Nanos,
    /// Half width of the confidence interval of IOPS, relative to the mean, at which a point is done.
    pub half_width: Percent,
    pub repeats_min: u32,
    /// Most intervals, however wide the confidence interval.
    pub repeats_max: u32,
}

impl Precision {
    fn is_done(&self, repeats: &[Repeat]) -> bool {
        let count = u32::try_from(repeats.len()).unwrap_or(u32::MAX);
        let sure =
            || iops_half_width(repeats).is_some_and(|half_width| half_width <= self.half_width.fraction());
        count >= self.repeats_max || (count >= self.repeats_min && (self.repeats_min == 1 || sure()))
    }
}

pub struct PointJob<'a> {
    pub role: &'a RoleProfile,
    pub targets: &'a Targets,
    /// Index of its first target in the run's targets.
    pub first_target: u32,
    /// The run's seed; every interval derives its own, so that caches do not know its blocks.
    pub seed: u64,
    pub label: &'a str,
    /// How long the run takes after this setting, nanoseconds; `None` if unknown.
    pub after_ns: Option<u64>,
}

/// A long interval, also counted in short ones.
pub(crate) struct Course {
    pub(crate) repeat: Repeat,
    /// Latencies of all its reads and writes, nanoseconds.
    pub(crate) latency_ns: Histogram,
    /// In short intervals, the last of which may be shorter.
    pub(crate) series: Vec<IntervalPoint>,
    /// Everything that was asked for, also what came too late to be measured, bytes.
    pub(crate) asked_bytes: u64,
}

pub struct PointRunner<'s> {
    session: &'s Session<'s>,
    recorder: RunRecorder,
    facts: Vec<Target>,
    busy_before: Vec<BusyBefore>,
    engine: EngineUse,
    intervals: u64,
    /// A warning, the first setting that raised it, and how many did.
    warnings: Vec<(Warning, String, u32)>,
}

impl<'s> PointRunner<'s> {
    /// Examines the machine and the devices. `all` are all targets of the run, in order.
    pub fn begin(session: &'s Session<'s>, all: &[&Targets]) -> Self {
        let mut devices: Vec<String> = all.iter().flat_map(|targets| targets.devices()).collect();
        devices.sort();
        devices.dedup();
        let busy_before = session.look_before(&devices);
        Self {
            session,
            recorder: session.recorder(),
            facts: all.iter().flat_map(|targets| targets.facts()).collect(),
            busy_before,
            engine: EngineUse::default(),
            intervals: 0,
            warnings: Vec::new(),
        }
    }

    /// Whether to stop measuring: the user interrupted, or the load only failed.
    pub fn stopped(&self) -> bool {
        self.session.stopped()
    }

    pub fn elapsed_ns(&self) -> u64 {
        self.recorder.elapsed_ns()
    }

    pub fn hypervisor(&self) -> Option<&str> {
        self.recorder.host().hypervisor.as_deref()
    }

    /// Whether a device did more than this by itself before the run: a share of its time, or requests a second.
    pub(crate) fn is_busy(&self, share: f64, iops: f64) -> bool {
        self.busy_before.iter().any(|device| device.busy_share > share || device.iops > iops)
    }

    /// What an earlier run measured, which this one goes on from, is as doubtful as it was.
    pub(crate) fn take_over_warnings(&mut self, of: &str, warnings: &[Warning]) {
        let taken = warnings
            .iter()
            .filter(|warning| warning.code.is_more_than_note() && !IGNORED.contains(&warning.code));
        self.warnings.extend(taken.map(|warning| {
            let message = format!("of {of}: {}", warning.message);
            (Warning { message, ..warning.clone() }, of.to_owned(), 0)
        }));
    }

    pub fn engine(&self) -> EngineUse {
        self.engine.clone()
    }

    pub fn emit(&self, event: &Event<'_>) {
        self.session.observer().on(event);
    }

    /// `None` if stopped before an interval was done.
    pub fn point(
        &mut self,
        job: &PointJob<'_>,
        precision: &Precision,
    ) -> Result<Option<Point>, SessionError> {
        let mut point = Point {
            targets: (job.first_target..).take(job.targets.count()).collect(),
            block_size: job.role.block_size.clone(),
            access: job.role.access,
            write_pct: job.role.write_pct,
            queue_depth: job.role.queue_depth,
            workers: job.role.workers,
            rate_iops: job.role.rate.map(|rate| rate.iops(job.role.block_size.mean_bytes())),
            repeats: Vec::new(),
            latency_ns: Histogram::new(),
        };
        while !self.stopped() && !precision.is_done(&point.repeats) {
            let again = !point.repeats.is_empty();
            let warmup = if again { Nanos(precision.warmup.0 / WARMUP_SHARE) } else { precision.warmup };
            self.interval(job, warmup, precision.interval, &mut point)?;
        }
        Ok((!point.repeats.is_empty()).then_some(point))
    }

    fn interval(
        &mut self,
        job: &PointJob<'_>,
        warmup: Nanos,
        duration: Nanos,
        point: &mut Point,
    ) -> Result<(), SessionError> {
        let span = SpanProfile {
            warmup,
            duration,
            cooldown: Nanos(0),
            interval: SpanProfile::default_interval(),
            worker_series: false,
            roles: vec![job.role.clone()],
        };
        let seed = job.seed.wrapping_add(self.intervals);
        self.intervals += 1;
        let begun_ns = self.session.clock().now_ns();
        let part = Part::Point(job.label);
        let place = SpanPlace { part, before_ns: self.recorder.elapsed_ns(), after_ns: job.after_ns };
        let outcome = self.session.run_span(&span, seed, (job.targets, 0), &job.targets.devices(), place)?;
        let Some(role) = outcome.roles.first() else { return Ok(()) };
        self.engine = role.engine.clone();
        // Less than half an interval says too little about a setting.
        if outcome.measured_ns >= duration.0 / 2 {
            let start_ns = begun_ns + warmup.0 - self.recorder.started_ns();
            let (repeat, latency_ns) = repeat_of(role, outcome.measured_ns, start_ns);
            point.repeats.push(repeat);
            point.latency_ns.merge(&latency_ns);
        }
        self.check(job, span, seed, outcome);
        Ok(())
    }

    /// One long interval of `length`, counted in short ones of `interval`; `go_on` is asked ten times a second with the newest of these
    /// whether it is to go on. It ends before a request that goes beyond `bytes_max`. `None` if nothing was measured.
    pub(crate) fn course(
        &mut self,
        job: &PointJob<'_>,
        (length, interval): (Nanos, Nanos),
        bytes_max: u64,
        go_on: &mut dyn FnMut(&IntervalPoint) -> bool,
    ) -> Result<Option<Course>, SessionError> {
        let span = SpanProfile {
            warmup: Nanos(0),
            duration: length,
            cooldown: Nanos(0),
            interval,
            worker_series: false,
            roles: vec![job.role.clone()],
        };
        let seed = job.seed.wrapping_add(self.intervals);
        self.intervals += 1;
        let (session, own) = (self.session, StopToken::with_bytes(bytes_max));
        let start_ns = self.recorder.elapsed_ns();
        let mut ticked = |newest: &[Option<&IntervalPoint>]| {
            let asked = session.stop();
            if asked.is_raised() {
                own.raise(asked.at_ns());
            } else if newest.iter().flatten().any(|newest| !go_on(newest)) {
                own.raise(session.clock().now_ns());
            }
        };
        let place = SpanPlace { part: Part::Point(job.label), before_ns: start_ns, after_ns: job.after_ns };
        let devices = job.targets.devices();
        let targets = (job.targets, 0);
        let outcome = session.run_span_while(&span, seed, targets, &devices, place, &own, &mut ticked)?;
        if own.given_up() {
            session.stop().give_up(session.clock().now_ns());
        }
        let Some(role) = outcome.roles.first().cloned() else { return Ok(None) };
        self.engine = role.engine.clone();
        let measured_ns = outcome.measured_ns;
        self.check(job, span, seed, outcome);
        let (repeat, latency_ns) = repeat_of(&role, measured_ns, start_ns);
        let asked_bytes = bytes_max.saturating_sub(own.left_bytes());
        Ok((measured_ns > 0).then_some(Course { repeat, latency_ns, series: role.series, asked_bytes }))
    }

    fn check(&mut self, job: &PointJob<'_>, span: SpanProfile, seed: u64, outcome: SpanOutcome) {
        let profile = Profile { name: String::new(), description: String::new(), seed, spans: vec![span] };
        let outcome = LoadOutcome { profile, asked: None, spans: vec![outcome] };
        let warnings = check(self.recorder.host(), job.targets, &self.busy_before, &outcome);
        for warning in warnings.into_iter().filter(|warning| !IGNORED.contains(&warning.code)) {
            let known = self
                .warnings
                .iter_mut()
                .find(|(known, _, _)| known.code == warning.code && known.subject == warning.subject);
            match known {
                Some((_, label, count)) => *count += u32::from(label != job.label),
                None => self.warnings.push((warning, job.label.to_owned(), 0)),
            }
        }
    }

    pub fn finish(self, name: &str, body: RunBody) -> Run {
        let interrupted = self.stopped();
        self.record(name, body, interrupted)
    }

    /// The run as it is now, as one that was interrupted: to be stored while it goes on.
    pub(crate) fn record_so_far(&self, name: &str, body: RunBody) -> Run {
        self.record(name, body, true)
    }

    fn record(&self, name: &str, body: RunBody, interrupted: bool) -> Run {
        let mut warnings: Vec<Warning> = self
            .warnings
            .iter()
            .map(|(warning, label, more)| at_setting(warning.clone(), label, *more))
            .collect();
        if interrupted {
            let message = "stopped early; the measurements up to then are valid";
            warnings.insert(0, Warning::new(WarningCode::Interrupted, message));
        }
        let (name, targets) = (name.to_owned(), self.facts.clone());
        self.recorder.clone().finish(Ended { name, targets, warnings, interrupted, body })
    }
}

/// Adds the setting to a warning that is about the load and not about the platform.
fn at_setting(mut warning: Warning, label: &str, more: u32) -> Warning {
    let of_the_load = matches!(
        warning.code,
        WarningCode::DepthNotReached
            | WarningCode::GeneratorBound
            | WarningCode::IoErrors
            | WarningCode::UnfinishedRequests
            | WarningCode::RequestsSplit
            | WarningCode::RateNotHeld
            | WarningCode::SyncTooFast
            | WarningCode::CacheUnverified
    );
    if of_the_load {
        let others = match more {
            0 => String::new(),
            more => format!(" (and {more} times more at other settings)"),
        };
        warning.message = format!("at {label}: {}{others}", warning.message);
        warning.subject = None;
    }
    warning
}

fn repeat_of(role: &RoleOutcome, measured_ns: u64, start_ns: u64) -> (Repeat, Histogram) {
    let sum = role.reads_and_writes().unwrap_or_default();
    let latency_ns = sum.latency_ns();
    let repeat = Repeat {
        start_ns,
        measured_ns,
        count: sum.count(),
        bytes: sum.bytes,
        failed: sum.failed,
        latency_ns_mean: latency_ns.mean(),
        latency_ns_p99: latency_ns.value_at(Percentile::P99),
        backlog_at_end: role.open_loop.as_ref().map(|open| open.backlog_at_end),
    };
    (repeat, latency_ns.clone())
}
