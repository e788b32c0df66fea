//! Loads a drive in rounds until its figures no longer change, and says whether they do.

mod deviations;
mod plan;
mod precondition;
mod resume;

use std::fs;
use std::path::{Path, PathBuf};

use iostall_engine::guard::WriteConsent;
use iostall_measure::platform::Target;
use iostall_measure::{BlockSize, ByteCount, Nanos, Percent};
use iostall_model::qualify::{
    Preconditioning, QualifyPlan, QualifyRound, QualifyScale, QualifyTest, Stopped,
};
use iostall_model::{QualifyOutcome, RoleProfile, Run, RunBody};
use iostall_store::Store;

use crate::analysis::qualify::{STEPS_PER_FILL, points_over, steady_window};
use crate::error::SessionError;
use crate::event::{Event, QualifyCost};
use crate::point_runner::{PointJob, PointRunner, Precision};
use crate::session::Session;
use crate::targets::{TargetRequest, Targets};
use deviations::{Circumstances, deviations};
use resume::{Checkpoints, Earlier, check_there, newest};

pub use plan::{IN_FLIGHT, plan_of, qualify_profile};

/// A window, and the one that confirms it.
const ROUNDS_MIN: u32 = 10;
/// Active ranges that a write saturation writes at most.
const SATURATION_FILLS: u64 = 4;
/// How long the target is read before it is written, for its speed.
const PROBE: Nanos = Nanos(500_000_000);

/// What to qualify.
#[derive(Clone, Debug)]
pub struct QualifyRequest {
    /// A file or a device.
    pub target: PathBuf,
    pub consent: WriteConsent,
    pub plan: QualifyPlan,
    /// What the data sheet of the drive lets hosts write, bytes.
    pub rated_bytes: Option<f64>,
    /// Name of the run.
    pub name: String,
}

/// Where rounds are kept.
#[derive(Default)]
pub struct QualifyStores<'a> {
    /// Has an interrupted qualification, to be continued.
    pub earlier: Option<&'a dyn Store>,
    /// Gets the run after each round.
    pub checkpoints: Option<&'a mut dyn Store>,
}

/// Qualifies. If interrupted, it returns the rounds so far.
///
/// # Errors
/// If the target may not be written, a request cannot be made at all, or there is nothing to continue.
pub fn qualify(
    request: QualifyRequest,
    stores: QualifyStores<'_>,
    session: &Session<'_>,
) -> Result<Run, SessionError> {
    let QualifyRequest { target, consent, mut plan, rated_bytes, name } = request;
    let profile = qualify_profile(&plan)?;
    if stores.earlier.is_some() && session.engine().opens_files() {
        check_there(&target)?;
    }
    let before_bytes = file_bytes(&target);
    let asked = TargetRequest::of_paths(vec![target.clone()], plan.size, consent);
    let targets = session.prepare(&asked, &profile)?;
    let made_bytes = before_bytes.map_or(0, |before| file_bytes(&target).unwrap_or(0).saturating_sub(before));
    let facts = targets.facts();
    let left_out = leave_out_sizes(&mut plan, facts.first());
    let roles = profile.spans.first().map(|span| span.roles.as_slice()).unwrap_or_default();
    let base = roles.first().ok_or(SessionError::NoRole)?.clone();
    let active_bytes = targets.used_bytes().first().copied().unwrap_or(0);
    if plan.test == QualifyTest::Saturation {
        let fills = ByteCount(active_bytes.saturating_mul(SATURATION_FILLS));
        plan.write_limit = Some(plan.write_limit.unwrap_or(fills));
    }
    let earlier = stores.earlier.map(|store| newest(store, &plan, &target)).transpose()?;
    let runner = PointRunner::begin(session, &[&targets]);
    if let Some(earlier) = &earlier {
        earlier.check(runner.hostname(), facts.first())?;
    }
    let mut qualifier = Qualifier {
        session,
        runner,
        checkpoints: Checkpoints::new(stores.checkpoints, session.clock().clone()),
        name,
        idle_ns: None,
        targets: &targets,
        base,
        active_bytes,
        outcome: QualifyOutcome {
            engine: iostall_model::outcome::EngineUse::default(),
            active_bytes,
            preconditioning: Preconditioning { made_bytes, ..Preconditioning::default() },
            rounds: Vec::new(),
            stopped: Stopped::Interrupted,
            steady: None,
            points: Vec::new(),
            deviations: Vec::new(),
            resumed: None,
            plan,
        },
    };
    let bytes_per_s = qualifier.probe()?;
    if let Some(earlier) = earlier {
        earlier.check_engine(&qualifier.runner.engine().name)?;
        qualifier.take_over(earlier);
    }
    qualifier.announce(bytes_per_s, rated_bytes);
    qualifier.precondition()?;
    qualifier.rounds()?;
    Ok(qualifier.finish(facts.first(), &left_out))
}

