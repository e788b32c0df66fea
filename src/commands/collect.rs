//! `iostall collect`: one sample, or samples on a beat.

mod import;
mod judging;
mod keeper;
mod metrics;
mod onlookers;

use std::collections::HashMap;
use std::time::Duration;

use iostall_collect::{Engine, Filter, grants};
use iostall_measure::clock::utc_now;
use iostall_measure::foreign::shown;
use iostall_model::Gap;
use iostall_store::{History, Retention};
use iostall_watch::{Event, Missed, Sampler, SamplerOptions};
use jiff::{SignedDuration, Timestamp};

use self::keeper::Keeper;
use self::onlookers::Onlookers;
use crate::cli::{CollectArgs, CollectCommand, GlobalArgs, OnceArgs, RunArgs, SourceChoice};
use crate::failure::Status;
use crate::interrupt::on_signal;
use crate::printer::Printer;
use crate::store::{open_watch, with_hint};
use crate::watching::{advised, named};

/// How often old samples are deleted.
const FORGET_EVERY: SignedDuration = SignedDuration::from_hours(1);

/// Samples, or prints what a login needs.
pub(crate) fn run(args: &CollectArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        CollectCommand::Once(once) => sample_once(once, global, printer),
        CollectCommand::Run(run) => sample_on_a_beat(run, global, printer),
        CollectCommand::Import(import_args) => import::run(import_args, global, printer),
        CollectCommand::Grants(grants_args) => {
            let engine = match grants_args.engine {
                SourceChoice::Sqlserver => Engine::SqlServer,
                SourceChoice::Postgres => Engine::Postgres,
                SourceChoice::Mysql => Engine::Mysql,
                SourceChoice::Linux => Engine::Linux,
            };
            printer.result(grants::text(engine))?;
            Ok(Status::Done)
        }
    }
}

fn filter(args: &OnceArgs) -> Filter {
    Filter { databases: args.database.clone(), names: args.file.clone() }
}

fn sample_once(args: &OnceArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let mut keeper = Keeper::new(open_watch(global)?);
    let (filter, mut status) = (filter(args), Status::Done);
    for source in named(&args.sources)? {
        let (name, mut source) = (&source.name, source.open(args.timeout)?);
        let number = keeper.add_source(name)?;
        source.narrow(&filter);
        match source.read() {
            Ok(mut sample) => {
                sample.rows.retain(|row| filter.keeps(&row.subject));
                printer.result(&format!(
                    "{}: {} rows at {:.3}\n",
                    shown(name),
                    sample.rows.len(),
                    sample.taken.utc
                ))?;
                keeper.say_warnings(number, &sample, printer);
                keeper.store.add_sample(number, sample).map_err(with_hint)?;
            }
            Err(error) => {
                let gap = Gap { at: utc_now(), missed: 1, reason: error.to_string() };
                keeper.store.add_gap(number, &gap).map_err(with_hint)?;
                printer.error(&advised(error));
                status = Status::CouldNot;
            }
        }
    }
    keeper.store.finish().map_err(with_hint)?;
    Ok(status)
}

fn sample_on_a_beat(args: &RunArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let mut keeper = Keeper::new(open_watch(global)?);
    let (mut numbers, mut opened) = (Vec::new(), Vec::new());
    for source in named(&args.what.sources)? {
        opened.push(source.open(args.what.timeout)?);
        numbers.push((keeper.add_source(&source.name)?, source.name));
    }
    let options = SamplerOptions {
        interval: args.interval,
        until: args.duration.and_then(|length| utc_now().checked_add(length).ok()),
        filter: filter(&args.what),
    };
    let retention = Retention { raw: signed(args.keep_raw), ..Retention::default() };
    let names: Vec<&str> = numbers.iter().map(|(_, name)| name.as_str()).collect();
    let mut onlookers = Onlookers::start(args, &names, printer)?;
    let (sampler, events) = Sampler::start(opened, &options);
    let stopper = sampler.stopper();
    on_signal(Some(printer), move || stopper.stop())?;
    let mut forget_next = utc_now();
    // What each source that fails was last heard to say, and for how many beats it is left alone: the same is not
    // said twice.
    let mut failing: HashMap<usize, (String, Option<u64>)> = HashMap::new();
    while let Some(event) = onlookers.next(&events, printer) {
        match event {
            Event::Sample { source, sample } => {
                let (number, name) = &numbers[source];
                if failing.remove(&source).is_some() {
                    printer.note(&format!("{name}: answers again at {:.0}", sample.taken.utc));
                }
                keeper.sample(*number, sample, printer)?;
            }
            Event::Missed(missed) => {
                let (number, name) = &numbers[missed.source];
                let news = (missed.gap.reason.clone(), missed.retry.map(|retry| retry.beats));
                // That a source which times out takes longer than the interval is no news.
                let is_known = missed.retry.is_none() && failing.contains_key(&missed.source);
                if !is_known && failing.insert(missed.source, news.clone()).as_ref() != Some(&news) {
                    printer.advise(&gap_line(name, &missed), &missed.hint);
                }
                keeper.gap(*number, missed.gap, printer)?;
            }
        }
        let now = utc_now();
        if now >= forget_next {
            keeper.forget(&retention, now, printer)?;
            forget_next = now.checked_add(FORGET_EVERY).unwrap_or(Timestamp::MAX);
        }
    }
    sampler.join();
    // Before the last notices are delivered: a receiver that hangs must not keep the store open.
    keeper.store.finish().map_err(with_hint)?;
    onlookers.finish(printer);
    printer.note(&format!("kept {} samples in {}", keeper.samples, keeper.store.path().display()));
    // Stopping is how a run without an end is meant to end.
    Ok(Status::Done)
}

fn signed(length: Duration) -> SignedDuration {
    SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX)
}

fn gap_line(name: &str, missed: &Missed) -> String {
    let next = missed.retry.map(|retry| format!("; next try at {:.0}", retry.at)).unwrap_or_default();
    format!("{name}: no sample at {:.0}: {}{next}", missed.gap.at, missed.gap.reason)
}
