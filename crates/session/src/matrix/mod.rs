//! Measures every size, pattern and depth, for one table.

mod cells;
mod resume;

use std::path::PathBuf;

use iostall_engine::guard::WriteConsent;
use iostall_load::preset::preset;
use iostall_load::profile::check;
use iostall_measure::Percent;
use iostall_measure::platform::Target;
use iostall_model::profile::BlockMix;
use iostall_model::{MatrixOutcome, MatrixPlan, Profile, RoleProfile, Run, RunBody};
use iostall_store::Store;

use crate::error::SessionError;
use crate::event::Event;
use crate::names::check_named_once;
use crate::past::Subject;
use crate::point_runner::{PointJob, PointRunner, Precision};
use crate::session::Session;
use crate::targets::{TargetRequest, Targets};
use resume::TakenOver;

pub use cells::{Cell, cells, make_quick};

/// Fewest intervals of a cell: two say nothing about their variation.
const REPEATS_MIN: u32 = 3;

#[derive(Clone, Debug)]
pub struct MatrixRequest {
    /// Files and devices, each measured separately; a scratch file if empty.
    pub paths: Vec<PathBuf>,
    pub consent: WriteConsent,
    pub plan: MatrixPlan,
    pub name: String,
}

/// A profile with a role for each pattern, so that targets are checked for everything that will be done to
/// them.
pub fn matrix_profile(plan: &MatrixPlan) -> Result<Profile, SessionError> {
    let mut profile = preset("random-read")?;
    "matrix".clone_into(&mut profile.name);
    profile.seed = plan.seed;
    let span = profile.spans.first_mut().ok_or(SessionError::NoRole)?;
    let base = span.roles.first().ok_or(SessionError::NoRole)?.clone();
    span.roles.clear();
    for cell in cells(plan, 1) {
        let name = format!("cell-{}", span.roles.len());
        span.roles.push(RoleProfile { name, ..role(&base, plan, &cell) });
    }
    check(&profile)?;
    Ok(profile)
}

fn role(base: &RoleProfile, plan: &MatrixPlan, cell: &Cell) -> RoleProfile {
    RoleProfile {
        block_size: BlockMix::single(cell.size),
        access: cell.access,
        write_pct: cell.write_pct,
        queue_depth: cell.depth,
        workers: plan.workers,
        caching: plan.caching,
        durability: plan.durability,
        ..base.clone()
    }
}

/// Measures the cells; with the store `earlier`, only those that an interrupted matrix has not measured yet.
pub fn matrix(
    request: MatrixRequest,
    earlier: Option<&dyn Store>,
    session: &Session<'_>,
) -> Result<Run, SessionError> {
    let MatrixRequest { paths, consent, plan, name } = request;
    let profile = matrix_profile(&plan)?;
    let newest = |store| resume::newest(&Subject::new(session, &paths), store, &plan);
    let earlier = earlier.map(newest).transpose()?;
    let roles = profile.spans.first().map(|span| span.roles.as_slice()).unwrap_or_default();
    let base = roles.first().ok_or(SessionError::NoRole)?;
    check_named_once(paths.iter().map(PathBuf::as_path))?;
    let devices = prepare(&paths, &consent, &plan, &profile, session)?;
    let mut runner = PointRunner::begin(session, &devices.iter().collect::<Vec<_>>());
    if let Some(earlier) = &earlier {
        let facts: Vec<Target> = devices.iter().flat_map(Targets::facts).collect();
        earlier.check_sizes(&facts)?;
        runner.take_over_warnings(&earlier.name(), &earlier.run.warnings);
    }
    let precision = precision(&plan);
    let all = cells(&plan, devices.len());
    let mut points = Vec::with_capacity(all.len());
    let mut pace = Pace::of(&plan, runner.elapsed_ns());
    let mut taken_over = earlier.as_ref().map(TakenOver::from);
    for (index, cell) in all.iter().enumerate() {
        let known = taken_over.as_mut().and_then(|taken| taken.take(cell, plan.workers, points.len()));
        if let Some(known) = known {
            points.push(known.clone());
            continue;
        }
        let label = format!("{}/{} {}", index + 1, all.len(), cell.in_words());
        let role = role(base, &plan, cell);
        let job = PointJob {
            role: &role,
            targets: &devices[cell.device],
            first_target: u32::try_from(cell.device).unwrap_or(u32::MAX),
            seed: plan.seed,
            label: &label,
            after_ns: pace.after_ns(runner.elapsed_ns(), all.len() - index - 1),
        };
        let point = runner.point(&job, &precision)?;
        // An interrupted cell is dropped; a resumed matrix measures it again.
        if runner.stopped() {
            break;
        }
        if let Some(point) = point {
            if let Some(earlier) = &earlier {
                earlier.check_engine(&earlier.outcome.engine.name, &runner.engine().name)?;
            }
            runner.emit(&Event::PointMeasured { label: &label, again: false, point: &point });
            points.push(point);
            pace.measured += 1;
        }
    }
    let cells = taken_over.map(|taken| taken.cells).unwrap_or_default();
    let resumed = earlier.as_ref().map(|earlier| earlier.run.id);
    let outcome = MatrixOutcome { plan, engine: runner.engine(), points, resumed, earlier: cells };
    Ok(runner.finish(&name, RunBody::Matrix(Box::new(outcome))))
}

fn precision(plan: &MatrixPlan) -> Precision {
    Precision {
        warmup: plan.warmup,
        interval: plan.interval,
        half_width: Percent::new(plan.precision_pct).unwrap_or(Percent::HUNDRED),
        repeats_min: REPEATS_MIN.min(plan.repeats_max),
        repeats_max: plan.repeats_max,
    }
}

/// How fast a matrix proceeds. Cells repeat their intervals until they are exact enough, so only experience says how long one takes,
/// unless each has a single interval.
struct Pace {
    begun_ns: u64,
    measured: u64,
    planned_ns: Option<u64>,
}

impl Pace {
    fn of(plan: &MatrixPlan, begun_ns: u64) -> Self {
        let planned_ns = plan.warmup.0.saturating_add(plan.interval.0);
        Self { begun_ns, measured: 0, planned_ns: (plan.repeats_max == 1).then_some(planned_ns) }
    }

    /// How long `cells` more take at `now_ns`; `None` before the first has been measured.
    fn after_ns(&self, now_ns: u64, cells: usize) -> Option<u64> {
        let each_ns = now_ns.saturating_sub(self.begun_ns).checked_div(self.measured).or(self.planned_ns)?;
        Some(each_ns.saturating_mul(cells as u64))
    }
}

/// Each target separately: the cells of one must not touch the other.
fn prepare(
    paths: &[PathBuf],
    consent: &WriteConsent,
    plan: &MatrixPlan,
    profile: &Profile,
    session: &Session<'_>,
) -> Result<Vec<Targets>, SessionError> {
    let requests: Vec<Vec<PathBuf>> = match paths {
        [] => vec![Vec::new()],
        paths => paths.iter().map(|path| vec![path.clone()]).collect(),
    };
    let prepare =
        |paths| session.prepare(&TargetRequest::of_paths(paths, plan.size, consent.clone()), profile);
    requests.into_iter().map(prepare).collect()
}
