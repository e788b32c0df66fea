//! Loads a drive in rounds until its figures no longer change, and says whether they do.

mod deviations;
mod health;
mod plan;
mod precondition;
mod resume;
mod rounds;

use std::fs;
use std::path::{Path, PathBuf};

use iostall_engine::files::is_block_device;
use iostall_engine::guard::WriteConsent;
use iostall_engine::nvme::EraseError;
use iostall_measure::platform::Target;
use iostall_measure::{BlockSize, ByteCount, Durability, Nanos, Percent};
use iostall_model::profile::Access;
use iostall_model::qualify::{
    Cell, DriveConditions, Preconditioning, Purge, QualifyPlan, QualifyScale, Stage, Stopped,
};
use iostall_model::{QualifyOutcome, RoleProfile, Run, RunBody};
use iostall_store::Store;

use crate::analysis::qualify::{points_of, stages, steady_window};
use crate::error::SessionError;
use crate::event::{Event, QualifyCost};
use crate::past::Earlier;
use crate::point_runner::{PointJob, PointRunner, Precision};
use crate::session::Session;
use crate::targets::{TargetRequest, Targets};
use deviations::{Circumstances, deviations};
use health::Look;
use resume::{check_there, idle_ns, newest};

pub use plan::{IN_FLIGHT, plan_of, qualify_profile};
pub(crate) use resume::Checkpoints;

/// Active ranges that a write saturation writes at most.
const SATURATION_FILLS: u64 = 4;
/// How long the target is read before it is written, for its speed.
const PROBE: Nanos = Nanos(500_000_000);

#[derive(Clone, Debug)]
pub struct QualifyRequest {
    pub target: PathBuf,
    pub consent: WriteConsent,
    pub plan: QualifyPlan,
    /// What the data sheet of the drive lets hosts write, bytes.
    pub rated_bytes: Option<f64>,
    pub name: String,
}

#[derive(Default)]
pub struct QualifyStores<'a> {
    /// Has an interrupted qualification, to be continued.
    pub earlier: Option<&'a dyn Store>,
    /// Gets the run after each round.
    pub checkpoints: Option<&'a mut dyn Store>,
}

pub fn qualify(
    request: QualifyRequest,
    stores: QualifyStores<'_>,
    session: &Session<'_>,
) -> Result<Run, SessionError> {
    let QualifyRequest { target, consent, mut plan, rated_bytes, name } = request;
    let profile = qualify_profile(&plan)?;
    check_purge(plan.purge, &target)?;
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
    if plan.test.is_saturation() {
        let fills = ByteCount(active_bytes.saturating_mul(SATURATION_FILLS));
        plan.write_limit = Some(plan.write_limit.unwrap_or(fills));
    }
    let earlier = stores.earlier.map(|store| newest(store, &plan, &target, session)).transpose()?;
    let mut runner = PointRunner::begin(session, &[&targets]);
    if let Some(earlier) = &earlier {
        earlier.check_sizes(&facts)?;
        runner.take_over_warnings(&earlier.name(), &earlier.run.warnings);
    }
    let look = Look::at(facts.first());
    let mut qualifier = Qualifier {
        session,
        runner,
        checkpoints: Checkpoints::new(stores.checkpoints, session.clock().clone()),
        name,
        idle_ns: None,
        stages: plan.stages(),
        next_bytes: 0,
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
            conditions: look.as_ref().map(|look| DriveConditions::new(look.now())),
            deviations: Vec::new(),
            resumed: None,
            plan,
        },
        look,
    };
    let bytes_per_s = qualifier.probe()?;
    if let Some(earlier) = earlier {
        earlier.check_engine(&earlier.outcome.engine.name, &qualifier.runner.engine().name)?;
        qualifier.take_over(earlier);
    }
    qualifier.announce(bytes_per_s, rated_bytes);
    qualifier.all_stages()?;
    Ok(qualifier.finish(facts.first(), &left_out))
}

/// Length of the file at `path`, 0 if there is none yet; `None` for what is no file.
fn file_bytes(path: &Path) -> Option<u64> {
    match fs::metadata(path) {
        Ok(found) => found.is_file().then_some(found.len()),
        Err(_missing) => Some(0),
    }
}

