//! Finds the limits of a volume: a bucket of credits, caps on requests and bytes, how large requests count, and what two volumes share.

mod error;
mod first_reads;
mod probe;
mod read_all;
mod search;
mod vendor_log;

use std::io;
use std::path::PathBuf;

use iostall_engine::guard::{WriteConsent, is_same_place};
use iostall_load::preset::preset;
use iostall_load::profile::check;
use iostall_measure::{BlockSize, Clock, Nanos};
use iostall_model::limits::{LimitsEnd, LimitsPlan, LimitsTask, ProbeStep, ReadAll, VolumeLogs};
use iostall_model::outcome::EngineUse;
use iostall_model::{LimitsOutcome, Profile, RoleProfile, Run, RunBody};

use crate::analysis::limits::{LARGE, LARGEST, PAGE, SMALL, fall, telling_size};
use crate::error::SessionError;
use crate::event::{Event, LimitsCost};
use crate::point_runner::PointRunner;
use crate::recorder::Ended;
use crate::session::Session;
use crate::targets::{TargetBinding, TargetRequest};
use error::LimitsError;
use probe::Probe;
use search::{Budget, NAMES, Search, role};
use vendor_log::{log_under, saved};

pub use read_all::LimitsStores;

/// Part of the time that the search for a bucket takes at most; large requests, whose bucket counts bytes, take less.
const LOAD_SHARE: f64 = 0.45;
const LARGEST_SHARE: f64 = 0.2;
/// Part of the time for a size that shows no more than its rate.
const SIZE_SHARE: f64 = 0.04;
const PAUSE_SHARE: f64 = 0.2;
/// What a pause earns lasts this long under full load, seconds.
const EARNED_S: f64 = 1.5;
const PAUSE_S_MIN: f64 = 2.0;

#[derive(Clone, Debug)]
pub struct LimitsRequest {
    /// A file or a device, and perhaps another one that is loaded beside it.
    pub targets: Vec<PathBuf>,
    pub consent: WriteConsent,
    pub plan: LimitsPlan,
    pub name: String,
}

/// A profile with a role for each size, so that the targets are checked for everything that will be done to them.
pub fn limits_profile(plan: &LimitsPlan, targets: usize) -> Result<Profile, SessionError> {
    let mut profile = preset(if plan.writes { "random-write" } else { "random-read" })?;
    "limits".clone_into(&mut profile.name);
    profile.seed = plan.seed;
    let span = profile.spans.first_mut().ok_or(SessionError::NoRole)?;
    let base = span.roles.first().ok_or(SessionError::NoRole)?.clone();
    span.roles.clear();
    for bytes in [SMALL, PAGE, LARGE, LARGEST] {
        let size = BlockSize::new(bytes.into()).map_err(|_| SessionError::NoRole)?;
        let name = format!("size-{}", span.roles.len());
        let names = NAMES.iter().take(targets).map(|name| (*name).to_owned()).collect();
        span.roles.push(RoleProfile { name, targets: names, ..role(&base, plan, size) });
    }
    check(&profile)?;
    Ok(profile)
}

pub fn limits(
    request: LimitsRequest,
    stores: LimitsStores<'_>,
    session: &Session<'_>,
) -> Result<Run, SessionError> {
    let LimitsRequest { targets: paths, consent, plan, name } = request;
    check_task(plan.task, &paths, session)?;
    if plan.task == LimitsTask::VendorLog {
        return of_log(plan, &paths, name, session);
    }
    let earlier = match (stores.earlier, paths.first()) {
        (Some(store), Some(target)) => Some(read_all::newest(store, target, session)?),
        _ => None,
    };
    if let [one, other, ..] = paths.as_slice()
        && (one == other || is_same_place(one, other))
    {
        return Err(SessionError::NamedTwice { one: one.clone(), other: other.clone() });
    }
    let profile = limits_profile(&plan, paths.len())?;
    let first = paths.first().cloned();
    let bindings = NAMES.iter().zip(paths).map(|(name, path)| TargetBinding { name: (*name).into(), path });
    let asked = TargetRequest {
        bindings: bindings.collect(),
        ..TargetRequest::of_paths(Vec::new(), plan.size, consent)
    };
    let targets = session.prepare(&asked, &profile)?;
    let roles = profile.spans.first().map(|span| span.roles.as_slice()).unwrap_or_default();
    let base = roles.first().ok_or(SessionError::NoRole)?.clone();
    let runner = PointRunner::begin(session, &[&targets]);
    if plan.is_search() {
        runner.emit(&Event::LimitsBegins(&LimitsCost {
            time_limit: plan.time_limit,
            byte_limit: plan.byte_limit,
            writes: plan.writes,
            targets: targets.count(),
        }));
    }
    let outcome = LimitsOutcome {
        engine: EngineUse::default(),
        used_bytes: targets.used_bytes(),
        first_reads: None,
        read_all: None,
        volume_logs: None,
        probes: Vec::new(),
        points: Vec::new(),
        ended: LimitsEnd::Complete,
        plan,
    };
    let begun_ns = session.clock().now_ns();
    let budget = Budget::new(&outcome.plan, begun_ns);
    let mut search = Search { session, runner, targets: &targets, base, budget, outcome };
    let looks = session.engine().opens_files() && search.outcome.plan.is_search();
    let before = first.as_deref().filter(|_| looks).and_then(log_under);
    match search.outcome.plan.task {
        LimitsTask::Whole => {
            search.first_reads()?;
            search.run()?;
        }
        LimitsTask::Search => search.run()?,
        LimitsTask::FirstReads => search.first_reads()?,
        LimitsTask::ReadAll => search.read_all(earlier.as_ref(), stores, &name)?,
        // That needs no target.
        LimitsTask::VendorLog => {}
    }
    let after = first.as_deref().filter(|_| before.is_some()).and_then(log_under);
    let elapsed_ns = Some(session.clock().now_ns() - begun_ns);
    search.outcome.volume_logs = after.map(|after| VolumeLogs { before, after, elapsed_ns });
    Ok(search.finish(&name))
}

