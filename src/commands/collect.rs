//! `iostall collect`: one sample, or samples at regular ticks of the clock.

mod events;
mod import;
mod metrics;

use std::path::Path;
use std::time::Duration;

use iostall_collect::{Engine, Filter, grants};
use iostall_measure::clock::utc_now;
use iostall_measure::foreign::shown;
use iostall_notify::AlertFile;
use iostall_store::Retention;
use iostall_watch::{
    Alerting, Collector, MachineClock, Metrics, Observers, OnceEvent, Sampler, SamplerOptions, WatchClock,
    WatchError, named_sources, sample_once,
};
use jiff::SignedDuration;

use crate::cli::{CollectArgs, CollectCommand, GlobalArgs, OnceArgs, RunArgs, SourceChoice};
use crate::failure::Status;
use crate::interrupt::on_signal;
use crate::printer::Printer;
use crate::store::open_watch;

/// Samples, or prints the privileges that a login needs.
pub(crate) fn run(args: &CollectArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        CollectCommand::Once(once) => run_once(once, global, printer),
        CollectCommand::Run(run) => run_on(run, global, printer),
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

fn run_once(args: &OnceArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let mut store = open_watch(global)?;
    let path = store.path().to_owned();
    let mut sources = Vec::new();
    for source in named_sources(&args.sources, &Printer::ask_password)? {
        let opened = source.open(args.timeout).map_err(WatchError::from)?;
        sources.push((source.name().to_owned(), opened));
    }
    let mut outcome = Ok(());
    let mut observer = |event: OnceEvent<'_>| match event {
        OnceEvent::Sampled { source, step } => {
            let (rows, at) = (step.sample.rows.len(), step.at());
            let line = printer.result(&format!("{}: {rows} rows at {at:.3}\n", shown(source)));
            outcome = std::mem::replace(&mut outcome, Ok(())).and(line);
        }
        OnceEvent::Failed(error) => printer.error(&WatchError::from(error).into()),
        OnceEvent::Writer(event) => events::show_writer(event, &path, printer),
    };
    let all_answered = sample_once(&mut store, sources, &filter(args), &mut observer)?;
    outcome?;
    Ok(if all_answered { Status::Done } else { Status::CouldNot })
}

fn run_on(args: &RunArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let store = open_watch(global)?;
    let path = store.path().to_owned();
    let (mut names, mut opened) = (Vec::new(), Vec::new());
    for source in named_sources(&args.what.sources, &Printer::ask_password)? {
        opened.push(source.open(args.what.timeout).map_err(WatchError::from)?);
        names.push(source.name().to_owned());
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let clock = MachineClock::default();
    let alerting = args.alerts.as_ref().map(|file| alerting(file, args.interval, &names, &clock, printer));
    let alerting = alerting.transpose()?;
    let metrics = args.metrics.as_ref().map(|_| Metrics::new(&names, clock.clone()));
    let serve =
        |(address, metrics): (&String, &Metrics<_>)| metrics::serve(address, metrics.clone(), printer);
    let _server = args.metrics.as_ref().zip(metrics.as_ref()).map(serve).transpose()?;
    let retention = Retention { raw: signed(args.keep_raw), ..Retention::default() };
    let collector = Collector::new(store, &names, retention, Observers { metrics, alerting }, clock)?;
    let options = SamplerOptions {
        interval: args.interval,
        until: args.duration.and_then(|length| utc_now().checked_add(length).ok()),
        filter: filter(&args.what),
    };
    let (sampler, mut events) = Sampler::start(opened, &options);
    let stopper = sampler.stopper();
    on_signal(Some(printer), move || stopper.stop())?;
    let count = collector.run(&mut events, &mut |event| events::show(event, &path, printer))?;
    printer.note(&format!("kept {count} samples in {}", path.display()));
    // Interrupting is the normal way to end a run without a duration.
    Ok(Status::Done)
}

/// Reads the file of alerts, and reports rules that match none of the sources.
fn alerting(
    path: &Path,
    interval: Duration,
    names: &[&str],
    clock: &MachineClock,
    printer: &Printer,
) -> anyhow::Result<Alerting> {
    let AlertFile { book, channels, .. } = AlertFile::read(path).map_err(WatchError::from)?;
    for rule in &book.rules {
        if !names.iter().any(|name| rule.matches.fits_source(name)) {
            printer.note(&format!("warning: the rule {:?} is about none of these sources", rule.name));
        }
    }
    Ok(Alerting::start(book, channels, interval, names, clock.now()))
}

fn signed(length: Duration) -> SignedDuration {
    SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX)
}
