//! `iostall sweep`: more and more requests in flight, until the storage gives no more for them.

mod climb;
mod max_rate;

use std::thread::available_parallelism;

use anyhow::Context;
use iostall_load::preset::preset;
use iostall_load::profile::{Overrides, check};
use iostall_model::{MaxRateOutcome, Profile, Run, RunBody, SweepOutcome};
use iostall_report::{max_rate_found, sweep_target_missed};

use crate::cli::{GlobalArgs, PatternArgs, SweepArgs};
use crate::failure::{Status, hinted};
use crate::measuring::{Effort, Keeping, Session, Survey, TargetRequest, has_failures, named_or_scratch};
use crate::output::Taken;
use crate::printer::Printer;

use climb::{Climb, Limits};
use max_rate::MaxRate;

/// More workers than this are not tried unless asked for.
const WORKERS_MAX: u32 = 16;
/// Intervals of a setting at least: two say nothing about their spread.
const REPEATS_MIN: u32 = 3;

/// Sweeps and reports.
pub(crate) fn run(args: &SweepArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let profile = profile(&args.pattern, args.seed)?;
    let effort = effort(args)?;
    let (engine, no_store, output) = (args.engine, args.no_store, &args.output);
    let taken = Taken::new(global).targets(named_or_scratch(&args.targets));
    let keeping = Keeping { engine, no_store, output, taken, global, printer };
    keeping.run(|session, _| measure(args, profile, effort, session), status)
}

/// The load, with one request in flight.
fn profile(pattern: &PatternArgs, seed: u64) -> anyhow::Result<Profile> {
    let mut profile = preset("random-read")?;
    let changes = Overrides {
        seed: Some(seed),
        queue_depth: Some(1),
        workers: Some(1),
        block_size: Some(pattern.block_size.clone()),
        write_pct: Some(pattern.write_pct),
        access: Some(pattern.access),
        distribution: pattern.distribution.clone(),
        region: pattern.region,
        caching: Some(pattern.caching),
        durability: Some(pattern.durability),
        ..Overrides::default()
    };
    changes.apply(&mut profile)?;
    "sweep".clone_into(&mut profile.name);
    profile.description.clear();
    check(&profile)?;
    Ok(profile)
}

fn effort(args: &SweepArgs) -> anyhow::Result<Effort> {
    let effort = &args.effort;
    if effort.interval.0 == 0 {
        let error = anyhow::anyhow!("--interval 0 measures nothing");
        return Err(hinted(error, "write a length of time, such as --interval 1s"));
    }
    if args.in_flight_max < args.targets.len().max(1) as u64 {
        let error = anyhow::anyhow!("--in-flight-max {} is less than one a target", args.in_flight_max);
        return Err(hinted(error, "give at least the number of targets"));
    }
    Ok(Effort {
        warmup: effort.warmup,
        interval: effort.interval,
        precision: effort.precision.fraction(),
        repeats_min: REPEATS_MIN.min(effort.repeats_max),
        repeats_max: effort.repeats_max,
    })
}

fn measure(args: &SweepArgs, profile: Profile, effort: Effort, session: &Session<'_>) -> anyhow::Result<Run> {
    let request = TargetRequest {
        paths: args.targets.clone(),
        bindings: Vec::new(),
        sizes: Vec::new(),
        size: args.size,
        consent: args.safety.consent(),
    };
    let targets = session.prepare(&request, &profile)?;
    let role =
        profile.spans.first().and_then(|span| span.roles.first()).context("the profile has no role")?;
    let processors = available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1));
    let limits = Limits {
        in_flight_max: args.in_flight_max,
        workers_max: args.workers_max.unwrap_or(processors.min(WORKERS_MAX)).max(1),
        latency_ns_p99_target: args.target_latency.map(|target| target.0),
    };
    let survey = Survey::begin(session, &[&targets]);
    if let Some(promise) = args.p99 {
        let search = MaxRate {
            survey,
            targets: &targets,
            role: role.clone(),
            seed: args.seed,
            effort,
            limits,
            p99_ns_target: promise.0,
        };
        return search_rate(search, profile, &args.name);
    }
    let mut climb = Climb::new(survey, &targets, role.clone(), args.seed, effort, limits);
    climb.run()?;
    let (survey, points, checked) = climb.finish();
    let engine = survey.engine();
    let outcome = SweepOutcome {
        profile,
        target_bytes: targets.used_bytes(),
        engine,
        latency_ns_p99_target: args.target_latency.map(|target| target.0),
        precision_pct: args.effort.precision.percent(),
        repeats_max: effort.repeats_max,
        points,
        checked,
    };
    Ok(survey.finish(&args.name, RunBody::Sweep(Box::new(outcome))))
}

fn search_rate(search: MaxRate<'_>, profile: Profile, name: &str) -> anyhow::Result<Run> {
    let latency_ns_p99_target = search.p99_ns_target;
    let target_bytes = search.targets.used_bytes();
    let (survey, searched) = search.run()?;
    let outcome = MaxRateOutcome {
        profile,
        target_bytes,
        engine: survey.engine(),
        latency_ns_p99_target,
        probe: searched.probe,
        points: searched.points,
        confirmations: searched.confirmations,
    };
    Ok(survey.finish(name, RunBody::MaxRate(Box::new(outcome))))
}

/// The answer is no where requests failed, no setting met the latency target, or no rate was found.
fn status(run: &Run) -> Status {
    let outcome = &run.body;
    let missed = outcome.as_kind::<SweepOutcome>().is_some_and(sweep_target_missed)
        || outcome.as_kind::<MaxRateOutcome>().is_some_and(|search| max_rate_found(search).is_none());
    if missed || has_failures(run) { Status::No } else { Status::Done }
}
