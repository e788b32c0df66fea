//! Guards a volume: short probes of small and large requests in turn, compared with an earlier run or with what was paid for, until the
//! answer is clear or the budget is used up.

use std::path::PathBuf;

use iostall_engine::guard::WriteConsent;
use iostall_load::preset::preset;
use iostall_load::profile::check;
use iostall_measure::{BlockSize, Caching, Clock, Durability, Nanos, Percent, Rate};
use iostall_model::guard::{
    DatabaseNear, GuardBaseline, GuardEnd, GuardFigure, GuardPast, GuardPlan, PaidFor,
};
use iostall_model::outcome::EngineUse;
use iostall_model::profile::{Access, Arrivals, BlockMix};
use iostall_model::warning::{Rank, names};
use iostall_model::{GuardOutcome, Point, Profile, RoleProfile, Run, RunBody, Warning};
use iostall_store::{Selector, Store};
use thiserror::Error;

use crate::analysis::guard::{LOOKS, PROBES_MIN, is_decided};
use crate::analysis::limits::{LARGE, PAGE, SMALL};
use crate::error::{SessionError, UseCaseError};
use crate::event::{Event, LimitsCost};
use crate::past::{Earlier, Subject};
use crate::point_runner::{PointJob, PointRunner, Precision};
use crate::session::Session;
use crate::targets::{TargetRequest, Targets};

/// A canary leaves a device alone that does more than this by itself: share of the time, and requests a second.
const BUSY_SHARE: f64 = 0.1;
const BUSY_IOPS: f64 = 100.0;
/// And where the sessions of a database wait for it this much, seconds a second.
const BUSY_STALL: f64 = 0.5;

#[derive(Clone, Debug)]
pub struct GuardRequest {
    pub target: PathBuf,
    pub plan: GuardPlan,
    pub baseline: Option<Selector>,
    pub paid_for: PaidFor,
    /// The watched databases on its volume, which a canary must not disturb.
    pub databases: Vec<DatabaseNear>,
    pub name: String,
}

#[derive(Debug, Error)]
enum GuardError {
    #[error("run {number} has no probes that can be compared: {why}")]
    NoBaseline { number: u32, why: String },
}

impl From<GuardError> for SessionError {
    fn from(error: GuardError) -> Self {
        let hint =
            "`iostall drive guard TARGET` without --baseline measures one; its run can be named from then on";
        Self::OfUseCase(UseCaseError::new(error, Some(hint.to_owned())))
    }
}

pub fn guard_profile(plan: &GuardPlan) -> Result<Profile, SessionError> {
    let mut profile = preset("random-read")?;
    "guard".clone_into(&mut profile.name);
    let span = profile.spans.first_mut().ok_or(SessionError::NoRole)?;
    let base = span.roles.first().ok_or(SessionError::NoRole)?.clone();
    span.roles.clear();
    for bytes in sizes(plan) {
        let size = BlockSize::new(u64::from(*bytes)).map_err(|_| SessionError::NoRole)?;
        let name = format!("size-{}", span.roles.len());
        span.roles.push(RoleProfile { name, ..role(&base, plan, size) });
    }
    check(&profile)?;
    Ok(profile)
}

/// A canary's requests are small.
fn sizes(plan: &GuardPlan) -> &'static [u32] {
    if plan.rate_iops.is_some() { &[SMALL] } else { &[SMALL, LARGE] }
}

fn role(base: &RoleProfile, plan: &GuardPlan, size: BlockSize) -> RoleProfile {
    let share = u64::from(plan.queue_depth) * u64::from(PAGE) / u64::from(size.bytes().max(PAGE));
    RoleProfile {
        block_size: BlockMix::single(size),
        access: Access::Random,
        write_pct: Percent::ZERO,
        queue_depth: u32::try_from(share).unwrap_or(u32::MAX).max(plan.queue_depth.min(4)),
        workers: plan.workers,
        rate: plan.rate_iops.map(Rate::Iops),
        arrivals: Arrivals::Constant,
        caching: Caching::Direct,
        durability: Durability::None,
        sync: None,
        ..base.clone()
    }
}