/// Reads only the log, which loads nothing.
fn of_log(
    plan: LimitsPlan,
    paths: &[PathBuf],
    name: String,
    session: &Session<'_>,
) -> Result<Run, SessionError> {
    let recorder = session.recorder();
    let outcome = LimitsOutcome {
        engine: EngineUse::default(),
        used_bytes: Vec::new(),
        first_reads: None,
        read_all: None,
        volume_logs: Some(saved(paths)?),
        probes: Vec::new(),
        points: Vec::new(),
        ended: LimitsEnd::Complete,
        plan,
    };
    let (targets, warnings, interrupted) = (Vec::new(), Vec::new(), session.interrupted());
    let body = RunBody::Limits(Box::new(outcome));
    Ok(recorder.finish(Ended { name, targets, warnings, interrupted, body }))
}

/// Refuses what the task cannot do, before anything is made.
fn check_task(task: LimitsTask, paths: &[PathBuf], session: &Session<'_>) -> Result<(), SessionError> {
    let what = match task {
        LimitsTask::Whole | LimitsTask::Search | LimitsTask::VendorLog => return Ok(()),
        LimitsTask::FirstReads => "--first-reads",
        LimitsTask::ReadAll => "--read-all",
    };
    let [target] = paths else { return Err(LimitsError::OneTarget { what }.into()) };
    // What was just made has nothing to be fetched from anywhere.
    let is_missing = target.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    if session.engine().opens_files() && is_missing {
        return Err(LimitsError::Missing { target: target.display().to_string() }.into());
    }
    Ok(())
}

impl Search<'_> {
    fn run(&mut self) -> Result<(), SessionError> {
        for size in [SMALL, LARGE] {
            self.probe(&Probe { step: ProbeStep::Unloaded, length_s: Some(1.0), ..Probe::of(size) })?;
        }
        self.load(SMALL, LOAD_SHARE)?;
        for size in [PAGE, LARGE] {
            self.probe(&Probe { share: SIZE_SHARE, ..Probe::of(size) })?;
        }
        self.load(LARGEST, LARGEST_SHARE)?;
        if let Some(size) = telling_size(&self.outcome.probes) {
            self.probe(&Probe { share: SIZE_SHARE, ..Probe::of(size) })?;
        }
        if self.targets.count() > 1 {
            self.beside()?;
        }
        Ok(())
    }

    /// Loads until the rate falls; then pauses, to see whether that fills a bucket.
    fn load(&mut self, size: u32, share: f64) -> Result<(), SessionError> {
        self.probe(&Probe { step: ProbeStep::Load, share, ..Probe::of(size) })?;
        let Some(found) =
            self.outcome.probes.last().filter(|probe| probe.step == ProbeStep::Load).and_then(fall)
        else {
            return Ok(());
        };
        let (fast, slow) = (found.change.before, found.change.after);
        let pause_s = (EARNED_S * (fast / slow - 1.0)).max(PAUSE_S_MIN);
        // A bucket that the pause fills lasts no longer than it did.
        let lasts_s = (slow * pause_s).min(found.beyond) / (fast - slow);
        if pause_s <= self.budget.whole_s() * PAUSE_SHARE && self.pause(pause_s) {
            let length_s = Some((lasts_s * 3.0).max(lasts_s + 2.0));
            self.probe(&Probe { step: ProbeStep::Again, pause_s, length_s, ..Probe::of(size) })?;
        }
        self.probe(&Probe { step: ProbeStep::Sustained, share: SIZE_SHARE, ..Probe::of(size) })
    }

    /// Waits; false if there is no time for it or the user stopped.
    fn pause(&self, seconds: f64) -> bool {
        let (clock, wait) = (self.session.clock(), Nanos::from_seconds(seconds).0);
        let end_ns = clock.now_ns().saturating_add(wait);
        if self.budget.left_ns(clock.now_ns()) < wait {
            return false;
        }
        while clock.now_ns() < end_ns && !self.runner.stopped() {
            clock.sleep_until(end_ns.min(clock.now_ns() + 100_000_000));
        }
        !self.runner.stopped()
    }

    fn beside(&mut self) -> Result<(), SessionError> {
        for size in [SMALL, LARGEST] {
            self.probe(&Probe { targets: &[1], share: SIZE_SHARE, ..Probe::of(size) })?;
            let step = ProbeStep::Together;
            self.probe(&Probe { step, targets: &[0, 1], share: SIZE_SHARE, ..Probe::of(size) })?;
        }
        Ok(())
    }

    fn finish(mut self, name: &str) -> Run {
        self.outcome.engine = self.runner.engine();
        // The last piece may have come after Ctrl-C.
        let is_whole = self.outcome.read_all.as_ref().is_some_and(ReadAll::is_whole);
        if self.runner.stopped() && !is_whole {
            self.outcome.ended = LimitsEnd::Interrupted;
        }
        self.runner.finish(name, RunBody::Limits(Box::new(self.outcome)))
    }
}
