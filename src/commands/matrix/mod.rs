//! `iostall matrix`: every size, pattern and depth in one table.

mod cells;
mod resume;

use std::path::PathBuf;

use anyhow::Context;
use iostall_load::preset::preset;
use iostall_load::profile::check;
use iostall_measure::{Nanos, Percent};
use iostall_model::profile::BlockMix;
use iostall_model::{MatrixOutcome, MatrixPlan, Profile, RoleProfile, Run, RunBody};
use iostall_store::SqliteStore;

use crate::cli::{GlobalArgs, MatrixArgs};
use crate::failure::{Status, hinted};
use crate::measuring::{
    Effort, Keeping, PointJob, Session, Survey, TargetRequest, Targets, check_named_once, has_failures,
    named_or_scratch,
};
use crate::output::Taken;
use crate::printer::Printer;
use crate::store;

use cells::{Cell, cells};

/// What all cells of a quick matrix share; the rest of the minute is for everything between them.
const QUICK_NS: u64 = 42_000_000_000;
/// A quick cell's warm-up is this part of its time.
const QUICK_WARMUP_SHARE: u64 = 5;
/// Intervals of a cell at least: two say nothing about their spread.
const REPEATS_MIN: u32 = 3;

/// Measures the cells and reports them.
pub(crate) fn run(args: &MatrixArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let plan = plan(args)?;
    let profile = profile(&plan)?;
    let (engine, no_store, output) = (args.engine, args.no_store, &args.output);
    let taken = Taken::new(global).targets(named_or_scratch(&args.targets));
    let keeping = Keeping { engine, no_store, output, taken, global, printer };
    let measure = |session: &Session<'_>, store: Option<&SqliteStore>| {
        let earlier = match store {
            Some(store) if args.resume => Some(resume::newest(store, &plan, &args.targets)?),
            // What there is to go on from is in the store: without it, this cannot be done.
            None if args.resume => Some(resume::newest(&store::open(global)?, &plan, &args.targets)?),
            _ => None,
        };
        measure(args, plan, &profile, earlier.as_ref(), session)
    };
    keeping.run(measure, status)
}

fn plan(args: &MatrixArgs) -> anyhow::Result<MatrixPlan> {
    let effort = &args.effort;
    let mut plan = MatrixPlan {
        sizes: args.sizes.clone(),
        accesses: args.access.clone(),
        write_pcts: if args.read_only { vec![Percent::ZERO] } else { vec![Percent::ZERO, Percent::HUNDRED] },
        depths: args.depths.clone(),
        workers: args.workers,
        caching: args.caching,
        durability: args.durability,
        size: args.size,
        seed: args.seed,
        warmup: effort.warmup,
        interval: effort.interval,
        precision_pct: effort.precision.percent(),
        repeats_max: effort.repeats_max,
    };
    if plan.interval.0 == 0 {
        let error = anyhow::anyhow!("--interval 0 measures nothing");
        return Err(hinted(error, "write a length of time, such as --interval 1s"));
    }
    if args.quick {
        let each_ns = QUICK_NS / cells(&plan, args.targets.len().max(1)).len() as u64;
        plan.warmup = Nanos(each_ns / QUICK_WARMUP_SHARE);
        plan.interval = Nanos(each_ns - plan.warmup.0);
        plan.repeats_max = 1;
    }
    Ok(plan)
}

/// A role for each pattern, so that targets are checked for all that will be done to them.
fn profile(plan: &MatrixPlan) -> anyhow::Result<Profile> {
    let mut profile = preset("random-read")?;
    "matrix".clone_into(&mut profile.name);
    profile.seed = plan.seed;
    let span = profile.spans.first_mut().context("the preset has no span")?;
    let base = span.roles.first().context("the preset has no role")?.clone();
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

fn measure(
    args: &MatrixArgs,
    plan: MatrixPlan,
    profile: &Profile,
    earlier: Option<&resume::Earlier>,
    session: &Session<'_>,
) -> anyhow::Result<Run> {
    let base = profile.spans.first().and_then(|span| span.roles.first()).context("there are no cells")?;
    check_named_once(args.targets.iter().map(PathBuf::as_path))?;
    let devices = prepare(args, profile, session)?;
    let mut survey = Survey::begin(session, &devices.iter().collect::<Vec<_>>());
    let effort = Effort {
        warmup: plan.warmup,
        interval: plan.interval,
        precision: plan.precision_pct / 100.0,
        repeats_min: REPEATS_MIN.min(plan.repeats_max),
        repeats_max: plan.repeats_max,
    };
    let all = cells(&plan, devices.len());
    let mut points = Vec::with_capacity(all.len());
    for (index, cell) in all.iter().enumerate() {
        if let Some(known) = earlier.and_then(|earlier| earlier.point(cell, plan.workers)) {
            points.push(known.clone());
            continue;
        }
        let label = format!("{}/{} {}", index + 1, all.len(), cell.in_words());
        let role = role(base, &plan, cell);
        let job = PointJob {
            role: &role,
            targets: &devices[cell.device],
            first_target: u32::try_from(cell.device)?,
            seed: plan.seed,
            label: &label,
        };
        let point = survey.point(&job, &effort)?;
        // A cell that was cut off is not kept: --resume measures it whole.
        if survey.stopped() {
            break;
        }
        if let Some(point) = point {
            survey.note(&format!("{label}: {}", iostall_report::point::in_words(&point)));
            points.push(point);
        }
    }
    let outcome =
        MatrixOutcome { plan, engine: survey.engine(), points, resumed: earlier.map(|earlier| earlier.run) };
    Ok(survey.finish(&args.name, RunBody::Matrix(Box::new(outcome))))
}

/// Each target by itself: the cells of one must not touch the other.
fn prepare(args: &MatrixArgs, profile: &Profile, session: &Session<'_>) -> anyhow::Result<Vec<Targets>> {
    let requests: Vec<Vec<_>> = match args.targets.as_slice() {
        [] => vec![Vec::new()],
        paths => paths.iter().map(|path| vec![path.clone()]).collect(),
    };
    let prepare = |paths| {
        let (size, consent) = (args.size, args.safety.consent());
        session.prepare(
            &TargetRequest { paths, bindings: Vec::new(), sizes: Vec::new(), size, consent },
            profile,
        )
    };
    requests.into_iter().map(prepare).collect()
}

fn status(run: &Run) -> Status {
    if has_failures(run) { Status::No } else { Status::Done }
}
