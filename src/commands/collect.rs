//! `iostall collect`: one sample, or samples at regular ticks of the clock.

mod import;
mod jobs;
mod note;

use anyhow::anyhow;
use iostall_collect::{Engine, grants};
use iostall_measure::clock::utc_now;
use iostall_measure::foreign::shown;
use iostall_measure::number::counted;
use iostall_watch::{
    CollectorService, CollectorSetup, Metrics, NamedSource, OnceEvent, TypedSetup, WatchError, named_sources,
    sample_once,
};

use crate::cli::{CollectArgs, CollectCommand, GlobalArgs, OnceArgs, RunArgs};
use crate::failure::{Status, hinted};
use crate::interrupt::on_signal;
use crate::printer::Printer;
use crate::store::open_watch;
use crate::{collected, metrics};

pub(crate) fn run(args: &CollectArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        CollectCommand::Once(args) => once(args, global, printer),
        CollectCommand::Run(run) => run_on(run, global, printer),
        CollectCommand::Check(check) => jobs::check(&check.file, printer),
        CollectCommand::Jobs(args) => jobs::run(args, global, printer),
        CollectCommand::Import(import_args) => import::run(import_args, global, printer),
        CollectCommand::Note(args) => note::run(args, global, printer),
        CollectCommand::Notes(args) => note::list(args, global, printer),
        CollectCommand::Settings(args) => note::settings(args, global, printer),
        CollectCommand::Advise(args) => note::advise(args, global, printer),
        CollectCommand::Grants(grants_args) => {
            printer.result(grants::text(grants_args.engine.into()))?;
            Ok(Status::Done)
        }
    }
}

fn run_on(args: &RunArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let mut store = open_watch(global)?;
    let path = store.path().to_owned();
    collected::set_aside_unknown(&mut store, printer)?;
    drop(store);
    let setup = setup(args)?;
    for said in setup.doubtful_rules() {
        printer.note(&format!("warning: {said}"));
    }
    let address = setup.metrics.clone();
    let until = args.duration.and_then(|length| utc_now().checked_add(length).ok());
    let environment = vec![("IOSTALL_STORE".into(), path.clone().into_os_string())];
    let service = CollectorService::new(&|| open_watch(global), setup, until, environment)?;
    let serve =
        |(address, metrics): (&String, &Metrics<_>)| metrics::serve(address, metrics.clone(), printer);
    let _server = address.as_ref().zip(service.metrics()).map(serve).transpose()?;
    let stopper = service.stopper();
    on_signal(Some(printer), move || stopper.stop())?;
    let count = service.run(&mut |event| collected::show(event, &path, printer))?;
    printer.note(&format!("stored {} in {}", counted(count, "sample"), path.display()));
    // Interrupting is the normal way to end a run without a duration.
    Ok(Status::Done)
}

fn setup(args: &RunArgs) -> anyhow::Result<CollectorSetup> {
    if let Some(file) = &args.config {
        return Ok(CollectorSetup::read(file).map_err(WatchError::from)?);
    }
    let typed = TypedSetup {
        sources: asked(&args.what)?,
        interval: args.interval,
        timeout: args.what.timeout,
        filter: args.what.filter(),
        alerts_path: args.alerts.as_deref(),
        metrics: args.metrics.clone(),
        push: args.push(),
        keep_raw: args.keep_raw,
    };
    Ok(CollectorSetup::typed(typed).map_err(WatchError::from)?)
}

/// The sources, of which at least one has what the filter asks for.
fn asked(args: &OnceArgs) -> anyhow::Result<Vec<NamedSource>> {
    let sources = named_sources(&args.sources, &Printer::ask_password)?;
    let engines: Vec<Engine> = sources.iter().map(NamedSource::engine).collect();
    if let Some(what) = args.filter().unread(&engines) {
        let option = if args.database.is_empty() { "--without-catalogs" } else { "--database" };
        let error = anyhow!("{option} is about {what}, and none of these sources can have one");
        return Err(hinted(error, "leave it out, or name a database server too"));
    }
    Ok(sources)
}

pub(super) fn once(args: &OnceArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let mut store = open_watch(global)?;
    let path = store.path().to_owned();
    collected::set_aside_unknown(&mut store, printer)?;
    let mut sources = Vec::new();
    for source in asked(args)? {
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
        OnceEvent::SettingsLate { source, limit } => collected::show_late(source, limit, printer),
        OnceEvent::Writer(event) => collected::show_writer(event, &path, printer),
    };
    let all_answered = sample_once(&mut store, sources, &args.filter(), &mut observer)?;
    outcome?;
    Ok(if all_answered { Status::Done } else { Status::CouldNot })
}
