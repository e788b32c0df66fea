//! The steps of every load: choose the engine, prepare the targets, run a profile, and check the numbers. Use
//! cases differ in their profiles and in what they make of the runs.

use iostall_load::checks::{self, BusyBefore, Evidence};
use iostall_load::runner::{Observer as SpanObserver, Phase, run_span};
use iostall_load::window::StopToken;
use iostall_load::{EngineKind, SpanJob, Speed};
use iostall_measure::RunClock;
use iostall_measure::platform::Host;
use iostall_model::outcome::IntervalPoint;
use iostall_model::{AskedProfile, LoadOutcome, Profile, Run, RunBody, SpanOutcome, SpanProfile, Warning};

use crate::engine::{ChosenEngine, EngineChoice};
use crate::error::SessionError;
use crate::event::{Event, Observer, Part, RunProgress, SpanProgress};
use crate::machine::look_before;
use crate::recorder::{Ended, Program, RunRecorder};
use crate::targets::{Maker, TargetRequest, Targets};

pub struct Dependencies<'a> {
    pub program: Program,
    /// The clock of its runs; a simulated device's clock takes its place.
    pub clock: RunClock,
    pub stop: &'a StopToken,
    pub observer: &'a dyn Observer,
}

pub struct Session<'a> {
    program: Program,
    clock: RunClock,
    stop: &'a StopToken,
    observer: &'a dyn Observer,
    engine: ChosenEngine,
}

impl<'a> Session<'a> {
    pub fn begin(engine: EngineChoice, given: Dependencies<'a>) -> Result<Self, SessionError> {
        let Dependencies { program, clock, stop, observer } = given;
        let engine = engine.choose(observer)?;
        let clock = match &engine.kind {
            EngineKind::Sim(device) => RunClock::Manual(device.clock().clone()),
            EngineKind::Uring | EngineKind::Psync | EngineKind::Null => clock,
        };
        Ok(Self { program, clock, stop, observer, engine })
    }

    /// Whether the user interrupted it, as opposed to a load that only failed.
    pub fn interrupted(&self) -> bool {
        self.stop.is_raised() && !self.stop.given_up()
    }