/// Length of the file at `path`, 0 if there is none yet; `None` for what is no file.
fn file_bytes(path: &Path) -> Option<u64> {
    match fs::metadata(path) {
        Ok(found) => found.is_file().then_some(found.len()),
        Err(_missing) => Some(0),
    }
}

/// Leaves out sizes that the target does not take; they, and the multiple that it does take, bytes.
fn leave_out_sizes(plan: &mut QualifyPlan, target: Option<&Target>) -> Vec<(u32, u32)> {
    let align = target.and_then(|target| target.direct.as_ref()).and_then(|direct| direct.offset_align);
    let align = align.unwrap_or(1).max(1);
    let is_taken = |size: &BlockSize| size.bytes().is_multiple_of(align);
    let refused =
        plan.sizes.iter().filter(|size| !is_taken(size)).map(|size| (size.bytes(), align)).collect();
    plan.sizes.retain(is_taken);
    refused
}

/// A qualification in progress.
struct Qualifier<'s, 'c> {
    session: &'s Session<'s>,
    runner: PointRunner<'s>,
    targets: &'s Targets,
    base: RoleProfile,
    active_bytes: u64,
    outcome: QualifyOutcome,
    checkpoints: Checkpoints<'c>,
    /// Name of the run.
    name: String,
    /// Time without load before the next round, nanoseconds, because the test was interrupted there.
    idle_ns: Option<u64>,
}

impl Qualifier<'_, '_> {
    /// Continues `earlier`: its rounds are the first ones.
    fn take_over(&mut self, earlier: Earlier) {
        self.idle_ns = Some(earlier.idle_ns());
        self.outcome.resumed = Some(earlier.id());
        self.outcome.preconditioning = earlier.outcome.preconditioning;
        self.outcome.rounds = earlier.outcome.rounds;
    }

    /// Says what is to come, before anything is written.
    fn announce(&self, bytes_per_s: Option<f64>, rated_bytes: Option<f64>) {
        let plan = &self.outcome.plan;
        let passes_bytes = self.active_bytes.saturating_mul(plan.passes.into());
        let passes_bytes = passes_bytes.saturating_sub(self.outcome.preconditioning.written_bytes);
        let done = u32::try_from(self.outcome.rounds.len()).unwrap_or(u32::MAX);
        let rounds_min = if plan.scale == QualifyScale::Quick { plan.rounds_max } else { ROUNDS_MIN };
        let cost = QualifyCost {
            active_bytes: self.active_bytes,
            made_bytes: self.outcome.preconditioning.made_bytes,
            passes_bytes,
            passes_ns: bytes_per_s.map(|speed| Nanos::from_seconds(passes_bytes as f64 / speed).0),
            rounds: (
                rounds_min.min(plan.rounds_max).saturating_sub(done),
                plan.rounds_max.saturating_sub(done),
            ),
            round_ns: plan.round_ns(),
            write_share: plan.write_share(),
            write_limit_bytes: plan.write_limit.map(ByteCount::bytes),
            bytes_per_s,
            rated_bytes,
        };
        self.runner.emit(&Event::QualifyBegins(&cost));
    }

    /// How fast the target is read, bytes a second; `None` if nothing was.
    fn probe(&mut self) -> Result<Option<f64>, SessionError> {
        let size = BlockSize::new(QualifyPlan::PASS_BYTES.into()).map_err(|_| SessionError::NoRole)?;
        let point = self.measure(Percent::ZERO, size, PROBE, "reading, for its speed")?;
        Ok(point
            .and_then(|point| point.mib_per_s())
            .map(|mib| mib * 1_048_576.0)
            .filter(|speed| *speed > 0.0))
    }

    fn measure(
        &mut self,
        write_pct: Percent,
        size: BlockSize,
        length: Nanos,
        label: &str,
    ) -> Result<Option<iostall_model::Point>, SessionError> {
        let role = plan::role(&self.base, &self.outcome.plan, write_pct, size);
        let job = PointJob {
            role: &role,
            targets: self.targets,
            first_target: 0,
            seed: self.outcome.plan.seed,
            label,
            after_ns: None,
        };
        let once = Precision {
            warmup: Nanos(0),
            interval: length,
            half_width: Percent::HUNDRED,
            repeats_min: 1,
            repeats_max: 1,
        };
        self.runner.point(&job, &once)
    }

