//! `iostall sweep`: increases the requests in flight until throughput stops growing.

use iostall_load::Overrides;
use iostall_session::point_runner::Precision;
use iostall_session::sweep::{SweepRequest, sweep, sweep_profile};
use iostall_session::targets::{TargetRequest, named_or_scratch};

use crate::cli::{GlobalArgs, PatternArgs, SweepArgs};
use crate::failure::{Status, hinted};
use crate::frame::Frame;
use crate::printer::Printer;
use crate::store::taken;

/// Fewest intervals of a setting: two say nothing about their variation.
const REPEATS_MIN: u32 = 3;

pub(crate) fn run(args: &SweepArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let request = request(args)?;
    let taken = taken(global).targets(named_or_scratch(&args.targets));
    let (engine, no_store, output) = (args.engine.into(), args.no_store, &args.output);
    let frame = Frame { engine, no_store, output, taken, global, printer };
    frame.run(|session, _| Ok(sweep(request, session)?))
}

fn request(args: &SweepArgs) -> anyhow::Result<SweepRequest> {
    let profile = sweep_profile(Overrides { seed: Some(args.seed), ..shape(&args.pattern) })?;
    Ok(SweepRequest {
        targets: TargetRequest::of_paths(args.targets.clone(), args.size, args.safety.consent()),
        profile,
        precision: precision(args)?,
        in_flight_max: args.in_flight_max,
        workers_max: args.workers_max,
        target_latency: args.target_latency,
        promise: args.p99,
        name: args.name.clone(),
    })
}

fn shape(pattern: &PatternArgs) -> Overrides {
    Overrides {
        block_size: Some(pattern.block_size.clone()),
        write_pct: Some(pattern.write_pct),
        access: Some(pattern.access),
        distribution: pattern.distribution.clone(),
        region: pattern.region,
        caching: Some(pattern.caching),
        durability: Some(pattern.durability),
        ..Overrides::default()
    }
}

fn precision(args: &SweepArgs) -> anyhow::Result<Precision> {
    let precision = &args.precision;
    if precision.interval.0 == 0 {
        let error = anyhow::anyhow!("--interval 0 measures nothing");
        return Err(hinted(error, "write a length of time, such as --interval 1s"));
    }
    if args.in_flight_max < args.targets.len().max(1) as u64 {
        let error = anyhow::anyhow!("--in-flight-max {} is less than one a target", args.in_flight_max);
        return Err(hinted(error, "give at least the number of targets"));
    }
    Ok(Precision {
        warmup: precision.warmup,
        interval: precision.interval,
        half_width: precision.precision,
        repeats_min: REPEATS_MIN.min(precision.repeats_max),
        repeats_max: precision.repeats_max,
    })
}