pub fn guard(
    request: GuardRequest,
    earlier: Option<&dyn Store>,
    session: &Session<'_>,
) -> Result<Run, SessionError> {
    let GuardRequest { target, plan, baseline, paid_for, databases, name } = request;
    let profile = guard_profile(&plan)?;
    let asked = TargetRequest::of_paths(vec![target.clone()], plan.size, WriteConsent::none());
    let targets = session.prepare(&asked, &profile)?;
    let subject = Subject::new(session, std::slice::from_ref(&target));
    let (baseline, its_warnings) = match (&baseline, earlier) {
        (Some(selector), Some(store)) => {
            let (baseline, warnings) = baseline_of(store, selector, &plan, &subject)?;
            (Some(baseline), warnings)
        }
        _ => (None, Vec::new()),
    };
    let roles = profile.spans.first().map(|span| span.roles.clone()).unwrap_or_default();
    let mut runner = PointRunner::begin(session, &[&targets]);
    runner.take_over_warnings("the baseline", &its_warnings);
    runner.emit(&Event::LimitsBegins(&LimitsCost {
        time_limit: plan.time_limit,
        byte_limit: plan.byte_limit,
        writes: false,
        targets: 1,
    }));
    let history = earlier.map(|store| past(store, &subject, &plan)).transpose()?.unwrap_or_default();
    let outcome = GuardOutcome {
        engine: EngineUse::default(),
        used_bytes: targets.used_bytes().first().copied().unwrap_or(0),
        points: Vec::new(),
        baseline,
        paid_for,
        history,
        databases,
        ended: GuardEnd::Probes,
        plan,
    };
    let end_ns = session.clock().now_ns().saturating_add(outcome.plan.time_limit.0);
    let mut guard = Guard { session, runner, targets: &targets, roles, outcome, end_ns };
    guard.run()?;
    guard.outcome.engine = guard.runner.engine();
    if guard.runner.stopped() {
        guard.outcome.ended = GuardEnd::Interrupted;
    }
    Ok(guard.runner.finish(&name, RunBody::Guard(Box::new(guard.outcome))))
}

/// With what disturbed it.
fn baseline_of(
    store: &dyn Store,
    selector: &Selector,
    plan: &GuardPlan,
    subject: &Subject<'_>,
) -> Result<(GuardBaseline, Vec<Warning>), SessionError> {
    let stored = store.get(selector)?;
    let number = stored.number.0;
    let refused = |why: &str| GuardError::NoBaseline { number, why: why.to_owned() };
    if !stored.run.is_valid() {
        let codes = names(stored.run.codes(), |code| code.rank() == Rank::Invalidates);
        return Err(refused(&format!("its numbers are not those of the storage: {codes}")).into());
    }
    let Some(outcome) = stored.run.body.as_kind::<GuardOutcome>() else {
        return Err(refused("it is no run of `drive guard`").into());
    };
    if !subject.is_of(&stored.run) {
        let why =
            "it was of another file, device or machine, or of an older iostall that did not keep of which";
        return Err(refused(why).into());
    }
    if !outcome.plan.is_like(plan) {
        return Err(refused("its probes were of another size, length, rate or depth").into());
    }
    let is_enough = |point: &Point| point.repeats.len() >= PROBES_MIN;
    if outcome.points.is_empty() || !outcome.points.iter().all(is_enough) {
        return Err(refused("it has too few").into());
    }
    let points = outcome.points.clone();
    let (run, started_utc, firmware) = (stored.run.id, stored.run.started_utc, firmware(&stored.run));
    let disturbed = stored.run.warnings.into_iter().filter(|warning| warning.code.is_disturbance());
    Ok((GuardBaseline { run, started_utc, firmware, points }, disturbed.collect()))
}

fn firmware(run: &Run) -> Option<String> {
    run.devices.first().and_then(Option::as_ref).and_then(|device| device.firmware.clone())
}

