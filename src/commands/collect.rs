//! `iostall collect`: one sample, or samples at regular ticks of the clock.

mod import;
mod jobs;
mod note;
mod once;
mod settings;

use iostall_collect::grants;
use iostall_measure::clock::utc_now;
use iostall_measure::number::counted;
use iostall_watch::{CollectorService, CollectorSetup, Metrics, TypedSetup, WatchError, named_sources};

use crate::cli::{CollectArgs, CollectCommand, GlobalArgs, RunArgs};
use crate::collected;
use crate::failure::Status;
use crate::interrupt::on_signal;
use crate::metrics;
use crate::printer::Printer;
use crate::store::open_watch;

pub(crate) fn run(args: &CollectArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        CollectCommand::Once(args) => once::run(args, global, printer),
        CollectCommand::Run(run) => run_on(run, global, printer),
        CollectCommand::Check(check) => jobs::check(&check.file, printer),
        CollectCommand::Jobs(args) => jobs::run(args, global, printer),
        CollectCommand::Import(import_args) => import::run(import_args, global, printer),
        CollectCommand::Note(args) => note::run(args, global, printer),
        CollectCommand::Notes(args) => note::list(args, global, printer),
        CollectCommand::Settings(args) => settings::run(args, global, printer),
        CollectCommand::Advise(args) => settings::advise(args, global, printer),
        CollectCommand::Grants(grants_args) => {
            printer.result(grants::text(grants_args.engine.into()))?;
            Ok(Status::Done)
        }
    }
}

fn run_on(args: &RunArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let path = open_watch(global)?.path().to_owned();
    let setup = setup(args)?;
    for rule in setup.rules_about_nothing() {
        printer.note(&format!("warning: the rule {rule:?} is about none of these sources"));
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
        sources: named_sources(&args.what.sources, &Printer::ask_password)?,
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
