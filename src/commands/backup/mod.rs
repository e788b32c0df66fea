//! `iostall backup`, and `rebuild`, `plan` and `verify` of it.

mod create;
mod drill;
mod known;
mod list;
mod restore;
mod run;
mod stats;
mod tune;
mod wal;

use std::path::PathBuf;

use iostall_measure::clock::utc_now;
use iostall_measure::foreign::shown;
use iostall_model::backup_plan::plan;
use iostall_report::backups::{plan_json, plan_sections, plan_title};
use iostall_report::forms::write_figures;
use iostall_session::SessionError;
use iostall_session::backup::figures::kept_figures;
use iostall_session::backup::rebuild::{RebuildRequest, rebuild};
use iostall_session::backup::sqlserver;
use iostall_session::backup::verify::verify;
use jiff::tz::TimeZone;

use self::known::{key_error, known};
use self::run::{ask, server};
use crate::cli::{BackupArgs, BackupCommand, BackupVerifyArgs, GlobalArgs, PlanArgs, RebuildArgs};
use crate::failure::{Status, hinted};
use crate::frame::{answer, begin_transfer};
use crate::output::{self, Delivery, text_of_sections, to_stdout};
use crate::printer::Printer;
use crate::store::{self, run_writer, taken};

pub(crate) fn run(args: &BackupArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        BackupCommand::Create(args) => create::run(args, global, printer),
        BackupCommand::Restore(args) => restore::run(args, global, printer),
        BackupCommand::Verify(args) => run_verify(args, global, printer),
        BackupCommand::Tune(args) => tune::run(args, global, printer),
        BackupCommand::Drill(args) => drill::run(args, global, printer),
        BackupCommand::Rebuild(args) => run_rebuild(args, printer),
        BackupCommand::List(args) => list::list(args, global, printer),
        BackupCommand::Prune(args) => list::prune(args, global, printer),
        BackupCommand::Plan(args) => run_plan(args, global, printer),
        BackupCommand::Run(args) => run::run(args, global, printer),
        BackupCommand::Wal(args) => wal::run(args, global, printer),
    }
}

fn run_rebuild(args: &RebuildArgs, printer: &Printer) -> anyhow::Result<Status> {
    let unlock = args.unlock.unlock().map_err(key_error)?;
    let request = RebuildRequest { stripes: args.stripes.clone(), to: args.to.clone(), unlock };
    let rebuilt = rebuild(&request)?;
    for path in &rebuilt.paths {
        printer.result(&format!("{}\n", shown(&path.display().to_string())))?;
    }
    let (set, files) = (rebuilt.manifest.set, rebuilt.manifest.files.len());
    printer.note(&format!("the manifest of set {set} is there again, with {files} entries"));
    Ok(Status::Done)
}

fn run_plan(args: &PlanArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let kept = || kept_figures(&store::open(global)?, args.source.as_deref());
    let kept = args.asks_the_store().then(kept).transpose().map_err(SessionError::from)?;
    let plan = plan(args.input(kept.as_ref()), utc_now(), &TimeZone::system())
        .map_err(|error| hinted(error, "a shorter --for, or a longer --every"))?;
    if args.json {
        to_stdout(printer, &|out| write_figures(&plan_json(&plan, kept.as_ref()), out))?;
    } else {
        printer.result(&text_of_sections(
            &plan_title(&plan),
            &plan_sections(&plan, kept.as_ref()),
            printer,
        ))?;
    }
    Ok(if plan.full_utc.is_some() { Status::No } else { Status::Done })
}

fn run_verify(args: &BackupVerifyArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    if let Some(url) = &args.sqlserver {
        let (address, password) = server(url, true)?;
        let request = args.server_request(address, password);
        return ask(&args.output, args.no_store, global, printer, |transfer| {
            sqlserver::verify(&request, transfer, printer)
        });
    }
    let unlock = args.unlock.unlock().map_err(key_error)?;
    let inputs = args.from.iter().map(PathBuf::as_path);
    let outputs = output::check(&args.output, &taken(global).targets(inputs))?;
    let mut writer = run_writer(global, args.no_store, printer)?;
    let transfer = begin_transfer(args.nice, printer)?;
    let request = args.request(unlock);
    let mut run = verify(&request, &known(global, printer), transfer, printer)?;
    let status = if run.interrupted { Status::Interrupted } else { answer(&run) };
    let delivery = Delivery::new(&outputs, &args.output, printer).after(status, global.quiet);
    Ok(delivery.give(&mut run, &mut writer, status))
}
