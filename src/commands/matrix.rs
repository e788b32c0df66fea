//! `iostall matrix`: every size, pattern and depth in one table.

use iostall_measure::Percent;
use iostall_model::MatrixPlan;
use iostall_session::matrix::{MatrixRequest, make_quick, matrix, matrix_profile};
use iostall_session::targets::named_or_scratch;
use iostall_store::Store;

use crate::cli::{GlobalArgs, MatrixArgs};
use crate::failure::{Status, hinted};
use crate::frame::Frame;
use crate::printer::Printer;
use crate::store::{self, taken};

pub(crate) fn run(args: &MatrixArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let plan = plan(args)?;
    matrix_profile(&plan)?;
    let (paths, consent, name) = (args.targets.clone(), args.safety.consent(), args.name.clone());
    let request = MatrixRequest { paths, consent, plan, name };
    let taken = taken(global).targets(named_or_scratch(&args.targets));
    let (engine, no_store, output) = (args.engine.into(), args.no_store, &args.output);
    let frame = Frame { engine, no_store, output, taken, global, printer };
    frame.run(|session, kept_in| {
        // Resuming needs the store.
        let opened = if args.resume && kept_in.is_none() { Some(store::open(global)?) } else { None };
        let earlier = kept_in.or(opened.as_ref()).filter(|_| args.resume);
        Ok(matrix(request, earlier.map(|store| store as &dyn Store), session)?)
    })
}

fn plan(args: &MatrixArgs) -> anyhow::Result<MatrixPlan> {
    let precision = &args.precision;
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
        warmup: precision.warmup,
        interval: precision.interval,
        precision_pct: precision.precision.percent(),
        repeats_max: precision.repeats_max,
    };
    if plan.interval.0 == 0 {
        let error = anyhow::anyhow!("--interval 0 measures nothing");
        return Err(hinted(error, "write a length of time, such as --interval 1s"));
    }
    if args.quick {
        make_quick(&mut plan, args.targets.len().max(1));
    }
    Ok(plan)
}