    /// Rounds until they are steady, or as many as there may be.
    fn rounds(&mut self) -> Result<(), SessionError> {
        self.outcome.stopped = loop {
            if self.runner.stopped() {
                break Stopped::Interrupted;
            }
            if let Some(reason) = self.is_enough() {
                break reason;
            }
            let Some(round) = self.round()? else { break Stopped::Interrupted };
            let number = self.outcome.rounds.len() + 1;
            let fills = self.outcome.fills(round.written_bytes);
            let of = self.outcome.plan.rounds_max;
            self.runner.emit(&Event::RoundEnded { number, of, fills, round: &round });
            self.outcome.rounds.push(round);
            let is_long = self.outcome.plan.test == QualifyTest::Iops;
            let Self { checkpoints, session, runner, outcome, name, .. } = self;
            checkpoints.store(is_long, session, || {
                let outcome = QualifyOutcome {
                    engine: runner.engine(),
                    stopped: Stopped::Interrupted,
                    points: points_over(&outcome.rounds, None),
                    ..outcome.clone()
                };
                runner.record_so_far(name, RunBody::Qualify(Box::new(outcome)))
            });
        };
        Ok(())
    }

    fn is_enough(&self) -> Option<Stopped> {
        let (plan, rounds) = (&self.outcome.plan, &self.outcome.rounds);
        if plan.write_limit.is_some_and(|limit| self.outcome.rounds_bytes() >= limit.bytes()) {
            return Some(Stopped::WriteLimit);
        }
        if rounds.len() >= plan.rounds_max as usize {
            return Some(Stopped::Rounds);
        }
        if !self.is_step_over() {
            return None;
        }
        steady_window(&self.outcome).map(|_| Stopped::Steady)
    }

    /// Whether there may be a new window. The samples of a write saturation are many, and looking costs time in which the drive is
    /// idle.
    fn is_step_over(&self) -> bool {
        let step_bytes = (self.active_bytes / STEPS_PER_FILL).max(1);
        let steps = |round: Option<&QualifyRound>| round.map_or(0, |round| round.written_bytes / step_bytes);
        let rounds = &self.outcome.rounds;
        let before = rounds.len().checked_sub(2).and_then(|index| rounds.get(index));
        self.outcome.plan.test == QualifyTest::Iops || steps(rounds.last()) > steps(before)
    }

    /// One round; `None` if it was interrupted: half a round is no round.
    fn round(&mut self) -> Result<Option<QualifyRound>, SessionError> {
        let number = self.outcome.rounds.len() + 1;
        let cells: Vec<(Percent, BlockSize)> = self.outcome.plan.cells().collect();
        let cell = self.outcome.plan.cell;
        let mut points = Vec::with_capacity(cells.len());
        for (write_pct, size) in &cells {
            let label = match self.outcome.plan.test {
                QualifyTest::Iops => format!("round {number}: {write_pct} writes of {size}"),
                QualifyTest::Saturation => format!("sample {number}"),
            };
            points.extend(self.measure(*write_pct, *size, cell, &label)?);
            if self.runner.stopped() {
                return Ok(None);
            }
        }
        let mut round = QualifyRound { idle_ns: self.idle_ns.take(), written_bytes: 0, points };
        round.written_bytes = self.outcome.rounds_bytes().saturating_add(round.own_written_bytes());
        Ok(Some(round))
    }

    fn finish(mut self, target: Option<&Target>, left_out: &[(u32, u32)]) -> Run {
        let outcome = &mut self.outcome;
        outcome.engine = self.runner.engine();
        outcome.steady = steady_window(outcome).map(|window| window.rounds);
        outcome.points = points_over(&outcome.rounds, outcome.steady);
        let passes = outcome.preconditioning.written_bytes / outcome.active_bytes.max(1);
        outcome.deviations = deviations(&Circumstances {
            plan: &outcome.plan,
            target,
            active_bytes: outcome.active_bytes,
            purged: outcome.preconditioning.purged,
            passes: u32::try_from(passes).unwrap_or(u32::MAX),
            left_out,
            hypervisor: self.runner.hypervisor(),
            rounds: &outcome.rounds,
        });
        self.runner.finish(&self.name, RunBody::Qualify(Box::new(self.outcome)))
    }
}