    /// Whether to stop measuring: the user interrupted, or the load only failed.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.is_raised()
    }

    pub(crate) fn observer(&self) -> &'a dyn Observer {
        self.observer
    }

    pub(crate) fn engine(&self) -> &EngineKind {
        &self.engine.kind
    }

    pub(crate) fn stop(&self) -> &'a StopToken {
        self.stop
    }

    pub(crate) fn clock(&self) -> &RunClock {
        &self.clock
    }

    pub(crate) fn recorder(&self) -> RunRecorder {
        RunRecorder::begin(self.program.clone(), self.clock.clone())
    }

    pub fn prepare(&self, request: &TargetRequest, profile: &Profile) -> Result<Targets, SessionError> {
        match &self.engine.kind {
            EngineKind::Null => Ok(Targets::synthetic(request)),
            EngineKind::Sim(device) => Ok(Targets::simulated(request, device)),
            kind => {
                let (observer, stop) = (self.observer, self.stop);
                Targets::prepare(request, profile, &Maker { kind, observer, stop })
            }
        }
    }

    /// Runs `profile` on `targets` and checks the numbers. If interrupted, it returns what was measured so
    /// far.
    pub fn measure(&self, profile: Profile, targets: &Targets, name: &str) -> Result<Run, SessionError> {
        self.measure_asked(profile, None, targets, name)
    }

    pub fn measure_asked(
        &self,
        profile: Profile,
        asked: Option<AskedProfile>,
        targets: &Targets,
        name: &str,
    ) -> Result<Run, SessionError> {
        let devices = targets.devices();
        let busy_before = self.look_before(&devices);
        let recorder = self.recorder();
        let spans = self.run_spans(&profile, targets, &devices)?;
        let interrupted = spans.iter().any(|span| span.interrupted) || spans.len() < profile.spans.len();
        let outcome = LoadOutcome { profile, asked, spans };
        let warnings = check(recorder.host(), targets, &busy_before, &outcome);
        let name = name.to_owned();
        let body = RunBody::Load(outcome);
        Ok(recorder.finish(Ended { name, targets: targets.facts(), warnings, interrupted, body }))
    }

    pub(crate) fn look_before(&self, devices: &[String]) -> Vec<BusyBefore> {
        look_before(devices, &self.clock)
    }

    fn run_spans(
        &self,
        profile: &Profile,
        targets: &Targets,
        devices: &[String],
    ) -> Result<Vec<SpanOutcome>, SessionError> {
        let of = profile.spans.len();
        let lengths = || profile.spans.iter().map(SpanProfile::length_ns);
        let mut outcomes = Vec::with_capacity(of);
        for (index, span) in profile.spans.iter().enumerate() {
            let part = if of > 1 { Part::Span { number: index + 1, of } } else { Part::Whole };
            let place = SpanPlace {
                part,
                before_ns: lengths().take(index).sum(),
                after_ns: Some(lengths().skip(index + 1).sum()),
            };
            outcomes.push(self.run_span(span, profile.seed, (targets, index), devices, place)?);
            if self.stopped() {
                break;
            }
        }
        Ok(outcomes)
    }

    pub(crate) fn run_span(
        &self,
        span: &SpanProfile,
        seed: u64,
        targets: (&Targets, usize),
        devices: &[String],
        place: SpanPlace<'_>,
    ) -> Result<SpanOutcome, SessionError> {
        self.run_span_while(span, seed, targets, devices, place, self.stop, &mut |_| {})
    }

    /// Like `run_span`, until `stop` is raised. `ticked` gets the newest complete interval of each role ten times a second.
    #[expect(clippy::too_many_arguments, reason = "what a span needs, and when it ends")]
    pub(crate) fn run_span_while(
        &self,
        span: &SpanProfile,
        seed: u64,
        (targets, index): (&Targets, usize),
        devices: &[String],
        place: SpanPlace<'_>,
        stop: &StopToken,
        ticked: &mut dyn FnMut(&[Option<&IntervalPoint>]),
    ) -> Result<SpanOutcome, SessionError> {
        let lengths = [span.warmup, span.duration, span.cooldown];
        let observer = self.observer;
        let part = place.part;
        let mut watching = |phase, left_ns, newest: &[Option<&IntervalPoint>]| {
            targets.look();
            ticked(newest);
            let whole = place.whole(span, phase, left_ns);
            observer.on(&Event::SpanProgress(SpanProgress { part, phase, left_ns, lengths, whole, newest }));
        };
        let of_span = targets.for_span(index);
        let ChosenEngine { kind: engine, fallback } = &self.engine;
        let (fallback, as_asked) = (fallback.as_ref(), Speed::default());
        let job = SpanJob {
            span,
            seed,
            targets: &of_span,
            engine,
            fallback,
            devices,
            speed: &as_asked,
            recorded: &[],
        };
        let outcome = run_span(job, &self.clock, stop, &mut OnTick(&mut watching));
        observer.on(&Event::ProgressEnded);
        Ok(outcome?)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SpanPlace<'a> {
    pub(crate) part: Part<'a>,
    /// Time of the run before it, nanoseconds.
    pub(crate) before_ns: u64,
    /// Time of the run after it, nanoseconds; `None` if unknown.
    pub(crate) after_ns: Option<u64>,
}

impl SpanPlace<'_> {
    fn whole(&self, span: &SpanProfile, phase: Phase, left_ns: u64) -> RunProgress {
        let left_ns = match phase {
            Phase::Warmup => left_ns.saturating_add(span.duration.0).saturating_add(span.cooldown.0),
            Phase::Measured => left_ns.saturating_add(span.cooldown.0),
            Phase::Cooldown => left_ns,
            Phase::Draining => 0,
        };
        let elapsed_ns = self.before_ns.saturating_add(span.length_ns().saturating_sub(left_ns));
        RunProgress::new(elapsed_ns, self.after_ns.map(|after_ns| after_ns.saturating_add(left_ns)))
    }
}

pub(crate) fn check(
    host: &Host,
    targets: &Targets,
    busy_before: &[BusyBefore],
    outcome: &LoadOutcome,
) -> Vec<Warning> {
    checks::check(&Evidence {
        host,
        targets: &targets.facts(),
        sizes_after: &targets.sizes_now(),
        least_seen: &targets.least_seen(),
        paths_after: &targets.paths_now(),
        sizes_chosen: &targets.sizes_chosen(),
        busy_before,
        outcome,
    })
}

struct OnTick<F>(F);

impl<F: FnMut(Phase, u64, &[Option<&IntervalPoint>])> SpanObserver for OnTick<F> {
    fn tick(&mut self, phase: Phase, left_ns: u64, newest: &[Option<&IntervalPoint>]) {
        (self.0)(phase, left_ns, newest);
    }
}