/// Earlier guards of the target whose probes are alike, oldest first. What is not of the storage is no part of its past.
fn past(store: &dyn Store, subject: &Subject<'_>, plan: &GuardPlan) -> Result<Vec<GuardPast>, SessionError> {
    let figures = |outcome: &GuardOutcome| -> Option<Vec<GuardFigure>> {
        let figures = outcome.points.iter().filter_map(GuardFigure::of).collect();
        Some(figures).filter(|figures: &Vec<_>| outcome.plan.is_like(plan) && !figures.is_empty())
    };
    let found = subject.earlier(store, "guard", usize::MAX, figures)?;
    let valid = found.into_iter().rev().filter(|earlier| earlier.run.is_valid());
    let one = |Earlier { run, outcome: figures, .. }| {
        let firmware = firmware(&run);
        GuardPast { run: run.id, started_utc: run.started_utc, firmware, figures }
    };
    Ok(valid.map(one).collect())
}

struct Guard<'s> {
    session: &'s Session<'s>,
    runner: PointRunner<'s>,
    targets: &'s Targets,
    roles: Vec<RoleProfile>,
    outcome: GuardOutcome,
    end_ns: u64,
}

impl Guard<'_> {
    /// Probes of each size in turn, so that what changes meanwhile meets all of them.
    fn run(&mut self) -> Result<(), SessionError> {
        if self.outcome.plan.rate_iops.is_some()
            && let Some(end) = self.is_in_use()
        {
            self.outcome.ended = end;
            return Ok(());
        }
        let each = (self.outcome.plan.probes_max / LOOKS).max(1);
        for number in 1..=self.outcome.plan.probes_max {
            for index in 0..self.roles.len() {
                if self.runner.stopped() {
                    return Ok(());
                }
                if let Some(end) = self.is_used_up(index) {
                    self.outcome.ended = end;
                    return Ok(());
                }
                self.probe(index)?;
            }
            if number % each == 0 && is_decided(&self.outcome) {
                self.outcome.ended = GuardEnd::Decided;
                return Ok(());
            }
        }
        Ok(())
    }

    /// What speaks against a canary now. The device is asked, and the databases: one may wait for what the device does not show.
    fn is_in_use(&self) -> Option<GuardEnd> {
        let all = &self.outcome.databases;
        let is_more = |value: Option<f64>, most: f64| value.is_some_and(|value| value > most);
        let has_work =
            |one: &DatabaseNear| is_more(one.iops, BUSY_IOPS) || is_more(one.stall_per_s, BUSY_STALL);
        if all.iter().any(has_work) {
            return Some(GuardEnd::DatabaseBusy);
        }
        if self.runner.is_busy(BUSY_SHARE, BUSY_IOPS) {
            return Some(GuardEnd::Busy);
        }
        all.iter().any(|one| one.until_utc.is_none()).then_some(GuardEnd::DatabaseUnknown)
    }

    /// Which limit the next probe of the size `index` would exceed, if it reads as much as the one before.
    fn is_used_up(&self, index: usize) -> Option<GuardEnd> {
        let size = self.roles.get(index).map(|role| &role.block_size);
        let before = self.outcome.points.iter().find(|point| Some(&point.block_size) == size);
        let expected = before.and_then(|point| point.repeats.last()).map_or(0, |probe| probe.bytes);
        let limit = self.outcome.plan.byte_limit.bytes();
        let moved = self.outcome.moved_bytes();
        if moved >= limit || moved.saturating_add(expected) > limit {
            return Some(GuardEnd::Bytes);
        }
        let after_ns = self.session.clock().now_ns().saturating_add(self.outcome.plan.probe.0);
        (after_ns > self.end_ns).then_some(GuardEnd::Time)
    }

    fn probe(&mut self, index: usize) -> Result<(), SessionError> {
        let Some(role) = self.roles.get(index) else { return Ok(()) };
        let label = format!("probe of {}", role.block_size.in_words());
        let job = PointJob {
            role,
            targets: self.targets,
            first_target: 0,
            seed: self.session.clock().now_ns(),
            label: &label,
            after_ns: None,
        };
        let once = Precision {
            warmup: Nanos(0),
            interval: self.outcome.plan.probe,
            half_width: Percent::HUNDRED,
            repeats_min: 1,
            repeats_max: 1,
        };
        let Some(probe) = self.runner.point(&job, &once)? else { return Ok(()) };
        match self.outcome.points.iter_mut().find(|point| point.block_size == probe.block_size) {
            Some(point) => {
                point.repeats.extend(probe.repeats);
                point.latency_ns.merge(&probe.latency_ns);
            }
            None => self.outcome.points.push(probe),
        }
        Ok(())
    }
}