/// Before a file is made that no drive can erase.
fn check_purge(purge: Purge, target: &Path) -> Result<(), SessionError> {
    let erases = matches!(purge, Purge::Format | Purge::Sanitize);
    if erases && !is_block_device(target) {
        return Err(SessionError::NotErased { path: target.to_owned(), cause: EraseError::NotNvme });
    }
    Ok(())
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

struct Qualifier<'s, 'c> {
    session: &'s Session<'s>,
    runner: PointRunner<'s>,
    targets: &'s Targets,
    base: RoleProfile,
    active_bytes: u64,
    outcome: QualifyOutcome,
    look: Option<Look>,
    checkpoints: Checkpoints<'c>,
    name: String,
    stages: Vec<Stage>,
    next_bytes: u64,
    /// Time without load before the next round, nanoseconds, because the test was interrupted there.
    idle_ns: Option<u64>,
}

impl Qualifier<'_, '_> {
    fn take_over(&mut self, earlier: Earlier<QualifyOutcome>) {
        self.idle_ns = Some(idle_ns(&earlier.run));
        self.outcome.resumed = Some(earlier.run.id);
        self.outcome.preconditioning = earlier.outcome.preconditioning;
        self.outcome.rounds = earlier.outcome.rounds;
        if let (Some(then), Some(now)) = (earlier.outcome.conditions, &mut self.outcome.conditions) {
            now.continue_from(&then);
        }
    }

    fn announce(&self, bytes_per_s: Option<f64>, rated_bytes: Option<f64>) {
        let plan = &self.outcome.plan;
        let is_quick = plan.scale == QualifyScale::Quick;
        let passes_bytes = self.passes_bytes(self.stages.len());
        let passes_bytes = passes_bytes.saturating_sub(self.outcome.preconditioning.written_bytes);
        let (mut rounds, mut rounds_ns, mut writing_ns) = ((0_u32, 0_u32), (0_u64, 0_u64), (0.0, 0.0));
        for (index, stage) in (0_u32..).zip(&self.stages) {
            let done = self.outcome.rounds.iter().filter(|round| round.stage == index).count();
            let done = u32::try_from(done).unwrap_or(u32::MAX);
            let left =
                (stage.rounds_min(is_quick).saturating_sub(done), stage.rounds_max.saturating_sub(done));
            let ns =
                |rounds: u32| stage.round_ns().saturating_mul(rounds.into()).saturating_add(stage.rest.0);
            let length_ns = (ns(left.0), ns(left.1));
            rounds = (rounds.0.saturating_add(left.0), rounds.1.saturating_add(left.1));
            rounds_ns = (rounds_ns.0.saturating_add(length_ns.0), rounds_ns.1.saturating_add(length_ns.1));
            let share = stage.write_share();
            writing_ns.0 += length_ns.0 as f64 * share;
            writing_ns.1 += length_ns.1 as f64 * share;
        }
        let cost = QualifyCost {
            active_bytes: self.active_bytes,
            made_bytes: self.outcome.preconditioning.made_bytes,
            passes_bytes,
            passes_ns: bytes_per_s.map(|speed| Nanos::from_seconds(passes_bytes as f64 / speed).0),
            rounds,
            rounds_ns,
            writing_ns,
            write_limit_bytes: self.write_limit_bytes(),
            bytes_per_s,
            rated_bytes,
        };
        self.runner.emit(&Event::QualifyBegins(&cost));
    }

    /// How fast the target is read, bytes a second; `None` if nothing was.
    fn probe(&mut self) -> Result<Option<f64>, SessionError> {
        let size = BlockSize::new(QualifyPlan::PASS_BYTES.into()).map_err(|_| SessionError::NoRole)?;
        let plan = &self.outcome.plan;
        let cell = Cell {
            write_pct: Percent::ZERO,
            size,
            access: Access::Random,
            queue_depth: plan.queue_depth,
            workers: plan.workers,
            range_pct: Percent::HUNDRED,
            durability: Durability::None,
            length: PROBE,
            pause: Nanos(0),
        };
        let point = self.measure(&cell, "reading, for its speed")?;
        Ok(point
            .and_then(|point| point.mib_per_s())
            .map(|mib| mib * 1_048_576.0)
            .filter(|speed| *speed > 0.0))
    }

    fn measure(&mut self, cell: &Cell, label: &str) -> Result<Option<iostall_model::Point>, SessionError> {
        let role = plan::role(&self.base, cell, self.next_bytes);
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
            interval: cell.length,
            half_width: Percent::HUNDRED,
            repeats_min: 1,
            repeats_max: 1,
        };
        self.runner.point(&job, &once)
    }

    fn passes_bytes(&self, count: usize) -> u64 {
        let of = |stage: &Stage| self.active_bytes.saturating_mul(stage.passes.0.into());
        self.stages.iter().take(count).map(of).sum()
    }

    /// What all rounds write at most, bytes; `None` if nothing limits them.
    fn write_limit_bytes(&self) -> Option<u64> {
        let of = |stage: &Stage| {
            let range_bytes = stage.range_bytes(self.active_bytes);
            stage.fills_max.map(|fills| range_bytes.saturating_mul(fills.into()))
        };
        let of_stages: Option<u64> = self.stages.iter().map(of).sum();
        let asked = self.outcome.plan.write_limit.map(ByteCount::bytes);
        match (of_stages, asked) {
            (Some(stages), Some(asked)) => Some(stages.min(asked)),
            (stages, asked) => stages.or(asked),
        }
    }

    fn finish(mut self, target: Option<&Target>, left_out: &[(u32, u32)]) -> Run {
        let outcome = &mut self.outcome;
        if let (Some(look), Some(conditions)) = (&self.look, &mut outcome.conditions) {
            conditions.then(look.now());
        }
        outcome.engine = self.runner.engine();
        outcome.steady = steady_window(outcome).map(|window| window.rounds);
        outcome.points = stages(outcome).iter().flat_map(points_of).collect();
        // Each stage that is preceded by writes in order has its own.
        let preceded = self.stages.iter().filter(|stage| stage.passes.0 > 0).count().max(1) as u64;
        let passes = outcome.preconditioning.written_bytes / outcome.active_bytes.max(1) / preceded;
        outcome.deviations = deviations(&Circumstances {
            plan: &outcome.plan,
            target,
            active_bytes: outcome.active_bytes,
            purged: outcome.preconditioning.purged,
            passes: u32::try_from(passes).unwrap_or(u32::MAX),
            left_out,
            stages: &self.stages,
            hypervisor: self.runner.hypervisor(),
            rounds: &outcome.rounds,
            disturbances: &outcome.disturbances(),
        });
        self.runner.finish(&self.name, RunBody::Qualify(Box::new(self.outcome)))
    }
}
